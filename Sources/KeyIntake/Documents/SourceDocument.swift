package import BundleTrust
package import ExposureKeys
package import KeyFormats

/// A document that somebody handed to us: its bytes, and what they are called in messages, where no name has a line feed.
package struct SourceDocument {
  package let name: String
  /// The file that it lies in, and its entry where that holds several: together they are the name.
  package let file: String
  package let entry: String?
  package let source: any SeekableSource
  /// The `.sig` that stands beside a bare `.bin`.
  package let signatureFile: [UInt8]?
  /// Forces a format instead of detecting it.
  package let format: KeyFormat?
  package let limits: ReadLimits

  package init(
    name: String, file: String? = nil, entry: String? = nil, source: any SeekableSource,
    signatureFile: [UInt8]? = nil, format: KeyFormat? = nil, limits: ReadLimits = ReadLimits()
  ) {
    self.name = PathText.onOneLine(name)
    self.file = PathText.onOneLine(file ?? name)
    self.entry = entry.map(PathText.onOneLine)
    self.source = source
    self.signatureFile = signatureFile
    self.format = format
    self.limits = limits
  }

  /// Opens a file; beside `name.bin` a `name.sig` is looked for.
  package init(path: String, format: KeyFormat? = nil, limits: ReadLimits = ReadLimits()) throws {
    var signatureFile: [UInt8]?
    if path.hasSuffix(".bin") {
      let companion = path.dropLast(3) + "sig"
      if FileIdentity(path: String(companion)) != nil {
        signatureFile = try FileSource.contents(of: String(companion), limit: limits.signatureBytes)
      }
    }
    self.init(
      name: path, source: try FileSource(path: path), signatureFile: signatureFile, format: format, limits: limits)
  }

  /// Finds out what the document is, and prepares to decode it.
  package func open(observeExport: ((UnsafeRawBufferPointer) -> Void)? = nil) throws -> KeyDocument {
    try located {
      try KeyDocument(
        source, format: format, signatureFile: signatureFile, limits: limits, observeExport: observeExport)
    }
  }

  /// Of which format the document is. Which JSON it is shows only in its keys, so JSON is read for them.
  package func findFormat() throws -> KeyFormat {
    let document = try open()
    guard document.format == .codableJSON, format == nil else { return document.format }
    var chunk = KeyChunk()
    // What is not sound to its end is what it looked like until there.
    while (try? document.decoder.decode(into: &chunk)) == true { chunk.advance() }
    return document.format
  }

  /// Runs `body` and puts the document's name in front of what goes wrong.
  package func located<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as FormatError {
      throw error.within(name)
    }
  }

  /// Reads an export for its digest and its signatures; no key is decoded.
  ///
  /// - Returns: `nil` when the document is in a format that has no signatures.
  package func survey(includingBody: Bool = false) throws -> SurveyedExport? {
    let digest = DigestCollector(includingBody: includingBody)
    let document = try open(observeExport: digest.update)
    guard let survey = try located({ try document.survey() }) else { return nil }
    return SurveyedExport(survey: survey, digests: digest.finish())
  }

  /// Compares the signatures of an export with a ring. Where a key of the ring made each of them that is all; otherwise
  /// the export is read once more for the digest of its body.
  package func judge(
    _ export: SurveyedExport, trusting ring: TrustRing, at instant: Instant
  ) throws -> SignatureReport {
    let report = export.report(trusting: ring, at: instant)
    guard report.hasUnmatchedSignature, let thorough = try survey(includingBody: true) else { return report }
    return thorough.report(trusting: ring, at: instant)
  }

  /// Reads an export for its signatures, and compares them with a ring.
  ///
  /// - Returns: the report, or `nil` when the document is in a format that has no signatures.
  package func verify(trusting ring: TrustRing, at instant: Instant) throws -> SignatureReport? {
    try survey().map { try judge($0, trusting: ring, at: instant) }
  }

  /// SHA-256 of the whole file.
  package func digest() throws -> ExportDigests { try Self.digest(of: source) }

  /// SHA-256 of all bytes, behind others.
  package static func digest(of source: any SeekableSource, behind prefix: [UInt8] = []) throws -> ExportDigests {
    var digest = ExportDigest()
    prefix.withUnsafeBytes { digest.update($0) }
    let bytes = SequentialSource(source)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    while case let count = try bytes.read(into: buffer), count > 0 {
      digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    return digest.finalize()
  }
}

/// What an export says about itself, and its digest.
package struct SurveyedExport: Sendable {
  package let survey: ExportSurvey
  package let digests: ExportDigests

  fileprivate func report(trusting ring: TrustRing, at instant: Instant) -> SignatureReport {
    BundleVerifier(trusting: ring).verify(
      digests, infos: survey.header.signatureInfos, signatures: survey.signatures, at: instant)
  }
}

/// Collects a digest from a callback.
package final class DigestCollector {
  private var digest: ExportDigest

  package init(includingBody: Bool) { digest = ExportDigest(includingBody: includingBody) }

  package func update(_ bytes: UnsafeRawBufferPointer) { digest.update(bytes) }
  package func finish() -> ExportDigests { digest.finalize() }
}
