package import ExposureKeys
package import KeyNormalization

/// Bytes that are kept beside a document until an instant.
package struct KeptBytes: Sendable {
  package var bytes: StoredBytes
  package var end: Instant

  package init(_ bytes: StoredBytes, until end: Instant) {
    self.bytes = bytes
    self.end = end
  }

  package init(_ bytes: [UInt8], until end: Instant) { self.init(StoredBytes(bytes), until: end) }
}

/// A document that was refused.
package struct RefusedDocument: Sendable {
  package var fault: DocumentFault
  /// When it is tried again.
  package var nextAttempt: Instant?
  /// What was refused.
  package var content: KeptBytes?

  package init(_ fault: DocumentFault, nextAttempt: Instant?, content: KeptBytes?) {
    self.fault = fault
    self.nextAttempt = nextAttempt
    self.content = content
  }
}

/// What was read of a document before its fault, where somebody stands behind it.
package struct RefusedRecorder: ClaimRecorder {
  private let recorder: DocumentRecorder
  private let now: Instant

  fileprivate init(_ recorder: DocumentRecorder, at now: Instant) {
    self.recorder = recorder
    self.now = now
  }

  /// Nothing is admitted: claims count for the embargo of their keys alone.
  package func record(_ batch: AdmittedBatch) throws -> ImportReceipt {
    try recorder.record(batch.ofRefusedDocument(at: now))
  }
}

/// Reads a refused document as far as it can be read. It may be run again from the start.
package typealias RefusedReading = @Sendable (RefusedRecorder) throws -> Void

/// What a body records of one document, batch by batch.
package struct DocumentRecorder: ClaimRecorder {
  private let transaction: any StoreTransaction
  private let document: DocumentID
  private let stamp: EventStamp

  init(_ transaction: any StoreTransaction, _ document: DocumentID, _ stamp: EventStamp) {
    self.transaction = transaction
    self.document = document
    self.stamp = stamp
  }

  package func volumes(on day: Day, of source: String) throws -> VolumesToday {
    try transaction.volumesToday(on: day, of: source)
  }

  /// Adds the claims that are new; held claims are put aside for the operator.
  package func record(_ batch: AdmittedBatch) throws -> ImportReceipt {
    try transaction.note(exceededBy: batch, of: document, at: stamp.time)
    return try transaction.record(batch, of: document, in: stamp)
  }
}

/// The keys of one upload, admitted.
package struct AdmittedUpload: Sendable {
  /// The source that its claims have.
  package var door: String
  package var batch: AdmittedBatch
  /// The regions that it was for.
  package var regions: [String]
  /// Lower-case hexadecimal SHA-256 of the certificate that let it in; `nil` where the door asks for none.
  package var certificate: String?
  /// Whether its certificate was verified and its sender gets a revision token; see ``UploadStanding``.
  package var isProven: Bool
  package var byteCount: Int
  /// Keys that were no keys, by the code of the reason.
  package var rejections: [String: Int]
  /// What has let it in, where that lets in once.
  package var token: UsedToken?
  /// What the door had said about each of its keys when it was judged; `nil` where that does not matter.
  package var known: [TemporaryExposureKey: [ClaimedKey]]?

  package init(
    door: String, batch: AdmittedBatch, regions: [String], certificate: String?, isProven: Bool = false, byteCount: Int,
    rejections: [String: Int] = [:], token: UsedToken? = nil, known: [TemporaryExposureKey: [ClaimedKey]]? = nil
  ) {
    self.known = known
    self.door = door
    self.batch = batch
    self.regions = regions
    self.certificate = certificate
    self.isProven = isProven
    self.byteCount = byteCount
    self.rejections = rejections
    self.token = token
  }
}

/// What became of uploads that shared a commit.
package struct CommittedUploads: Sendable {
  package enum Outcome: Hashable, Sendable {
    case recorded
    /// What let it in was used before, and nothing of it was recorded.
    case usedToken
    /// Another upload said something about its keys since it was judged; nothing of it was recorded, and what let it in was not used.
    case overtaken
  }

  /// Of each, in their order.
  package let outcomes: [Outcome]
  /// What became of the keys of those that were recorded.
  package let receipt: ImportReceipt
  /// Of each token that came without keys, whether it was used for the first time.
  package let redeemed: [Bool]
}

