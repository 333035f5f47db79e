internal import Crypto

/// HMAC-SHA256 (RFC 2104) under one secret: bytes that nobody can tell from random ones without it, the same for the
/// same message each time.
public struct KeyedHash: Sendable {
  public static let byteCount = 32
  private let key: SymmetricKey

  /// - Parameter secret: 32 random bytes.
  public init(secret: [UInt8]) { key = SymmetricKey(data: secret) }

  /// The 32 bytes for a message.
  public func bytes(for message: [UInt8]) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: message, using: key))
  }
}
