internal import BundleTrust
package import ExposureKeys
internal import KeyFormats
internal import KeyIntake
package import KeyNormalization
package import KeyPeers
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
    let limits = ReadLimits(documentBytes: limit.overflow ? .max : limit.partialValue)
    let file = try FileSource(path: path)
    if let audited = try audited(file, limits) {
      let document = SourceDocument(
        name: name, source: MemorySource(audited.keys), format: .efgsProtobuf, limits: limits)
      return Arrival(document, from: sender, vouching: vouching(for: host, audit: audited.audit, at: now), at: now)
    }
    let document = SourceDocument(name: name, source: file, signatureFile: signatureFile, limits: limits)
    return Arrival(document, from: sender, vouching: vouching(for: host, audit: nil, at: now), at: now)
  }

  /// A document of this source whose bytes the store has kept.
  ///
  /// - Parameters:
  ///   - time: when it came.
  ///   - isVerified: whether somebody has to stand behind it again; otherwise it is only looked at.
  func arrival(of name: String, kept bytes: [UInt8], at time: Instant, isVerified: Bool) -> Arrival {
    let limit = documentByteLimit.multipliedReportingOverflow(by: 4)
    let limits = ReadLimits(documentBytes: limit.overflow ? .max : limit.partialValue)
    let audited = try? audited(MemorySource(bytes), limits)
    let document = SourceDocument(
      name: name, source: MemorySource(audited?.keys ?? bytes), format: audited == nil ? nil : .efgsProtobuf,
      limits: limits)
    // The bytes were kept after their host had proved its name, and have been in the store since.
    let host = host.map(ProvenHost.init(provenByTLS:))
    return Arrival(
      document, from: sender,
      vouching: isVerified ? vouching(for: host, audit: audited?.audit, at: time) : .operator, at: time)
  }

  /// What a federation's peer makes of a batch whose origins are verified. It is kept so, and told from a batch whatever
  /// `trust` says by now.
  private func audited(_ source: any SeekableSource, _ limits: ReadLimits) throws -> AuditedBatch? {
    guard peer.description.isGateway, source.byteCount <= limits.documentBytes else { return nil }
    guard ZipArchive.begins(try source.bytes(at: 0, count: min(4, source.byteCount), what: "the batch")) else {
      return nil
    }
    return try AuditedBatch(try source.bytes(at: 0, count: source.byteCount, what: "the batch"), limits: limits)
  }

  private func vouching(for host: ProvenHost?, audit: [UInt8]?, at now: Instant) -> Vouching {
    switch trust {
    case .ring(let ring): .ring(ring, at: now)
    case .host: .host(host)
    case .origins(let trust, let allowed):
      .origins(OriginsVerification(trust: trust, allowing: allowed), audit: audit)
    case .operator: .operator
    }
  }

  /// The reading policy, held to the origins that the operator lets the source speak for, and the regions that it may name.
  package func admissionPolicy(at now: Instant) -> ReadingPolicy {
    var policy = reading.at(now).reading
    if let speaksFor { policy.speaksFor = policy.speaksFor?.intersection(speaksFor) ?? speaksFor }
    if let regions { policy.regions = policy.regions?.intersection(regions) ?? regions }
    policy.declaredRegions.formUnion(declaredRegions)
    if let population, policy.floodFloor == nil { policy.floodFloor = BusyDay.keys(of: population) }
    return policy
  }
}

extension DocumentFacts {
  /// What a document was that came over a peer's answer, and what became of its keys.
  init(_ summary: IntakeSummary, byteCount: Int, digest: String, head: ResponseHead?) {
    self.init(
      byteCount: byteCount, digest: digest, entityTag: head?["etag"], lastModified: head?["last-modified"],
      format: summary.format.rawValue, vouchedBy: summary.voucher, counts: summary.counts)
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