extension Ledger {
  /// A source lists documents: those that are new are remembered, in this order.
  ///
  /// - Returns: all of them as they stand, in the order asked for.
  @discardableResult
  package func discovered(
    _ names: [String], of source: String, at now: Instant
  ) async throws -> [DocumentRecord] {
    try await transact(.discovered, at: now) { page in
      let documents = try page.transaction.add(documents: names, of: source, at: now)
      if !documents.new.isEmpty {
        try page.enter(.discovered, about: source)
      }
      return documents.all
    }
  }

  /// Documents are being fetched, so that whoever looks sees it, and a restart knows what it interrupted.
  package func fetching(_ documents: [DocumentID], at now: Instant) async throws {
    if documents.isEmpty { return }
    try await transact(.fetching, at: now) { page in
      for document in documents {
        try page.transaction.move(document, to: .fetching, fault: nil, nextAttempt: nil, at: now)
      }
      try page.enter(.fetching, about: try page.subject(documents))
    }
  }

  /// What was being fetched when a pull ended is as good as just discovered.
  package func interrupted(_ source: String, at now: Instant) async throws {
    try await transact(.interrupted, at: now) { page in
      let documents = try page.transaction.documents(of: source, in: [.fetching], limit: .max).map(\.id)
      guard !documents.isEmpty else { return }
      for document in documents {
        try page.transaction.move(document, to: .discovered, fault: nil, nextAttempt: nil, at: now)
      }
      try page.enter(.interrupted, about: source)
    }
  }

  /// Documents could not be fetched: they stay discovered, and the next pull tries again.
  package func postponed(_ documents: [DocumentID], at now: Instant) async throws {
    if documents.isEmpty { return }
    try await transact(.postponed, at: now) { page in
      for document in documents {
        try page.transaction.move(document, to: .discovered, fault: nil, nextAttempt: nil, at: now)
      }
      try page.enter(.postponed, about: try page.subject(documents))
    }
  }

  /// A document is recorded, with the cursor behind it: its claims, what it was, and the evidence, or nothing of it.
  ///
  /// - Parameter admit: reads the document and records its batches. It may be run again from the start.
  /// - Returns: what `admit` returned: what the document was and what became of its keys.
  package func recorded(
    _ document: DocumentID, evidence: KeptBytes?, cursor: CursorMove?, at now: Instant,
    _ admit: @escaping @Sendable (DocumentRecorder) throws -> DocumentFacts
  ) async throws -> DocumentFacts {
    let salt = newSalt()
    return try await transact(.recorded, at: now) { page in
      let stamp = try page.open(.recorded, about: try page.subject(document))
      try page.transaction.forgetRefused(of: document)
      let facts = try admit(DocumentRecorder(page.transaction, document, stamp))
      try page.transaction.complete(document, facts, at: now)
      if let evidence { try page.transaction.keep(evidence.bytes, of: document, until: evidence.end) }
      try page.move(cursor)
      let mark = try page.receivedMark(of: document, salt)
      try page.close(stamp, .recorded, .received(facts, mark))
      return facts
    }
  }

