import ExposureKeys
import GatewayServer
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
    let tenure = WorkOwnership(Ledger(MemoryStore()), as: .unnamed, for: .seconds(1), clock: { Self.now })
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
    #expect(try await ledger.replicaDrained(a.name, by: Attribution(by: "me"), at: Self.now))
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

  /// A store's leases that cannot be asked now and then, or are answered late.
  private final class AwayOffice: LeaseStore {
    private let base: any LeaseStore
    let isAway = Mutex(false)
    /// What its clock, and the replica's, go on by before it answers.
    let lateness = Mutex(Duration.zero)

    init(_ base: any LeaseStore) { self.base = base }

    private func answer() async throws {
      if isAway.withLock(\.self) { throw StorageFault(.inputOutput, "db: the server does not answer") }
      try await Task.sleep(for: lateness.withLock(\.self))
    }

    func table() async throws -> LeaseTable {
      try await answer()
      return try await base.table()
    }
    func take(_ duties: [Duty], as holder: ReplicaName, for time: Duration) async throws -> [Lease] {
      let leases = try await base.take(duties, as: holder, for: time)
      try await answer()
      return leases
    }
    func renew(_ leases: [Lease], for time: Duration) async throws -> [Lease] {
      let renewed = try await base.renew(leases, for: time)
      try await answer()
      return renewed
    }
    func release(_ leases: [Lease]) async throws { try await base.release(leases) }
  }

  private func replica(_ office: any LeaseStore, for time: Duration) throws -> Replica {
    Replica(try #require(ReplicaName("a")), ledger: ledger, office: office, for: time, clock: { Self.now })
  }

  @Test("who is answered late says so, and not that another one has its name")
  func late() async throws {
    let office = AwayOffice(try #require(ledger.leases))
    let a = try replica(office, for: .milliseconds(200))
    #expect(try await !a.look(wanted: Self.duties).isLate)
    #expect(a.isPresent)
    office.lateness.withLock { $0 = .milliseconds(250) }
    #expect(try await a.look(wanted: Self.duties).isLate)
    #expect(!a.isPresent)
    office.lateness.withLock { $0 = .zero }
    clock.pass(.seconds(1))
    #expect(try await !a.look(wanted: Self.duties).isLate)
    #expect(a.isPresent)
    // Another one takes its name.
    clock.pass(.seconds(1))
    let other = try #require(ledger.leases)
    _ = try await other.take([.presence(of: a.name)], as: a.name, for: .seconds(60))
    #expect(try await !a.look(wanted: Self.duties).isLate)
    #expect(!a.isPresent)
  }

  @Test("who cannot ask who does what is not ready to publish, once what it had is over")
  func unanswered() async throws {
    let gateway = try ConfiguredGateway()
    let office = AwayOffice(try #require(ledger.leases))
    let publishing = Readiness()
    let service = ReplicaService(
      try replica(office, for: .seconds(2)), plan: CurrentPlan(gateway.plan), serving: nil, publishing: publishing)
    let work = Task { try await service.run() }
    defer { work.cancel() }
    func waits(_ isReady: Bool) async throws {
      for _ in 0..<200 where publishing.reasons.isEmpty != isReady { try await Task.sleep(for: .milliseconds(50)) }
      #expect(publishing.reasons.isEmpty == isReady, "\(publishing.reasons)")
    }
    for _ in 0..<100 where !service.replica.isPresent { try await Task.sleep(for: .milliseconds(50)) }
    try await waits(true)
    office.isAway.withLock { $0 = true }
    try await waits(false)
    #expect(publishing.reasons == ["who does what is not known: db: the server does not answer"])
    clock.pass(.seconds(10))
    office.isAway.withLock { $0 = false }
    try await waits(true)
  }
}
