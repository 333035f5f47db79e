import GatewayTesting
import KeyStorage
import Testing

@testable import GatewayDaemon

/// A store's leases in time that the test makes, with the store's answers given at once.
private struct LeaseTable {
  var rows: [Duty: (holder: ReplicaName, number: Int64, until: ContinuousClock.Instant)] = [:]
  var now = ContinuousClock.now

  var standing: [LeaseStanding] {
    rows.sorted { $0.key < $1.key }.map { duty, row in
      LeaseStanding(duty, holder: row.holder, number: row.number, remaining: row.until - now)
    }
  }

  mutating func take(_ duties: [Duty], as holder: ReplicaName, for time: Duration) -> [Lease] {
    duties.compactMap { duty in
      if let row = rows[duty], row.until > now { return nil }
      let number = (rows[duty]?.number ?? 0) + 1
      rows[duty] = (holder, number, now + time)
      return Lease(duty, holder: holder, number: number, deadline: Lease.deadline(askedAt: now, for: time))
    }
  }

  mutating func renew(_ leases: [Lease], for time: Duration) -> [Lease] {
    leases.compactMap { lease in
      guard let row = rows[lease.duty], row.number == lease.number, row.until > now else { return nil }
      rows[lease.duty]?.until = now + time
      return Lease(
        lease.duty, holder: lease.holder, number: lease.number,
        deadline: Lease.deadline(askedAt: now, for: time))
    }
  }

  mutating func release(_ leases: [Lease]) {
    for lease in leases where rows[lease.duty]?.number == lease.number { rows[lease.duty]?.until = now }
  }
}

/// Replicas that step in turn, and may be dead, asleep or cut off from the store.
private struct Union {
  static let time = Duration.seconds(15)
  var table = LeaseTable()
  var rosters: [LeaseScheduler]
  var dead: Set<Int> = []
  var drained: Set<ReplicaName> = []
  /// What each of these can do alone.
  var able: [Int: Set<Duty>] = [:]
  /// How often something was taken or given back.
  var moves = 0
  let duties: Set<Duty>

  init(_ count: Int, duties: Int) {
    rosters = (0..<count).compactMap { number in
      ReplicaName("replica-\(number)").map { LeaseScheduler(name: $0, time: Self.time) }
    }
    self.duties = Set((0..<duties).map { .publish("series \($0)") })
  }

  mutating func step(_ index: Int) {
    let step = rosters[index].step(
      table.standing, wanted: able[index] ?? duties, drained: drained, at: table.now)
    moves += step.release.count
    let name = rosters[index].name
    rosters[index].note(renewed: table.renew(step.renew, for: Self.time), of: step.renew)
    rosters[index].note(released: step.release)
    table.release(step.release)
    let taken = table.take(step.take, as: name, for: Self.time)
    moves += taken.count
    rosters[index].note(taken: taken)
  }

  /// A second, in which everybody that lives looks once.
  mutating func second() {
    for index in rosters.indices where !dead.contains(index) { step(index) }
    table.now += .seconds(1)
  }

  func holders(of duty: Duty) -> [Int] {
    rosters.indices.filter { rosters[$0].lease(for: duty, at: table.now) != nil }
  }

  /// How many duties each replica holds, its presence left out.
  var shares: [Int] { rosters.indices.map { index in duties.count { holders(of: $0).contains(index) } } }
}

@Suite("Replicas: sharing duties out")
struct DutyRosterTests {
  @Test("everything is somebody's within seconds, in equal shares", arguments: [1, 2, 3, 5], [1, 4, 12])
  func sharing(replicas: Int, duties: Int) {
    var union = Union(replicas, duties: duties)
    for _ in 0..<5 { union.second() }
    #expect(union.shares.reduce(0, +) == duties)
    #expect(union.shares.max() ?? 0 <= (duties + replicas - 1) / replicas)
  }

  @Test("who comes later gets a share, and what is shared out stays where it is")
  func joining() {
    var union = Union(3, duties: 12)
    union.dead = [1, 2]
    for _ in 0..<5 { union.second() }
    #expect(union.shares == [12, 0, 0])
    union.dead = []
    for _ in 0..<10 { union.second() }
    #expect(union.shares == [4, 4, 4])
    let before = union.duties.sorted().map { union.holders(of: $0) }
    for _ in 0..<60 { union.second() }
    #expect(union.duties.sorted().map { union.holders(of: $0) } == before)
  }