  /// A piece of a large document is recorded, in a transaction and an event of its own: between two of them others have
  /// their turn, and what was known at an event of theirs is what had come by then.
  /// ``recorded(_:inPieces:evidence:cursor:at:)`` ends it.
  ///
  /// The document must be known to have no fault. Its claims count from the piece on that they come with, as if they had
  /// come in smaller documents; what was recorded when a crash comes in between stays, and the document comes again. It
  /// must not have been refused before: what is held of a refused document is forgotten in the transaction that records it.
  ///
  /// - Parameter admit: admits the piece, given what its source has sent today. It may be run again.
  /// - Returns: what was admitted, and what became of it.
  package func recordedPiece(
    of document: DocumentID, at now: Instant,
    _ admit: @escaping @Sendable (_ today: VolumesToday) throws -> AdmittedBatch
  ) async throws -> (batch: AdmittedBatch, receipt: ImportReceipt) {
    try await transact(.recordedPiece, at: now) { page in
      guard let source = try page.transaction.document(document)?.source else {
        throw StorageFault.noDocument(document)
      }
      let batch = try admit(try page.transaction.volumesToday(on: now.day, of: source))
      guard !batch.claims.isEmpty || !batch.held.isEmpty else { return (batch, ImportReceipt(beforeRecording: batch)) }
      let stamp = try page.open(.recordedPiece, about: try page.subject(document))
      try page.transaction.note(exceededBy: batch, of: document, at: now)
      let receipt = try page.transaction.record(batch, of: document, in: stamp)
      try page.close(stamp, .recordedPiece)
      return (batch, receipt)
    }
  }

  /// The last piece was recorded: now the document is, once, with the cursor behind it. What pieces of it brought before a
  /// crash counts as new, like all that it brought.
  ///
  /// - Parameter facts: of the pieces since the last crash.
  /// - Returns: those of the document.
  package func recorded(
    _ document: DocumentID, inPieces facts: DocumentFacts, evidence: KeptBytes?, cursor: CursorMove?, at now: Instant
  ) async throws -> DocumentFacts {
    let salt = newSalt()
    return try await transact(.recorded, at: now) { page in
      let stamp = try page.open(.recorded, about: try page.subject(document))
      var facts = facts
      // A document that was recorded before has told of its older claims.
      if try page.transaction.document(document)?.facts == nil {
        facts.counts.knownWasNew(try page.transaction.claimCount(broughtBy: document) - facts.new)
      }
      try page.transaction.complete(document, facts, at: now)
      if let evidence { try page.transaction.keep(evidence.bytes, of: document, until: evidence.end) }
      try page.move(cursor)
      let mark = try page.receivedMark(of: document, salt)
      try page.close(stamp, .recorded, .received(facts, mark))
      return facts
    }
  }

  /// A recorded document was asked for again, and is the same.
  package func unchanged(
    _ document: DocumentID, _ facts: DocumentFacts, cursor: CursorMove?, at now: Instant
  ) async throws {
    try await transact(.unchanged, at: now) { page in
      try page.transaction.complete(document, facts, at: now)
      try page.move(cursor)
      try page.enter(.unchanged, about: try page.subject(document))
    }
  }

  /// A recorded document was asked for again, and is another. What was recorded stays recorded; what stands under the
  /// name now is put aside under a name of its own, once for each content.
  ///
  /// - Returns: whether it was put aside now.
  package func changedUnderItsName(
    _ document: DocumentID, putAsideAs name: String, _ refusal: RefusedDocument, at now: Instant,
    reading: RefusedReading? = nil
  ) async throws -> Bool {
    try await transact(.changedUnderItsName, at: now) { page in
      let transaction = page.transaction
      let stamp = try page.open(.changedUnderItsName, about: try page.subject(document))
      guard let record = try transaction.document(document) else { throw StorageFault.noDocument(document) }
      if let facts = record.facts { try transaction.complete(document, facts, at: now) }
      let others = try transaction.add(documents: [name], of: record.source, at: now).all
      guard let other = others.first, other.state == .discovered else {
        try page.close(stamp, .changedUnderItsName)
        return false
      }
      try page.refuse(other.id, refusal, as: .quarantined, in: stamp, reading)
      try page.close(stamp, .changedUnderItsName)
      return true
    }
  }

  /// A document was read and refused. Where its bytes are kept, the cursor moves on behind it.
  ///
  /// - Parameter reading: tells what it says before its fault, where somebody stands behind it.
  package func quarantined(
    _ document: DocumentID, _ refusal: RefusedDocument, cursor: CursorMove?, at now: Instant,
    reading: RefusedReading? = nil
  ) async throws {
    try await transact(.quarantined, at: now) { page in
      let stamp = try page.open(.quarantined, about: try page.subject(document))
      try page.refuse(document, refusal, as: .quarantined, in: stamp, reading)
      try page.move(cursor)
      try page.close(stamp, .quarantined)
    }
  }

