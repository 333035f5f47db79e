package import ExposureKeys
internal import KeyFormats
internal import KeyNormalization
package import KeyPeers
internal import KeyPublishing
package import KeyStorage

/// Hands own keys to federation gateways.
///
/// A batch is in the store, whole and signed, before it is sent; where its answer was not heard, the next push sends the same
/// bytes under the same tag again. A gateway that knows the tag then says so, and the keys go once more under a new tag: one
/// that has them tells by 207. So each key is taken once, whatever falls out in between.
package struct Pusher: Sendable {
  private let ledger: Ledger
  private let clock: @Sendable () -> Instant
  private let watch: @Sendable (PushEvent) -> Void

  /// - Parameter watch: is told what happens, from any thread.
  package init(
    ledger: Ledger, clock: @escaping @Sendable () -> Instant,
    watch: @escaping @Sendable (PushEvent) -> Void = { _ in }
  ) {
    self.ledger = ledger
    self.clock = clock
    self.watch = watch
  }

  /// The same, recording into another ledger.
  package func recording(into ledger: Ledger) -> Pusher { Pusher(ledger: ledger, clock: clock, watch: watch) }

  /// Hands over what is due.
  ///
  /// - Parameters:
  ///   - isForced: asks also a destination that failed not long ago, or is not due yet.
  ///   - isOnce: ends after one batch.
  /// - Throws: what the store throws, and cancellation. What goes wrong with the gateway is in the receipt.
  package func push(
    to destination: DestinationSettings, through transport: any Transport, isForced: Bool = false, isOnce: Bool = false
  ) async throws -> PushReceipt {
    var receipt = PushReceipt(destination: destination.name, signer: destination.signer.subject)
    let now = clock()
    let state = try await ledger.read { state in
      (
        attempt: try state.pushAttempt(to: destination.name), pauses: PauseSet(try state.pauses()),
        waits: try state.beginning()?.waits ?? false
      )
    }
    // A store that began anew sends nothing either before its operator has said all words again.
    guard !state.waits, !state.pauses.stops(destination) else {
      receipt.outcome = .paused
      return receipt
    }
    // A time that lies too far ahead was noted by a clock that was wrong.
    if !isForced, let next = state.attempt?.nextAttempt, next > now,
      next.secondsSince1970 <= now.secondsSince1970 + max(destination.interval, 86_400)
    {
      receipt.outcome = .waiting(until: next)
      return receipt
    }
    var visit = PushVisit(
      destination: destination, transport: transport, ledger: ledger, clock: clock, watch: watch, receipt: receipt)
    if destination.isRehearsal {
      try await visit.rehearse()
      watch(.finished(visit.receipt))
      return visit.receipt
    }
    let fault = try await visit.run(isOnce: isOnce)
    receipt = visit.receipt
    if let fault { receipt.outcome = .failed(fault) }
    try await remember(fault, of: destination, state.attempt, receipt)
    watch(.finished(receipt))
    return receipt
  }

  /// Notes that a destination could not even be asked.
  package func fail(_ destination: DestinationSettings, _ fault: DocumentFault) async throws -> PushReceipt {
    var receipt = PushReceipt(destination: destination.name, signer: destination.signer.subject)
    receipt.outcome = .failed(fault)
    let now = clock()
    let (last, selection) = try await ledger.read { state in
      (try state.pushAttempt(to: destination.name), try PushSelection(of: destination, from: state, at: now))
    }
    (receipt.selection, receipt.nextRelease) = (selection.counts, selection.nextRelease)
    receipt.pending = selection.counts.waiting
    try await remember(fault, of: destination, last, receipt)
    return receipt
  }

  private func remember(
    _ fault: DocumentFault?, of destination: DestinationSettings, _ last: PushAttempt?, _ receipt: PushReceipt
  ) async throws {
    let now = clock()
    let failures = fault == nil ? 0 : (last?.failures ?? 0) + 1
    // One minute, doubled with each failure in a row.
    let wait =
      failures == 0 ? destination.interval : min(60 << Int64(min(failures - 1, 12)), max(60, destination.interval))
    let attempt = PushAttempt(
      time: now, lastSuccess: fault == nil ? now : last?.lastSuccess, failures: failures, fault: fault,
      // Whoever takes keys is believed about those that it says it has.
      warning: receipt.warning ?? (receipt.stored > 0 ? nil : last?.warning),
      nextAttempt: Instant(secondsSince1970: now.secondsSince1970 + wait))
    try await ledger.pushAttempted(attempt, destination: destination.name, at: now)
  }
}

