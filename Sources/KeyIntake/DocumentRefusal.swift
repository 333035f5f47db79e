internal import ExposureKeys
package import KeyFormats

/// Why nobody vouches for a document; nothing of it was admitted or written.
package enum DocumentRefusal: ProgramFault, Sendable {
  /// An export whose signature does not verify under the ring.
  case untrusted(name: String, lines: [String])
  /// A document in a format that has no signatures, while a signature was asked for.
  case cannotBeSigned(name: String, format: KeyFormat)

  /// The host should have proved its name, and the document did not come over TLS.
  case hostNotProven(name: String)
  /// Each origin should have signed its keys, and it is not proved that it has.
  case originsNotProven(name: String, reason: String)

  /// An input that cannot be trusted is a verification that failed.
  package var isRefutation: Bool { true }

  /// The stable code.
  package var code: String {
    switch self {
    case .untrusted: "signature-not-trusted"
    case .cannotBeSigned: "format-without-signature"
    case .hostNotProven: "host-not-proven"
    case .originsNotProven: "origins-not-proven"
    }
  }

  package var description: String {
    switch self {
    case .untrusted(let name, let lines):
      (["\(name): no signature can be trusted"] + lines.map { "\(name): \($0)" }).joined(separator: "\n")
    case .cannotBeSigned(let name, let format):
      "\(name): \(format.rawValue) carries no signature that could be verified"
    case .hostNotProven(let name): "\(name): it did not come over TLS, so that no host has proved its name"
    case .originsNotProven(let name, let reason): "\(name): nobody is proved to have signed its keys: \(reason)"
    }
  }
}