  /// A document was refused so often that it is not tried again.
  package func givenUp(
    _ document: DocumentID, _ refusal: RefusedDocument, cursor: CursorMove?, at now: Instant,
    reading: RefusedReading? = nil
  ) async throws {
    try await transact(.givenUp, at: now) { page in
      let stamp = try page.open(.givenUp, about: try page.subject(document))
      try page.refuse(document, refusal, as: .givenUp, in: stamp, reading)
      try page.move(cursor)
      try page.close(stamp, .givenUp)
    }
  }

  /// An attempt to reach a source ended.
  package func attempted(_ attempt: SourceAttempt, source: String, listing: [String]? = nil) async throws {
    try await transact(.attempted, at: attempt.time) { page in
      try page.transaction.setAttempt(attempt, of: source)
      if let listing = listing.map(SourceListing.note) {
        let note = StoredNote.listing(source: source)
        if try page.transaction.note(note) != listing { try page.transaction.setNote(listing, named: note.name) }
      }
      try page.enter(.attempted, about: source)
    }
  }

  /// A peer has nothing before this cursor that is not recorded.
  package func cursorMoved(_ cursor: CursorMove, at now: Instant) async throws {
    try await transact(.cursorMoved, at: now) { page in
      try page.move(cursor)
      try page.enter(.cursorMoved, about: cursor.source)
    }
  }

  /// What only looked like an upload came in: nothing happens and no event is written, by a commit that takes as long as
  /// that of an upload.
  package func passed(door: String, at now: Instant) async throws {
    try await transact(.uploaded, at: now) { page in try page.pass(door: door, at: now) }
  }

  /// Uploads came in whose tokens are all new or none; see ``committed(_:redeeming:within:door:at:)``.
  ///
  /// - Returns: what became of their keys.
  package func uploaded(
    _ uploads: [AdmittedUpload], within limit: VolumeLimit? = nil, at now: Instant
  ) async throws -> ImportReceipt {
    guard let first = uploads.first else { return ImportReceipt() }
    return try await committed(uploads, within: limit, door: first.door, at: now).receipt
  }

