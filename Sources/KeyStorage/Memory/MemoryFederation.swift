internal import ExposureKeys

/// What the store in memory holds of the federation gateway.
struct MemoryFederation: Sendable {
  struct Kept: Sendable {
    var upload: FederationUpload
    var keys: [UInt8]?
    var end: Instant
  }

  struct DayOfCountry: Hashable {
    var day: Day
    var country: String
  }

  /// In their order.
  var uploads: [Kept] = []
  var rows: [[UInt8]: FederationUploadID] = [:]
  var batches: [(batch: FederationBatch, end: Instant)] = []
  var days: [DayOfCountry: FederationDay] = [:]
  var lastUpload: Int64 = 0
  var lastBatch: Int64 = 0

  /// Days for which it is known how much came.
  static let rememberedDays: Int64 = 400

  /// The uploads in which the key data stands lose their keys.
  mutating func erase(_ key: TemporaryExposureKey) {
    let bytes = Array(key.bytes)
    var erased: Set<FederationUploadID> = []
    for index in uploads.indices where uploads[index].keys.map({ Self.holds($0, bytes) }) ?? false {
      uploads[index].keys = nil
      uploads[index].upload.withdrawal = .erased
      erased.insert(uploads[index].upload.id)
    }
    if !erased.isEmpty { rows = rows.filter { !erased.contains($0.value) } }
  }

  private static func holds(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    guard bytes.count >= part.count else { return false }
    return (0...bytes.count - part.count).contains { bytes[$0..<$0 + part.count].elementsEqual(part) }
  }

  mutating func expire(at now: Instant) {
    uploads.removeAll { $0.end <= now }
    let left = Set(uploads.map(\.upload.id))
    rows = rows.filter { left.contains($0.value) }
    batches.removeAll { $0.end <= now }
    days = days.filter { $0.key.day.daysSince1970 > now.day.daysSince1970 - Self.rememberedDays }
  }
}

extension MemoryTransaction {
  func federationUpload(tagged tag: String, of country: String?) -> FederationUpload? {
    state.federation.uploads.first { $0.upload.tag == tag && (country == nil || $0.upload.country == country) }?.upload
  }

  func knownFederationRows(_ rows: [[UInt8]]) -> Set<Int> {
    Set(rows.indices.filter { state.federation.rows[rows[$0]] != nil })
  }

  func waitingFederationUploads(limit: Int) -> [FederationUpload] {
    let uploads = state.federation.uploads.lazy.map(\.upload).filter { [self] upload in
      let document = document(upload.document)
      return upload.keyCount > 0 && upload.batch == nil && upload.withdrawal == nil
        && !FederationHolds.keepBack(holds(of: upload.document))
        && state.pauses[.origin(upload.country)] == nil && state.pauses[.source(document?.source ?? "")] == nil
    }
    return Array(uploads.prefix(max(0, limit)))
  }

  func federationUpload(of document: DocumentID) -> FederationUpload? {
    state.federation.uploads.first { $0.upload.document == document }?.upload
  }

  func unbatchedFederationUploads() -> (uploads: Int, keys: Int) {
    let unbatched = state.federation.uploads.lazy.map(\.upload).filter {
      $0.keyCount > 0 && $0.batch == nil && $0.withdrawal == nil
    }
    return unbatched.reduce((0, 0)) { ($0.0 + 1, $0.1 + $1.keyCount) }
  }

  func federationBatch(_ id: FederationBatchID) -> FederationBatch? {
    state.federation.batches.map(\.batch).first { $0.id == id }
  }

  func federationUploads(in batch: FederationBatchID) -> [FederationUpload] {
    state.federation.uploads.map(\.upload).filter { $0.batch == batch }
  }

  func federationKeys(of upload: FederationUploadID) -> [UInt8]? {
    state.federation.uploads.first { $0.upload.id == upload }?.keys
  }

  func federationBatch(of day: Day, number: Int) -> FederationBatch? {
    state.federation.batches.map(\.batch).first { $0.day == day && $0.number == number }
  }

  func firstFederationBatch(since day: Day) -> FederationBatch? {
    state.federation.batches.map(\.batch).first { $0.day >= day }
  }

  func federationBatch(behind batch: FederationBatchID) -> FederationBatch? {
    state.federation.batches.map(\.batch).first { $0.id > batch }
  }

  func lastFederationBatch() -> FederationBatch? { state.federation.batches.last?.batch }

  func federationDays(since day: Day) -> [FederationDay] {
    state.federation.days.values.filter { $0.day >= day }.sorted { ($0.day, $0.country) < ($1.day, $1.country) }
  }

  func add(_ upload: NewFederationUpload, as document: DocumentID, at now: Instant) throws -> FederationUpload {
    guard self.document(document) != nil else { throw StorageFault.noDocument(document) }
    guard federationUpload(tagged: upload.tag, of: upload.country) == nil, knownFederationRows(upload.rows).isEmpty,
      Set(upload.rows).count == upload.rows.count
    else { throw StorageFault(.conflict, "an upload with this tag or row is kept already") }
    state.federation.lastUpload += 1
    let kept = FederationUpload(
      id: FederationUploadID(rawValue: state.federation.lastUpload), document: document, country: upload.country,
      tag: upload.tag, signatureDigest: upload.signatureDigest, canonicalDigest: upload.canonicalDigest, time: now,
      keyCount: upload.rows.count, audit: upload.audit)
    state.federation.uploads.append(.init(upload: kept, keys: upload.keys, end: upload.until))
    for row in upload.rows { state.federation.rows[row] = kept.id }
    let place = MemoryFederation.DayOfCountry(day: now.day, country: upload.country)
    var day =
      state.federation.days[place]
      ?? FederationDay(day: now.day, country: upload.country, uploads: 0, keys: 0)
    day.uploads += 1
    day.keys += kept.keyCount
    state.federation.days[place] = day
    return kept
  }

  func addFederationBatch(
    of uploads: [FederationUploadID], on day: Day, until end: Instant, at now: Instant
  ) throws -> FederationBatch {
    let number = state.federation.batches.lazy.map(\.batch).filter { $0.day == day }.map(\.number).max() ?? 0
    state.federation.lastBatch += 1
    let batch = FederationBatch(
      id: FederationBatchID(rawValue: state.federation.lastBatch), day: day, number: number + 1, made: now)
    let members = Set(uploads)
    for index in state.federation.uploads.indices where members.contains(state.federation.uploads[index].upload.id) {
      guard state.federation.uploads[index].upload.batch == nil else {
        throw StorageFault(.conflict, "an upload is in a batch already")
      }
      state.federation.uploads[index].upload.batch = batch.id
      state.federation.uploads[index].end = end
    }
    state.federation.batches.append((batch, end))
    return batch
  }

  func withdrawFederationUploads(
    _ uploads: FederationSelection, because reason: FederationUpload.Withdrawal
  ) throws {
    for index in state.federation.uploads.indices {
      let upload = state.federation.uploads[index].upload
      guard upload.withdrawal == nil, isMeant(upload, by: uploads) else { continue }
      state.federation.uploads[index].upload.withdrawal = reason
    }
  }

  private func isMeant(_ upload: FederationUpload, by selection: FederationSelection) -> Bool {
    switch selection {
    case .document(let document): upload.document == document
    case .recalled(let request):
      request.origin.uppercased() == upload.country && request.since.map { upload.time >= $0 } ?? true
        && request.document.map { upload.document == $0 } ?? true
        && request.source.map { $0 == document(upload.document)?.source } ?? true
    }
  }
}
