internal import BundleTrust
internal import ExposureKeys
internal import Federation
internal import GatewayServer
internal import GatewaySettings
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage
internal import Logging
internal import ProgramMetrics
internal import ServiceLifecycle
internal import Synchronization
internal import Tracing
internal import UnixSignals

/// The plan that holds now. Owns it; services ask for it each time.
final class CurrentPlan: Sendable {
  private let plan: Mutex<GatewayPlan>

  init(_ plan: GatewayPlan) { self.plan = Mutex(plan) }

  var value: GatewayPlan {
    get { plan.withLock { $0 } }
    set { plan.withLock { $0 = newValue } }
  }
}

/// Sleeps, and says whether to go on: no, once the process is told to end.
func pause(seconds: Int64) async -> Bool {
  do {
    try await cancelWhenGracefulShutdown { try await Task.sleep(for: .seconds(seconds)) }
    return !Task.isShuttingDownGracefully && !Task.isCancelled
  } catch {
    return false
  }
}

/// Pulls each source when it is due.
struct PullService: Service {
  let plan: CurrentPlan
  let receiving: Receiving
  let tenure: WorkOwnership
  let ledger: Ledger
  let clock: GatewayClock
  let metrics: GatewayMetrics
  /// For pulling and publishing.
  let readiness: Readiness

  private let logger = Logger(label: "keyferry.pull")
  private let busy = Busy()

  init(
    plan: CurrentPlan, receiving: Receiving, tenure: WorkOwnership, ledger: Ledger, clock: GatewayClock,
    metrics: GatewayMetrics, readiness: Readiness
  ) {
    self.plan = plan
    self.receiving = receiving
    self.tenure = tenure
    self.ledger = ledger
    self.clock = clock
    self.metrics = metrics
    self.readiness = readiness
  }

  /// Which sources are being pulled, when the others are due, and when each was last pulled without a fault.
  private final class Busy: Sendable {
    private struct State {
      var pulling: Set<String> = []
      var due: [String: Instant] = [:]
      var lastSuccess: [String: Instant] = [:]
      var unrecorded: [String: Int] = [:]
      /// Those that are paused, and when each was found so last.
      var paused: Set<String> = []
      var lastPaused: [String: Instant] = [:]
    }
    private let state = Mutex(State())

    var lastSuccess: [String: Instant] { state.withLock { $0.lastSuccess } }

    /// When each was last pulled without a fault, or found paused: while somebody wants it to wait, nobody misses it.
    var lastMissed: [String: Instant] {
      state.withLock { $0.lastSuccess.merging($0.lastPaused, uniquingKeysWith: max) }
    }

    var paused: Set<String> { state.withLock { $0.paused } }

    func note(pausedAt now: Instant?, _ source: String) {
      state.withLock { state in
        if let now {
          state.paused.insert(source)
          state.lastPaused[source] = now
        } else {
          state.paused.remove(source)
        }
      }
    }

    /// How often in a row what a source sent could not be recorded.
    func countUnrecorded(_ source: String) -> Int {
      state.withLock { state in
        state.unrecorded[source, default: 0] += 1
        return state.unrecorded[source] ?? 1
      }
    }

    func recorded(_ source: String) { state.withLock { $0.unrecorded[source] = nil } }

    func recordsAll(of sources: [SourceSettings]) -> Bool {
      state.withLock { state in !sources.contains { state.unrecorded[$0.name] != nil } }
    }

    func note(_ lastSuccess: Instant, of source: String) { state.withLock { $0.lastSuccess[source] = lastSuccess } }

    func begin(_ source: SourceSettings, at now: Instant) -> Bool {
      state.withLock { state in
        // What is further away than the schedule ever is was noted by a clock that was ahead.
        if let due = state.due[source.name]?.secondsSince1970 {
          guard due <= now.secondsSince1970 || due > now.secondsSince1970 + max(source.interval, 60) else {
            return false
          }
        }
        return state.pulling.insert(source.name).inserted
      }
    }

    func end(_ source: String, next: Instant) {
      state.withLock { state in
        state.pulling.remove(source)
        state.due[source] = next
      }
    }
  }