  /// Uploads came in, and share a commit. When this returns, they may be answered.
  ///
  /// A door has one document a day, whose facts add up, and its claims keep the number of the first event of that day and
  /// not of their own commit, which may have had one upload alone: nobody who reads the store can tell which keys came
  /// together. What was known at an event is exact to the day, as far as uploads are concerned. Their keys are recorded together, too: a
  /// store looks for those of a hundred uploads once.
  ///
  /// What an upload may say about keys that are known was judged before; where another one came first, at whichever replica, it is
  /// judged again.
  ///
  /// What lets in once is remembered in the same transaction: of two who use it at the same time, at whichever replica, one is
  /// let in, and where nothing is kept it is not used either.
  ///
  /// - Parameters:
  ///   - tokens: what let in others, who had no keys.
  ///   - limit: beyond so many new keys of an origin at one door on this day, its uploads are held for the operator, unless an
  ///     operator has raised the limit; `nil` is never.
  ///   - door: at which all this took place, where there is no upload.
  package func committed(
    _ all: [AdmittedUpload], redeeming tokens: [UsedToken] = [], within limit: VolumeLimit? = nil, door: String,
    at now: Instant
  ) async throws -> CommittedUploads {
    try await transact(.uploaded, at: now) { page in
      let transaction = page.transaction
      var admission = try UploadAdmission(of: all, in: transaction)
      let refusals = try all.map { try admission.refusal(of: $0) }
      let redeemed = try tokens.map(transaction.use)
      let uploads = zip(all, refusals).filter { $1 == nil }.map(\.0)
      if uploads.isEmpty {
        try page.pass(door: door, at: now)
        return CommittedUploads(
          outcomes: refusals.compactMap(\.self), receipt: ImportReceipt(), redeemed: redeemed)
      }
      let doors = Set(uploads.map(\.door)).sorted()
      let stamp = try page.open(.uploaded, about: doors.joined(separator: ", "))
      var documents: [String: (id: DocumentID, facts: DocumentFacts, stamp: EventStamp)] = [:]
      for door in doors {
        guard let document = try transaction.add(documents: ["uploads/\(now.day)"], of: door, at: now).all.first
        else { continue }
        documents[door] = (document.id, document.facts ?? .ofUploads, try page.firstOfDay(stamp, at: door))
      }
      var volumes: [String: VolumesToday] = [:]
      if limit != nil { for door in doors { volumes[door] = try transaction.volumesToday(on: now.day, of: door) } }
      var (together, receipt) = (GatheredBatches(), ImportReceipt())
      func record() throws {
        for (door, origin, batch) in together.take() {
          guard let document = documents[door] else { continue }
          try transaction.note(exceededBy: batch, of: document.id, at: now)
          let recorded = try transaction.record(batch, of: document.id, in: document.stamp)
          volumes[door]?.keys[origin, default: 0] += recorded.new
          documents[door]?.facts.counts.add(recorded)
          receipt = receipt + recorded
        }
      }
      var standings = try UploadStandings(of: uploads, in: transaction)
      var records: [UploadRecord] = []
      for upload in uploads {
        guard let document = documents[upload.door] else { continue }
        var batch = upload.batch
        let origin = batch.source.origin?.uppercased() ?? OriginVolumes.lostOrigin(of: upload.door)
        let limit = limit?.raised(to: volumes[upload.door]?.raisedLimit)
        func isTooMuch() -> Bool {
          guard let limit else { return false }
          let recorded = volumes[upload.door]?.keys[origin] ?? 0
          return recorded + together.claims(of: origin, at: upload.door) + batch.claims.count > limit.keys
        }
        // Of those before it not every claim may have been new.
        if isTooMuch(), together.claims(of: origin, at: upload.door) > 0 { try record() }
        if let limit, isTooMuch() { batch = batch.heldForOperator(beyond: ExceededLimit(of: origin, limit)) }
        for part in standings.split(batch, of: upload) { together.add(part, of: origin, at: upload.door) }
        documents[upload.door]?.facts.add(upload)
        let record = UploadRecord(
          event: document.stamp.id, door: upload.door, regions: upload.regions, certificate: upload.certificate)
        try transaction.note(record)
        records.append(record)
      }
      try record()
      for document in documents.values { try transaction.complete(document.id, document.facts, at: now) }
      for (door, records) in Dictionary(grouping: records, by: \.door) {
        try page.count(records.count, at: door, in: stamp)
      }
      try page.close(stamp, .uploaded)
      return CommittedUploads(outcomes: refusals.map { $0 ?? .recorded }, receipt: receipt, redeemed: redeemed)
    }
  }
}

/// What uploads that share a commit brought, to be recorded at once.
private struct GatheredBatches {
  private var batches: [(door: String, origin: String, batch: AdmittedBatch)] = []
  private var claims: [String: [String: Int]] = [:]

  /// How many claims of an origin there are that came through a door.
  func claims(of origin: String, at door: String) -> Int { claims[door]?[origin] ?? 0 }

  mutating func add(_ batch: AdmittedBatch, of origin: String, at door: String) {
    claims[door, default: [:]][origin, default: 0] += batch.claims.count
    // Most come through one door, for one set of regions, and show the same.
    for index in batches.indices.reversed() where batches[index].door == door {
      if batches[index].batch.append(batch) { return }
    }
    batches.append((door, origin, batch))
  }

  mutating func take() -> [(door: String, origin: String, batch: AdmittedBatch)] {
    defer { self = GatheredBatches() }
    return batches
  }
}

/// What the uploads of a commit show about their keys: see ``UploadStanding``.
private struct UploadStandings {
  /// The doors at which key data was proven.
  private var proven: [TemporaryExposureKey: Set<String>] = [:]
  /// Key data that some server had published before anybody proved it here: it is public, and a certificate is easy to have.
  private var published: Set<TemporaryExposureKey> = []