/// What happens during a push.
package enum PushEvent: Sendable {
  case selected(destination: String, keys: Int)
  case sending(destination: String, tag: String, keys: Int)
  case answered(destination: String, PushReceipt.Batch)
  case finished(PushReceipt)
}

/// One push to one destination.
private struct PushVisit {
  let destination: DestinationSettings
  let transport: any Transport
  let ledger: Ledger
  let clock: @Sendable () -> Instant
  let watch: @Sendable (PushEvent) -> Void
  var receipt: PushReceipt
  /// Keys that the gateway refused in this push, one after the other.
  private var refusedRow: [PushedKey] = []
  /// Batches in a row that were answered with 207, and of whose keys none was there and none failed.
  private var fruitless = 0
  /// Keys of earlier batches of which this push has learned what became of them.
  private var told: Set<KeySubject> = []
  /// Keys of batches of earlier pushes that have grown too old with their claims.
  private var outlived = 0
  /// Batches that were answered with 409.
  private var takenTags = 0
  /// What the gateway's 413 taught.
  private var batchKeys: Int

  /// Batches a push; what is left is for the next one.
  static let maximumBatches = 200
  /// A gateway that refuses more keys than this, and takes none in between, does not refuse them for what they are.
  static let maximumRefusals = 100
  static let maximumTakenTags = 16
  /// A gateway that says so often that it would store keys, and does not store them, never will.
  static let maximumFruitless = 2
  /// A key that the gateway could not store so often in a row is left alone.
  static let maximumFailures = 5

  init(
    destination: DestinationSettings, transport: any Transport, ledger: Ledger,
    clock: @escaping @Sendable () -> Instant,
    watch: @escaping @Sendable (PushEvent) -> Void, receipt: PushReceipt
  ) {
    self.destination = destination
    self.transport = transport
    self.ledger = ledger
    self.clock = clock
    self.watch = watch
    self.receipt = receipt
    batchKeys = max(1, destination.batchKeys)
  }

  /// - Returns: why not all could be handed over; `nil` when it was.
  mutating func run(isOnce: Bool) async throws -> DocumentFault? {
    let waiting = try await ledger.read { [name = destination.name] state in
      try state.pushes(to: name, in: [.staged]).map { push in
        (push: push, body: try state.content(of: push.id), keys: try state.keys(of: push.id))
      }
    }
    for batch in waiting {
      if case .stop(let fault) = try await sendAgain(batch.push, batch.body, batch.keys) {
        // What else waits is told all the same.
        receipt.pending = try await select().counts.waiting
        return fault
      }
    }
    let selection = try await select()
    receipt.pending = selection.counts.waiting
    var groups = Groups(selection.keys)
    for _ in 0..<(isOnce ? 1 : Self.maximumBatches) {
      try Task.checkCancellation()
      guard let keys = groups.next(atMost: batchKeys) else { break }
      let number = try await nextNumber()
      let signed: SignedPush
      do {
        signed = try SignedPush(keys, number: number, for: destination, at: clock())
      } catch let error as FormatError {
        return DocumentFault(code: FaultCode(rawValue: error.code.rawValue), reason: "\(error)")
      } catch {
        return DocumentFault(code: .cannotSign, reason: "no batch can be signed: \(error)")
      }
      let push = try await ledger.pushStaged(signed.push, signed.body, keys: signed.keys, at: clock())
      switch try await send(push, signed.body, keys, wasSent: false) {
      case .stop(let fault): return fault
      case .goOn(let further): groups.put(further)
      }
    }
    return nil
  }