  func run() async throws {
    metrics.whenRead { [plan, busy, clock, tenure] metrics in
      let plan = plan.value
      // What is another replica's is told by that one.
      let names = Set(plan.sources.map(\.name).filter { tenure.holds(.pull($0)) })
      metrics.setSources(names, lastSuccess: busy.lastSuccess.filter { names.contains($0.key) }, at: clock.now)
      metrics.pullInterval.replaceAll(plan.sources.map { ([$0.name], Double($0.interval)) })
      metrics.pushInterval.replaceAll(plan.destinations.map { ([$0.name], Double($0.interval)) })
    }
    let start = clock.now
    readiness.ask { [plan, busy, clock, tenure] in
      let plan = plan.value
      let others = Set(plan.sources.map(\.name).filter { !tenure.holds(.pull($0)) })
      return silence(of: plan, but: busy.paused.union(others), since: start, busy.lastMissed, at: clock.now)
    }
    // What has begun when the end is announced is ended: a source's round is bounded by its time-outs.
    await withDiscardingTaskGroup { group in
      var lastExpiry: Instant?
      repeat {
        let look = clock.look()
        for source in plan.value.sources where !tenure.holds(.pull(source.name)) { busy.recorded(source.name) }
        if busy.recordsAll(of: plan.value.sources) { readiness.release(.notRecorded) }
        for source in plan.value.sources
        where tenure.holds(.pull(source.name)) && busy.begin(source, at: look.now) {
          group.addTask { await pull(source) }
        }
        if tenure.holds(.retention), let settled = look.settled,
          lastExpiry.map({ abs(settled.instant.secondsSince1970 - $0.secondsSince1970) >= 3600 }) ?? true
        {
          lastExpiry = settled.instant
          await expire(at: settled)
        }
      } while await pause(seconds: 1)
    }
  }

  private func pull(_ source: SourceSettings) async {
    let start = ContinuousClock.now
    var next = Instant(secondsSince1970: clock.now.secondsSince1970 + source.interval)
    defer { busy.end(source.name, next: next) }
    do {
      let done = try await tenure.during([.pull(source.name)]) { ledger in
        try await cancelWhenGracefulShutdown { try await receiving.pull(source, into: ledger) }
      }
      guard let receipt = done else { return }
      let state = try await ledger.read { state in
        (
          record: try state.source(named: source.name),
          quarantined: try state.documents(of: source.name, in: [.quarantined], limit: .max).count
        )
      }
      if let due = state.record?.nextAttempt { next = min(due, next) }
      // Whether it goes on is soon seen, however seldom it is asked.
      if case .paused = receipt.outcome {
        let now = clock.now.secondsSince1970
        next = min(max(next, Instant(secondsSince1970: now + 10)), Instant(secondsSince1970: now + 60))
      }
      // One that waits has recorded nothing.
      if case .waiting = receipt.outcome {} else { busy.recorded(source.name) }
      if busy.recordsAll(of: plan.value.sources) { readiness.release(.notRecorded) }
      tell(receipt, since: start, lastSuccess: state.record?.lastSuccess, quarantined: state.quarantined)
    } catch is CancellationError {
      return
    } catch let fault as StorageFault where fault.code == .fenced {
      logger.notice(
        "another replica pulls now", metadata: ["source": .string(source.name), "reason": .string("\(fault)")])
    } catch {
      // A disk that is full, say: the gateway goes on serving, and tries again soon, and then each minute.
      let times = busy.countUnrecorded(source.name)
      next = Instant(secondsSince1970: clock.now.secondsSince1970 + min(60, 5 << min(times - 1, 4)))
      metrics.recordPull(source: source.name, outcome: "storage", isSuccess: false, seconds: 0, at: clock.now)
      readiness.hold(.notRecorded, because: "what is pulled cannot be recorded: \(error)")
      logger.error(
        "pull failed",
        metadata: ["source": .string(source.name), "code": .string("storage"), "reason": .string("\(error)")])
    }
  }

