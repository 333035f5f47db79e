internal import Crypto
internal import ExposureKeys

/// The hash of a leaf or of a subtree: 32 bytes, SHA-256.
///
/// Source: RFC 6962, section 2.1. A leaf is the hash of the byte 0 and the entry, a node that of the byte 1 and its two
/// children; the hash of no leaf at all is that of nothing.
package struct TreeHash: Hashable, Sendable {
  package static let byteCount = 32

  private let words: SIMD4<UInt64>

  /// - Parameter bytes: 32 of them.
  /// - Returns: `nil` for another number.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    self = Array(bytes).withUnsafeBytes { TreeHash(copying: $0, at: 0) }
  }

  /// - Parameter offset: at least 32 bytes before the end.
  init(copying bytes: UnsafeRawBufferPointer, at offset: Int) {
    words = bytes.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
  }

  private init(_ digest: SHA256.Digest) {
    self = digest.withUnsafeBytes { TreeHash(copying: $0, at: 0) }
  }

  /// The root of a tree without leaves.
  package static let empty = TreeHash(SHA256().finalize())

  /// The hash of an entry.
  package static func leaf(_ entry: some Collection<UInt8>) -> TreeHash {
    entry.withContiguousStorageIfAvailable { leaf(UnsafeRawBufferPointer($0)) }
      ?? Array(entry).withUnsafeBytes { leaf($0) }
  }

  static func leaf(_ entry: UnsafeRawBufferPointer) -> TreeHash {
    var hasher = SHA256()
    withUnsafeBytes(of: UInt8(0)) { hasher.update(bufferPointer: $0) }
    hasher.update(bufferPointer: entry)
    return TreeHash(hasher.finalize())
  }

  /// The hash of the subtree over two others.
  package static func node(_ left: TreeHash, _ right: TreeHash) -> TreeHash {
    withUnsafeTemporaryAllocation(byteCount: 1 + 2 * byteCount, alignment: 1) { buffer in
      buffer[0] = 1
      buffer.storeBytes(of: left.words, toByteOffset: 1, as: SIMD4<UInt64>.self)
      buffer.storeBytes(of: right.words, toByteOffset: 1 + byteCount, as: SIMD4<UInt64>.self)
      var hasher = SHA256()
      hasher.update(bufferPointer: UnsafeRawBufferPointer(buffer))
      return TreeHash(hasher.finalize())
    }
  }

  package var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }

  /// As notes write it: 44 characters.
  package var base64: String { Base64.encode(bytes) }

  /// - Returns: `nil` for what is no 32 bytes in base64 with its padding.
  package init?(base64 text: some StringProtocol) {
    guard let bytes = Base64.decode(text.utf8, spelling: .canonical) else { return nil }
    self.init(bytes)
  }

  /// Lower-case hexadecimal, 64 digits.
  package var hexadecimal: String { Hexadecimal.encode(bytes) }
}

extension [TreeHash] {
  /// One behind the other, as a tile has them.
  package var tileBytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count * TreeHash.byteCount)
    for hash in self { bytes += hash.bytes }
    return bytes
  }
}
