// Nor can a rule about statements ask for the key beside what is said.
// expect: cannot be applied to operands of type 'Reading' and 'TemporaryExposureKey'
import ExposureKeys

@testable import KeyNormalization

let blocked = TemporaryExposureKey(high: 1, low: 7)

extension AdmissionRule.Question {
  static var blockList: AdmissionRule.Question {
    #if MISTAKE
      .toStatements { key, _, _ in key == blocked ? .reject(.keyDataUniform) : .admit }
    #else
      .toKeys { key, _, _ in key == blocked ? .reject(.keyDataUniform) : .admit }
    #endif
  }
}
