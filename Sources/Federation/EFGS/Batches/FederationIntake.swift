internal import BundleTrust
package import ExposureKeys
internal import FoundationEssentials
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyReceiving
package import KeyStorage
internal import Synchronization

/// The one way in, for what national back ends upload: it is verified, admitted, and durable before it is answered.
///
/// What comes in is a document of a source of its own, `federation/DE`, so that it is reconciled, published to apps, held,
/// paused, recalled and explained like any other, and it stands beside its audit entry for those who download it.
package struct FederationIntake: Sendable {
  private let settings: FederationGatewaySettings
  private let trust: HeldFederationTrust
  private let ledger: Ledger
  private let ownOrigins: Set<String>
  private let evidenceDays: Int64
  private let clock: @Sendable () -> Instant
  private let usual = UsualVolumes()

  /// - Parameters:
  ///   - ledger: of the gateway's own store, or of one that is opened beside it as an operator.
  ///   - evidenceDays: for which the bytes are kept as they came.
  package init(
    _ settings: FederationGatewaySettings, trust: HeldFederationTrust, ledger: Ledger, ownOrigins: Set<String> = [],
    evidenceDays: Int64 = Retention().evidenceDays, clock: @escaping @Sendable () -> Instant
  ) {
    self.settings = settings
    self.trust = trust
    self.ledger = ledger
    self.ownOrigins = ownOrigins
    self.evidenceDays = evidenceDays
    self.clock = clock
  }

  /// Days for which an upload waits for a batch at most, while its country is paused or it is held.
  static let waitingDays: Int64 = 14

  /// Verifies, admits and records an upload; see ``FederationKeyRules`` for what is asked of each key.
  ///
  /// - Throws: ``FederationRefusal``, and what the store throws.
  package func accept(_ delivery: FederationDelivery) async throws -> FederationOutcome {
    let now = clock()
    let country = delivery.client.country
    let keys = try Self.keys(of: delivery, limit: settings.uploadBytes)
    try FederationKeyRules.check(keys, at: now)
    guard keys.keys.count <= settings.uploadKeys else {
      throw FederationRefusal(
        .tooLarge, "too-many-keys", "\(keys.keys.count) keys, allowed are at most \(settings.uploadKeys)")
    }
    let rows = keys.keys.withUnsafeBufferPointer { CanonicalBatch.readRows(of: $0, regions: keys.regions) }
    try FederationKeyRules.check(rows)
    let batch = SignedBatch(rows, keys: keys.keys, regions: keys.regions)
    if let outcome = try await known(delivery, batch) { return outcome }
    let signer = try signer(of: delivery, batch, at: now)
    let upload = NewFederationUpload(
      country: country, tag: delivery.tag, signatureDigest: delivery.signatureDigest, canonicalDigest: batch.digest,
      audit: try Self.auditEntry(of: delivery, signer: signer, amount: keys.keys.count, at: now),
      keys: try Self.passedOn(keys), rows: Self.digests(of: rows),
      until: now.adding(seconds: Self.waitingDays * 86_400))
    let receipt = try await record(upload, delivery, keys, signer.proof, at: now)
    switch receipt {
    case .recorded(_, let facts): return .recorded(keys: keys.keys.count, held: facts.held)
    case .repeated: return .repeated
    case .tagTaken(let owner): throw taken(delivery.tag, by: owner)
    case .duplicates(let places): return .duplicates(places, of: keys.keys.count)
    }
  }

  // MARK: Steps

  private static func keys(of delivery: FederationDelivery, limit: Int) throws(FederationRefusal) -> DecodedDocument {
    if delivery.body.isEmpty, delivery.format == .efgsProtobuf { return DecodedDocument() }
    let limits = ReadLimits(documentBytes: limit, recordBytes: 64 << 10, nesting: 16)
    let window = InputWindow(MemorySource(delivery.body), limits: limits)
    let decoder: any KeyDecoder =
      delivery.format == .efgsJSON
      ? JSONKeyDecoder(window, limits: limits, dialect: .efgs) : BatchDecoder(window, limits: limits)
    do {
      var keys = try DecodedDocument(decoding: decoder)
      // The signature does not cover what this version does not know, so nobody gets it.
      for index in keys.keys.indices { keys.keys[index].unknownFields = 0 }
      keys.unknownFields = UnknownFieldTable()
      return keys
    } catch let fault as FormatError {
      throw FederationRefusal(.malformed, fault.code.rawValue, "the body is no DiagnosisKeyBatch: \(fault)")
    } catch {
      throw FederationRefusal(.malformed, "unreadable-body", "the body is no DiagnosisKeyBatch: \(error)")
    }
  }

  /// The same upload again is told so, whatever its first answer's client heard; another one of its tag is refused.
  private func known(_ delivery: FederationDelivery, _ batch: SignedBatch) async throws -> FederationOutcome? {
    let country = settings.sharesTags ? nil : delivery.client.country
    let known = try await ledger.read { try $0.federationUpload(tagged: delivery.tag, of: country) }
    guard let known else { return nil }
    guard known.country == delivery.client.country, known.canonicalDigest == batch.digest else {
      throw taken(delivery.tag, by: known.country)
    }
    // Many sign anew for each attempt: such a signature has to verify as any other.
    return known.signatureDigest == delivery.signatureDigest ? .repeated : nil
  }

  private func signer(
    of delivery: FederationDelivery, _ batch: SignedBatch, at now: Instant
  ) throws(FederationRefusal) -> BatchSigner {
    let signer: BatchSigner
    do throws(BatchRefusal) {
      signer = try trust.value.verify(delivery.signature, over: batch, allowing: settings.allowances, at: now)
    } catch {
      throw FederationRefusal(
        .malformed, "invalid-signature", "Invalid signature: \(error)", key: error.key, signature: error)
    }
    let country = delivery.client.country
    guard signer.country == country, let stranger = batch.origins.firstIndex(where: { $0 != country }) else {
      guard signer.country == country else {
        throw FederationRefusal(
          .malformed, "signed-by-another-country",
          "Invalid signature: it is \(signer.country)'s, and the upload comes from \(country)")
      }
      return signer
    }
    throw FederationRefusal(
      .malformed, "origin-of-another-country",
      "One or more keys are not originated from uploader country: key \(stranger) is from "
        + "\"\(printableText(batch.origins[stranger], limit: 16))\", allowed \(country)", key: stranger)
  }

  private func taken(_ tag: String, by owner: String) -> FederationRefusal {
    FederationRefusal(
      .tagTaken, "tag-taken",
      "BatchTag already exists: \(owner) has uploaded other keys as \"\(printableText(tag, limit: 64))\"")
  }

  private func record(
    _ upload: NewFederationUpload, _ delivery: FederationDelivery, _ keys: DecodedDocument, _ proof: OriginsProof,
    at now: Instant
  ) async throws -> FederationReceipt {
    // A country speaks for itself alone.
    let source = settings.readingSource(of: upload.country)
    let (policy, mark) = (source.admissionPolicy(at: now), source.readingMark(ownOrigins: ownOrigins, at: now))
    let intake = Intake(
      ownOrigins: ownOrigins, usualVolumes: try await usual.volumes(before: now.day, of: source.name, in: ledger))
    let evidence =
      evidenceDays > 0
      ? KeptBytes(delivery.body, until: now.adding(seconds: evidenceDays * 86_400)) : nil
    let scope: FederationTagScope = settings.sharesTags ? .gateway : .country
    return try await ledger.federated(upload, by: source.name, tagsOf: scope, evidence: evidence, at: now) { recorder in
      let arrival = Arrival(
        keys, named: delivery.tag, from: source.sender, vouching: .proven(proof),
        at: now)
      var recorder = recorder
      let summary = try intake.accept(arrival, by: policy, into: &recorder) { rejected in
        throw FederationKeyRules.broken(rejected.position, rejected.reason, rejected.detail)
      }
      return DocumentFacts(
        byteCount: delivery.body.count, digest: FederationDigest.hexadecimal(delivery.body),
        format: delivery.format.rawValue, vouchedBy: summary.provenance.description, reading: mark,
        counts: summary.counts)
    }
  }

  private static func auditEntry(
    of delivery: FederationDelivery, signer: BatchSigner, amount: Int, at now: Instant
  ) throws -> [UInt8] {
    let uploader = delivery.client.row
    let entry = AuditEntry(
      country: uploader.country, uploadedTime: "\(now)", uploaderCertificate: uploader.certificate.pem,
      uploaderThumbprint: uploader.certificate.thumbprint,
      uploaderOperatorSignature: Base64.encode(uploader.operatorSignature),
      signingCertificate: signer.row.certificate.pem, uploaderSigningThumbprint: signer.row.certificate.thumbprint,
      signingCertificateOperatorSignature: Base64.encode(signer.row.operatorSignature), amount: amount,
      batchSignature: delivery.signature)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(entry))
  }

  /// As others get them: protobuf, zeros left out, nothing that this version does not know.
  private static func passedOn(_ keys: DecodedDocument) throws -> [UInt8] {
    let sink = MemorySink()
    let encoder = BatchEncoder(OutputBuffer(sink))
    try encoder.begin(ExportHeader())
    try keys.keys.withUnsafeBufferPointer {
      try encoder.encode($0, regions: keys.regions, unknownFields: UnknownFieldTable())
    }
    try encoder.finish(ExportHeader())
    return sink.bytes
  }

  /// Of the keys' rows, in the order of the keys.
  private static func digests(of rows: SignedRows) -> [[UInt8]] {
    var digests = [[UInt8]](repeating: [], count: rows.count)
    for position in 0..<rows.count { digests[rows.order[position]] = FederationDigest.sha256(rows[position]) }
    return digests
  }
}

extension FederationDelivery {
  fileprivate var signatureDigest: String { FederationDigest.hexadecimal(signature.utf8) }
}

/// How many keys each country sends on a usual day, by its source, as it was known on this one. The lock owns it.
private final class UsualVolumes: Sendable {
  private let known = Mutex<(day: Day, volumes: [String: [String: Int]])?>(nil)

  func volumes(before day: Day, of source: String, in ledger: Ledger) async throws -> [String: Int] {
    let known = self.known.withLock { $0?.day == day ? $0?.volumes[source] : nil }
    if let known { return known }
    let volumes = try await ledger.read { try $0.usualVolumes(before: day, of: source) }
    self.known.withLock { known in
      if known?.day != day { known = (day, [:]) }
      known?.volumes[source] = volumes
    }
    return volumes
  }
}