  init(of uploads: [AdmittedUpload], in transaction: any StoreTransaction) throws {
    let keys = Set(uploads.flatMap { ($0.batch.claims + $0.batch.held).map(\.subject.key) })
    // Withdrawn and held claims show as well what was proven or published before.
    let claims =
      try transaction.keptClaims(about: keys).map { ($0.claim, $0.document) }
      + transaction.held(about: keys.sorted()).map { ($0.claim, $0.document) }
    var areUploads: [DocumentID: Bool] = [:]
    for (claim, document) in claims {
      if claim.source.upload == .proven { proven[claim.subject.key, default: []].insert(claim.source.name) }
      guard claim.source.upload == nil else { continue }
      let isUploaded = try areUploads[document] ?? transaction.document(document)?.facts?.isOfUploads ?? false
      areUploads[document] = isUploaded
      if !isUploaded { published.insert(claim.subject.key) }
    }
  }

  /// - Parameter batch: of the upload. Those behind it in the commit are copies of what it proves.
  mutating func split(_ batch: AdmittedBatch, of upload: AdmittedUpload) -> [AdmittedBatch] {
    let parts = batch.split { subject in
      let doors = proven[subject.key] ?? []
      if doors.isEmpty, published.contains(subject.key) { return .copy }
      // A door lets nobody change what it knows without the revision token of the first upload.
      if upload.isProven, doors.isEmpty || doors.contains(upload.door) { return .proven }
      return doors.isEmpty ? nil : .copy
    }
    for part in parts where part.source.upload == .proven {
      for claim in part.claims + part.held { proven[claim.subject.key, default: []].insert(upload.door) }
    }
    return parts
  }
}

/// Which uploads of a commit are recorded. Who writes is alone, so what it finds stays as it is until they are.
private struct UploadAdmission {
  private let transaction: any StoreTransaction
  /// What doors have said about the keys of uploads that were judged by it.
  private var said: [String: [TemporaryExposureKey: Set<ClaimedKey>]] = [:]
  /// What those that are recorded say about their keys, by their doors.
  private var taken: [String: [TemporaryExposureKey: Set<Said>]] = [:]

  private struct Said: Hashable {
    let rollingStart: Int32
    let statement: Statement
  }

  init(of uploads: [AdmittedUpload], in transaction: any StoreTransaction) throws {
    self.transaction = transaction
    // All at once: others wait for this transaction.
    for (door, uploads) in Dictionary(grouping: uploads.filter { $0.known != nil }, by: \.door) {
      said[door] = try transaction.said(about: Set(uploads.flatMap { $0.known?.keys.map(\.self) ?? [] }), at: door)
        .mapValues(Set.init)
    }
  }

  /// - Returns: `nil` for one that is recorded; what let it in is used then.
  mutating func refusal(of upload: AdmittedUpload) throws -> CommittedUploads.Outcome? {
    let own = Dictionary(grouping: upload.batch.claims, by: \.subject.key).mapValues { claims in
      Set(claims.map { Said(rollingStart: $0.subject.rollingStart, statement: $0.statement) })
    }
    if let known = upload.known, isOvertaken(known, own, at: upload.door) { return .overtaken }
    if let token = upload.token, try !transaction.use(token) { return .usedToken }
    // One that nobody judged may be a copy, which overtakes nobody.
    if upload.known != nil { taken[upload.door, default: [:]].merge(own) { $0.union($1) } }
    return nil
  }

  /// One that says the same as another of its commit is none: an app may send its upload again before it is answered.
  private func isOvertaken(
    _ known: [TemporaryExposureKey: [ClaimedKey]], _ own: [TemporaryExposureKey: Set<Said>], at door: String
  ) -> Bool {
    if let taken = taken[door], known.keys.contains(where: { taken[$0] != nil && taken[$0] != own[$0] }) { return true }
    return known.contains { key, judged in (said[door]?[key] ?? []) != Set(judged) }
  }
}

