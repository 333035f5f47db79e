internal import ExposureKeys
internal import Federation
internal import GatewayServer
package import GatewaySettings
internal import KeyPeers
internal import KeyPublishing
package import KeyStorage
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Who does the work: this process alone, or this one among those that share its store.
enum WorkOwnership: Sendable {
  /// The owner of the store, who does everything.
  case alone(Ledger)
  case shared(Replica)

  /// - Parameter name: what this process is called among others; asked only where a store is shared.
  init(_ ledger: Ledger, as name: ReplicaName, for time: Duration, clock: @escaping @Sendable () -> Instant) {
    self =
      ledger.leases.map { .shared(Replica(name, ledger: ledger, office: $0, for: time, clock: clock)) }
      ?? .alone(ledger)
  }

  var isShared: Bool { if case .shared = self { true } else { false } }

  /// Whether a duty is this process's own now.
  func holds(_ duty: Duty) -> Bool {
    switch self {
    case .alone: true
    case .shared(let replica): replica.holds(duty)
    }
  }

  /// Does a piece of work, where these duties are all held; what the given ledger writes is refused once one is lost.
  ///
  /// - Returns: `nil` where one of them is another's.
  func during<Result: Sendable>(
    _ duties: [Duty], _ work: (Ledger) async throws -> Result
  ) async rethrows -> Result? {
    switch self {
    case .alone(let ledger): return try await work(ledger)
    case .shared(let replica): return try await replica.during(duties, work)
    }
  }
}

/// This process among those that share its store.
final class Replica: Sendable {
  let name: ReplicaName
  private let ledger: Ledger
  private let office: any LeaseStore
  private let time: Duration
  private let clock: @Sendable () -> Instant
  private let roster: Mutex<LeaseScheduler>
  private let isEnding = Mutex(false)

  /// - Parameters:
  ///   - time: for how long work is taken.
  ///   - clock: what this gateway takes for the time.
  init(
    _ name: ReplicaName, ledger: Ledger, office: any LeaseStore, for time: Duration,
    clock: @escaping @Sendable () -> Instant
  ) {
    self.clock = clock
    self.name = name
    self.ledger = ledger
    self.office = office
    self.time = time
    roster = Mutex(LeaseScheduler(name: name, time: time))
  }

  func holds(_ duty: Duty) -> Bool { roster.withLock { $0.lease(for: duty, at: .now) != nil } }

  /// Whether others know it by its name.
  var isPresent: Bool { holds(.presence(of: name)) }

  func during<Result: Sendable>(
    _ duties: [Duty], _ work: (Ledger) async throws -> Result
  ) async rethrows -> Result? {
    guard let leases = roster.withLock({ $0.begin(duties, at: .now) }) else { return nil }
    defer { roster.withLock { $0.end(duties) } }
    return try await work(ledger.under(leases))
  }

  /// What changed in one look.
  struct Change: Equatable, Sendable {
    var taken: [Duty] = []
    var lost: [Duty] = []
    var released: [Duty] = []
    /// Who says that this replica is to have no work; `nil` where nobody does.
    var drained: DrainedReplica?
    /// By how many seconds this gateway's clock is ahead of the store's, where they differ by so much that it does no work.
    var clockError: Int64?
    /// Whether its own name was its own until now, and the store was asked or has answered too late to keep it.
    var isLate = false
  }

  /// From now on it takes no work and gives back what is not under way, as a drained one: to end may take a minute.
  func end() { isEnding.withLock { $0 = true } }

  /// Looks who has what, keeps what is its own, and has its share.
  func look(wanted: Set<Duty>) async throws -> Change {
    let table = try await office.table()
    let difference = table.time.map { clock().secondsSince1970 - $0.secondsSince1970 } ?? 0
    let drained = table.drained
    let before = roster.withLock { Set($0.held.keys) }
    let isWrong = abs(difference) > LeaseTable.clockTolerance
    // A clock that differs is as good as drained, and so is the end: others do the work.
    let away = Set(drained.map(\.name)).union(isWrong || isEnding.withLock(\.self) ? [name] : [])
    let step = roster.withLock { $0.step(table.standing, wanted: wanted, drained: away, at: .now) }
    var change = Change(drained: drained.first { $0.name == name }, clockError: isWrong ? difference : nil)
    if !step.renew.isEmpty {
      let renewed = try await office.renew(step.renew, for: time)
      roster.withLock { $0.note(renewed: renewed, of: step.renew) }
    }
    if !step.release.isEmpty {
      try await office.release(step.release)
      change.released = step.release.map(\.duty)
    }
    if !step.take.isEmpty {
      // Who waits for somebody that writes long has taken nothing, and asks again.
      let taken: [Lease]
      do {
        taken = try await office.take(step.take, as: name, for: time)
      } catch let fault as StorageFault where fault.code == .held {
        taken = []
      }
      roster.withLock { $0.note(taken: taken) }
      change.taken = taken.map(\.duty)
    }
    let after = roster.withLock { Set($0.held.keys) }
    change.lost = before.subtracting(after).subtracting(change.released).sorted()
    change.isLate = roster.withLock { $0.isLate(table.standing, at: .now) }
    return change
  }

