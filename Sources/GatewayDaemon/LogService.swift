internal import ExposureKeys
internal import GatewayServer
internal import GatewaySettings
internal import KeyPublishing
internal import KeyStorage
internal import Logging
internal import ServiceLifecycle
internal import Synchronization
internal import TransparencyLog

/// Whether this replica has what the public log and what is published beside it need of it: the keys that all have.
final class LogFitness: Sendable {
  /// Before it was looked at, nobody knows.
  private let isFit = Mutex(false)

  func note(_ isFit: Bool) { self.isFit.withLock { $0 = isFit } }

  /// Without the keys, a replica neither keeps the log nor publishes what it is to prove and attest: others do.
  func narrowed(_ duties: Set<Duty>) -> Set<Duty> {
    guard !isFit.withLock({ $0 }) else { return duties }
    return duties.filter { $0 != .log && !$0.isPublishing }
  }
}

/// Takes what is queued into the public log, and signs it, where several replicas share one: whoever holds the work does it, and
/// the others wait for it.
struct LogService: Service {
  let plan: CurrentPlan
  let tenure: Tenure
  let ledger: Ledger
  let place: PublicationPlace
  let clock: GatewayClock
  let metrics: GatewayMetrics
  /// For pulling and publishing.
  let readiness: Readiness
  let fitness: LogFitness

  private let logger = Logger(label: "keyferry.log")
  /// Seconds between two looks at the keys.
  private static let patience: Int64 = 10
  /// Attempts in a row that fail, before the work is left to others until the next look.
  private static let mostFailures = 10
  /// Seconds after which hours of doors are closed.
  private static let hourPatience: Int64 = 60

  init(
    plan: CurrentPlan, tenure: Tenure, ledger: Ledger, place: PublicationPlace, clock: GatewayClock,
    metrics: GatewayMetrics, readiness: Readiness, fitness: LogFitness
  ) {
    self.plan = plan
    self.tenure = tenure
    self.ledger = ledger
    self.place = place
    self.clock = clock
    self.metrics = metrics
    self.readiness = readiness
    self.fitness = fitness
  }

  func run() async throws {
    var told: String?
    var looked: Int64?
    var closed: Int64?
    var isBegun = false
    var missed: Set<String> = []
    // What the last look found, and how often the work has failed since.
    var unfit: String?
    var failures = 0
    repeat {
      guard let log = plan.value.log, log.place == .replicas else { continue }
      let look = clock.look()
      let now = look.now.secondsSince1970
      do {
        if looked.map({ abs(now - $0) >= Self.patience }) ?? true {
          looked = now
          unfit = try await LogStatus.fault(of: log, in: place.path, ledger: ledger, isKeeper: true)
          fitness.note(unfit == nil)
        }
        if let unfit { throw LogFault(.badState, unfit) }
        if tenure.holds(.log) {
          let closes = closed.map { abs(now - $0) >= Self.hourPatience } ?? true
          // What another one may have left is finished first.
          let isAsked = closes || !isBegun
          let misses = try await tenure.during([.log]) { ledger -> [String] in
            let waits = try await ledger.read { try !$0.queuedEntries(limit: 1).isEmpty }
            guard isAsked || waits else { return [] }
            let keeper = place.keeper(of: log, ledger)
            try await keeper.integrate(of: "", at: look.now, sound: closes ? look.sound : nil)
            return await keeper.takeMisses()
          }
          if let misses {
            if closes { closed = now }
            isBegun = true
            failures = 0
            tell(misses, &missed)
          }
        } else {
          isBegun = false
        }
        if told != nil { logger.notice("the log goes on") }
        told = nil
        readiness.release("log")
      } catch is CancellationError {
        return
      } catch let fault as StorageFault where fault.code == .fenced {
        isBegun = false
        logger.notice("another replica keeps the log now", metadata: ["reason": .string("\(fault)")])
      } catch {
        isBegun = false
        let reason = ((error as? LogFault).map { [$0.reason, $0.hint].compactMap(\.self) } ?? ["\(error)"])
          .joined(separator: "; ")
        if told != reason { logger.error("the log cannot go on", metadata: ["reason": .string(reason)]) }
        told = reason
        readiness.hold("log", because: "the public log: \(reason)")
        // Another replica may have what this one lacks.
        if tenure.holds(.log) { failures += 1 }
        if failures >= Self.mostFailures {
          (unfit, failures) = (reason, 0)
          fitness.note(false)
        }
      }
    } while await pause(seconds: 1)
  }

  /// What is wrong with a witness is told once, and again when it was well in between.
  private func tell(_ misses: [String], _ missed: inout Set<String>) {
    metrics.countWitnessFailures(misses.count)
    let names = Set(misses.map { String($0.split(separator: " of size ", maxSplits: 1).first ?? "") })
    for miss in misses where !missed.contains(String(miss.split(separator: " of size ", maxSplits: 1).first ?? "")) {
      logger.warning("a witness has not signed", metadata: ["reason": .string(miss)])
    }
    missed = names
  }
}

extension LogService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  var description: String { "keeping the log" }
}
