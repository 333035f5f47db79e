internal import Crypto

/// Signatures as JSON Web Signatures have them: ES256 (RFC 7518, 3.4), SHA-256 and the two numbers r and s by
/// themselves.
extension P256PublicKey {
  /// - Parameters:
  ///   - signature: r and s, 32 bytes each, big-endian; anything else is no signature.
  ///   - message: what was signed, before hashing.
  public func verifies(rawSignature signature: [UInt8], of message: [UInt8]) -> Bool {
    guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
    return key.isValidSignature(signature, for: message)
  }
}

extension SigningKey {
  /// - Returns: r and s, 32 bytes each, big-endian.
  public func rawSignature(of message: [UInt8]) throws(KeyFault) -> [UInt8] {
    do {
      return Array(try key.signature(for: message).rawRepresentation)
    } catch {
      throw KeyFault(.invalidKey, "the key could not sign")
    }
  }
}
