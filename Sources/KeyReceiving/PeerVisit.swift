internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyStorage

/// What comes of the conversations with one peer: documents are fetched, examined, recorded or put aside.
struct PeerVisit {
  let source: SourceSettings
  let transport: any Transport
  let ledger: Ledger
  let spool: SpoolFolder
  let ownOrigins: Set<String>
  let usualVolumes: [String: Int]
  let retention: Retention
  /// A document of more keys is recorded so many at a time, of keys in no order eight times as many.
  let pieceSize: Int
  let clock: @Sendable () -> Instant
  let watch: @Sendable (PullEvent) -> Void
  private(set) var receipt: PullReceipt
  /// Everything that the peer listed, where it was asked to the end; for mirrors alone.
  private(set) var listing: [String]?
  private var listed: [String] = []
  private var rechecks = 0
  /// The first document that could not be fetched: then the pull has failed, although it went on.
  private var firstFault: DocumentFault?

  init(
    source: SourceSettings, transport: any Transport, ledger: Ledger, spool: SpoolFolder,
    ownOrigins: Set<String>, usualVolumes: [String: Int], retention: Retention, pieceSize: Int,
    clock: @escaping @Sendable () -> Instant, watch: @escaping @Sendable (PullEvent) -> Void, receipt: PullReceipt
  ) {
    self.source = source
    self.transport = transport
    self.ledger = ledger
    self.spool = spool
    self.ownOrigins = ownOrigins
    self.usualVolumes = usualVolumes
    self.retention = retention
    self.pieceSize = pieceSize
    self.clock = clock
    self.watch = watch
    self.receipt = receipt
  }

  /// Documents that are in quarantine after another attempt with the bytes that are kept.
  private var doubted: [String] = []

  /// A document that is refused this often is given up.
  static let maximumAttempts = 12
  /// A recorded document that the peer still lists is asked for again after this many seconds, to see whether its
  /// bytes are still the same.
  static let recheckSeconds: Int64 = 86_400
  /// Larger documents are not kept beside their claims, and fetched again where they were refused.
  static let keptBytes = 64 << 20
  /// Conversations a pull: a peer that has ever more is gone on with at the next one.
  static let maximumConversations = 64
  /// That many documents a pull.
  static let rechecksPerPull = 64
  /// A document that is not complete is asked for again after this many seconds.
  static let incompleteSeconds: Int64 = 10_800

  // MARK: Recovery

  /// What every pull does first, after a crash or not: what was being fetched is discovered again, keys that were in the
  /// future are looked at again, and what is in quarantine and due is tried again with the bytes that are kept.
  ///
  /// - Returns: the names of those whose bytes are not kept, so that the peer has to be asked for them once more.
  mutating func recover() async throws -> [String] {
    let (name, now) = (source.name, clock())
    try await ledger.interrupted(name, at: now)
    try await admitWhatHasBegun()
    let due = try await ledger.read { state in
      try state.documents(of: name, in: [.quarantined], limit: .max).filter {
        // What changed under its name waits for the operator.
        $0.fault?.code != .changedUnderItsName && $0.nextAttempt.map { $0 <= now } ?? true
      }
    }
    var lacking: [String] = []
    for document in due where try await !retry(document) { lacking.append(document.name) }
    // It may have been the answer that was wrong, and not what is behind it.
    let tried = Set(due.map(\.name)).subtracting(lacking)
    if !tried.isEmpty {
      doubted = try await ledger.read { state in
        try state.documents(of: name, in: [.quarantined], limit: .max).map(\.name).filter(tried.contains)
      }
    }
    return lacking
  }

  /// - Returns: `false` when no bytes are kept.
  mutating func retry(_ document: DocumentRecord) async throws -> Bool {
    guard let bytes = try await ledger.read({ try $0.content(of: document.id) }) else { return false }
    try await ledger.fetching(unrefused([.fetch(document)]), at: clock())
    let path = spool.newPath()
    defer { spool.remove(path) }
    let file = try OutputFile(path: path)
    try file.write(bytes)
    try file.commit()
    // The bytes were put aside after their host had proved its name, and have been in the store since.
    let host = source.host.map(ProvenHost.init(provenByTLS:))
    _ = try await admit(document, at: path, from: host, head: nil, cursor: nil)
    return true
  }

