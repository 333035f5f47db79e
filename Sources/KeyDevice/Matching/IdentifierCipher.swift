internal import CLibcrypto
package import ExposureKeys

/// Makes the identifiers that a key was broadcast as, and decrypts the metadata beside them.
///
/// One instance serves one thread. It keeps one context of AES that is re-keyed for each key, a block of prepared input of which
/// only the interval numbers change, and the states of SHA-256 that are the same for all keys: of the six compressions that the
/// derivation needs, two have constant pads.
///
/// Source: Exposure Notification Cryptography Specification 1.2.
package final class IdentifierCipher {
  /// Identifiers of a key at most: one for each interval of a day.
  package static let identifierLimit = 144

  private let context: OpaquePointer
  private let cipher: OpaquePointer
  private let hash: UnsafeMutablePointer<SHA256_CTX>
  /// Blocks of 64 bytes: the key's, a digest's, two pads, and one for each name that a key is derived for.
  private let blocks: UnsafeMutableRawPointer
  private let input: UnsafeMutableRawPointer
  /// Room for the identifiers of one key, each sixteen bytes.
  let output: UnsafeMutableRawPointer
  private var preparedStart: UInt32?

  private let initial: State
  private let zeroInner: State
  private let zeroOuter: State

  private typealias State = (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32)

  private enum Block {
    static let key = 0
    static let digest = 64
    static let inner = 128
    static let outer = 192
    static let identifierKey = 256
    static let metadataKey = 320
    static let byteCount = 384
  }

  package init() {
    guard let context = EVP_CIPHER_CTX_new(), let cipher = EVP_CIPHER_fetch(nil, "AES-128-ECB", nil) else {
      preconditionFailure("libcrypto has no AES-128-ECB, or there is no memory")
    }
    self.context = context
    self.cipher = cipher
    hash = .allocate(capacity: 1)
    hash.initialize(to: SHA256_CTX())
    blocks = .allocate(byteCount: Block.byteCount, alignment: 64)
    input = .allocate(byteCount: 16 * Self.identifierLimit, alignment: 64)
    output = .allocate(byteCount: 16 * Self.identifierLimit, alignment: 64)
    Self.prepare(blocks)
    Self.prepare(input: input)
    initial = (
      0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19
    )
    // The salt is absent, which HMAC reads as zeros: its pads are constant.
    let pad = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 8)
    defer { pad.deallocate() }
    pad.initializeMemory(as: UInt8.self, repeating: 0x36, count: 64)
    hash.pointee.h = initial
    keyferry_sha256_block(hash, pad.assumingMemoryBound(to: UInt8.self))
    zeroInner = hash.pointee.h
    pad.initializeMemory(as: UInt8.self, repeating: 0x5c, count: 64)
    hash.pointee.h = initial
    keyferry_sha256_block(hash, pad.assumingMemoryBound(to: UInt8.self))
    zeroOuter = hash.pointee.h
    let isReady =
      EVP_EncryptInit_ex2(context, cipher, output.assumingMemoryBound(to: UInt8.self), nil, nil) == 1
      && EVP_CIPHER_CTX_set_padding(context, 0) == 1
    precondition(isReady, "libcrypto does not take a key of AES-128")
  }

  deinit {
    EVP_CIPHER_CTX_free(context)
    EVP_CIPHER_free(cipher)
    hash.deallocate()
    // Keys were in here.
    for (memory, count) in [
      (blocks, Block.byteCount), (input, 16 * Self.identifierLimit), (output, 16 * Self.identifierLimit),
    ] {
      OPENSSL_cleanse(memory, count)
      memory.deallocate()
    }
  }

  /// The identifiers of a key for `count` intervals from `start` on; interval numbers wrap at 2^32.
  package func identifiers(of key: TemporaryExposureKey, start: UInt32, count: Int) -> [ProximityIdentifier] {
    let count = max(0, min(count, Self.identifierLimit))
    makeIdentifiers(of: key, start: start, count: count)
    return (0..<count).map { identifier(at: $0) }
  }

  /// The metadata of a broadcast, the first byte the most significant: version, transmit power, two reserved bytes.
  ///
  /// Four bytes need one block of the counter mode, whose counter begins at the identifier.
  package func metadata(
    _ encrypted: UInt32, beside identifier: ProximityIdentifier, of key: TemporaryExposureKey
  ) -> UInt32 {
    setKey(of: key, Block.metadataKey)
    output.storeBytes(of: identifier.high.bigEndian, as: UInt64.self)
    output.storeBytes(of: identifier.low.bigEndian, toByteOffset: 8, as: UInt64.self)
    encrypt(from: output, byteCount: 16)
    return encrypted ^ UInt32(bigEndian: output.load(as: UInt32.self))
  }

  /// The keys that are derived from a key, for tests against published vectors.
  package func derivedKeys(of key: TemporaryExposureKey) -> (identifier: [UInt8], metadata: [UInt8]) {
    func bytes(_ block: Int) -> [UInt8] {
      derive(from: key, block)
      return (0..<16).map { blocks.load(fromByteOffset: Block.digest + $0, as: UInt8.self) }
    }
    return (bytes(Block.identifierKey), bytes(Block.metadataKey))
  }

  /// Leaves the identifiers in ``output``. The caller has bounded `count`.
  func makeIdentifiers(of key: TemporaryExposureKey, start: UInt32, count: Int) {
    setKey(of: key, Block.identifierKey)
    if preparedStart != start {
      for index in 0..<Self.identifierLimit {
        input.storeBytes(
          of: (start &+ UInt32(truncatingIfNeeded: index)).littleEndian, toByteOffset: 16 * index + 12, as: UInt32.self)
      }
      preparedStart = start
    }
    encrypt(from: input, byteCount: 16 * count)
  }

  func identifier(at index: Int) -> ProximityIdentifier {
    ProximityIdentifier(
      high: UInt64(bigEndian: output.load(fromByteOffset: 16 * index, as: UInt64.self)),
      low: UInt64(bigEndian: output.load(fromByteOffset: 16 * index + 8, as: UInt64.self)))
  }

  private func setKey(of key: TemporaryExposureKey, _ block: Int) {
    derive(from: key, block)
    let isSet = EVP_EncryptInit_ex2(
      context, nil, (blocks + Block.digest).assumingMemoryBound(to: UInt8.self), nil, nil)
    precondition(isSet == 1, "libcrypto does not take a key of AES-128")
  }

  private func encrypt(from plain: UnsafeMutableRawPointer, byteCount: Int) {
    var written: Int32 = 0
    let isDone = EVP_EncryptUpdate(
      context, output.assumingMemoryBound(to: UInt8.self), &written, plain.assumingMemoryBound(to: UInt8.self),
      Int32(byteCount))
    precondition(isDone == 1 && Int(written) == byteCount, "libcrypto does not encrypt")
  }

  /// HKDF-SHA256 without salt, with the name in `block`; leaves the derived key at the front of the digest's block.
  private func derive(from key: TemporaryExposureKey, _ block: Int) {
    key.store(to: blocks + Block.key)
    compress(zeroInner, Block.key)
    storeDigest()
    compress(zeroOuter, Block.digest)
    // The pseudorandom key: as long as the digest, so the pads' second halves never change.
    withUnsafeBytes(of: hash.pointee.h) { words in
      for index in 0..<8 {
        let word = words.load(fromByteOffset: 4 * index, as: UInt32.self).bigEndian
        blocks.storeBytes(of: word ^ 0x3636_3636, toByteOffset: Block.inner + 4 * index, as: UInt32.self)
        blocks.storeBytes(of: word ^ 0x5c5c_5c5c, toByteOffset: Block.outer + 4 * index, as: UInt32.self)
      }
    }
    compress(initial, Block.outer)
    let outer = hash.pointee.h
    compress(initial, Block.inner)
    compress(hash.pointee.h, block)
    storeDigest()
    compress(outer, Block.digest)
    storeDigest()
  }

  @inline(__always)
  private func compress(_ state: State, _ block: Int) {
    hash.pointee.h = state
    keyferry_sha256_block(hash, (blocks + block).assumingMemoryBound(to: UInt8.self))
  }

  @inline(__always)
  private func storeDigest() {
    withUnsafeBytes(of: hash.pointee.h) { words in
      for index in 0..<8 {
        let word = words.load(fromByteOffset: 4 * index, as: UInt32.self).bigEndian
        blocks.storeBytes(of: word, toByteOffset: Block.digest + 4 * index, as: UInt32.self)
      }
    }
  }

  /// Writes what is the same for all keys: the padding behind each message, and its length with the pad's block before it.
  private static func prepare(_ blocks: UnsafeMutableRawPointer) {
    blocks.initializeMemory(as: UInt8.self, repeating: 0, count: Block.byteCount)
    func end(_ block: Int, after count: Int) {
      blocks.storeBytes(of: 0x80, toByteOffset: block + count, as: UInt8.self)
      blocks.storeBytes(of: UInt64(8 * (64 + count)).bigEndian, toByteOffset: block + 56, as: UInt64.self)
    }
    end(Block.key, after: TemporaryExposureKey.byteCount)
    end(Block.digest, after: 32)
    for (block, name) in [(Block.identifierKey, "EN-RPIK"), (Block.metadataKey, "EN-AEMK")] {
      for (index, byte) in name.utf8.enumerated() {
        blocks.storeBytes(of: byte, toByteOffset: block + index, as: UInt8.self)
      }
      blocks.storeBytes(of: 1, toByteOffset: block + 7, as: UInt8.self)
      end(block, after: 8)
    }
    for index in 32..<64 {
      blocks.storeBytes(of: 0x36, toByteOffset: Block.inner + index, as: UInt8.self)
      blocks.storeBytes(of: 0x5c, toByteOffset: Block.outer + index, as: UInt8.self)
    }
  }

  private static func prepare(input: UnsafeMutableRawPointer) {
    input.initializeMemory(as: UInt8.self, repeating: 0, count: 16 * identifierLimit)
    for index in 0..<identifierLimit {
      for (offset, byte) in "EN-RPI".utf8.enumerated() {
        input.storeBytes(of: byte, toByteOffset: 16 * index + offset, as: UInt8.self)
      }
    }
  }
}
