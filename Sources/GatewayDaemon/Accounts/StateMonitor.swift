internal import ExposureKeys
internal import Federation
internal import FoundationEssentials
internal import GatewayServer
internal import GatewaySettings
internal import Glibc
internal import KeyNormalization
internal import KeyPeers
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage
internal import Logging
internal import ProgramMetrics
internal import ServiceLifecycle
internal import Synchronization

/// Tells what the gateway takes of its machine, and how its store stands: for metrics, and for who asks whether something
/// new comes in.
struct StateMonitor: Service {
  let plan: CurrentPlan
  let ledger: Ledger
  let clock: GatewayClock
  let metrics: GatewayMetrics
  /// For pulling and publishing.
  let readiness: Readiness
  let version: String

  private let logger = Logger(label: "keyferry.store")
  private let known = Known()
  /// Seconds between two looks into the store.
  private static let interval: Int64 = 30

  init(
    plan: CurrentPlan, ledger: Ledger, clock: GatewayClock, metrics: GatewayMetrics, readiness: Readiness,
    version: String
  ) {
    self.plan = plan
    self.ledger = ledger
    self.clock = clock
    self.metrics = metrics
    self.readiness = readiness
    self.version = version
  }

  /// What the store said last. The lock owns it.
  private final class Known: Sendable {
    let stored = Mutex(Stored())
  }

  private struct Stored: Sendable {
    var newest: [String: Instant] = [:]
    var held: [String: Int] = [:]
    var retention: Instant?
    var queue: (count: Int, since: Instant)?
    var pauses: [Pause] = []

    func isPaused(_ source: String) -> Bool { pauses.contains { $0.subject == .source(source) } }
  }

  func run() async throws {
    metrics.buildInfo.set([version], to: 1)
    let (start, began) = (clock.now, ContinuousClock.now)
    metrics.whenRead { [plan, known, clock] metrics in
      let (plan, stored) = (plan.value, known.stored.withLock { $0 })
      let names = Set(plan.sourceNames)
      metrics.setStored(
        newest: stored.newest.filter { names.contains($0.key) },
        held: Dictionary(uniqueKeysWithValues: names.map { ($0, stored.held[$0] ?? 0) }), retention: stored.retention,
        at: clock.now)
      metrics.pausedSources.replaceAll(names.map { ([$0], stored.isPaused($0) ? 1 : 0) })
      metrics.pausedDestinations.replaceAll(
        plan.destinations.map { ([$0.name], $0.isPaused(by: stored.pauses) ? 1 : 0) })
      metrics.startTime.set(to: Double(start.secondsSince1970))
      metrics.uptime.set(to: Double((ContinuousClock.now - began).components.seconds))
      if let log = plan.log, let folder = plan.publicationFolder {
        metrics.setLog(
          entries: ShownLog(in: LocalFolder(folder), of: log)?.size, waiting: stored.queue?.count ?? 0,
          oldest: stored.queue?.since, at: clock.now)
      }
      var free: [String: Int] = [:]
      free["state"] = Stores.freeBytes(in: plan.stateFolder)
      if let folder = plan.publicationFolder { free["publication"] = Stores.freeBytes(in: folder) }
      if plan.database == nil, let bytes = byteCount(of: plan.stateFolder) { metrics.storeBytes.set(to: Double(bytes)) }
      metrics.freeBytes.replaceAll(free.map { ([$0.key], Double($0.value)) })
      if let bytes = residentBytes() { metrics.memoryBytes.set(to: Double(bytes)) }
    }
    readiness.ask { [plan, known, clock] in
      let (plan, stored, now) = (plan.value, known.stored.withLock { $0 }, clock.now)
      return plan.sources.compactMap { source in
        guard !stored.isPaused(source.name),
          isBehind(stored.newest[source.name], after: plan.behindLimit, at: now), let last = stored.newest[source.name]
        else { return nil }
        return StandingFault(
          .lag, of: source.name, because: "the source \(source.name) has had no new key since \(last)")
      }
    }
    repeat { await look() } while await pause(seconds: Self.interval)
  }

  private func look() async {
    do {
      let (names, asked) = (plan.value.sourceNames, Set(plan.value.sources.map(\.name)))
      let (stored, quarantined) = try await ledger.read { state in
        var stored = Stored()
        var quarantined: [String: Int] = [:]
        stored.newest = try state.newestArrivals()
        for name in names {
          let summary = try state.summary(of: name)
          stored.held[name] = summary.counts.held
          quarantined[name] = summary.documents[.quarantined] ?? 0
        }
        stored.pauses = try state.pauses()
        stored.retention = try state.lastRetention
        stored.queue = try state.queueStanding()
        return (stored, quarantined)
      }
      // What an operator has decided meanwhile is seen before the next pull, and also while the source is paused.
      for (name, documents) in quarantined where asked.contains(name) {
        metrics.quarantined.set([name], to: Double(documents))
      }
      known.stored.withLock { $0 = stored }
    } catch is CancellationError {
      // The gateway ends; the store has no fault.
    } catch {
      logger.error("the store cannot be read", metadata: ["reason": .string("\(error)")])
    }
  }
}

/// Of the files of a store, whichever kind it is.
private func byteCount(of folder: String) -> Int? {
  guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return nil }
  return names.filter { $0.hasPrefix("keyferry.sqlite") && !$0.contains("-replaced-") }.reduce(0) { sum, name in
    var status = stat()
    return stat("\(folder)/\(name)", &status) == 0 ? sum + Int(status.st_size) : sum
  }
}

/// Memory of this process that is in use, as the system counts it.
private func residentBytes() -> Int? {
  guard let content = try? Data(contentsOf: URL(filePath: "/proc/self/statm")),
    case let text = String(decoding: content, as: UTF8.self),
    case let words = text.split(separator: " "), words.count > 1, let pages = Int(words[1])
  else { return nil }
  return pages * sysconf(Int32(_SC_PAGESIZE))
}

extension StateMonitor: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  var description: String { "the household" }
}