  // MARK: Conversation

  /// Asks until the peer has nothing new. Each conversation is bounded by its machine, and the next one is only begun
  /// when something was recorded in the last.
  ///
  /// - Returns: why the peer could not be asked to the end; `nil` when all is done.
  mutating func converse(alsoFetching names: [String], isOnce: Bool) async throws -> DocumentFault? {
    var names = names
    for _ in 0..<Self.maximumConversations {
      let before = receipt.recorded
      listed = []
      var conversation = try PeerConversation(
        with: source, through: transport, cursor: receipt.cursor, now: clock()
      ) { [source, watch] in watch(.asked(source: source.name)) }
      try await collect(names.compactMap(conversation.document(named:)), of: &conversation, isAskedFor: false)
      conversation.askAgain(for: names + doubted)
      names = []
      let fault = try await settle(&conversation)
      try await giveUp(conversation.settled)
      doubted = []
      receipt.notices += conversation.notices
      if let fault = fault ?? firstFault { return fault }
      if isOnce || receipt.recorded == before { return nil }
    }
    return nil
  }

  /// In the place of these others have come.
  private func giveUp(_ names: [String]) async throws {
    guard !names.isEmpty else { return }
    let name = source.name
    let records = try await ledger.read { try $0.documents(of: name, in: [.quarantined], limit: .max) }
    for record in records where names.contains(record.name) {
      let fault = DocumentFault(
        code: record.fault?.code ?? .quarantined,
        reason: "\(record.fault?.reason ?? "in quarantine"); it was asked for again, and came by its origins since")
      try await ledger.givenUp(
        record.id, RefusedDocument(fault, nextAttempt: nil, content: nil), cursor: nil, at: clock())
    }
  }

  /// - Returns: why the peer could not be asked to the end; `nil` when all is done.
  private mutating func settle(_ conversation: inout PeerConversation) async throws -> DocumentFault? {
    while true {
      switch try await conversation.next() {
      case .collect(let documents): try await collect(documents, of: &conversation, isAskedFor: true)
      case .done(let cursor):
        if source.isMirrored { listing = listed }
        if let cursor, cursor != receipt.cursor {
          try await ledger.cursorMoved(CursorMove(of: source.name, to: cursor), at: clock())
          receipt.cursor = cursor
        }
        return nil
      case .fail(let fault): return fault
      // Each machine bounds its own questions.
      case .interrupted: return nil
      }
    }
  }

  // MARK: Documents

  /// What to do with a document that the peer lists.
  private enum Plan {
    case skip(CollectionOutcome)
    case fetch(DocumentRecord)
  }

  /// - Parameter isAskedFor: whether the peer's machine asked for them, and hears what became of them.
  private mutating func collect(
    _ documents: [PeerDocument], of conversation: inout PeerConversation, isAskedFor: Bool
  ) async throws {
    guard !documents.isEmpty else { return }
    let now = clock()
    let records = try await ledger.discovered(documents.map(\.name), of: source.name, at: now)
    receipt.listed += documents.count
    if isAskedFor, source.isMirrored { listed += documents.map(\.name) }
    let tasks = zip(documents, records).map { plan($0, $1, now: now) }
    try await ledger.fetching(unrefused(tasks), at: now)
    watch(.listed(source: source.name, documents: documents.count, new: records.count { $0.state == .discovered }))

    // Fetching runs ahead of recording, a few documents at a time; recording keeps the peer's order.
    let fetcher = DocumentFetcher(transport: transport, spool: spool, byteLimit: source.documentByteLimit)
    let ahead = max(1, min(source.transport.connectionsPerHost, 8))
    try await withThrowingTaskGroup(of: (Int, DocumentFetcher.Result).self) { group in
      var waiting = tasks.indices.filter { if case .fetch = tasks[$0] { true } else { false } }[...]
      var arrived: [Int: DocumentFetcher.Result] = [:]
      func start() {
        guard let index = waiting.popFirst(), case .fetch(let record) = tasks[index] else { return }
        let document = documents[index]
        let facts = record.state == .recorded && !isJudgedByWrongClock(record, now) ? record.facts : nil
        group.addTask { (index, try await fetcher.fetch(document, unless: facts)) }
      }
      for _ in 0..<ahead { start() }
      for (index, document) in documents.enumerated() {
        switch tasks[index] {
        case .skip(let outcome):
          if isAskedFor { conversation.take(outcome, of: document) }
        case .fetch(let record):
          while arrived[index] == nil, let (number, result) = try await group.next() { arrived[number] = result }
          guard let result = arrived.removeValue(forKey: index) else { throw CancellationError() }
          let outcome = try await settle(result, document, record, isAskedFor ? conversation : nil)
          if isAskedFor { conversation.take(outcome, of: document) }
          start()
        }
      }
    }
  }

