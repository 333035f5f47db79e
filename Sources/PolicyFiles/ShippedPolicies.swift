package import KeyNormalization

/// The policies that the program carries with it, so that their names work anywhere.
package enum ShippedPolicies {
  /// `default` first, the others by name.
  package static let names: [String] = shippedPolicyTexts.map(\.name)

  /// All of them, in the order of ``names``.
  package static func all() throws(PolicyFileFault) -> [Policy] {
    var policies: [Policy] = []
    for name in names { if let policy = try policy(named: name) { policies.append(policy) } }
    return policies
  }

  /// The commented file of a policy; `nil` when there is none of that name.
  package static func text(of name: String) -> String? {
    shippedPolicyTexts.first { $0.name == name }.map { $0.text + "\n" }
  }

  /// The policy of this name; `nil` when there is none.
  package static func policy(named name: String) throws(PolicyFileFault) -> Policy? {
    guard let text = text(of: name) else { return nil }
    return try PolicyFile.parse(text, named: "\(name).yaml")
  }
}