  @Test("what a dead replica had is taken over within the time of a lease and two seconds")
  func takingOver() {
    var union = Union(3, duties: 9)
    for _ in 0..<10 { union.second() }
    #expect(union.shares == [3, 3, 3])
    union.dead = [1]
    for _ in 0..<17 { union.second() }
    #expect(union.shares[0] + union.shares[2] == 9)
  }

  @Test("a drained replica gives everything away but its presence, and gets its share when it returns")
  func draining() throws {
    var union = Union(2, duties: 6)
    for _ in 0..<5 { union.second() }
    union.drained = [union.rosters[0].name]
    for _ in 0..<5 { union.second() }
    #expect(union.shares == [0, 6])
    #expect(union.rosters[0].lease(for: .presence(of: union.rosters[0].name), at: union.table.now) != nil)
    union.drained = []
    for _ in 0..<5 { union.second() }
    #expect(union.shares == [3, 3])
  }

  @Test("what is under way is not given back before it has ended")
  func busy() throws {
    var union = Union(2, duties: 2)
    union.dead = [1]
    for _ in 0..<5 { union.second() }
    let all = union.duties.sorted()
    #expect(union.rosters[0].begin(all, at: union.table.now) != nil)
    union.dead = []
    for _ in 0..<10 { union.second() }
    #expect(union.shares == [2, 0])
    union.rosters[0].end([all[0]])
    for _ in 0..<5 { union.second() }
    #expect(union.shares == [1, 1])
    #expect(union.holders(of: all[1]) == [0])
  }

  @Test("a duty of another configuration is left to those that have it")
  func unwanted() {
    var union = Union(1, duties: 2)
    for _ in 0..<5 { union.second() }
    let step = union.rosters[0].step(union.table.standing, wanted: [], drained: [], at: union.table.now)
    #expect(Set(step.release.map(\.duty)) == union.duties)
  }

  @Test(
    "who cannot do everything takes its share of the rest once, and nothing goes from hand to hand", arguments: [2, 3])
  func unable(replicas: Int) {
    for count in 2..<9 {
      var union = Union(replicas, duties: count)
      union.able[0] = Set(union.duties.sorted().prefix(count / 2))
      for _ in 0..<15 { union.second() }
      #expect(union.shares.reduce(0, +) == count)
      #expect(union.shares[0] <= count / 2)
      union.moves = 0
      for _ in 0..<60 { union.second() }
      #expect(union.moves == 0, "\(count)")
    }
  }

  @Test("of two with one name one has no work")
  func oneName() throws {
    let name = try #require(ReplicaName("a"))
    var union = Union(2, duties: 4)
    union.rosters = [LeaseScheduler(name: name, time: Union.time), LeaseScheduler(name: name, time: Union.time)]
    for _ in 0..<20 { union.second() }
    #expect(union.shares == [4, 0])
  }

  @Test(
    "whoever dies, sleeps and comes back: nothing is ever two replicas' own, and in the end everything is somebody's")
  func law() {
    var random = SeededRandom(for: "duties")
    for _ in 0..<40 {
      let count = Int.random(in: 2...5, using: &random)
      var union = Union(count, duties: Int.random(in: 1...9, using: &random))
      for _ in 0..<200 {
        if random.once(in: 12) {
          let index = Int.random(in: 0..<count, using: &random)
          // Asleep: it believes what it believed when it wakes.
          if union.dead.remove(index) == nil { union.dead.insert(index) }
        }
        if random.once(in: 40) { union.drained.formSymmetricDifference([union.rosters[0].name]) }
        if random.once(in: 50) {
          // Restarted: it knows nothing.
          let index = Int.random(in: 0..<count, using: &random)
          union.rosters[index] = LeaseScheduler(name: union.rosters[index].name, time: Union.time)
        }
        union.second()
        for duty in union.duties {
          #expect(union.holders(of: duty).count <= 1)
        }
      }
      union.dead = []
      union.drained = []
      for _ in 0..<40 { union.second() }
      #expect(union.shares.reduce(0, +) == union.duties.count)
      #expect((union.shares.max() ?? 0) - (union.shares.min() ?? 0) <= (union.duties.count + count - 1) / count)
      // And there it stays.
      union.moves = 0
      for _ in 0..<60 { union.second() }
      #expect(union.moves == 0)
    }
  }
}