  /// What is fetched and was not refused before: that stays refused until it is recorded, and a crash must not make it
  /// look as if it were new.
  private func unrefused(_ plans: [Plan]) -> [DocumentID] {
    plans.compactMap { plan in
      if case .fetch(let record) = plan, [.discovered, .fetching].contains(record.state) { record.id } else { nil }
    }
  }

  /// Where the cursor of this source moves, if it does.
  private func move(to cursor: String?) -> CursorMove? { cursor.map { CursorMove(of: source.name, to: $0) } }

  /// What was recorded at a time that is still to come: its keys may have been too old then, or forgotten as too old since.
  /// It is judged again by the clock as it is now.
  private func isJudgedByWrongClock(_ record: DocumentRecord, _ now: Instant) -> Bool {
    record.state == .recorded && record.changed > now.adding(seconds: Self.recheckSeconds)
  }

  private mutating func plan(_ document: PeerDocument, _ record: DocumentRecord, now: Instant) -> Plan {
    // A document that grows stands for all that follows it, so it is never left alone.
    if document.mayChange { return .fetch(record) }
    switch record.state {
    case .discovered, .fetching: return .fetch(record)
    case .givenUp: return .skip(.recorded(nil))
    case .quarantined:
      if let next = record.nextAttempt, next > now, !doubted.contains(document.name) {
        return .skip(.quarantined(record.fault ?? DocumentFault(code: .quarantined, reason: "in quarantine")))
      }
      return .fetch(record)
    case .recorded:
      if isJudgedByWrongClock(record, now), rechecks < Self.rechecksPerPull {
        rechecks += 1
        return .fetch(record)
      }
      if let complete = document.completeFrom {
        let isComplete = record.changed >= complete && record.facts.map { $0.received > 0 } ?? false
        let isDue = now.secondsSince1970 - record.changed.secondsSince1970 >= Self.incompleteSeconds
        return isComplete || !isDue ? .skip(.recorded(nil)) : .fetch(record)
      }
      let hasValidator = record.facts?.entityTag != nil || record.facts?.lastModified != nil
      guard hasValidator, now.secondsSince1970 - record.changed.secondsSince1970 >= Self.recheckSeconds,
        rechecks < Self.rechecksPerPull
      else { return .skip(.recorded(nil)) }
      rechecks += 1
      return .fetch(record)
    }
  }