  /// Everything but sending.
  mutating func rehearse() async throws {
    let selection = try await select()
    receipt.outcome = .rehearsed
    receipt.pending = selection.counts.waiting
    var groups = Groups(selection.keys)
    var number = try await nextNumber()
    while let keys = groups.next(atMost: batchKeys) {
      do {
        let signed = try SignedPush(keys, number: number, for: destination, at: clock())
        note(signed.push, "rehearsed", nil, wasSent: false)
      } catch {
        receipt.outcome = .failed(DocumentFault(code: .cannotSign, reason: "no batch can be signed: \(error)"))
        return
      }
      number += 1
    }
  }

  private mutating func select() async throws -> PushSelection {
    let (settings, now) = (destination, clock())
    let selection = try await ledger.read { [told] in
      try PushSelection(of: settings, from: $0, at: now, except: told)
    }
    (receipt.selection, receipt.nextRelease) = (selection.counts, selection.nextRelease)
    receipt.selection.tooOld += outlived
    watch(.selected(destination: destination.name, keys: selection.keys.count))
    return selection
  }

  private func nextNumber() async throws -> Int {
    let (name, today) = (destination.name, clock().day.start)
    return try await ledger.read { try $0.pushCount(to: name, since: today) } + 1
  }

  // MARK: One batch

  private enum Turn {
    /// Keys that are sent once more, by the batches that they are to be in.
    case goOn([[PushedKey]])
    case stop(DocumentFault)
  }

  /// Of an earlier push, of which nobody knows what became.
  private mutating func sendAgain(_ push: PushRecord, _ body: [UInt8]?, _ keys: [PushedKey]) async throws -> Turn {
    let pending = keys.map { asPending($0) }
    guard let body else {
      // A key in it was erased; those that are left are selected anew.
      note(push.push, "erased", nil, wasSent: true)
      return try await settle(push, .withdrawn, pending, sendingOn: [])
    }
    guard keys.count == push.push.keyCount, !keys.contains(where: isTooOld) else {
      // No gateway takes a batch with a key of that age; those that are young enough are selected anew, the others with what
      // is kept of them.
      outlived += push.push.keyCount - keys.count
      note(push.push, "too-old", nil, wasSent: true)
      return try await settle(push, .withdrawn, pending, sendingOn: [])
    }
    return try await send(push, body, keys, wasSent: true)
  }

  /// Whether it began before the days that gateways take.
  private func isTooOld(_ key: PushedKey) -> Bool {
    let days = Int64(DestinationSettings.maximumAgeAllowed.upperBound)
    let oldest = Day(daysSince1970: clock().day.daysSince1970 - days).firstInterval.rawValue
    return Int64(key.subject.rollingStart) < oldest
  }

  private mutating func send(
    _ push: PushRecord, _ body: [UInt8], _ keys: [PushedKey], wasSent: Bool
  ) async throws -> Turn {
    watch(.sending(destination: destination.name, tag: push.push.tag, keys: keys.count))
    let answer: PeerAnswer
    do {
      let (head, body) = try await transport.ask(
        EFGSUpload.request(push.push, body: body, to: destination.location))
      answer = .response(head, body)
    } catch let fault as TransportFault {
      answer = .fault(fault.documentFault)
    }
    let verdict = EFGSUpload.verdict(of: answer, keyCount: keys.count)
    note(push.push, verdict.name, verdict.fault, wasSent: wasSent)
    let isFirst = !wasSent && keys.allSatisfy { $0.push == nil && $0.storedType == nil }
    let sent = keys.enumerated().map { position, key in
      var key = key
      (key.push, key.position) = (push.id, position)
      return key
    }
    if case .partly(_, let known, _) = verdict, isFirst, known.count == keys.count, known.count > 1 {
      doubt(known.count)
    }
    if case .notSent = verdict { return try await heed(verdict, push, keys, wasSent: wasSent) }
    return try await heed(verdict, push, sent, wasSent: wasSent)
  }