extension StoredState {
  /// What uploads at a door said about keys, also what waits for the operator: who was told that it was taken may not say it otherwise.
  /// A copy beside them is not what their sender said.
  package func said(
    about keys: Set<TemporaryExposureKey>, at door: String
  ) throws -> [TemporaryExposureKey: [ClaimedKey]] {
    let keys = keys.sorted()
    let claims = try claims(about: keys).claims.statedClaims + held(about: keys).map(\.claim)
    let ours = Dictionary(grouping: claims.filter { $0.source.name == door }, by: \.subject.key)
    return ours.mapValues { said in
      // What somebody else uploads of a key does not speak for its owner.
      let owners = said.filter { $0.source.upload != .copy }
      return (owners.isEmpty ? said : owners).map(\.key)
    }
  }
}

extension LedgerPage {
  /// Writes as much as one upload, and nothing new.
  func pass(door: String, at now: Instant) throws {
    guard let document = try transaction.add(documents: ["uploads/\(now.day)"], of: door, at: now).all.first
    else { return }
    try transaction.complete(document.id, document.facts ?? .ofUploads, at: now)
  }

  /// The first event of a door's uploads on the day of `stamp`, which is `stamp` where there was none. Its claims have the
  /// last second of the day as their time: who withdraws what came since some moment of the day means them too, since
  /// nobody can tell which of them came before.
  fileprivate func firstOfDay(_ stamp: EventStamp, at door: String) throws -> EventStamp {
    let note = StoredNote.firstUploads(door: door)
    let words = try transaction.note(note).map { String(decoding: $0, as: UTF8.self).split(separator: " ") } ?? []
    if words.count == 2, let number = Int64(words[0]), let seconds = Int64(words[1]),
      case let time = Instant(secondsSince1970: seconds), time.day == stamp.time.day
    {
      return EventStamp(id: EventID(rawValue: number), time: time.endOfDay)
    }
    try transaction.setNote(
      Array("\(stamp.id.rawValue) \(stamp.time.secondsSince1970)".utf8), named: note.name)
    return EventStamp(id: stamp.id, time: stamp.time.endOfDay)
  }

  fileprivate func move(_ cursor: CursorMove?) throws {
    if let cursor { try transaction.setCursor(cursor.cursor, of: cursor.source) }
  }

  fileprivate func refuse(
    _ document: DocumentID, _ refusal: RefusedDocument, as state: DocumentState, in stamp: EventStamp,
    _ reading: RefusedReading?
  ) throws {
    if let content = refusal.content { try transaction.keep(content.bytes, of: document, until: content.end) }
    try transaction.move(document, to: state, fault: refusal.fault, nextAttempt: refusal.nextAttempt, at: stamp.time)
    try transaction.forgetRefused(of: document)
    try reading?(RefusedRecorder(DocumentRecorder(transaction, document, stamp), at: stamp.time))
  }
}

extension DocumentFacts {
  /// A door's day before its first upload. There are no bytes that could have a digest.
  fileprivate static let ofUploads = DocumentFacts(
    byteCount: 0, digest: "", format: "uploads", vouchedBy: "the door that let them in")

  fileprivate var isOfUploads: Bool { format == Self.ofUploads.format }

  /// Without its claims.
  fileprivate mutating func add(_ upload: AdmittedUpload) {
    byteCount += upload.byteCount
    for (reason, count) in upload.rejections { counts.reject(reason, count: count) }
  }
}

extension Instant {
  /// The last second of its UTC day.
  fileprivate var endOfDay: Instant { Instant(secondsSince1970: day.start.secondsSince1970 + 86_399) }
}

extension LedgerPage {
  /// Keeps a document's salt beside its evidence, where somebody listens.
  func receivedMark(of document: DocumentID, _ salt: [UInt8]?) throws -> ReceivedMark {
    guard let record = try transaction.document(document) else { throw StorageFault.noDocument(document) }
    if let salt { try transaction.keep(salt: salt, of: document) }
    return ReceivedMark(source: record.source, salt: salt)
  }
}