  private mutating func settle(
    _ result: DocumentFetcher.Result, _ document: PeerDocument, _ record: DocumentRecord,
    _ conversation: PeerConversation?
  ) async throws -> CollectionOutcome {
    switch result {
    case .fault(let fault):
      try await postpone(record, fault)
      return .fault(fault)
    case .answered(let head):
      if head.status == 304, let facts = record.facts {
        // A head that nothing vouches for moves no cursor.
        let cursor = document.check == nil ? conversation?.cursor(after: document, head: head) : nil
        try await touch(record, facts, head, cursor)
        return .recorded(document.check == nil ? head : nil)
      }
      if document.otherStatuses.contains(head.status) {
        try await ledger.postponed(unrefused([.fetch(record)]), at: clock())
        return .answered(head)
      }
      let fault = DocumentFault(
        code: .status(head.status), reason: "\(document.name): the peer answers \(head.status)")
      if [404, 410].contains(head.status), conversation == nil, record.state == .quarantined {
        // Its bytes are not kept any more, and the peer has it no more: nothing could ever come of another attempt.
        let last = DocumentFault(
          code: record.fault?.code ?? fault.code,
          reason:
            "\(record.fault?.reason ?? fault.reason); its bytes are not kept any more, and the peer has it no more")
        let refusal = RefusedDocument(last, nextAttempt: nil, content: nil)
        try await ledger.givenUp(record.id, refusal, cursor: nil, at: clock())
        return .recorded(nil)
      }
      try await postpone(record, fault)
      return .fault(fault)
    case .fetched(let head, let path):
      defer { spool.remove(path) }
      watch(.fetched(source: source.name, document: document.name))
      if let check = document.check {
        let file = try FileSource(path: path)
        let digests = try SourceDocument.digest(of: file, behind: check.prefix(in: head))
        if let fault = check.verify(head, digests, body: file, now: clock()) {
          // Who answered is not known, so what it says is not kept: the peer is asked again.
          try await postpone(record, fault)
          return .fault(fault)
        }
      }
      let cursor = conversation?.cursor(after: document, head: head)
      if record.state == .quarantined, doubted.contains(record.name), try await isKept(path, of: record) {
        // It is told as before, and was tried again already.
        return .quarantined(record.fault ?? DocumentFault(code: .quarantined, reason: "in quarantine"))
      }
      if let facts = record.facts, record.state == .recorded {
        return try await compare(record, facts, document, at: path, head: head, cursor: cursor)
      }
      return try await admit(record, at: path, from: head.provenHost, head: head, cursor: cursor)
    }
  }

  /// Whether a file has the bytes that are kept of a document.
  private func isKept(_ path: String, of record: DocumentRecord) async throws -> Bool {
    guard let kept = try await ledger.read({ try $0.content(of: record.id) }) else { return false }
    let file = try FileSource(path: path)
    guard file.byteCount == kept.count else { return false }
    return try file.bytes(at: 0, count: kept.count, what: "the document") == kept
  }

  /// A document that is recorded has come again: are its bytes the same?
  private mutating func compare(
    _ record: DocumentRecord, _ facts: DocumentFacts, _ document: PeerDocument, at path: String, head: ResponseHead,
    cursor: String?
  ) async throws -> CollectionOutcome {
    let mayChange = document.mayChange || document.completeFrom != nil
    let (digest, verified): (String, VerifiedArrival)
    var isLess = false
    do {
      verified = try self.verified(record, at: path, from: head.provenHost, clock())
      digest = try verified.contentDigest()
      if mayChange, digest != facts.digest, facts.received > 0, let extent = try verified.extent() {
        if extent.count == 0 {
          // It says nothing, so what is not complete stays so, and is asked for again.
          guard document.completeFrom == nil else { return .recorded(head) }
          try await touch(record, facts, head, cursor)
          return .recorded(head)
        }
        isLess = extent.count < facts.received
      }
    } catch {
      guard let fault = DocumentFault(refusing: error) else { throw error }
      return try await noteChange(of: record, fault, at: path, digest: fault.code.rawValue)
    }
    if digest == facts.digest, !isJudgedByWrongClock(record, clock()) {
      try await touch(record, facts, head, cursor)
      return .recorded(head)
    }
    if isLess { return try await admitLess(record, facts, at: path, digest: digest, head: head, cursor: cursor) }
    if mayChange || digest == facts.digest {
      return try await admit(record, at: path, from: head.provenHost, head: head, cursor: cursor)
    }
    let fault = DocumentFault(
      code: .changedUnderItsName,
      reason:
        "\(record.name): its content had SHA-256 \(facts.digest.prefix(16))…, and has \(digest.prefix(16))… now"
    )
    return try await noteChange(of: record, fault, at: path, digest: String(digest.prefix(16)), verified)
  }

