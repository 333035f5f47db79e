internal import ExposureKeys
internal import GatewayServer
internal import GatewaySettings
internal import KeyPublishing
internal import KeyStorage
internal import Logging
internal import ProgramMetrics
internal import ServiceLifecycle
internal import Synchronization
internal import TransparencyLog

/// Whether this replica has what the public log and what is published beside it need of it: the keys that all have.
///
/// Who has tried in vain leaves the work to others, and takes it again after a pause. The pauses grow, so that what nobody can do does
/// not go from hand to hand all the time.
final class LogFitness: Sendable {
  private struct State {
    /// Before it was looked at, nobody knows.
    var hasKeys = false
    /// How often in a row it was given up.
    var givenUp = 0
    var pause: (since: ContinuousClock.Instant, until: ContinuousClock.Instant)?
  }

  private let state = Mutex(State())

  private static let firstPause = Duration.seconds(20)
  private static let longestPause = Duration.seconds(60)

  /// What a look at the keys has found.
  func note(hasKeys: Bool) { state.withLock { $0.hasKeys = hasKeys } }

  /// The work was tried in vain.
  ///
  /// - Parameter share: of the pause beyond its half, 0...1: replicas do not come back at the same moment.
  func giveUp(at now: ContinuousClock.Instant = .now, share: Double = .random(in: 0...1)) {
    state.withLock { state in
      let whole = min(Self.longestPause, Self.firstPause * (1 << min(state.givenUp, 10)))
      state.givenUp += 1
      state.pause = (now, now + whole / 2 + whole / 2 * share)
    }
  }

  /// The work was done.
  func succeeded() { state.withLock { ($0.givenUp, $0.pause) = (0, nil) } }

  func isPausing(at now: ContinuousClock.Instant = .now) -> Bool {
    state.withLock { $0.pause.map { now < $0.until } ?? false }
  }

  /// Without the keys, a replica neither keeps the log nor publishes what it is to prove and attest: others do.
  func narrowed(_ duties: Set<Duty>, at now: ContinuousClock.Instant = .now) -> Set<Duty> {
    guard !state.withLock({ $0.hasKeys && ($0.pause.map { $0.until <= now } ?? true) }) else { return duties }
    return duties.filter { $0 != .log && !$0.isPublishing }
  }
}

/// What is told when it begins, when it is another fault, and once a minute while it lasts.
struct LastingFault {
  private var told: (kind: String, at: ContinuousClock.Instant)?
  static let interval = Duration.seconds(60)

  var isThere: Bool { told != nil }

  /// - Parameter kind: what makes it another one; its words may change from one time to the next.
  /// - Returns: whether it is to be told.
  mutating func note(_ kind: String, at now: ContinuousClock.Instant = .now) -> Bool {
    if let told, told.kind == kind, now - told.at < Self.interval { return false }
    told = (kind, now)
    return true
  }

  /// - Returns: whether there was one.
  mutating func end() -> Bool {
    defer { told = nil }
    return told != nil
  }
}

/// Takes what is queued into the public log, and signs it, where several replicas share one: whoever holds the work does it, and
/// the others wait for it.
struct LogService: Service {
  let plan: CurrentPlan
  let tenure: WorkOwnership
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
  /// Attempts in a row that fail, before the work is left to others for a while.
  private static let mostFailures = 10
  /// Seconds after which hours of doors are closed.
  private static let hourPatience: Int64 = 60

  init(
    plan: CurrentPlan, tenure: WorkOwnership, ledger: Ledger, place: PublicationPlace, clock: GatewayClock,
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
    // What was told of the keys, and of the work.
    var lacking: String?
    var fault = LastingFault()
    var looked: Int64?
    var closed: Int64?
    var isBegun = false
    var missed: Set<String> = []
    // What the last look at the keys found, and how often the work has failed since it was taken.
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
          fitness.note(hasKeys: unfit == nil)
        }
        if let unfit {
          isBegun = false
          if lacking != unfit { logger.error("the log cannot go on", metadata: ["reason": .string(unfit)]) }
          lacking = unfit
          readiness.hold(.log, because: "the public log: \(unfit)")
          continue
        }
        if lacking != nil, !fault.isThere {
          logger.notice("the log goes on")
          readiness.release(.log)
        }
        lacking = nil
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
            fitness.succeeded()
            if fault.end() { logger.notice("the log goes on") }
            readiness.release(.log)
          }
        } else {
          (isBegun, failures) = (false, 0)
          // Another one has it, and tells how it goes.
          if !fitness.isPausing() { readiness.release(.log) }
        }
      } catch is CancellationError {
        return
      } catch let fault as StorageFault where fault.code == .fenced {
        isBegun = false
        logger.notice("another replica keeps the log now", metadata: ["reason": .string("\(fault)")])
      } catch {
        isBegun = false
        let reason = ((error as? LogFault).map { [$0.reason, $0.hint].compactMap(\.self) } ?? ["\(error)"])
          .joined(separator: "; ")
        if fault.note(Self.kind(of: error)) {
          logger.error("the log cannot go on", metadata: ["reason": .string(reason)])
        }
        readiness.hold(.log, because: "the public log: \(reason)")
        // Another replica may have what this one lacks.
        if tenure.holds(.log) { failures += 1 }
        if failures >= Self.mostFailures {
          failures = 0
          fitness.giveUp()
        }
      }
    } while await pause(seconds: 1)
  }

  /// Which of several requests fails first changes from one attempt to the next.
  private static func kind(of error: any Error) -> String {
    switch error {
    case let fault as LogFault: "log \(fault.code)"
    case let fault as FolderFault: "folder \(fault.code)"
    case let fault as StorageFault: "store \(fault.code)"
    default: "\(type(of: error))"
    }
  }

  /// What is wrong with a witness is told once, and again when it was well in between.
  private func tell(_ misses: [String], _ missed: inout Set<String>) {
    metrics.witnessFailures.increment(by: Double(misses.count))
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
