import ExposureKeys
import GatewayTesting
import KeyStorage
import Synchronization
import Testing

#if PostgreSQL
  @testable import PostgresDriver
#endif

@Suite("Leases: who does what of those that share a store")
struct LeaseTests {
  /// The store's own clock, which tests move.
  final class StoreClock: Sendable {
    private let time = Mutex(Duration.seconds(1000))
    var now: Duration { time.withLock { $0 } }
    func pass(_ duration: Duration) { time.withLock { $0 += duration } }
  }

  static let a = ReplicaName("a") ?? .unnamed
  static let b = ReplicaName("b.example-1") ?? .unnamed
  static let duty = Duty.publish("NL")

  /// The stores that can be shared.
  static let kinds: [StoreKind] = [.memory] + (StoreKind.hasPostgres ? [.postgresql] : [])

  /// A store that is shared, its leases, and what lets the time of its clock pass.
  private func withSharedStore(
    _ kind: StoreKind, _ body: (any Store, any LeaseStore, (Duration) async throws -> Void) async throws -> Void
  ) async throws {
    #if PostgreSQL
      if kind == .postgresql {
        let words = try ConnectionWords(try PostgresServer.shared.words)
        let schema = PostgresServer.newSchema()
        let store = try PostgresStore(words, schema: schema, role: .replica)
        let other = try PostgresConnection(words, application: "clock")
        return try await body(store, try #require(store.leases)) { duration in
          // The server's clock cannot be moved; what it is compared with can.
          _ = try other.script(
            "UPDATE \(schema).leases SET until = until - interval '\(duration.components.seconds) s' - interval '\(duration.components.attoseconds / 1_000_000_000_000_000) ms'"
          )
        }
      }
    #endif
    let clock = StoreClock()
    let store = MemoryStore(sharedBy: { clock.now })
    try await body(store, try #require(store.leases)) { clock.pass($0) }
  }

  @Test("a duty is held by one, and taken by another when its time is over or it was given back", arguments: kinds)
  func taking(kind: StoreKind) async throws {
    try await withSharedStore(kind) { _, office, pass in
      let first = try #require(try await office.take([Self.duty], as: Self.a, for: .seconds(2)).first)
      #expect(try await office.take([Self.duty], as: Self.b, for: .seconds(2)).isEmpty)
      #expect(try await office.take([Self.duty], as: Self.a, for: .seconds(2)).isEmpty, "not even by itself")
      #expect(try await office.table().standing.map(\.isHeld) == [true])
      try await pass(.seconds(1))
      #expect(try await office.renew([first], for: .seconds(2)).count == 1)
      try await pass(.milliseconds(1500))
      #expect(try await office.take([Self.duty], as: Self.b, for: .seconds(2)).isEmpty, "it was renewed")
      try await pass(.seconds(1))
      let second = try #require(try await office.take([Self.duty], as: Self.b, for: .seconds(2)).first)
      #expect(second.number > first.number)
      #expect(try await office.renew([first], for: .seconds(2)).isEmpty, "it was lost")
      try await office.release([first])
      #expect(try await office.table().standing.first?.isHeld == true, "what is another's is not given back")
      try await office.release([second])
      #expect(try await office.table().standing.first?.isHeld == false)
      let third = try #require(try await office.take([Self.duty], as: Self.a, for: .seconds(2)).first)
      #expect(third.number > second.number, "numbers never go down")
    }
  }

  @Test("a lease whose time is over is not renewed, though nobody has taken it", arguments: kinds)
  func late(kind: StoreKind) async throws {
    try await withSharedStore(kind) { _, office, pass in
      let lease = try await office.take([Self.duty], as: Self.a, for: .seconds(1))
      try await pass(.seconds(2))
      #expect(try await office.renew(lease, for: .seconds(1)).isEmpty)
    }
  }

  @Test("who has lost a lease writes nothing under it, and everything else goes on", arguments: kinds)
  func fence(kind: StoreKind) async throws {
    try await withSharedStore(kind) { store, office, pass in
      let ledger = Ledger(store)
      let old = try await office.take([Self.duty], as: Self.a, for: .seconds(1))
      try await ledger.under(old).cursorMoved(CursorMove(of: "efgs", to: "1"), at: Times.now)
      try await pass(.seconds(2))
      // Nobody has taken it, so nobody is harmed.
      try await ledger.under(old).cursorMoved(CursorMove(of: "efgs", to: "2"), at: Times.now)
      let new = try await office.take([Self.duty], as: Self.b, for: .seconds(1))
      let before = try await store.snapshot()
      let fault = await #expect(throws: StorageFault.self) {
        try await ledger.under(old).cursorMoved(CursorMove(of: "efgs", to: "3"), at: Times.now)
      }
      #expect(fault?.code == .fenced)
      #expect(fault?.reason.contains("publish/NL") == true)
      #expect(try await store.snapshot() == before)
      try await ledger.under(new).cursorMoved(CursorMove(of: "efgs", to: "4"), at: Times.now)
      try await ledger.paused(.source("efgs"), by: Attribution(by: "me"), at: Times.now)
      let cursor = try await store.read { try $0.source(named: "efgs")?.cursor }
      #expect(cursor == "4")
    }
  }

  @Test("of two leases one that is lost is enough", arguments: kinds)
  func twoLeases(kind: StoreKind) async throws {
    try await withSharedStore(kind) { store, office, pass in
      let other = Duty.publish("BE")
      let held = try await office.take([Self.duty, other], as: Self.a, for: .seconds(1))
      #expect(Set(held.map(\.duty)) == [Self.duty, other])
      try await pass(.seconds(2))
      _ = try await office.take([other], as: Self.b, for: .seconds(1))
      await #expect(throws: StorageFault.self) {
        try await Ledger(store).under(held).cursorMoved(CursorMove(of: "efgs", to: "1"), at: Times.now)
      }
    }
  }

  @Test("of many at once one has it", arguments: kinds, 1...5)
  func race(kind: StoreKind, round: Int) async throws {
    try await withSharedStore(kind) { _, office, _ in
      let winners = try await withThrowingTaskGroup(of: [Lease].self) { group in
        for number in 0..<12 {
          guard let name = ReplicaName("r\(number)") else { continue }
          group.addTask { try await office.take([Self.duty], as: name, for: .seconds(60)) }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(winners.count == 1)
    }
  }

  @Test("names are names of machines", arguments: ["", "a b", "ä", "a/b", String(repeating: "a", count: 64)])
  func badNames(text: String) { #expect(ReplicaName(text) == nil) }

  @Test("a replica is drained once, and returns once")
  func draining() async throws {
    let store = MemoryStore()
    let ledger = Ledger(store)
    let word = Attribution(by: "me", reason: "a new disk")
    #expect(try await ledger.replicaDrained(Self.b, by: word, at: Times.now))
    #expect(try await !ledger.replicaDrained(Self.b, by: word, at: Times.days(1)))
    #expect(try await ledger.replicaDrained(Self.a, by: word, at: Times.now))
    let drained = try await store.read { try $0.drainedReplicas() }
    #expect(drained.map(\.name) == [Self.a, Self.b])
    #expect(drained.map(\.reason) == ["a new disk", "a new disk"])
    #expect(try await ledger.replicaReturned(Self.b, by: word, at: Times.now))
    #expect(try await !ledger.replicaReturned(Self.b, by: word, at: Times.now))
    #expect(try await store.read { try $0.drainedReplicas() }.map(\.name) == [Self.a])
  }
}