  /// What is recorded is not replaced by less. What came is recorded beside it, under a name of its own: it may say something else.
  private mutating func admitLess(
    _ record: DocumentRecord, _ facts: DocumentFacts, at path: String, digest: String, head: ResponseHead,
    cursor: String?
  ) async throws -> CollectionOutcome {
    let name = "\(record.name)#\(digest.prefix(16))"
    let others = try await ledger.discovered([name], of: source.name, at: clock())
    if let other = others.first, [.discovered, .fetching].contains(other.state) {
      try await ledger.fetching([other.id], at: clock())
      _ = try await admit(other, at: path, from: head.provenHost, head: nil, cursor: nil)
    }
    try await touch(record, facts, head, cursor)
    return .recorded(head)
  }

  /// What stands under the name now is put aside under a name of its own; what was recorded stays recorded.
  private mutating func noteChange(
    of record: DocumentRecord, _ fault: DocumentFault, at path: String, digest: String,
    _ verified: VerifiedArrival? = nil
  ) async throws -> CollectionOutcome {
    let (name, now) = ("\(record.name)#\(digest)", clock())
    let fault = DocumentFault(code: .changedUnderItsName, reason: fault.reason)
    let refusal = try refusal(fault, at: path, attempts: 1, now: now)
    let reading = verified.map { self.reading(ofRefused: $0, at: now) }
    if try await ledger.changedUnderItsName(record.id, putAsideAs: name, refusal, at: now, reading: reading) {
      tell(name, fault)
    }
    return .recorded(nil)
  }

  /// Asked for, and the same as before.
  private mutating func touch(
    _ record: DocumentRecord, _ facts: DocumentFacts, _ head: ResponseHead, _ cursor: String?
  ) async throws {
    try await ledger.unchanged(record.id, facts.validated(by: head), cursor: move(to: cursor), at: clock())
    if let cursor { receipt.cursor = cursor }
    receipt.unchanged += 1
  }

  /// Examine, verify, admit, record; or put aside with the reason.
  private mutating func admit(
    _ record: DocumentRecord, at path: String, from host: ProvenHost?, head: ResponseHead?, cursor: String?
  ) async throws -> CollectionOutcome {
    let now = clock()
    var vouched: VerifiedArrival?
    do {
      let verified = try verified(record, at: path, from: host, now)
      vouched = verified
      let (digest, byteCount) = (try verified.contentDigest(), try FileSource(path: path).byteCount)
      let evidence = try kept(path, days: retention.evidenceDays, now: now)
      let (policy, intake) = (
        source.admissionPolicy(at: now), Intake(ownOrigins: ownOrigins, usualVolumes: usualVolumes)
      )
      let mark = source.readingMark(ownOrigins: ownOrigins, at: now)
      // A file, which is read at any place from any thread; and nobody but the body reads it now.
      nonisolated(unsafe) let arrival = verified
      let describe: @Sendable (IntakeSummary) -> DocumentFacts = { summary in
        var facts = DocumentFacts(summary, byteCount: byteCount, digest: digest, head: head)
        facts.reading = mark
        return facts
      }
      let facts: DocumentFacts
      if let size = try pieceSize(for: record, verified) {
        let summary = try await recordPieces(of: record, verified, size, intake, by: policy)
        facts = try await ledger.recorded(
          record.id, inPieces: describe(summary), evidence: evidence, cursor: move(to: cursor), at: clock())
      } else {
        facts = try await ledger.recorded(record.id, evidence: evidence, cursor: move(to: cursor), at: now) {
          var recorder = $0
          return describe(try intake.accept(arrival, by: policy, into: &recorder))
        }
      }
      if let cursor { receipt.cursor = cursor }
      receipt.add(facts)
      watch(.recorded(source: source.name, document: record.name, keys: facts.received))
      return .recorded(head)
    } catch {
      guard let fault = DocumentFault(refusing: error) else { throw error }
      let reading = vouched.map { self.reading(ofRefused: $0, at: now) }
      return .quarantined(try await quarantine(record, fault, at: path, cursor: cursor, reading))
    }
  }

