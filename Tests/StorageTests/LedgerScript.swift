import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import Synchronization

/// Every event once, each on what the ones before it left.
enum LedgerScript {
  struct Step: Sendable {
    var kind: EventKind
    var run: @Sendable (Ledger) async throws -> Void

    init(_ kind: EventKind, _ run: @escaping @Sendable (Ledger) async throws -> Void) {
      self.kind = kind
      self.run = run
    }
  }

  static let word = Attribution(by: "ada", reason: "a key leaked")
  static let fault = DocumentFault(code: "x", reason: "y")

  static func steps(_ batch: AdmittedBatch, _ other: AdmittedBatch) -> [Step] {
    let (first, second, third) = (document(1), document(2), document(3))
    let cursor = CursorMove(of: "DE", to: "tag")
    let flood = flood()
    let refusal = RefusedDocument(
      fault, nextAttempt: Times.days(1), content: KeptBytes([1, 2, 3], until: Times.days(1)))
    let bundle = BundleID(rawValue: 1)
    return [
      Step(.discovered) { try await $0.discovered(["a", "b", "c"], of: "DE", at: Times.now) },
      Step(.fetching) { try await $0.fetching([first, second], at: Times.now) },
      Step(.interrupted) { try await $0.interrupted("DE", at: Times.now) },
      Step(.postponed) { try await $0.postponed([first], at: Times.now) },
      Step(.recordedPiece) { ledger in
        _ = try await ledger.recordedPiece(of: first, at: Times.now) { _ in .piece }
      },
      Step(.recorded) { ledger in
        let evidence = KeptBytes([9], until: Times.days(1))
        _ = try await ledger.recorded(first, evidence: evidence, cursor: cursor, at: Times.now) {
          DocumentFacts(try $0.record(batch) + $0.record(flood))
        }
      },
      Step(.unchanged) { try await $0.unchanged(first, .small, cursor: nil, at: Times.days(1)) },
      Step(.changedUnderItsName) {
        _ = try await $0.changedUnderItsName(first, putAsideAs: "a#1", refusal, at: Times.days(1))
      },
      Step(.quarantined) { try await $0.quarantined(second, refusal, cursor: cursor, at: Times.days(1)) },
      Step(.retryAsked) { try await $0.retryAsked(second, by: word, at: Times.days(1)) },
      Step(.limitRaised) { try await $0.limitRaised(of: "DE", to: 20_000, by: word, at: Times.days(1)) },
      Step(.givenUp) { try await $0.givenUp(second, refusal, cursor: nil, at: Times.days(1)) },
      Step(.discarded) { try await $0.discarded(third, by: word, at: Times.days(1)) },
      Step(.attempted) {
        try await $0.attempted(SourceAttempt(time: Times.days(1), fault: fault), source: "DE")
      },
      Step(.cursorMoved) { try await $0.cursorMoved(CursorMove(of: "DE", to: "next"), at: Times.days(1)) },
      Step(.uploaded) {
        _ = try await $0.uploaded(
          [
            AdmittedUpload(door: "door", batch: other, regions: ["NL"], certificate: "a", byteCount: 100),
            AdmittedUpload(door: "door", batch: flood, regions: [], certificate: nil, byteCount: 10),
          ], at: Times.days(2))
      },
      Step(.federated) { ledger in
        _ = try await ledger.federated(
          .example("tag", keys: 2, from: "FR"), by: "federation/FR", tagsOf: .country,
          evidence: KeptBytes([8], until: Times.days(1)), at: Times.days(2)
        ) { DocumentFacts(try $0.record(other)) }
      },
      Step(.heldReleased) { _ = try await $0.heldReleased(first, by: word, at: Times.days(2)) },
      Step(.heldDiscarded) { _ = try await $0.heldDiscarded(document(5), by: word, at: Times.days(2)) },
      Step(.paused) { try await $0.paused(.origin("de"), by: word, at: Times.days(2)) },
      Step(.recalled) { _ = try await $0.recalled(RecallRequest(origin: "DE"), by: word, at: Times.days(2)) },
      Step(.reread) { ledger in
        _ = try await ledger.reread("DE", by: word, at: Times.days(2)) { state, replacer in
          guard let record = try state.document(first) else { return }
          var change = ReadingChange()
          let keys = Set(batch.claims.map(\.subject.key))
          change.removed = try state.claims(broughtBy: first, about: keys).prefix(5).map(\.claim)
          change.added = batch.claims.prefix(9).map { StatedClaim($0, of: batch) }
          try replacer.replace(record, change, from: Times.now) { _ in .small }
        }
      },
      Step(.erased) { ledger in
        let key = batch.claims.first?.subject.key ?? TemporaryExposureKey(high: 0, low: 0)
        _ = try await ledger.erased(key, digest: "ab12", by: word, at: Times.days(2)) { _ in [first] }
      },
      Step(.resumed) { _ = try await $0.resumed(.origin("DE"), by: word, at: Times.days(3)) },
      Step(.paddingPlanned) { ledger in
        try await ledger.paddingPlanned(for: ["NL"], at: Times.days(3)) { _ in
          ((), [NoteChange(.paddingSecret, [1]), NoteChange(.paddingRounds(Times.now.day, series: nil), [2])])
        }
      },
      Step(.staged) { ledger in
        let keys = batch.claims.map { NewRelease(key: $0.key, revisions: 0) }
        try await ledger.staged([NewStaging(NewBundle("NL", 0), [1, 2], releasing: keys)], by: "NL", at: Times.days(3))
        { _ in [NoteChange(.seriesState("NL"), [3])] }
      },
      Step(.published) { try await $0.published([bundle], by: "NL", at: Times.days(3)) },
      Step(.unlisted) { try await $0.unlisted([bundle], by: "NL", at: sound(4)) },
      Step(.removed) { try await $0.removed([bundle], by: "NL", at: sound(5)) },
      Step(.uploadsCounted) { try await $0.uploadsCounted(at: ["door"], keptFor: 14, at: sound(5)) },
      Step(.indexRestored) { try await $0.indexRestored(of: "NL", at: Times.days(5)) },
      Step(.mirrored) { try await $0.mirrored([4], by: "original", listed: 1, unlisted: 0, at: Times.days(5)) },
      Step(.batched) { _ = try await $0.batched(within: 10, keptFor: 2, at: Times.days(5)) },
      Step(.callbackSet) {
        try await $0.callbackSet("a", of: "DE", to: "https://a.example", behind: { _ in 3 }, at: Times.days(5))
      },
      Step(.callbackAttempted) { try await attempt($0, code: nil) },
      Step(.callbackAttempted) { try await attempt($0, code: "time-out") },
      Step(.callbackAttempted) { try await attempt($0, code: "time-out") },
      Step(.callbackAttempted) { try await attempt($0, code: "time-out") },
      Step(.callbackAttempted) { try await attempt($0, code: "time-out") },
      Step(.callbackAttempted) { try await attempt($0, code: "time-out") },
      Step(.callbackSuspended) { try await attempt($0, code: "time-out") },
      Step(.callbackResumed) { _ = try await $0.callbackResumed("a", of: "DE", by: word, at: Times.days(5)) },
      Step(.callbackRemoved) { _ = try await $0.callbackRemoved("a", of: "DE", at: Times.days(5)) },
      Step(.pushStaged) { _ = try await $0.pushStaged(.sample, [7, 8], keys: PushedKey.samples, at: Times.days(5)) },
      Step(.pushSettled) { ledger in
        let all = try await ledger.read { try ($0.pushes(to: nil, in: [.staged]), $0.keys(of: PushID(rawValue: 1))) }
        var keys = all.1
        for place in keys.indices { (keys[place].state, keys[place].storedType) = (place == 0 ? .refused : .stored, 1) }
        for push in all.0 { try await ledger.pushSettled(push, PushSettlement(.settled, keys), at: Times.days(5)) }
      },
      Step(.pushAttempted) { ledger in
        let attempt = PushAttempt(
          time: Times.days(5), lastSuccess: nil, failures: 1, fault: fault, nextAttempt: Times.days(6))
        try await ledger.pushAttempted(attempt, destination: "efgs", at: Times.days(5))
      },
      Step(.pushRetryAsked) { _ = try await $0.pushRetryAsked("efgs", by: word, at: Times.days(5)) },
      Step(.pushRepeatAsked) { _ = try await $0.pushRepeatAsked("efgs", by: word, at: Times.days(5)) },
      Step(.expired) { _ = try await $0.expired(keysExpiredBefore: Times.days(-3), at: sound(6)) },
      Step(.clockAccepted) { try await $0.clockAccepted(ClockWord(reading(7)), by: word, at: Times.days(7)) },
      Step(.begun) { try await $0.begun(beside: ["NL"], by: word, at: Times.days(7)) },
      Step(.replicaDrained) { ledger in
        guard let name = ReplicaName("b") else { return }
        _ = try await ledger.replicaDrained(name, by: word, at: Times.days(7))
      },
      Step(.replicaReturned) { ledger in
        guard let name = ReplicaName("b") else { return }
        _ = try await ledger.replicaReturned(name, by: word, at: Times.days(7))
      },
      Step(.clockSeen) { ledger in
        var judge = ClockJudge()
        _ = judge.look(reading(7))
        if let record = judge.record { try await ledger.clockSeen(record) }
      },
    ]
  }

