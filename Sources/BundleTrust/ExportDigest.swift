internal import Crypto
internal import ExposureKeys

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Hashes an `export.bin` as it passes by: what ``BundleVerifier`` compares signatures with, and what
/// ``sign(_:with:)`` signs.
///
/// Signatures cover the whole file, its 16-byte header included. Some servers have signed the protobuf body alone;
/// to recognise theirs, ask for the digest of the body too, which doubles the cost.
public struct ExportDigest: Sendable {
  /// The length of the text `EK Export v1` with its padding, which a faulty signature leaves out.
  public static let headerLength = 16

  private var file = SHA256()
  private var body: SHA256?
  private var byteCount = 0

  /// - Parameter includingBody: whether to hash the body by itself too; verifying wants it, signing does not.
  public init(includingBody: Bool = false) {
    body = includingBody ? SHA256() : nil
  }

  /// Takes the next bytes of the file, in pieces of any size.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    file.update(bufferPointer: bytes)
    let headerBytes = min(max(0, Self.headerLength - byteCount), bytes.count)
    body?.update(bufferPointer: UnsafeRawBufferPointer(rebasing: bytes[headerBytes...]))
    byteCount += bytes.count
  }

  /// The digests of all bytes taken so far.
  public consuming func finalize() -> ExportDigests {
    let body = byteCount >= Self.headerLength ? body?.finalize() : nil
    return ExportDigests(file: file.finalize(), body: body, byteCount: byteCount)
  }
}

/// The SHA-256 digests of one `export.bin`. Only hashing makes one, so it stands for bytes that were read.
public struct ExportDigests: Hashable, Sendable {
  let file: SHA256Digest
  let body: SHA256Digest?
  /// The length of the whole file, header included.
  public let byteCount: Int

  init(file: SHA256Digest, body: SHA256Digest?, byteCount: Int) {
    self.file = file
    self.body = body
    self.byteCount = byteCount
  }

  /// The digests of a file that is in memory as a whole.
  public init(of export: [UInt8], includingBody: Bool = true) {
    var digest = ExportDigest(includingBody: includingBody)
    export.withUnsafeBytes { digest.update($0) }
    self = digest.finalize()
  }

  /// The 32 bytes over the whole file.
  public var fileBytes: [UInt8] { Array(file) }

  /// The 32 bytes over the body without its header; `nil` when not asked for, or when the file is shorter than a
  /// header.
  public var bodyBytes: [UInt8]? { body.map(Array.init) }

  /// The file's digest in lower-case hexadecimal.
  public var hexadecimal: String { Hexadecimal.encode(file) }

  /// The file's digest as the exposure log of an iPhone shows it.
  public var uppercaseHexadecimal: String { hexadecimal.uppercased() }

  /// The file's digest as the exposure log of an Android phone shows it: standard base64, padded.
  public var base64: String { Base64.encode(Array(file)) }
}
