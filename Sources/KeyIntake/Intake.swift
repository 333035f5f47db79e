internal import ExposureKeys
package import KeyFormats
package import KeyNormalization

/// The one way in for claims: examine, verify, admit, record.
///
/// Peers, uploads and files go through ``accept(_:by:into:report:)`` alike; they differ in how they make their
/// ``Arrival``, and in where its claims are recorded.
package struct Intake: Sendable {
  private let ownOrigins: Set<String>
  private let usualVolumes: [String: Int]?

  /// - Parameters:
  ///   - ownOrigins: the gateway's own; their keys are recognised when a peer brings them back.
  ///   - usualVolumes: how many keys of each origin the source sends on a usual day before today, for the flood rule; `nil`
  ///     if that is not known, and then the rule is not asked.
  package init(ownOrigins: Set<String> = [], usualVolumes: [String: Int]? = nil) {
    self.ownOrigins = ownOrigins
    self.usualVolumes = usualVolumes
  }

  /// Takes in an arrival. A recorder that is a transaction makes it all or nothing; into memory, a part of it may have
  /// come when this throws.
  ///
  /// - Parameters:
  ///   - policy: reads it.
  ///   - report: is shown every key that is not admitted.
  /// - Throws: ``DocumentRefusal``, `FormatError`, ``FileFault``, or what the recorder or `report` throws.
  package func accept(
    _ arrival: Arrival, by policy: ReadingPolicy, into recorder: inout some ClaimRecorder,
    report: (RejectedKey) throws -> Void = { _ in }
  ) throws -> IntakeSummary {
    try accept(try arrival.examine().verify(), by: policy, into: &recorder, report: report)
  }

  /// Admits and records what somebody stands behind. It begins with the first byte, so it can be run again.
  ///
  /// - Parameter isRefused: whether the document is known to have a fault: what stands before it is recorded, and this throws.
  package func accept(
    _ verified: VerifiedArrival, by policy: ReadingPolicy, into recorder: inout some ClaimRecorder,
    isRefused: Bool = false, report: (RejectedKey) throws -> Void = { _ in }
  ) throws -> IntakeSummary {
    var summary = IntakeSummary(verified)
    let (day, source) = (verified.arrival.time.day, verified.arrival.sender.name)
    var admission = admission(
      of: verified, by: policy,
      today: try usualVolumes == nil ? VolumesToday() : recorder.volumes(on: day, of: source))
    let reading = try verified.decode(isRefused: isRefused) { chunk, context in
      let batch = admission.admit(chunk, regions: context.regions)
      try summary.reject(chunk.rejections, report)
      let receipt = try recorder.record(batch)
      if admission.countsVolumes, receipt.new < batch.claims.count {
        admission.correct(volumes: try recorder.volumes(on: day, of: source))
      }
      summary.add(receipt)
      for rejection in batch.rejected { try summary.show(RejectedKey(rejection, of: summary.name), report) }
    }
    summary.finish(reading)
    return summary
  }

  /// Admits what somebody stands behind, piece by piece, for who records each piece by itself.
  ///
  /// - Parameters:
  ///   - size: keys of a piece.
  /// - Returns: `nil` where its door has decoded the keys already.
  /// - Throws: `FormatError`, ``FileFault``.
  package func pieces(
    of verified: VerifiedArrival, by policy: ReadingPolicy, size: Int
  ) throws -> IntakePieces? {
    guard let reader = try verified.reader(chunkSize: size) else { return nil }
    return IntakePieces(reader, admission(of: verified, by: policy), IntakeSummary(verified))
  }

  /// How the keys of an arrival are judged.
  ///
  /// - Parameter today: what the source has sent today.
  package func admission(
    of verified: VerifiedArrival, by policy: ReadingPolicy, today: VolumesToday = VolumesToday()
  ) -> Admission {
    let sender = verified.arrival.sender
    return Admission(
      of: verified.document, from: sender, policy: policy,
      // The server of an own origin may say what that origin says.
      own: ownOrigins.filter { $0.uppercased() != sender.origin?.uppercased() },
      volumes: usualVolumes.map { OriginVolumes(usual: $0, today: today) }, now: verified.arrival.time)
  }
}

