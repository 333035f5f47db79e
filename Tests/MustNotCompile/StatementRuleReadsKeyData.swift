// A rule about statements is asked once for all claims that say the same, so it must not look at the key.
// expect: value of type 'StatedFields' has no member 'key'
import ExposureKeys

@testable import KeyNormalization

let blocked = TemporaryExposureKey(high: 1, low: 7)

extension AdmissionRule {
  static let blockList = AdmissionRule(
    documentation: RuleDocumentation(name: "block-list", rule: "", why: "", source: "", outcome: ""),
    value: { _ in "" },
    apply: {
      #if MISTAKE
        .toStatements { reading, _ in reading.said.key == blocked ? .reject(.keyDataUniform) : .admit }
      #else
        .toKeys { key, _, _ in key == blocked ? .reject(.keyDataUniform) : .admit }
      #endif
    }())
}
