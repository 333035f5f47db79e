import ExposureKeys

extension AdmissionReason {
  package static let ownKeyReturned = AdmissionReason("own-key-returned") { _ in "a key of our own that came back" }
}

extension AdmissionRule {
  static let ownKey = AdmissionRule(
    documentation: RuleDocumentation(
      name: "own-key",
      rule:
        "A key of this gateway's own regions that comes back from a peer is recognised and not taken in again. Files that "
        + "normalize reads have no own regions.",
      why: "What an own region said is known first-hand. A copy that came back would outlive its revocation.",
      source: "CoronaMelder and covid-green, loop suppression"),
    rejects: [.ownKeyReturned],
    value: { _ in "the gateway's own regions" },
    apply: .toStatements { reading, _ in reading.origin.isOwn ? .reject(.ownKeyReturned) : .admit })
}