/// What one arrival was, and what became of its keys.
package struct IntakeSummary: Sendable {
  package let name: String
  package let sender: Sender
  package let provenance: Provenance
  /// Who stands behind it, for people; of origins' signatures, which certificates.
  package let voucher: String
  package private(set) var format = KeyFormat.gaenExport
  package private(set) var headers = HeaderMerge()
  package private(set) var notes = ReadingNotes()
  package private(set) var counts = KeyCounts()
  /// The first rejected keys, for showing.
  package private(set) var shownRejections: [RejectedKey] = []

  init(_ verified: VerifiedArrival) {
    name = verified.arrival.name
    sender = verified.arrival.sender
    provenance = Provenance(verified.document)
    voucher = verified.voucher
  }

  /// Whether its keys that name no origin have it as their origin.
  package var isOriginOfItsOwn: Bool { sender.origin.map(RegionName.isFile) ?? false }

  mutating func add(_ receipt: ImportReceipt) { counts.add(receipt) }

  /// Keys that could not be decoded.
  mutating func reject(_ rejections: [Rejection], _ report: (RejectedKey) throws -> Void) rethrows {
    for rejection in rejections {
      let key = RejectedKey(rejection, of: name, at: .decode)
      counts.reject(key.reason)
      try show(key, report)
    }
  }

  mutating func show(_ key: RejectedKey, _ report: (RejectedKey) throws -> Void) rethrows {
    if shownRejections.count < RejectedKey.shownCount { shownRejections.append(key) }
    try report(key)
  }

  mutating func finish(_ reading: VerifiedArrival.Reading) {
    format = reading.format
    headers = reading.headers
    notes = reading.notes
  }
}

/// An arrival on its way in, piece by piece. One task at a time uses it.
package final class IntakePieces {
  private let reader: ArrivalReader
  private var admission: Admission
  /// With the piece that was admitted last, which may have to be admitted once more.
  private var next: Admission
  private var summary: IntakeSummary

  fileprivate init(_ reader: ArrivalReader, _ admission: Admission, _ summary: IntakeSummary) {
    self.reader = reader
    self.admission = admission
    next = admission
    self.summary = summary
  }

  /// Decodes the next piece, which is to be recorded before the one after it is asked for.
  ///
  /// - Returns: whether there was one.
  package func advance() throws -> Bool {
    try reader.next { chunk, _ in summary.reject(chunk.rejections) { _ in } }
  }

  /// Admits the piece. It may be asked again, with other volumes: what counts is what was recorded.
  ///
  /// - Parameter today: what the source has sent today.
  package func admit(volumes today: VolumesToday) throws -> AdmittedBatch {
    next = admission
    if next.countsVolumes { next.correct(volumes: today) }
    return reader.last { next.admit($0, regions: $1.regions) }
  }

  /// Hears what became of a piece.
  package func took(_ batch: AdmittedBatch, _ receipt: ImportReceipt) {
    admission = next
    summary.add(receipt)
    for rejection in batch.rejected { summary.show(RejectedKey(rejection, of: summary.name)) { _ in } }
  }

  /// What the whole was, once there are no more pieces.
  package func finish() -> IntakeSummary {
    summary.finish(reader.reading)
    return summary
  }
}

/// Records nothing: for who wants to know what would become of an arrival.
package struct ClaimCounter: ClaimRecorder {
  package init() {}

  package func record(_ batch: AdmittedBatch) -> ImportReceipt {
    var receipt = ImportReceipt(beforeRecording: batch)
    receipt.new = batch.claims.count
    return receipt
  }
}