  /// How many keys are recorded at a time, where a document has so many that others should not wait for all of them.
  ///
  /// Keys that come in no order change pages all over the store, and each piece writes these anew, so its pieces are larger.
  /// What was refused before is recorded in one act with forgetting what is held of it.
  private func pieceSize(for record: DocumentRecord, _ verified: VerifiedArrival) throws -> Int? {
    guard record.attempts == 0, let extent = try verified.extent() else { return nil }
    let factor = extent.isInOrder ? 1 : Self.piecesOfNoOrder
    let size = pieceSize.multipliedReportingOverflow(by: factor)
    return size.overflow || extent.count <= size.partialValue ? nil : size.partialValue
  }

  private static let piecesOfNoOrder = 8

  /// Records all keys of a document without a fault, so many at a time.
  private func recordPieces(
    of record: DocumentRecord, _ verified: VerifiedArrival, _ size: Int, _ intake: Intake, by policy: ReadingPolicy
  ) async throws -> IntakeSummary {
    guard let all = try intake.pieces(of: verified, by: policy, size: size) else {
      throw FileFault("read", record.name, reason: "its door has decoded it")
    }
    // Nobody but the body uses it while it runs.
    nonisolated(unsafe) let pieces = all
    while try pieces.advance() {
      try Task.checkCancellation()
      let (batch, receipt) = try await ledger.recordedPiece(of: record.id, at: clock()) {
        try pieces.admit(volumes: $0)
      }
      pieces.took(batch, receipt)
    }
    return pieces.finish()
  }

  private func verified(
    _ record: DocumentRecord, at path: String, from host: ProvenHost?, _ now: Instant
  ) throws -> VerifiedArrival {
    try source.arrival(of: record.name, at: path, from: host, at: now).examine().verify()
  }

  // MARK: Refusals

  /// What a document says before its fault: keys wait as long as anybody says that they are valid. Nobody stands behind
  /// bytes whose voucher failed, so these say nothing.
  private func reading(ofRefused verified: VerifiedArrival, at now: Instant) -> RefusedReading {
    let (policy, intake) = (source.admissionPolicy(at: now), Intake(ownOrigins: ownOrigins))
    // A file, which is read at any place from any thread; and nobody but the body reads it now.
    nonisolated(unsafe) let arrival = verified
    return { recorder in
      var recorder = recorder
      do {
        _ = try intake.accept(arrival, by: policy, into: &recorder, isRefused: true)
      } catch {
        // It is what the document was refused for.
        guard DocumentFault(refusing: error) != nil else { throw error }
      }
    }
  }

  /// Puts a document aside with its bytes. Because they are kept, the peer's chain goes on behind it: one bad batch
  /// does not stop all that follow.
  private mutating func quarantine(
    _ record: DocumentRecord, _ fault: DocumentFault, at path: String, cursor: String?, _ reading: RefusedReading?
  ) async throws -> DocumentFault {
    let (now, attempts) = (clock(), record.attempts + 1)
    let refusal = try refusal(fault, at: path, attempts: attempts, now: now)
    if attempts < Self.maximumAttempts {
      try await ledger.quarantined(record.id, refusal, cursor: move(to: cursor), at: now, reading: reading)
    } else {
      try await ledger.givenUp(record.id, refusal, cursor: move(to: cursor), at: now, reading: reading)
    }
    if let cursor { receipt.cursor = cursor }
    tell(record.name, fault)
    return fault
  }

  private func refusal(
    _ fault: DocumentFault, at path: String, attempts: Int, now: Instant
  ) throws -> RefusedDocument {
    RefusedDocument(
      fault, nextAttempt: now.adding(seconds: Backoff.seconds(afterFailures: attempts + 3, longest: 86_400)),
      content: try kept(path, days: retention.quarantineDays, now: now))
  }

  private mutating func tell(_ document: String, _ fault: DocumentFault) {
    receipt.refusals.append(PullReceipt.Refusal(document: document, fault: fault))
    watch(.refused(source: source.name, document: document, fault))
    transport.putAside(document, because: fault.reason)
  }

