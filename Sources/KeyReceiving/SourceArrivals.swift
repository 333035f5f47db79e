internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyStorage

// What a source sends, as arrivals.

extension SourceSettings {
  /// A document of this source that lies in the spool.
  ///
  /// - Parameters:
  ///   - name: for messages.
  ///   - host: who has proved its name while the bytes came.
  /// - Throws: `FormatError`, ``FileFault``.
  func arrival(of name: String, at path: String, from host: ProvenHost?, at now: Instant) throws -> Arrival {
    let companion = SpoolFolder.signaturePath(of: path)
    let signatureFile =
      FileIdentity(path: companion) == nil
      ? nil : try FileSource.contents(of: companion, limit: ReadLimits().signatureBytes)
    // What an archive may hold, once it is inflated: keys shrink by less than half.
    let limit = documentByteLimit.multipliedReportingOverflow(by: 4)
    let document = SourceDocument(
      name: name, source: try FileSource(path: path), signatureFile: signatureFile,
      limits: ReadLimits(documentBytes: limit.overflow ? .max : limit.partialValue))
    return Arrival(document, from: sender, vouching: vouching(for: host, at: now), at: now)
  }

  /// A document of this source whose bytes the store has kept.
  ///
  /// - Parameters:
  ///   - time: when it came.
  ///   - isVerified: whether somebody has to stand behind it again; otherwise it is only looked at.
  func arrival(of name: String, kept bytes: [UInt8], at time: Instant, isVerified: Bool) -> Arrival {
    let limit = documentByteLimit.multipliedReportingOverflow(by: 4)
    let document = SourceDocument(
      name: name, source: MemorySource(bytes),
      limits: ReadLimits(documentBytes: limit.overflow ? .max : limit.partialValue))
    // The bytes were kept after their host had proved its name, and have been in the store since.
    let host = host.map(ProvenHost.init(provenByTLS:))
    return Arrival(
      document, from: sender, vouching: isVerified ? vouching(for: host, at: time) : .operator, at: time)
  }

  private func vouching(for host: ProvenHost?, at now: Instant) -> Vouching {
    switch trust {
    case .ring(let ring): .ring(ring, at: now)
    case .host: .host(host)
    case .origins: .origins
    case .operator: .operator
    }
  }

  /// The reading policy, held to the origins that the operator lets the source speak for, and the regions that it may name.
  func admissionPolicy(at now: Instant) -> ReadingPolicy {
    var policy = reading.at(now).reading
    if let speaksFor { policy.speaksFor = policy.speaksFor?.intersection(speaksFor) ?? speaksFor }
    if let regions { policy.regions = policy.regions?.intersection(regions) ?? regions }
    policy.declaredRegions.formUnion(declaredRegions)
    return policy
  }
}

extension DocumentFacts {
  /// What a document was that came over a peer's answer, and what became of its keys.
  init(_ summary: IntakeSummary, byteCount: Int, digest: String, head: ResponseHead?) {
    self.init(
      byteCount: byteCount, digest: digest, entityTag: head?["etag"], lastModified: head?["last-modified"],
      format: summary.format.rawValue, vouchedBy: summary.provenance.description, counts: summary.counts)
  }
}

extension DocumentFault {
  /// Why a document was refused; `nil` for what is not the document's fault.
  init?(refusing error: any Error) {
    switch error {
    case let error as FormatError: self.init(code: FaultCode(rawValue: error.code.rawValue), reason: "\(error)")
    case let error as DocumentRefusal:
      self.init(
        code: FaultCode(rawValue: error.code), reason: "\(error)".split(separator: "\n").joined(separator: "; "))
    case let error as KeyFault: self.init(code: FaultCode(rawValue: error.code.rawValue), reason: "\(error)")
    default: return nil
    }
  }
}
