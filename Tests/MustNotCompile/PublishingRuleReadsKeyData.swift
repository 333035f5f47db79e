// Keys about which the same is said share one outcome, so a publishing rule must not look at the key.
// expect: value of type 'StatedFields' has no member 'key'
import ExposureKeys

@testable import KeyNormalization

let blocked = TemporaryExposureKey(high: 1, low: 7)

extension BeliefRule {
  static let blockList = BeliefRule(
    documentation: RuleDocumentation(name: "block-list", rule: "", why: "", source: "", outcome: ""),
    value: { _ in "" },
    apply: { belief, _ in
      #if MISTAKE
        belief.said.key == blocked ? .leaveOut(.tooOld) : .goOn
      #else
        belief.said.transmissionRisk == 7 ? .leaveOut(.tooOld) : .goOn
      #endif
    })
}
