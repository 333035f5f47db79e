public import BundleTrust
public import ExposureKeys
public import KeyFormats

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A key file in memory: a collection of its keys, in reading order.
///
/// The format is found out from the content. The bytes are kept, so that what is verified is what was read, whatever becomes of
/// the file meanwhile. A key takes 48 bytes; files that are larger than memory are for `KeyDocument`.
public struct KeyFile: Sendable {
  /// What is larger, as a file or inflated, is refused unless other limits are given.
  public static let usualLimit = 256 << 20

  /// What the file is called in messages.
  public let name: String
  public let format: KeyFormat
  /// Header, keys and tables; also what was rejected and what was read leniently.
  public let document: DecodedDocument

  private let bytes: [UInt8]
  private let signatureFile: [UInt8]?
  private let limits: ReadLimits

  /// Reads a file. Beside `name.bin` a `name.sig` is looked for, which has its signatures.
  ///
  /// - Parameters:
  ///   - url: of a regular file, which need not end in anything.
  ///   - format: forces a format instead of finding it out from the content.
  ///   - limits: what the file may make this program hold.
  /// - Throws: `FormatError`; its text names the file, the place, and what is allowed.
  public init(
    contentsOf url: URL, format: KeyFormat? = nil, limits: ReadLimits = ReadLimits(documentBytes: usualLimit)
  ) throws {
    let name = FileBytes.name(of: url)
    do {
      let bytes = try FileBytes.read(url, limit: limits.documentBytes)
      var signatureFile: [UInt8]?
      if url.pathExtension == "bin" {
        let companion = url.deletingPathExtension().appendingPathExtension("sig")
        signatureFile = try FileBytes.readIfThere(companion, limit: limits.signatureBytes)
      }
      try self.init(bytes, name: name, format: format, signatureFile: signatureFile, limits: limits)
    } catch let fault as FileBytes.Fault {
      throw FormatError(.cannotRead, place: fault.name, fault.words)
    }
  }

  /// Reads bytes: what a server has answered, or what lies in a folder or an archive of another kind.
  ///
  /// - Parameters:
  ///   - bytes: the whole file, an archive too.
  ///   - name: what messages call it.
  ///   - format: forces a format instead of finding it out from the content.
  ///   - signatureFile: the `.sig` that stands beside a bare `.bin`.
  ///   - limits: what the file may make this program hold.
  /// - Throws: `FormatError`.
  public init(
    _ bytes: [UInt8], name: String = "", format: KeyFormat? = nil, signatureFile: [UInt8]? = nil,
    limits: ReadLimits = ReadLimits(documentBytes: usualLimit)
  ) throws {
    self.name = name
    self.bytes = bytes
    self.signatureFile = signatureFile
    self.limits = limits
    do {
      let file = try KeyDocument(MemorySource(bytes), format: format, signatureFile: signatureFile, limits: limits)
      document = try DecodedDocument(decoding: file.decoder)
      // Which JSON it is shows only while it is decoded.
      self.format = file.format
    } catch let error as FormatError {
      throw error.named(name)
    }
  }

  public var header: ExportHeader { document.header }

  /// The keys that could not be taken in, each with its place and reason.
  public var rejections: [Rejection] { document.rejections }

  /// Origin and visited regions of a key of this file, as they were sent.
  public func regions(of key: ClaimedKey) -> RegionClaim { document.regions[key.regions] }

  /// Compares every signature with a ring. Until `isTrusted` of the report the keys are nobody's.
  ///
  /// - Parameters:
  ///   - ring: the public keys that are believed.
  ///   - time: the time at which they must be valid.
  /// - Throws: `FormatError` where the format carries no signature, or `export.sig` cannot be read.
  public func verify(against ring: TrustRing, at time: Date = Date()) throws -> SignatureReport {
    var digest = ExportDigest(includingBody: true)
    let found: ExportSurvey?
    do {
      let file = try KeyDocument(
        MemorySource(bytes), format: format, signatureFile: signatureFile, limits: limits
      ) { digest.update($0) }
      found = try file.survey()
    } catch let error as FormatError {
      throw error.named(name)
    }
    guard let found else {
      throw FormatError(.unsupported, place: name, "\(format) carries no signature that could be verified")
    }
    return BundleVerifier(trusting: ring).verify(
      digest.finalize(), infos: found.header.signatureInfos, signatures: found.signatures, at: Instant(time))
  }
}

extension FormatError {
  fileprivate func named(_ name: String) -> FormatError { name.isEmpty ? self : within(name) }
}

extension KeyFile: RandomAccessCollection {
  public var startIndex: Int { document.keys.startIndex }
  public var endIndex: Int { document.keys.endIndex }
  public subscript(position: Int) -> ClaimedKey { document.keys[position] }
}

extension DecodedDocument {
  /// Writes the document into a file, which appears whole or not at all, and takes the place of one that is there.
  ///
  /// `fit(to:defaults:)` it first where the format may not carry everything.
  ///
  /// - Throws: `FormatError`, and what the system says of the folder.
  public func write(to url: URL, as format: KeyFormat) throws {
    try Data(try bytes(as: format)).write(to: url, options: .atomic)
  }
}

extension Instant {
  /// The second in which a date lies; dates too far away for any calendar are the last that there is.
  public init(_ date: Date) {
    let seconds = date.timeIntervalSince1970.rounded(.down)
    self.init(secondsSince1970: Int64(exactly: seconds) ?? (seconds < 0 ? .min : .max))
  }
}

extension Date {
  public init(_ instant: Instant) { self.init(timeIntervalSince1970: Double(instant.secondsSince1970)) }
}