  private func tell(
    _ receipt: PullReceipt, since start: ContinuousClock.Instant, lastSuccess: Instant?, quarantined: Int
  ) {
    let now = clock.now
    let seconds = Double((ContinuousClock.now - start).components.seconds)
    let source = receipt.source
    if let lastSuccess { busy.note(lastSuccess, of: source) }
    busy.note(pausedAt: receipt.outcome == .paused ? now : nil, source)
    metrics.quarantined.set([source], to: Double(quarantined))
    switch receipt.outcome {
    case .waiting: return
    case .paused: logger.debug("source is paused", metadata: ["source": .string(source)])
    case .done:
      metrics.recordPull(source: source, outcome: "success", isSuccess: true, seconds: seconds, at: now)
      let level: Logger.Level = receipt.recorded > 0 || !receipt.refusals.isEmpty ? .info : .debug
      logger.log(
        level: level, "source pulled",
        metadata: [
          "source": .string(source), "documents": .stringConvertible(receipt.recorded),
          "received": .stringConvertible(receipt.counts.received), "new": .stringConvertible(receipt.counts.new),
          "known": .stringConvertible(receipt.counts.known), "rejected": .stringConvertible(receipt.counts.rejected),
          "held": .stringConvertible(receipt.counts.held),
        ])
    case .failed(let fault):
      metrics.recordPull(source: source, outcome: fault.code.rawValue, isSuccess: false, seconds: seconds, at: now)
      // What this machine cannot keep is no fault of the source.
      if fault.code == .storage {
        readiness.hold(.notRecorded, because: "what is pulled cannot be recorded: \(fault.reason)")
        logger.error(
          "pull failed",
          metadata: ["source": .string(source), "code": .string(fault.code.rawValue), "reason": .string(fault.reason)])
        break
      }
      logger.warning(
        "pull failed",
        metadata: ["source": .string(source), "code": .string(fault.code.rawValue), "reason": .string(fault.reason)])
    }
    for notice in receipt.notices {
      logger.warning(
        "peer answers oddly",
        metadata: ["source": .string(source), "code": .string(notice.code.rawValue), "reason": .string(notice.reason)])
    }
    metrics.recordReceivedKeys(
      source: source, new: receipt.counts.new, known: receipt.counts.known, rejected: receipt.counts.rejected)
    if receipt.recorded > 0 { metrics.documents.increment([source, "recorded"], by: Double(receipt.recorded)) }
    for refusal in receipt.refusals {
      metrics.documents.increment([source, "quarantined"])
      logger.warning(
        "document refused",
        metadata: [
          "source": .string(source), "document": .string(refusal.document),
          "code": .string(refusal.fault.code.rawValue),
          "reason": .string(refusal.fault.reason),
        ])
    }
  }

  private func expire(at settled: SoundTime) async {
    let receipt: ExpiryReceipt
    do {
      let removed = try await tenure.during([.retention]) { try await receiving.expire(at: settled, in: $0) }
      guard let removed = removed ?? nil else { return }
      receipt = removed
    } catch let fault as StorageFault where fault.code == .fenced {
      logger.notice("another replica removes what is over", metadata: ["reason": .string("\(fault)")])
      return
    } catch {
      logger.error("retention failed", metadata: ["reason": .string("\(error)")])
      return
    }
    if receipt.claims + receipt.released + receipt.contents > 0 {
      logger.info(
        "retention over",
        metadata: [
          "claims": .stringConvertible(receipt.claims), "released": .stringConvertible(receipt.released),
          "contents": .stringConvertible(receipt.contents),
        ])
    }
  }
}

/// Why nothing would come in: every source that is not paused has been silent for too long.
private func silence(
  of plan: GatewayPlan, but paused: Set<String>, since start: Instant, _ lastSuccess: [String: Instant], at now: Instant
) -> [StandingFault] {
  let sources = plan.sources.filter { !paused.contains($0.name) }
  guard !sources.isEmpty else { return [] }
  let newest = sources.map { lastSuccess[$0.name] ?? start }.max() ?? start
  guard now.secondsSince1970 - newest.secondsSince1970 > plan.silenceLimit else { return [] }
  return [StandingFault(.silence, because: "no source has been pulled without a fault since \(newest)")]
}

/// Publishes when a window is over.
struct PublishService: Service {
  let plan: CurrentPlan
  let tenure: WorkOwnership
  let place: PublicationPlace
  let clock: GatewayClock
  let metrics: GatewayMetrics
  /// For pulling and publishing.
  let readiness: Readiness
  /// Is told when there is something new.
  let publications: PublicationStore?
  /// Name and version of this program.
  let program: String

  private let logger = Logger(label: "keyferry.publish")

