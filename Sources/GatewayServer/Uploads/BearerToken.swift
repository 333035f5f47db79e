internal import BundleTrust
internal import Crypto
internal import HTTPTypes

/// The token that opens a door to whoever holds it (RFC 6750).
struct BearerToken: Sendable {
  private let secret: Secret

  /// - Parameter secret: where it is empty, nothing opens the door.
  init(_ secret: Secret) { self.secret = secret }

  func isIn(_ fields: HTTPFields) -> Bool {
    let parts = (fields[.authorization] ?? "").split(separator: " ", maxSplits: 1)
    guard !secret.disclosed.isEmpty, parts.count == 2, parts[0].lowercased() == "bearer" else { return false }
    // Digests have one length, and comparing them tells nothing of where the tokens differ.
    let given = SHA256.hash(data: Array(parts[1].utf8))
    let wanted = SHA256.hash(data: Array(secret.disclosed.utf8))
    return zip(given, wanted).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
