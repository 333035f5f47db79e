import ExposureKeys
import GatewayTesting
import KeyStorage
import Synchronization
import Testing

@testable import GatewayDaemon

@Suite("Replicas: processes that share a store")
struct ReplicaTests {
  private final class StoreClock: Sendable {
    private let time = Mutex(Duration.seconds(1000))
    var now: Duration { time.withLock { $0 } }
    func pass(_ duration: Duration) { time.withLock { $0 += duration } }
  }

  private static let now = Instant(secondsSince1970: 1_606_780_800)
  private static let duties: Set<Duty> = [.publish("NL"), .publish("BE"), .pull("efgs"), .retention]

  private let clock: StoreClock
  private let ledger: Ledger
  /// By how much the replicas' clocks are ahead.
  private let error: ClockError

  private final class ClockError: Sendable {
    private let seconds = Mutex<Int64>(0)
    func withLock<Result>(_ body: (inout sending Int64) -> sending Result) -> sending Result { seconds.withLock(body) }
  }

  init() {
    let clock = StoreClock()
    self.clock = clock
    error = ClockError()
    ledger = Ledger(MemoryStore(sharedBy: { clock.now }, time: { Self.now }))
  }

  private func replica(_ name: String) throws -> Replica {
    let error = error
    return Replica(
      try #require(ReplicaName(name)), ledger: ledger, office: try #require(ledger.leases), for: .seconds(60),
      clock: { Instant(secondsSince1970: Self.now.secondsSince1970 + error.withLock { $0 }) })
  }

  @Test("a store with one owner needs no leases: everything is its own")
  func alone() async throws {
    let tenure = Tenure(Ledger(MemoryStore()), as: .unnamed, for: .seconds(1), clock: { Self.now })
    #expect(tenure.holds(.retention))
    let done = try await tenure.during([.retention, .publish("NL")]) { ledger in
      try await ledger.cursorMoved(CursorMove(of: "efgs", to: "1"), at: Self.now)
      return true
    }
    #expect(done == true)
  }

  @Test("work is done by whoever holds it, and by nobody else")
  func sharing() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    for _ in 0..<4 {
      _ = try await a.look(wanted: Self.duties)
      _ = try await b.look(wanted: Self.duties)
    }
    for duty in Self.duties { #expect(a.holds(duty) != b.holds(duty)) }
    #expect(Self.duties.count { a.holds($0) } == 2)
    let mine = try #require(Self.duties.first { a.holds($0) })
    #expect(await b.during([mine]) { _ in true } == nil)
    #expect(await a.during([mine]) { _ in true } == true)
  }

  @Test("who was asleep and wakes writes nothing, and the other goes on from what it had kept")
  func asleep() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    for _ in 0..<2 { _ = try await a.look(wanted: [.pull("efgs")]) }
    let woken = try await a.during([.pull("efgs")]) { ledger in
      try await ledger.cursorMoved(CursorMove(of: "efgs", to: "1"), at: Self.now)
      // A minute and more on the store's clock passes, and this process knows nothing of it.
      clock.pass(.seconds(61))
      for _ in 0..<3 { _ = try await b.look(wanted: [.pull("efgs")]) }
      let seen = try await b.during([.pull("efgs")]) { ledger in
        let cursor = try await ledger.read { try $0.source(named: "efgs")?.cursor }
        try await ledger.cursorMoved(CursorMove(of: "efgs", to: "2"), at: Self.now)
        return cursor
      }
      #expect(seen == "1")
      let fault = await #expect(throws: StorageFault.self) {
        try await ledger.cursorMoved(CursorMove(of: "efgs", to: "1b"), at: Self.now)
      }
      return fault?.code
    }
    #expect(woken == .fenced)
    #expect(try await ledger.read { try $0.source(named: "efgs")?.cursor } == "2")
    let change = try await a.look(wanted: [.pull("efgs")])
    #expect(!a.holds(.pull("efgs")), "\(change)")
  }

  @Test("who leaves gives everything back, and nobody has to wait")
  func leaving() async throws {
    let (a, b) = (try replica("a"), try replica("b"))
    for _ in 0..<2 { _ = try await a.look(wanted: Self.duties) }
    _ = try await b.look(wanted: Self.duties)
    try await a.leave()
    for _ in 0..<2 { _ = try await b.look(wanted: Self.duties) }
    #expect(Self.duties.allSatisfy { b.holds($0) })
    #expect(!Self.duties.contains { a.holds($0) })
  }

  @Test("a drained replica says so, and has no work")
  func draining() async throws {
    let a = try replica("a")
    for _ in 0..<2 { _ = try await a.look(wanted: Self.duties) }
    #expect(try await ledger.replicaDrained(a.name, by: OperatorWord(by: "me"), at: Self.now))
    let change = try await a.look(wanted: Self.duties)
    #expect(change.drained?.by == "me")
    #expect(Set(change.released) == Self.duties)
    #expect(a.isPresent)
  }

  @Test(
    "who differs from the store's clock by more than a minute has no work", arguments: [61, -61, 86_400] as [Int64])
  func wrongClock(seconds: Int64) async throws {
    let a = try replica("a")
    error.withLock { $0 = seconds }
    for _ in 0..<2 { _ = try await a.look(wanted: Self.duties) }
    #expect(try await a.look(wanted: Self.duties).clockError == seconds)
    #expect(a.isPresent && !Self.duties.contains { a.holds($0) })
    error.withLock { $0 = 30 }
    for _ in 0..<2 { _ = try await a.look(wanted: Self.duties) }
    #expect(Self.duties.allSatisfy { a.holds($0) })
    error.withLock { $0 = seconds }
    _ = try await a.look(wanted: Self.duties)
    #expect(!Self.duties.contains { a.holds($0) })
  }
}
