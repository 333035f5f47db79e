internal import CTexts
package import KeyNormalization

/// The policies that the program carries with it, so that their names work anywhere.
package enum ShippedPolicies {
  /// `default` first, the others by name.
  package static let names: [String] = (0..<keyferry_policy_count()).map { String(cString: keyferry_policy_name($0)) }

  /// All of them, in the order of ``names``.
  package static func all() throws(PolicyFileFault) -> [Policy] {
    var policies: [Policy] = []
    for name in names { if let policy = try policy(named: name) { policies.append(policy) } }
    return policies
  }

  /// The commented file of a policy; `nil` when there is none of that name.
  package static func text(of name: String) -> String? {
    guard let index = names.firstIndex(of: name) else { return nil }
    let bytes = UnsafeRawBufferPointer(start: keyferry_policy(index), count: keyferry_policy_length(index))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The policy of this name; `nil` when there is none.
  package static func policy(named name: String) throws(PolicyFileFault) -> Policy? {
    guard let text = text(of: name) else { return nil }
    return try PolicyFile.parse(text, named: "\(name).yaml")
  }
}
