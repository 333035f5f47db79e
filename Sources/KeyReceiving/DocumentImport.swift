internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyStorage

/// A document that lies in the spool: decode, verify, admit, record.
///
/// It is read twice. The first time nothing is admitted: the reading finds out what the document is, that it is whole,
/// and who stands behind it. The second time its claims are recorded, chunk by chunk, in one transaction.
struct DocumentImport: Sendable {
  let source: SourceSettings
  /// The document's name, for messages.
  let name: String
  /// Where its bytes are.
  let path: String
  let now: Instant
  let ownOrigins: Set<String>
  let usualVolumes: [String: Int]

  /// What the first reading found.
  struct Examination: Sendable {
    let byteCount: Int
    let keyCount: Int
    /// Lower-case hexadecimal SHA-256 of `export.bin`, or of the whole body where there is none: signatures are
    /// randomised, and archives carry the time, so the same keys come in ever other archives.
    let digest: String
    let verified: VerifiedDocument
  }

  /// Decode and verify.
  ///
  /// - Throws: `FormatError`, ``DocumentRefusal``, ``FileFault``.
  func examine() throws -> Examination {
    let document = try document()
    let digest = DigestCollector(includingBody: false)
    let reader = try document.open(observeExport: digest.update)
    var chunk = KeyChunk()
    var keyCount = 0
    while try document.located({ try reader.decoder.decode(into: &chunk) }) {
      keyCount += chunk.keys.count + chunk.rejections.count
      chunk.advance()
    }

    guard reader.container != nil else {
      guard source.trust.ring == nil else { throw DocumentRefusal.cannotBeSigned(name: name, format: reader.format) }
      return Examination(
        byteCount: document.source.byteCount, keyCount: keyCount,
        digest: try Self.digest(of: document.source).hexadecimal, verified: try unsigned())
    }
    let digests = digest.finish()
    return Examination(
      byteCount: document.source.byteCount, keyCount: keyCount, digest: digests.hexadecimal,
      verified: try verify(reader, digests, in: document))
  }

  private func verify(
    _ reader: KeyDocument, _ digests: ExportDigests, in document: SourceDocument
  ) throws -> VerifiedDocument {
    guard let ring = source.trust.ring else { return try unsigned() }
    let signatures = try document.located { try reader.signatures() }
    var report = BundleVerifier(trusting: ring).verify(
      digests, infos: reader.decoder.header.signatureInfos, signatures: signatures, at: now)
    if report.hasUnmatchedSignature, let thorough = try document.verify(trusting: ring, at: now) { report = thorough }
    guard let verified = report.verifiedDocument else {
      throw DocumentRefusal.untrusted(name: name, lines: report.lines)
    }
    return verified
  }

  /// Who stands behind a document of which no key of a ring has to have signed.
  private func unsigned() throws -> VerifiedDocument {
    switch source.trust {
    case .ring(_): throw DocumentRefusal.untrusted(name: name, lines: [])
    case .host:
      guard let host = source.host else { throw DocumentRefusal.hostNotProven(name: name) }
      return .host(ProvenHost(provenByTLS: host))
    case .origins: throw DocumentRefusal.originsNotProven(name: name)
    case .operator: return .assertedByOperator()
    }
  }

  /// Admit and record, in the transaction of the caller. It begins with the first byte, so it can be run again.
  ///
  /// - Returns: what the document was, and what became of its keys.
  func record(_ examination: Examination, head: ResponseHead?, by recorder: DocumentRecorder) throws -> DocumentFacts {
    let bytes = try self.document()
    var admission = Admission(
      of: examination.verified, from: source.sender,
      policy: source.admissionPolicy, own: returningOrigins, usualVolumes: usualVolumes, now: now)
    let reader = try bytes.open()
    var receipt = ImportReceipt()
    var rejections: [String: Int] = [:]
    var chunk = KeyChunk()
    while try bytes.located({ try reader.decoder.decode(into: &chunk) }) {
      for rejection in chunk.rejections { rejections[rejection.reason.rawValue, default: 0] += 1 }
      let batch = admission.admit(chunk, regions: reader.decoder.regions)
      receipt += try recorder.record(batch)
      chunk.advance()
    }
    let undecoded = rejections.values.reduce(0, +)
    for (reason, count) in receipt.rejections { rejections[reason.rawValue, default: 0] += count }
    return DocumentFacts(
      byteCount: examination.byteCount, digest: examination.digest, entityTag: head?["etag"],
      lastModified: head?["last-modified"], format: reader.format.rawValue,
      vouchedBy: voucher(examination), received: receipt.received + undecoded, new: receipt.new,
      known: receipt.known, held: receipt.heldForOperator, rejections: rejections,
      allowances: Dictionary(uniqueKeysWithValues: receipt.allowances.map { ($0.key.code, $0.value) }))
  }

  /// Whose keys would only be coming back: the gateway's own origins, but for the one whose server this is.
  private var returningOrigins: Set<String> {
    ownOrigins.filter { $0.uppercased() != source.origin?.uppercased() }
  }

  /// Who stands behind it, for people.
  func voucher(_ examination: Examination) -> String { Provenance(examination.verified).description }

  private func document() throws -> SourceDocument {
    let companion = SpoolFolder.signaturePath(of: path)
    let signatureFile =
      FileIdentity(path: companion) == nil
      ? nil : try FileSource.contents(of: companion, limit: ReadLimits().signatureBytes)
    return SourceDocument(
      name: name, source: try FileSource(path: path), signatureFile: signatureFile,
      limits: ReadLimits(documentBytes: limit))
  }

  /// What an archive may hold, once it is inflated: keys shrink by less than half.
  private var limit: Int { source.documentByteLimit.multipliedReportingOverflow(by: 4).partialValue }

  /// SHA-256 of a whole file.
  static func digest(of source: any SeekableSource) throws -> ExportDigests {
    var digest = ExportDigest()
    let bytes = SequentialSource(source)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    while case let count = try bytes.read(into: buffer), count > 0 {
      digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    return digest.finalize()
  }
}

extension SourceSettings {
  /// The reading policy, held to the origins that the operator lets the source speak for.
  fileprivate var admissionPolicy: ReadingPolicy {
    var policy = reading.reading
    if let speaksFor {
      let allowed = Set(speaksFor.map { $0.uppercased() })
      policy.speaksFor = policy.speaksFor.map { $0.intersection(allowed) } ?? allowed
    }
    return policy
  }
}

extension DocumentFault {
  /// Why a document was refused; `nil` for what is not the document's fault.
  init?(refusing error: any Error) {
    switch error {
    case let error as FormatError: self.init(code: error.code.rawValue, reason: "\(error)")
    case let error as DocumentRefusal:
      self.init(code: error.code, reason: "\(error)".split(separator: "\n").joined(separator: "; "))
    case let error as KeyFault: self.init(code: error.code.rawValue, reason: "\(error)")
    default: return nil
    }
  }
}