  init(
    plan: CurrentPlan, tenure: WorkOwnership, place: PublicationPlace, clock: GatewayClock, metrics: GatewayMetrics,
    readiness: Readiness, publications: PublicationStore?, program: String
  ) {
    self.program = program
    self.plan = plan
    self.tenure = tenure
    self.place = place
    self.clock = clock
    self.metrics = metrics
    self.readiness = readiness
    self.publications = publications
  }

  func run() async throws {
    let rounds = Rounds()
    metrics.whenRead { [plan, clock, tenure] metrics in
      let (plan, now) = (plan.value, clock.now)
      // What is another replica's is told by that one.
      let series = plan.series.filter { tenure.holds(.publish($0.name)) }
      let mirrors = plan.mirrors.filter { tenure.holds(.mirror($0.name)) }
      metrics.setSigningKeys(
        series.map { GatewayMetrics.SigningKeys($0, at: now) }, mirrors: mirrors.map(\.name))
      metrics.window.replaceAll(series.map { ([$0.name], Double($0.period)) })
      metrics.nextWindow.replaceAll(
        series.map { ([$0.name], Double(rounds.nextWindow(of: $0, at: now).secondsSince1970)) })
    }
    var mirrored: Int64?
    var warned: [String: (warnings: [PublishingWarning], window: Int64)] = [:]
    // What is wrong with witnesses is told once, and again when it was well in between.
    var missed: Set<String> = []
    repeat {
      let (plan, look) = (plan.value, clock.look())
      // What was wrong with another replica's work is that one's to say.
      for one in plan.series.map(\.name) where !tenure.holds(.publish(one)) { readiness.release(.series, of: one) }
      for one in plan.mirrors.map(\.name) where !tenure.holds(.mirror(one)) { readiness.release(.series, of: one) }
      let now = look.now
      let series = plan.series.filter { tenure.holds(.publish($0.name)) }
      let mirrors = plan.mirrors.filter { tenure.holds(.mirror($0.name)) }
      // A round begins with the recovery of the one before, so the first one comes at once.
      let due = series.filter { rounds.isDue($0, at: now) }
      if !due.isEmpty {
        let names = Set(series.map(\.name))
        let done = try await withSpan("keyferry.round") { span in
          span.attributes["keyferry.series"] = names.sorted()
          return try await tenure.during(series.map { .publish($0.name) }) { ledger in
            try await place.publisher(
              ledger, series: plan.series, program: program, log: plan.log, taker: tenure.isShared ? .another : .this
            ).round(at: look, of: names)
          }
        }
        guard let receipts = done else { continue }
        let misses = receipts.flatMap(\.warnings).filter { $0.code == .witness }.map(Self.witness)
        for receipt in receipts { tell(receipt, at: now, silent: missed) }
        if !misses.isEmpty || receipts.contains(where: { !$0.bundles.isEmpty }) { missed = Set(misses) }
        await show()
        // A series that could not be published is tried again soon.
        for (settings, receipt) in zip(series, receipts) where receipt.fault == nil {
          rounds.note(settings, at: now)
        }
      }
      // A mirror follows its source, which has a schedule of its own.
      if !mirrors.isEmpty, mirrored.map({ abs(now.secondsSince1970 - $0) >= 60 }) ?? true {
        mirrored = now.secondsSince1970
        let done = try await tenure.during(mirrors.map { .mirror($0.name) }) { ledger in
          try await place.publisher(ledger, series: [], mirrors: mirrors).mirror(at: look)
        }
        for (settings, receipt) in zip(mirrors, done ?? []) {
          // What is wrong stays so, mostly: it is told once in a period, as a series tells it once in a window.
          let window = now.secondsSince1970 / settings.period
          let last = warned.updateValue((receipt.warnings, window), forKey: receipt.series)
          tell(receipt, at: now, warns: last.map { $0.warnings != receipt.warnings || $0.window != window } ?? true)
        }
        await show()
      }
    } while await pause(
      seconds: plan.value.series.contains { tenure.holds(.publish($0.name)) && rounds.isDue($0, at: clock.now) }
        ? 30 : 2)
  }

  /// What is new is served at once; what of a bucket cannot be got now its copy gets later.
  private func show() async {
    guard let publications else { return }
    _ = try? await place.bringUpToDate(plan.value)
    publications.reload()
  }