  /// It could not be fetched: it stays as it was, and the next pull tries again.
  private mutating func postpone(_ record: DocumentRecord, _ fault: DocumentFault) async throws {
    try await ledger.postponed(unrefused([.fetch(record)]), at: clock())
    // A file that is being written is no fault of its source.
    if fault.code != .changed {
      firstFault = firstFault ?? fault
      receipt.failures.append(PullReceipt.Refusal(document: record.name, fault: fault))
    }
    watch(.refused(source: source.name, document: record.name, fault))
  }

  /// What is kept of a fetched document for so many days.
  private func kept(_ path: String, days: Int64, now: Instant) throws -> KeptBytes? {
    guard days > 0, let bytes = try Self.bytesToKeep(of: path) else { return nil }
    return KeptBytes(bytes, until: now.adding(days: days))
  }

  /// A file as it is; an export with its signature file in one archive, so that both can be tried again. `nil` where
  /// there is too much of it.
  private static func bytesToKeep(of path: String) throws -> StoredBytes? {
    let file = try FileSource(path: path)
    guard file.byteCount <= keptBytes else { return nil }
    let companion = SpoolFolder.signaturePath(of: path)
    guard FileIdentity(path: companion) != nil else { return StoredBytes(file) }
    let signatures = try FileSource.contents(of: companion, limit: ReadLimits().signatureBytes)
    let archive = try SpoolFile()
    let writer = ZipWriter(archive, date: Instant(secondsSince1970: 0))
    try writer.addEntry("export.bin") { sink in
      try StoredBytes(file).forEachPiece { try sink.write($1) }
    }
    try writer.addEntry("export.sig") { try $0.write(signatures) }
    try writer.finish()
    return StoredBytes(archive)
  }
}

extension StoredBytes {
  /// What a file has, which nobody changes any more; it may have lost its name by the time that it is read.
  fileprivate init(_ file: any SeekableSource) {
    // It is read at given places, from any thread.
    nonisolated(unsafe) let source = file
    self.init(count: file.byteCount) { try source.read(at: $0, into: $1) }
  }
}

/// Fetches documents into the spool.
struct DocumentFetcher: Sendable {
  enum Result: Sendable {
    case fetched(ResponseHead, path: String)
    case answered(ResponseHead)
    case fault(DocumentFault)
  }

  let transport: any Transport
  let spool: SpoolFolder
  let byteLimit: Int

  /// - Parameter facts: of a document that is recorded, to ask whether it changed.
  func fetch(_ document: PeerDocument, unless facts: DocumentFacts?) async throws -> Result {
    var request = document.request
    if let facts {
      if let tag = facts.entityTag { request.headers.append(.init("If-None-Match", tag)) }
      if let time = facts.lastModified { request.headers.append(.init("If-Modified-Since", time)) }
    }
    let path = spool.newPath()
    if let response = document.response {
      let file = try OutputFile(path: path)
      try file.write(response.body)
      try file.commit()
      return .fetched(response.head, path: path)
    }
    do {
      let head = try await transport.fetch(request, into: path, byteLimit: byteLimit)
      if head.status == 200, document.otherStatuses.contains(204), try FileSource(path: path).byteCount == 0 {
        spool.remove(path)
        return .answered(ResponseHead(status: 204, headers: head.headers, provenHost: head.provenHost))
      }
      return head.status == 200 ? .fetched(head, path: path) : .answered(head)
    } catch let fault as TransportFault {
      spool.remove(path)
      return .fault(fault.documentFault)
    }
  }
}

extension DocumentFacts {
  /// With the peer's validators of today.
  fileprivate func validated(by head: ResponseHead) -> DocumentFacts {
    var facts = self
    facts.entityTag = head["etag"] ?? entityTag
    facts.lastModified = head["last-modified"] ?? lastModified
    return facts
  }
}

extension FolderTransport {
  /// What cannot be moved is refused again at the next pull, by its record.
  package func putAside(_ document: String, because reason: String) { _ = try? setAside(document, reason: reason) }
}
