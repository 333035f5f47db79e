package import BundleTrust
package import ExposureKeys
package import KeyFormats

/// A document that somebody handed to us: its bytes, and what they are called in messages.
package struct SourceDocument {
  package let name: String
  package let source: any SeekableSource
  /// The `.sig` that stands beside a bare `.bin`.
  package let signatureFile: [UInt8]?
  /// Forces a format instead of detecting it.
  package let format: KeyFormat?
  package let limits: ReadLimits

  package init(
    name: String, source: any SeekableSource, signatureFile: [UInt8]? = nil, format: KeyFormat? = nil,
    limits: ReadLimits = ReadLimits()
  ) {
    self.name = name
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

  /// Runs `body` and puts the document's name in front of what goes wrong.
  package func located<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as FormatError {
      throw error.within(name)
    }
  }

  /// Reads an export for its digest and its signature infos; nothing of it is admitted yet. Where a key of the ring made
  /// each signature that is all; otherwise the export is read once more for the digest of its body.
  ///
  /// - Returns: the report, or `nil` when the document is in a format that has no signatures.
  package func verify(trusting ring: TrustRing, at instant: Instant) throws -> SignatureReport? {
    let report = try verify(trusting: ring, at: instant, includingBody: false)
    guard report?.hasUnmatchedSignature == true else { return report }
    return try verify(trusting: ring, at: instant, includingBody: true)
  }

  private func verify(
    trusting ring: TrustRing, at instant: Instant, includingBody: Bool
  ) throws -> SignatureReport? {
    let digest = DigestCollector(includingBody: includingBody)
    let document = try open(observeExport: digest.update)
    guard document.container != nil else { return nil }
    return try located {
      var chunk = KeyChunk()
      while try document.decoder.decode(into: &chunk) { chunk.advance() }
      let signatures = try document.signatures()
      return BundleVerifier(trusting: ring).verify(
        digest.finish(), infos: document.decoder.header.signatureInfos, signatures: signatures, at: instant)
    }
  }

  /// Asks for a signature where there is a ring to judge it; otherwise the operator vouches for the document.
  ///
  /// - Throws: ``DocumentRefusal`` when the document has no signature that the ring trusts.
  package func verification(trusting trust: SignatureDemand?) throws -> VerifiedDocument {
    guard let trust else { return .assertedByOperator() }
    guard let report = try verify(trusting: trust.ring, at: trust.instant) else {
      throw DocumentRefusal.cannotBeSigned(name: name, format: try open().format)
    }
    guard let verified = report.verifiedDocument else {
      throw DocumentRefusal.untrusted(name: name, lines: report.lines)
    }
    return verified
  }
}

/// Collects a digest from a callback.
package final class DigestCollector {
  private var digest: ExportDigest

  package init(includingBody: Bool) { digest = ExportDigest(includingBody: includingBody) }

  package func update(_ bytes: UnsafeRawBufferPointer) { digest.update(bytes) }
  package func finish() -> ExportDigests { digest.finalize() }
}