  /// Gives everything back, so that nobody has to wait.
  func leave() async throws {
    let leases = roster.withLock { roster in
      let leases = Array(roster.held.values)
      roster.note(released: leases)
      return leases
    }
    try await office.release(leases)
  }
}

/// Takes this replica's share of the work, and gives it back at the end, after everything else has ended.
struct ReplicaService: Service {
  let replica: Replica
  let plan: CurrentPlan
  /// Of what is served: a replica that is drained gets no more requests.
  let serving: Readiness?
  /// Of pulling and publishing.
  let publishing: Readiness
  /// Whether this replica can keep the public log; `nil` where there is none that is shared.
  let fitness: LogFitness?

  private let logger = Logger(label: "keyferry.replica")

  init(
    _ replica: Replica, plan: CurrentPlan, serving: Readiness?, publishing: Readiness, fitness: LogFitness? = nil
  ) {
    self.fitness = fitness
    self.replica = replica
    self.plan = plan
    self.serving = serving
    self.publishing = publishing
  }

  func run() async throws {
    var told: String?
    var aside: String?
    repeat {
      do {
        let change = try await replica.look(wanted: fitness?.narrowed(plan.value.duties) ?? plan.value.duties)
        tell(change)
        if told != nil { logger.notice("the store says again who does what") }
        told = nil
        if let drained = change.drained {
          serving?.hold(.drained, because: "this replica, \(replica.name), is drained since \(drained.since)")
        } else {
          serving?.release(.drained)
        }
        let reason = standsAside(change)
        if let reason {
          publishing.hold(.replica, because: reason)
        } else {
          publishing.release(.replica)
        }
        // By a clock that is wrong keys would be refused for good that another replica takes.
        if change.clockError != nil, let reason {
          serving?.hold(.clockOfStore, because: reason)
        } else {
          serving?.release(.clockOfStore)
        }
        // By how much a clock differs changes at each look.
        if reason.map(kind) != aside.map(kind), let reason {
          logger.error("this replica does no work", metadata: ["reason": .string(reason)])
        } else if reason == nil, aside != nil {
          logger.notice("this replica does its share of the work again")
        }
        aside = reason
      } catch is CancellationError {
        break
      } catch {
        let reason = "\(error)"
        if told != reason { logger.error("who does what is not known", metadata: ["reason": .string(reason)]) }
        told = reason
        // What it has is over soon, and it takes nothing anew.
        if !replica.isPresent { publishing.hold(.replica, because: "who does what is not known: \(reason)") }
      }
    } while await pause(seconds: 1)
    do {
      try await replica.leave()
    } catch {
      // Others wait until the time of its leases is over.
      logger.warning("the work could not be given back", metadata: ["reason": .string("\(error)")])
    }
  }

  private func kind(_ reason: String) -> String { reason.filter { !$0.isNumber } }

  /// Why it does nothing, as long as nobody has said that it is to.
  private func standsAside(_ change: Replica.Change) -> String? {
    if let error = change.clockError {
      let place = error > 0 ? "ahead of" : "behind"
      return "the clock of this gateway is \(abs(error)) seconds \(place) the database's, so others do its work; "
        + "up to \(LeaseTable.clockTolerance) are allowed"
    }
    if replica.isPresent { return nil }
    return change.isLate
      ? "the database answers so late that store.postgresql.lease is over before; this replica takes work again when it is answered in time"
      : "another replica is called \(replica.name), or was until a moment ago"
  }

  private func tell(_ change: Replica.Change) {
    if !change.taken.isEmpty { logger.info("work is taken", metadata: metadata(change.taken)) }
    if !change.released.isEmpty { logger.info("work is given back", metadata: metadata(change.released)) }
    if !change.lost.isEmpty { logger.warning("work is lost", metadata: metadata(change.lost)) }
  }

  private func metadata(_ duties: [Duty]) -> Logger.Metadata {
    ["replica": .string("\(replica.name)"), "work": .string(duties.map(\.name).joined(separator: " "))]
  }
}

extension GatewayPlan {
  /// Everything that one replica does at a time.
  var duties: Set<Duty> {
    Duty.all(sources, destinations, series, mirrors, federates: federation != nil, log: log)
  }
}

extension OperatorsPlan {
  /// Everything that one replica does at a time, as far as the configuration can be read.
  package var duties: Set<Duty> {
    Duty.all(sources, destinations, series, mirrors, federates: federation != nil, log: log)
  }
}

extension Duty {
  fileprivate static func all(
    _ sources: [SourceSettings], _ destinations: [DestinationSettings], _ series: [SeriesSettings],
    _ mirrors: [MirrorSettings], federates: Bool, log: EvidenceSettings?
  ) -> Set<Duty> {
    var duties = Set(
      sources.map { Duty.pull($0.name) } + destinations.map { .push($0.name) } + series.map { .publish($0.name) }
        + mirrors.map { .mirror($0.name) })
    duties.insert(.retention)
    if federates { duties.formUnion([.batches, .callbacks]) }
    if log?.place == .replicas { duties.insert(.log) }
    return duties
  }
}

extension ReplicaService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  var description: String { "sharing the work" }
}
