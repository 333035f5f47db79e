internal import KeyStorage

/// Which duties a replica holds, and what it does next to have its share of them. It asks nobody: it is told what the store says,
/// and says what to ask.
struct LeaseScheduler: Sendable {
  let name: ReplicaName
  /// For how long a duty is taken.
  let time: Duration

  private(set) var held: [Duty: Lease] = [:]
  /// The number under which its name was its own last; `nil` where it never was.
  private var presence: Int64?
  /// How many pieces of work are under way under each duty.
  private var work: [Duty: Int] = [:]
  /// Which duties nobody held when it looked last.
  private var free: Set<Duty> = []
  /// What was taken beyond its share because nobody else did. It is kept while the same replicas are there.
  private var extra: Set<Duty> = []
  /// What is asked for beyond its share, until it is known what was given.
  private var beyond: Set<Duty> = []
  /// Who else is there. Who comes anew has another number.
  private var others: [ReplicaName: Int64] = [:]
  /// Since when it has had less than a share, while nothing was free and somebody had more, and for how long it puts up with that.
  private var short: (since: ContinuousClock.Instant, patience: Duration)?

  /// One that cannot do what others have too much of is not helped by asking.
  private static let longestPatience = Duration.seconds(600)

  init(name: ReplicaName, time: Duration) {
    self.name = name
    self.time = time
  }

  /// What to ask the store.
  struct Step: Equatable, Sendable {
    var renew: [Lease] = []
    var take: [Duty] = []
    var release: [Lease] = []
  }

  /// - Parameters:
  ///   - wanted: every duty that there is, whoever has it.
  ///   - drained: who is to have none.
  mutating func step(
    _ standing: [LeaseStanding], wanted: Set<Duty>, drained: Set<ReplicaName>, at now: ContinuousClock.Instant
  ) -> Step {
    let presence = Duty.presence(of: name)
    forget(after: now)
    // The store says that another has taken it, whatever this machine's clock says.
    for row in standing where held[row.duty].map({ $0.number != row.number }) ?? false { held[row.duty] = nil }
    let present = standing.filter(\.isHeld).reduce(into: [ReplicaName: Int64]()) { present, row in
      guard let replica = row.duty.replica, replica != name, !drained.contains(replica) else { return }
      present[replica] = row.number
    }
    if present != others {
      others = present
      extra = []
    }
    beyond = []
    var step = Step()
    step.renew = held.values.filter { $0.deadline - now < time * 2 / 3 }.sorted { $0.duty < $1.duty }
    // Without its own presence it has a name that is another's, or the store has lost sight of it.
    guard held[presence] != nil else {
      step.take = [presence]
      return step
    }
    let mine = held.keys.filter { $0 != presence }
    let isDrained = drained.contains(name)
    let share = isDrained ? 0 : (wanted.count + others.count) / (others.count + 1)
    // What is under way is ended first.
    let surplus = isDrained ? mine.count : mine.count - extra.count - share
    let idle = mine.filter { work[$0] == nil && (isDrained || !extra.contains($0) || !wanted.contains($0)) }
    let unwanted = idle.filter { !wanted.contains($0) }
    let given = unwanted + idle.filter { wanted.contains($0) }.sorted(by: >).prefix(max(0, surplus - unwanted.count))
    step.release = given.compactMap { held[$0] }.sorted { $0.duty < $1.duty }
    // They are no longer counted on before they are given back.
    for duty in given { held[duty] = nil }
    extra.formIntersection(held.keys)
    step.renew.removeAll { given.contains($0.duty) }
    guard !isDrained else { return step }

    let taken = Set(standing.filter(\.isHeld).map(\.duty))
    let open = wanted.filter { !taken.contains($0) && held[$0] == nil }.sorted()
    let left = open.filter { free.contains($0) }
    let room = max(0, share - (mine.count - given.count))
    // Replicas begin at different places, so that they do not all ask for the same.
    step.take = Array(open.rotated(by: abs(name.description.hashOfBytes)).prefix(room))
    // What nobody has taken for a whole look is taken by whoever sees it.
    let more = left.filter { !step.take.contains($0) && !given.contains($0) }
    step.take += more
    beyond = Set(more)
    free = Set(open)
    let counts = standing.filter { $0.isHeld && wanted.contains($0.duty) }.reduce(into: [ReplicaName: Int]()) {
      $0[$1.holder, default: 0] += 1
    }
    let isShort = mine.count < share && open.isEmpty && others.keys.contains { counts[$0, default: 0] > share }
    if isAsking(isShort, at: now), let lease = held[presence] {
      held[presence] = nil
      step.renew.removeAll { $0 == lease }
      step.release.append(lease)
      step.take.append(presence)
    }
    return step
  }

  /// Whether it gives its presence back and takes it anew, so that others give back what they have beyond their share. They took that while
  /// it slept, perhaps so short that nobody saw it away.
  private mutating func isAsking(_ isShort: Bool, at now: ContinuousClock.Instant) -> Bool {
    guard isShort else {
      short = nil
      return false
    }
    guard let (since, patience) = short else {
      short = (now, time)
      return false
    }
    guard now - since >= patience else { return false }
    short = (now, min(patience * 2, Self.longestPatience))
    return true
  }

  mutating func note(renewed: [Lease], of asked: [Lease]) {
    for lease in asked where held[lease.duty] == lease { held[lease.duty] = nil }
    for lease in renewed { held[lease.duty] = lease }
    extra.formIntersection(held.keys)
  }

  mutating func note(taken: [Lease]) {
    for lease in taken {
      held[lease.duty] = lease
      if lease.duty == .presence(of: name) { presence = lease.number }
    }
    extra.formUnion(beyond.intersection(taken.map(\.duty)))
    beyond = []
  }

  mutating func note(released: [Lease]) {
    for lease in released where held[lease.duty]?.number == lease.number { held[lease.duty] = nil }
    extra.formIntersection(held.keys)
  }

  /// Whether its name is not its own any more, and nobody else's since.
  func isLate(_ standing: [LeaseStanding], at now: ContinuousClock.Instant) -> Bool {
    let name = Duty.presence(of: name)
    guard lease(for: name, at: now) == nil, let presence else { return false }
    return standing.allSatisfy { $0.duty != name || $0.number <= presence }
  }

  /// What is held at this moment.
  func lease(for duty: Duty, at now: ContinuousClock.Instant) -> Lease? {
    held[duty].flatMap { $0.deadline > now ? $0 : nil }
  }

  /// - Returns: `nil` where one of them is not held, and nothing begins.
  mutating func begin(_ duties: [Duty], at now: ContinuousClock.Instant) -> [Lease]? {
    let leases = duties.compactMap { lease(for: $0, at: now) }
    guard leases.count == duties.count else { return nil }
    for duty in duties { work[duty, default: 0] += 1 }
    return leases
  }

  mutating func end(_ duties: [Duty]) {
    for duty in duties { work[duty] = work[duty].flatMap { $0 > 1 ? $0 - 1 : nil } }
  }

  private mutating func forget(after now: ContinuousClock.Instant) {
    held = held.filter { $0.value.deadline > now }
    extra.formIntersection(held.keys)
  }
}

extension Array {
  fileprivate func rotated(by count: Int) -> Self {
    guard !isEmpty else { return self }
    let start = count % self.count
    return Array(self[start...] + self[..<start])
  }
}

extension String {
  /// The same in every process, unlike `hashValue`.
  fileprivate var hashOfBytes: Int { utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF_FFFF } }
}
