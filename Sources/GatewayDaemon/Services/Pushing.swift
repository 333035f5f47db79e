package import ExposureKeys
package import Federation
internal import GatewayServer
internal import GatewaySettings
internal import KeyPeers
internal import KeyPublishing
package import KeyStorage
internal import Logging
internal import ProgramMetrics
internal import ServiceLifecycle
internal import Synchronization
internal import Tracing

/// The half of a gateway that hands own keys over, put together: the pusher, and the way to each destination.
package final class Pushing: Sendable {
  private let pusher: Pusher
  private let paths: PeerPaths

  /// - Parameters:
  ///   - version: what gateways are told of this program.
  ///   - watch: is told what happens, from any thread.
  package init(
    ledger: Ledger, version: String, clock: @escaping @Sendable () -> Instant,
    watch: @escaping @Sendable (PushEvent) -> Void = { _ in }
  ) {
    pusher = Pusher(ledger: ledger, clock: clock, watch: watch)
    paths = PeerPaths(version: version, clock: clock)
  }

  package func close() async { await paths.close() }

  /// Pushes to all these destinations at once; the receipts come in their order.
  package func push(
    to destinations: [DestinationSettings], isForced: Bool, isOnce: Bool
  ) async throws -> [PushReceipt] {
    try await withThrowingTaskGroup(of: (Int, PushReceipt).self) { group in
      for (index, destination) in destinations.enumerated() {
        group.addTask { (index, try await self.push(to: destination, isForced: isForced, isOnce: isOnce)) }
      }
      var receipts: [(Int, PushReceipt)] = []
      for try await receipt in group { receipts.append(receipt) }
      return receipts.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  package func push(to destination: DestinationSettings, isForced: Bool, isOnce: Bool) async throws -> PushReceipt {
    try await push(to: destination, with: pusher, isForced: isForced, isOnce: isOnce)
  }

  /// - Parameter ledger: records what goes out.
  func push(to destination: DestinationSettings, from ledger: Ledger) async throws -> PushReceipt {
    try await push(to: destination, with: pusher.recording(into: ledger), isForced: false, isOnce: false)
  }

  private func push(
    to destination: DestinationSettings, with pusher: Pusher, isForced: Bool, isOnce: Bool
  ) async throws -> PushReceipt {
    try await withSpan("keyferry.push") { span in
      span.attributes["keyferry.destination"] = destination.name
      return try await pushed(to: destination, with: pusher, isForced: isForced, isOnce: isOnce)
    }
  }

  private func pushed(
    to destination: DestinationSettings, with pusher: Pusher, isForced: Bool, isOnce: Bool
  ) async throws -> PushReceipt {
    let transport: any Transport
    do {
      transport = try paths.transport(for: destination.way)
    } catch let fault as TransportFault {
      return try await pusher.fail(destination, fault.documentFault)
    }
    return try await pusher.push(to: destination, through: transport, isForced: isForced, isOnce: isOnce)
  }
}

/// Pushes to each destination when it is due.
struct PushService: Service {
  let plan: CurrentPlan
  let pushing: Pushing
  let tenure: WorkOwnership
  let ledger: Ledger
  let clock: GatewayClock
  let metrics: GatewayMetrics
  /// For pulling and publishing.
  let readiness: Readiness

  private let logger = Logger(label: "keyferry.push")
  private let busy = Busy()

  init(
    plan: CurrentPlan, pushing: Pushing, tenure: WorkOwnership, ledger: Ledger, clock: GatewayClock,
    metrics: GatewayMetrics,
    readiness: Readiness
  ) {
    self.plan = plan
    self.pushing = pushing
    self.tenure = tenure
    self.ledger = ledger
    self.clock = clock
    self.metrics = metrics
    self.readiness = readiness
  }

  /// Which destinations are pushed to, when the others are due, and when each was last pushed to without a fault. The lock
  /// owns it.
  private final class Busy: Sendable {
    struct State {
      var pushing: Set<String> = []
      var due: [String: Instant] = [:]
      var lastSuccess: [String: Instant] = [:]
      /// When each was last found paused.
      var lastPaused: [String: Instant] = [:]
    }
    let state = Mutex(State())

    func begin(_ destination: DestinationSettings, at now: Instant) -> Bool {
      state.withLock { state in
        // What is further away than the schedule ever is was noted by a clock that was ahead.
        if let due = state.due[destination.name], due > now,
          due.secondsSince1970 <= now.secondsSince1970 + max(destination.interval, 60)
        {
          return false
        }
        return state.pushing.insert(destination.name).inserted
      }
    }

    func end(_ name: String, next: Instant, lastSuccess: Instant?, paused: Instant?) {
      state.withLock { state in
        state.pushing.remove(name)
        state.due[name] = next
        if let paused { state.lastPaused[name] = paused }
        if let lastSuccess { state.lastSuccess[name] = lastSuccess }
      }
    }
  }

  func run() async throws {
    let start = clock.now
    metrics.whenRead { [plan, busy, tenure] metrics in
      // What is another replica's is told by that one.
      let names = Set(plan.value.destinations.map(\.name).filter { tenure.holds(.push($0)) })
      metrics.setDestinations(
        names, lastSuccess: busy.state.withLock { $0.lastSuccess }.filter { names.contains($0.key) })
    }
    readiness.ask { [plan, busy, clock, tenure] in
      let (plan, known, now) = (plan.value, busy.state.withLock { $0 }, clock.now)
      return plan.destinations.filter { !$0.isRehearsal && tenure.holds(.push($0.name)) }.compactMap { destination in
        // While somebody wants it to wait, nobody misses it.
        let last = max(known.lastSuccess[destination.name] ?? start, known.lastPaused[destination.name] ?? start)
        let limit = max(plan.silenceLimit, 2 * destination.interval)
        guard now.secondsSince1970 - last.secondsSince1970 > limit else { return nil }
        return StandingFault(
          .pushSilence, of: destination.name,
          because: "nothing could be handed to the destination \(destination.name) since \(last)")
      }
    }
    await withDiscardingTaskGroup { group in
      repeat {
        let now = clock.now
        for destination in plan.value.destinations
        where tenure.holds(.push(destination.name)) && busy.begin(destination, at: now) {
          group.addTask { await push(to: destination) }
        }
      } while await pause(seconds: 1)
    }
  }

  private func push(to destination: DestinationSettings) async {
    var next = Instant(secondsSince1970: clock.now.secondsSince1970 + destination.interval)
    var lastSuccess: Instant?
    var paused: Instant?
    defer { busy.end(destination.name, next: next, lastSuccess: lastSuccess, paused: paused) }
    do {
      let done = try await tenure.during([.push(destination.name)]) { ledger in
        try await cancelWhenGracefulShutdown { try await pushing.push(to: destination, from: ledger) }
      }
      guard let receipt = done else { return }
      let attempt = try await ledger.read { try $0.pushAttempt(to: destination.name) }
      if let due = attempt?.nextAttempt { next = min(due, next) }
      if receipt.outcome == .paused {
        // Whether it goes on is soon seen.
        paused = clock.now
        next = min(next, Instant(secondsSince1970: clock.now.secondsSince1970 + 60))
        next = max(next, Instant(secondsSince1970: clock.now.secondsSince1970 + 10))
      }
      lastSuccess = receipt.outcome == .rehearsed ? clock.now : attempt?.lastSuccess
      tell(receipt)
    } catch is CancellationError {
      return
    } catch let fault as StorageFault where fault.code == .fenced {
      logger.notice(
        "another replica hands over now",
        metadata: ["destination": .string(destination.name), "reason": .string("\(fault)")])
    } catch {
      // A disk that is full, say: it is tried again soon.
      next = Instant(secondsSince1970: clock.now.secondsSince1970 + 60)
      metrics.pushes.increment([destination.name, "storage"])
      logger.error(
        "push failed", metadata: ["destination": .string(destination.name), "reason": .string("\(error)")])
    }
  }

  private func tell(_ receipt: PushReceipt) {
    let destination = receipt.destination
    var metadata: Logger.Metadata = [
      "destination": .string(destination), "batches": .stringConvertible(receipt.batches.count),
      "stored": .stringConvertible(receipt.stored), "known": .stringConvertible(receipt.known),
      "refused": .stringConvertible(receipt.refused), "pending": .stringConvertible(receipt.pending),
    ]
    let outcome: String
    switch receipt.outcome {
    case .waiting: return
    case .paused:
      logger.debug("destination is paused", metadata: ["destination": .string(destination)])
      return
    case .rehearsed:
      outcome = "rehearsed"
      logger.log(level: receipt.batches.isEmpty ? .debug : .info, "push rehearsed, nothing sent", metadata: metadata)
    case .done:
      outcome = "success"
      logger.log(level: receipt.batches.isEmpty ? .debug : .info, "keys handed over", metadata: metadata)
    case .failed(let fault):
      outcome = fault.code.rawValue
      metadata["code"] = .string(fault.code.rawValue)
      metadata["reason"] = .string(fault.reason)
      logger.warning("push failed", metadata: metadata)
    }
    if let warning = receipt.warning {
      logger.warning(
        "push is in doubt",
        metadata: [
          "destination": .string(destination), "code": .string(warning.code.rawValue),
          "reason": .string(warning.reason),
        ])
    }
    metrics.pushes.increment([destination, outcome])
    metrics.recordPushedKeys(
      destination: destination, stored: receipt.stored, known: receipt.known, refused: receipt.refused,
      pending: receipt.pending)
  }
}

extension PushService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  var description: String { "pushing" }
}
