// How much an origin has sent changes from claim to claim, so a rule about statements must not look at it.
// expect: value of type 'OriginStanding' has no member 'admitted'
@testable import KeyNormalization

extension AdmissionRule.Question {
  static var flood: AdmissionRule.Question {
    #if MISTAKE
      .toStatements { reading, _ in reading.origin.admitted < 7 ? .admit : .holdForOperator(.flood) }
    #else
      .toVolumes { origin, _ in origin.admitted < 7 ? .admit : .holdForOperator(.flood) }
    #endif
  }
}