  /// In which window each series had its last good round. The lock owns it.
  private final class Rounds: Sendable {
    private let last = Mutex<[String: Int64]>([:])

    func isDue(_ series: SeriesSettings, at now: Instant) -> Bool {
      last.withLock { $0[series.name] } != now.secondsSince1970 / series.period
    }

    func note(_ series: SeriesSettings, at now: Instant) {
      last.withLock { $0[series.name] = now.secondsSince1970 / series.period }
    }

    /// The end of the window that the round has not been for yet; before the first good round, of the last one that is over.
    func nextWindow(of series: SeriesSettings, at now: Instant) -> Instant {
      let window = last.withLock { $0[series.name] } ?? now.secondsSince1970 / series.period - 1
      return Instant(secondsSince1970: (window + 1) * series.period)
    }
  }

  /// Of which witness a warning is, and in which way: what it says before the size of the log.
  private static func witness(_ warning: PublishingWarning) -> String {
    let words = warning.reason.split(separator: " of size ", maxSplits: 1)
    return words.first.map(String.init) ?? warning.reason
  }

  /// - Parameter silent: what was told of witnesses before.
  private func tell(_ receipt: SeriesReceipt, at now: Instant, warns: Bool = true, silent: Set<String> = []) {
    let series = receipt.series
    metrics.witnessFailures.increment(by: Double(receipt.warnings.count { $0.code == .witness }))
    for warning in receipt.warnings where warns && !(warning.code == .witness && silent.contains(Self.witness(warning)))
    {
      logger.warning(
        "series needs attention",
        metadata: [
          "series": .string(series), "code": .string(warning.code.rawValue), "reason": .string(warning.reason),
        ])
    }
    if let reason = receipt.dividedFault {
      logger.warning(
        "a look at everything failed on several processors, and one took it",
        metadata: ["series": .string(series), "reason": .string(reason)])
    }
    if let fault = receipt.fault, fault.code.hasSuffix(StorageFault.Code.fenced.rawValue) {
      logger.notice(
        "another replica publishes now", metadata: ["series": .string(series), "reason": .string(fault.reason)])
      return
    }
    if let fault = receipt.fault, Task.isShuttingDownGracefully {
      logger.notice(
        "the gateway ends before the series is published",
        metadata: ["series": .string(series), "code": .string(fault.code), "reason": .string(fault.reason)])
      return
    }
    if let fault = receipt.fault {
      readiness.hold(.series, of: series, because: "series \(series): \(fault.reason)")
      metrics.recordPublication(series: series, outcome: fault.code, isSuccess: false, at: now)
      logger.error(
        "series could not be published",
        metadata: ["series": .string(series), "code": .string(fault.code), "reason": .string(fault.reason)])
      return
    }
    readiness.release(.series, of: series)
    // A round that has made lost files again is told as such.
    let lost = receipt.warnings.first { [.fileMissing, .fileDamaged].contains($0.code) }
    metrics.recordPublication(
      series: series, outcome: lost?.code.rawValue ?? (receipt.bundles.isEmpty ? "nothing-due" : "published"),
      isSuccess: true, at: now)
    for (outcome, count) in [
      ("published", receipt.published), ("revised", receipt.revised), ("padding", receipt.lookalikes),
    ] {
      metrics.publishedKeys.increment([series, outcome], by: Double(count))
    }
    for (kind, bundles) in Dictionary(grouping: receipt.bundles, by: \.kind) {
      metrics.publishedBundles.increment([series, kind], by: Double(bundles.count))
    }
    if !receipt.bundles.isEmpty {
      logger.info(
        "series published",
        metadata: [
          "series": .string(series), "bundles": .stringConvertible(receipt.bundles.count),
          "keys": .stringConvertible(receipt.published), "revised": .stringConvertible(receipt.revised),
          "held": .stringConvertible(receipt.held),
        ])
    }
  }
}

extension ServerSettings {
  /// Those that a running server keeps.
  fileprivate var listening: ServerSettings {
    var settings = self
    settings.exposureConfiguration = nil
    // Certificates are renewed; whether there is TLS stays.
    settings.certificatePEM = certificatePEM.map { _ in "" }
    settings.privateKeyPEM = nil
    settings.federationDoor?.certificatePEM = federationDoor?.certificatePEM.map { _ in "" }
    settings.federationDoor?.privateKeyPEM = nil
    (settings.certificateFile, settings.privateKeyFile) = (nil, nil)
    settings.federationDoor?.certificateFile = nil
    settings.federationDoor?.privateKeyFile = nil
    return settings
  }
}