  /// The gateway says that it has keys which it was never told.
  private mutating func doubt(_ count: Int) {
    receipt.warning = DocumentFault(
      code: .knownUnsent,
      reason:
        "the gateway answered that it has each of \(count) keys that this store has sent to nobody: where another store "
        + "has sent them, all is well; if not, they are sent once more by keyferry push \(destination.name) --again")
  }

  private mutating func heed(
    _ verdict: UploadVerdict, _ push: PushRecord, _ keys: [PushedKey], wasSent: Bool
  ) async throws -> Turn {
    switch verdict {
    case .stored:
      (receipt.stored, refusedRow, fruitless) = (receipt.stored + keys.count, [], 0)
      return try await settle(push, .settled, keys.map { asStored($0) }, sendingOn: [])
    case .partly(let new, let known, let failed):
      (receipt.known, refusedRow) = (receipt.known + known.count, [])
      let again = new.map { asPending(keys[$0]) }
      let failing = failed.map { asFailed(keys[$0]) }
      receipt.refused += failing.count { $0.state == .refused }
      fruitless = new.count == keys.count ? fruitless + 1 : 0
      let turn = try await settle(
        push, .settled, known.map { asStored(keys[$0]) } + again + failing, sendingOn: [again])
      guard fruitless >= Self.maximumFruitless else { return turn }
      return .stop(
        DocumentFault(
          code: .settlesNothing,
          reason:
            "the gateway answered 207 to \(fruitless) batches in a row, and said of all their keys that it would store them: "
            + "it has stored none"))
    case .tagTaken:
      takenTags += 1
      let again = keys.map { asPending($0) }
      let turn = try await settle(push, .withdrawn, again, sendingOn: [again])
      guard takenTags > Self.maximumTakenTags else { return turn }
      return .stop(
        DocumentFault(code: .tagsTaken, reason: "the gateway knows every tag: it answered 409 to \(takenTags) batches"))
    case .keyRefused(let place?, let fault):
      return try await refuse(place, of: push, keys, fault)
    case .tooLarge(let fault) where keys.count == 1:
      // It is not the key: a batch cannot be smaller.
      _ = try await settle(push, .withdrawn, keys.map { asPending($0) }, sendingOn: [])
      return .stop(
        DocumentFault(code: fault.code, reason: "\(fault.reason); it was a batch of one key, the smallest there is"))
    case .keyRefused(nil, let fault), .tooLarge(let fault):
      if keys.count == 1 { return try await refuse(0, of: push, keys, fault) }
      if case .tooLarge = verdict { batchKeys = max(1, keys.count / 2) }
      let again = keys.map { asPending($0) }
      let halves = [Array(again[..<(again.count / 2)]), Array(again[(again.count / 2)...])]
      return try await settle(push, .withdrawn, again, sendingOn: halves)
    case .refused(let fault):
      // Where an earlier attempt was taken all the same, the gateway says so by 207 when its keys come again.
      _ = try await settle(push, .withdrawn, keys.map { asPending($0) }, sendingOn: [])
      return .stop(fault)
    case .notSent(let fault):
      // Where it was sent before, it may be there: then it stays as it is until an answer tells.
      if !wasSent { _ = try await settle(push, .withdrawn, keys.map { asPending($0) }, sendingOn: []) }
      return .stop(fault)
    case .unknown(let fault): return .stop(fault)
    }
  }

  /// One key cannot be taken; the others are signed anew.
  private mutating func refuse(
    _ place: Int, of push: PushRecord, _ keys: [PushedKey], _ fault: DocumentFault
  ) async throws -> Turn {
    var rest = keys.map { asPending($0) }
    var refused = rest.remove(at: place)
    (refused.state, refused.reason) = (.refused, fault.reason)
    refusedRow.append(refused)
    receipt.refused += 1
    guard refusedRow.count >= Self.maximumRefusals else {
      return try await settle(push, .withdrawn, rest + [refused], sendingOn: [rest])
    }
    // It refuses whatever comes, so it is not the keys: they are sent again.
    let row = refusedRow.map { asPending($0) }
    (receipt.refused, receipt.pending) = (receipt.refused - row.count, receipt.pending + row.count - 1)
    refusedRow = []
    _ = try await settle(push, .withdrawn, rest + row, sendingOn: [])
    return .stop(
      DocumentFault(
        code: .refusesEveryKey,
        reason:
          "\(fault.reason); it refused \(row.count) keys one after the other and took none in between, so it is not these "
          + "keys, and they wait"))
  }

