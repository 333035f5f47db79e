internal import ExposureKeys
package import KeyNormalization

/// Reads policy files: YAML, as `schemas/policy.schema.json` describes it. What a file does not state is as in the
/// default policy.
package enum PolicyFile {
  /// A policy file holds settings, not data.
  package static let byteLimit = 65_536

  /// Reads a policy.
  ///
  /// - Parameter warn: is given what is spelled in an old way, in the order of the file.
  /// - Throws: ``PolicyFileFault`` with all faults of the file at once.
  package static func parse(
    _ text: String, named file: String, warn: (PolicyFault) -> Void = { _ in }
  ) throws(PolicyFileFault) -> Policy {
    try read(text, named: file, warn) { _, _ in }
  }

  /// Reads a policy that an operator has written, whose name must not hide one that ships.
  ///
  /// - Parameter warn: is given what is spelled in an old way, in the order of the file.
  /// - Throws: ``PolicyFileFault`` with all faults of the file at once.
  package static func check(
    _ text: String, named file: String, warn: (PolicyFault) -> Void = { _ in }
  ) throws(PolicyFileFault) -> Policy {
    try read(text, named: file, warn) { policy, document in
      guard let shipped = try? ShippedPolicies.policy(named: policy.name), shipped != policy else { return }
      document.add(
        document.place(of: "name"),
        "a policy that ships is called \(policy.name), and says something else; choose another name")
    }
  }

  private static func read(
    _ text: String, named file: String, _ warn: (PolicyFault) -> Void, _ check: (Policy, SettingsDocument) -> Void
  ) throws(PolicyFileFault) -> Policy {
    let document = SettingsDocument(holding: "policy", byteLimit: byteLimit)
    guard let section = document.root(of: text) else { throw PolicyFileFault(file: file, faults: document.faults) }
    var policy = Policy(name: "")
    section.read("name") { policy.name = $0.text() ?? policy.name }
    section.read("summary") { policy.summary = $0.text() ?? policy.summary }
    section.section("reading") { policy.reading.read($0) }
    section.section("publishing") { policy.publishing.read($0) }
    section.read("changes") { policy.changes = changes($0, after: policy) }
    section.finish()
    for fault in policy.faults { document.add(document.place(of: fault.place), fault.reason) }
    check(policy, document)
    guard document.faults.allSatisfy(\.isWarning) else {
      throw PolicyFileFault(file: file, faults: document.faults.filter { !$0.isWarning })
    }
    for warning in document.faults.sorted() { warn(PolicyFault(warning)) }
    return policy
  }

  /// What holds from a day on: each entry says how it differs from what held before.
  private static func changes(_ setting: Setting, after policy: Policy) -> [Policy.Change] {
    var last = Policy.Change(from: Day(daysSince1970: 0), reading: policy.reading, publishing: policy.publishing)
    return (setting.list() ?? []).compactMap { entry in
      guard let section = entry.section() else { return nil }
      let allowed = "a date: 2022-01-13"
      guard let from = section.need("from", allowed) else { return nil }
      guard let day = from.text().flatMap({ Day($0) }) else { return from.fault("allowed \(allowed)") }
      last.from = day
      section.section("reading") { last.reading.read($0) }
      section.section("publishing") { last.publishing.read($0) }
      section.finish()
      return last
    }
  }
}

/// Everything that is wrong with a policy file.
package struct PolicyFileFault: ProgramFault, Hashable, Sendable {
  package let file: String
  /// In the order of their places in the file.
  package let faults: [PolicyFault]

  init(file: String, faults: [SettingFault]) {
    self.file = file
    self.faults = faults.sorted().map(PolicyFault.init)
  }

  /// One line a fault: `efgs.yaml:12:5: publishing.risk.cap: 9, allowed 0...8`.
  package var description: String { faults.map { "\(file):\($0)" }.joined(separator: "\n") }
}

extension PolicyFault {
  fileprivate init(_ fault: SettingFault) {
    self.init(place: fault.place.path, line: fault.place.line, column: fault.place.column, reason: fault.reason)
  }
}