extension FederationGatewaySettings {
  /// What a running server keeps, and so does not take from a file that is read again.
  fileprivate var served: [String] {
    [
      path, clientCertificates.rawValue, "\(uploadKeys)", "\(keptDays)", "\(sharesTags)", "\(showsStatistics)",
      "\(allowances.rawValue)",
    ]
  }
}

extension GatewayMetrics.SigningKeys {
  fileprivate init(_ series: SeriesSettings, at now: Instant) {
    self.init(
      series: series.name,
      canSign: series.identities.contains { $0.isValid(at: now) },
      keys: series.identities.map { ($0.identity.keyID, $0.identity.keyVersion, $0.until) })
  }
}

/// Reads the configuration again on SIGHUP.
struct ReloadService: Service {
  let plan: CurrentPlan
  let readAgain: @Sendable () throws -> (plan: GatewayPlan, warnings: [GatewayFault])
  let hangups: UnixSignalsSequence
  /// `nil` where nothing is served.
  let exposure: ServedConfiguration?
  /// None where no uploads are taken.
  let doors: [HeldUploadSource]
  /// `nil` where countries do not federate here.
  let trust: HeldFederationTrust?
  /// `nil` where nothing is served over TLS.
  let certificates: CertificateWatch?

  private let logger = Logger(label: "keyferry.configuration")
  /// With which the process began: what cannot be changed while it runs is still as it says.
  private let first: GatewayPlan

  init(
    plan: CurrentPlan, hangups: UnixSignalsSequence, exposure: ServedConfiguration?,
    doors: [HeldUploadSource] = [], trust: HeldFederationTrust? = nil,
    certificates: CertificateWatch? = nil,
    readAgain: @escaping @Sendable () throws -> (plan: GatewayPlan, warnings: [GatewayFault])
  ) {
    self.plan = plan
    first = plan.value
    self.readAgain = readAgain
    self.hangups = hangups
    self.exposure = exposure
    self.doors = doors
    self.trust = trust
    self.certificates = certificates
  }

  func run() async throws {
    for await _ in hangups.cancelOnGracefulShutdown() { reload() }
  }

  private func reload() {
    do {
      let (new, warnings) = try readAgain()
      for warning in warnings { logger.warning("configuration warning", metadata: ["fault": .string("\(warning)")]) }
      if new.stateFolder != first.stateFolder || new.database != first.database
        || new.publicationFolder != first.publicationFolder
        || new.publicationBucket != first.publicationBucket
        || new.server?.listening != first.server?.listening
        || new.uploads.map(\.listening) != first.uploads.map(\.listening)
        || new.operators != first.operators || new.ownOrigins != first.ownOrigins
        || new.federation?.served != first.federation?.served || new.federation?.reading != first.federation?.reading
        || new.log != first.log
      {
        logger.warning(
          """
          folders, store, log, server, its upload endpoints but for how they read keys, the address of operators, own origins, and the federation but for its trust and its batches stay \
          as they are until a restart
          """)
      }
      plan.value = new
      // What happens is told to the log that was there at the beginning.
      plan.value.log = first.log
      for door in doors {
        guard let source = new.uploads.first(where: { $0.listening == door.value.listening }) else { continue }
        door.read(as: source)
      }
      if let trust, let federation = new.federation { trust.value = federation.trust }
      if let server = new.server { certificates?.take(server) }
      exposure?.replace(with: new.server?.exposureConfiguration ?? .default)
      logger.info(
        "configuration read again",
        metadata: [
          "sources": .stringConvertible(new.sources.count), "series": .stringConvertible(new.series.count),
          "mirrors": .stringConvertible(new.mirrors.count),
        ])
    } catch {
      logger.error("configuration has faults, the old one stays", metadata: ["faults": .string("\(error)")])
      // One that cannot be used may be what is wrong; who asks whether the gateway is ready hears it now.
      certificates?.readAgain()
    }
  }
}

extension PullService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  var description: String { "pulling" }
}

extension PublishService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  var description: String { "publishing" }
}

extension ReloadService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  var description: String { "reloading" }
}