  /// To announce a batch.
  static func attempt(_ ledger: Ledger, code: String?) async throws {
    guard let asked = try await ledger.read({ try $0.callbackSubscriptions().all.first }) else { return }
    let attempt = CallbackAttempt(batch: 4, tag: "20200601-4", faultCode: code, faultReason: code)
    _ = try await ledger.callbackAttempted(attempt, by: asked, at: Times.days(5))
  }

  static func sound(_ days: Int64) -> SoundTime { SoundTime(toldByOperator: Times.days(days)) }

  static func reading(_ days: Int64) -> ClockReading { ClockReading(wall: Times.days(days), uptime: 0, boot: "a") }

  static func document(_ number: Int64) -> DocumentID { DocumentID(rawValue: number) }

  /// Far more than its origin's usual volume.
  static func flood() -> AdmittedBatch {
    admit(
      (0..<9).map { number in
        var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(number), low: 5))
        (key.rollingStart, key.rollingPeriod) = (2_670_000, 144)
        return (key, RegionClaim(origin: "IT", visited: ["new \(number)"]))
      }, from: Source(name: "flood", provenance: .assertedByOperator), usual: 1)
  }
}

extension AdmittedBatch {
  /// Keys that nothing else in the script names.
  fileprivate static let piece = admit(
    (0..<3).map { number in
      var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(number), low: 77))
      (key.rollingStart, key.rollingPeriod) = (2_670_000, 144)
      return (key, RegionClaim(origin: "PT", visited: ["PT"]))
    }, from: Source(name: "DE", provenance: .assertedByOperator))
}

/// Queues an entry for each event, and can be told to fail.
final class RecordingListener: LedgerListener {
  struct Failure: Error {}

  struct Heard {
    let kind: EventKind
    let facts: PublicFacts?
    let stamp: EventStamp
  }

  private let heardEvents = Mutex<[Heard]>([])
  private let fails = Mutex(false)

  var heard: [Heard] { heardEvents.withLock { $0 } }

  func setFails(_ isFailing: Bool) { fails.withLock { $0 = isFailing } }

  func hear(_ kind: EventKind, _ facts: PublicFacts?, _ stamp: EventStamp, _ queue: LogQueue) throws {
    try queue.append(Array("\(stamp.id.rawValue)".utf8), kind: kind.rawValue)
    if fails.withLock({ $0 }) { throw Failure() }
    heardEvents.withLock { $0.append(Heard(kind: kind, facts: facts, stamp: stamp)) }
  }
}