  private mutating func settle(
    _ push: PushRecord, _ state: PushState, _ keys: [PushedKey], sendingOn groups: [[PushedKey]]
  ) async throws -> Turn {
    try await ledger.pushSettled(push, PushSettlement(state, keys), at: clock())
    let done = keys.filter { $0.state == .stored || $0.state == .refused }
    told.formUnion(done.map(\.subject))
    receipt.pending = max(0, receipt.pending - done.count)
    return .goOn(groups.filter { !$0.isEmpty })
  }

  private mutating func note(_ push: NewPush, _ outcome: String, _ fault: DocumentFault?, wasSent: Bool) {
    let batch = PushReceipt.Batch(
      tag: push.tag, keys: push.keyCount, digest: push.digest, outcome: outcome, fault: fault, isSentAgain: wasSent)
    receipt.batches.append(batch)
    watch(.answered(destination: destination.name, batch))
  }

  // MARK: Keys

  private func asStored(_ key: PushedKey) -> PushedKey {
    changed(key) { ($0.state, $0.storedType, $0.failures, $0.reason) = (.stored, $0.row.reportType, 0, nil) }
  }

  private func asPending(_ key: PushedKey) -> PushedKey {
    changed(key) { key in
      if key.state == .refused { key.reason = nil }
      key.state = .pending
    }
  }

  private func asFailed(_ key: PushedKey) -> PushedKey {
    changed(key) { key in
      key.failures += 1
      key.state = key.failures < Self.maximumFailures ? .pending : .refused
      key.reason = "the gateway could not store it (500), \(key.failures) times in a row"
    }
  }

  private func changed(_ key: PushedKey, _ change: (inout PushedKey) -> Void) -> PushedKey {
    var key = key
    change(&key)
    key.changed = clock()
    return key
  }
}

/// Keys on their way into batches. Those that could not be stored before stand apart, so that they hold up nobody.
private struct Groups {
  private var groups: [[PushedKey]]

  init(_ keys: [PushedKey]) {
    groups = [keys.filter { $0.failures > 0 }, keys.filter { $0.failures == 0 }].filter { !$0.isEmpty }
  }

  mutating func put(_ further: [[PushedKey]]) { groups += further.reversed() }

  mutating func next(atMost limit: Int) -> [PushedKey]? {
    guard let group = groups.popLast() else { return nil }
    if group.count > limit { groups.append(Array(group[limit...])) }
    return Array(group.prefix(limit))
  }
}

extension UploadVerdict {
  fileprivate var name: String {
    switch self {
    case .stored: "stored"
    case .partly: "partly-known"
    case .tagTaken: "tag-taken"
    case .keyRefused: "key-refused"
    case .tooLarge: "too-large"
    case .refused: "refused"
    case .notSent: "not-sent"
    case .unknown: "unknown"
    }
  }

  fileprivate var fault: DocumentFault? {
    switch self {
    case .stored, .partly, .tagTaken: nil
    case .keyRefused(_, let fault), .tooLarge(let fault), .refused(let fault), .notSent(let fault), .unknown(let fault):
      fault
    }
  }
}

extension FaultCode {
  package static let cannotSign = FaultCode(rawValue: "cannot-sign")
  package static let tagsTaken = FaultCode(rawValue: "tags-taken")
  package static let refusesEveryKey = FaultCode(rawValue: "refuses-every-key")
  /// 207 again and again, by which no key is settled.
  package static let settlesNothing = FaultCode(rawValue: "settles-nothing")
  /// It says that it has keys which it was never told: a warning.
  package static let knownUnsent = FaultCode(rawValue: "known-unsent")
}
