import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import SQLiteDriver
import Testing

@Suite("Stores: transactions")
struct TransactionTests {
  struct Stop: Error {}

  /// Every operation of a transaction once, each on what the ones before it left.
  static func operations(_ batches: [AdmittedBatch]) -> [@Sendable (any StoreTransaction) throws -> Void] {
    let document = DocumentID(rawValue: 1)
    let fault = DocumentFault(code: "x", reason: "y")
    let floods = [UInt64(5), 6].map { low in
      admit(
        (0..<9).map { number in
          var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(number), low: low))
          (key.rollingStart, key.rollingPeriod) = (2_670_000, 144)
          return (key, RegionClaim(origin: "IT", visited: ["new \(number)"]))
        }, from: Source(name: "flood", provenance: .assertedByOperator), usual: 1)
    }
    return [
      { try $0.discover(["a", "b"], of: "DE", at: Times.now) },
      { try $0.move(document, to: .quarantined, fault: fault, nextAttempt: Times.days(1), at: Times.now) },
      { try $0.keep([1, 2, 3], of: document, until: Times.days(1)) },
      { _ = try $0.record(batches[0], of: document, at: Times.now) },
      { _ = try $0.record(floods[0], of: document, at: Times.now) },
      { try $0.complete(document, .small, at: Times.now) },
      { try $0.setCursor("tag", of: "DE") },
      { try $0.setAttempt(SourceAttempt(time: Times.now), of: "DE") },
      { _ = try $0.releaseHeld(of: document, at: Times.now) },
      { _ = try $0.record(floods[1], of: DocumentID(rawValue: 2), at: Times.now) },
      { _ = try $0.discardHeld(of: DocumentID(rawValue: 2)) },
      { try $0.pause(Pause(.origin("DE"), since: Times.now)) },
      { _ = try $0.record(batches[1], of: document, at: Times.days(1)) },
      { try $0.recall(RecallRequest(origin: "DE"), at: Times.days(1)) },
      { _ = try $0.stage(NewBundle("NL", 0), [1, 2], at: Times.now) },
      {
        try $0.release(
          batches[0].claims.map { ReleasedKey(key: $0.key, bundle: BundleID(rawValue: 1)) }, by: "NL")
      },
      { try $0.move(BundleID(rawValue: 1), to: .published, at: Times.now) },
      { try $0.setNote([1], named: "round") },
      {
        try $0.note(
          UploadRecord(
            event: EventID(rawValue: 1), door: "door", regions: ["NL", "BE"], certificate: "a"))
      },
      { _ = try $0.enter(NewEvent(.attempted, about: "DE", at: Times.days(-30))) },
      { try $0.enqueue([7, 0], kind: "bundle", event: EventID(rawValue: 1)) },
      { try $0.enqueue([], kind: "pause", event: EventID(rawValue: 2)) },
      { try $0.dequeue([QueuedEntryID(rawValue: 1)]) },
      { try $0.expire(keysExpiredBefore: Times.days(-3), at: Times.days(2)) },
      { try $0.resume(.origin("DE")) },
    ]
  }

  @Test("a body that throws leaves nothing, wherever it stops", arguments: StoreKind.allCases)
  func throwing(kind: StoreKind) async throws {
    var arrivals = Arrivals(random: SeededRandom(for: "throwing \(kind)"))
    let operations = Self.operations([arrivals.batch(30), arrivals.batch(30)])
    try await withStore(kind) { store in
      let empty = try await store.snapshot()
      for count in 1...operations.count {
        await #expect(throws: Stop.self) {
          try await store.write { transaction in
            for operation in operations.prefix(count) { try operation(transaction) }
            throw Stop()
          }
        }
        #expect(try await store.snapshot() == empty, "after \(count) operations")
      }
      // Then each in a transaction of its own, after one that failed behind it.
      for operation in operations {
        let before = try await store.snapshot()
        await #expect(throws: Stop.self) {
          try await store.write {
            try operation($0)
            throw Stop()
          }
        }
        #expect(try await store.snapshot() == before)
        try await store.write { try operation($0) }
        #expect(try await store.snapshot() != before)
      }
    }
  }

  @Test("the same operations make the same store")
  func agreement() async throws {
    var arrivals = Arrivals(random: SeededRandom(for: "agreement"))
    let operations = Self.operations([arrivals.batch(30), arrivals.batch(30)])
    try await withStore(.memory) { memory in
      try await withStore(.sqlite) { sqlite in
        for operation in operations {
          try await memory.write { try operation($0) }
          try await sqlite.write { try operation($0) }
          #expect(try await memory.snapshot() == sqlite.snapshot())
        }
      }
    }
  }

  @Test("the cursor moves with the claims or not at all", arguments: StoreKind.allCases)
  func cursor(kind: StoreKind) async throws {
    var arrivals = Arrivals(random: SeededRandom(for: "cursor \(kind)"))
    let batch = arrivals.batch(20)
    try await withStore(kind) { store in
      for isStopped in [true, false] {
        let end = try? await store.write { transaction in
          _ = try transaction.record(batch, of: try transaction.document("a"), at: Times.now)
          try transaction.setCursor("next", of: "DE")
          if isStopped { throw Stop() }
          return true
        }
        #expect((end == nil) == isStopped)
        try await store.read { state throws in
          #expect(try state.source(named: "DE")?.cursor == (isStopped ? nil : "next"))
          #expect((try state.claimCount() > 0) == !isStopped)
        }
      }
    }
  }

  @Test("writers wait for each other", arguments: StoreKind.allCases)
  func concurrentWriters(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      try await withThrowingTaskGroup { group in
        for number in 0..<20 {
          group.addTask {
            try await store.write { transaction in
              let count = try transaction.note(named: "round")?.first ?? 0
              try transaction.setNote([count + 1], named: "round")
              // Names that are new at once must not share a number.
              var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(number), low: 5))
              (key.rollingStart, key.rollingPeriod) = (2_670_000, 144)
              let batch = admit(
                [(key, RegionClaim(origin: "O\(number)", visited: ["V\(number)"]))],
                from: Source(name: "s", provenance: .assertedByOperator))
              _ = try transaction.record(batch, of: try transaction.document("a"), at: Times.now)
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await store.read { try $0.note(named: "round") } == [20])
      let claims = try await store.read { try allClaims($0, limit: 6) }
      #expect(
        Set(claims.map { "\($0.key.key.high) \($0.origin ?? "") \($0.visited ?? [])" })
          == Set((0..<20).map { "\($0) O\($0) [\"V\($0)\"]" }))
    }
  }
}
