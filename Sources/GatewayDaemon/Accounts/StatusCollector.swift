internal import BundleTrust
internal import ExposureKeys
internal import Federation
internal import GatewayServer
internal import GatewaySettings
internal import KeyIntake
internal import KeyNormalization
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage

/// Knows how the gateway stands, for the page of its operators. Owns what was found last, so that many who ask at once, or one
/// who asks all the time, cost one look.
actor StatusCollector {
  private let plan: CurrentPlan
  private let ledger: Ledger
  private let clock: GatewayClock
  private let start: Instant
  private let program: String

  /// A look at the store, and when it began.
  private var look: (task: Task<OperatorsReport, any Error>, began: ContinuousClock.Instant)?
  /// The keys that wait, by series, and when they were counted.
  private var waiting: [String: OperatorsReport.WaitingKeys] = [:]
  /// The count of them that goes on, or was the last one, and when it ended.
  private var count: (task: Task<Void, Never>, ended: ContinuousClock.Instant?)?

  private static let freshness = Duration.seconds(3)
  /// All claims are read to count what waits, so nobody waits for that: the page says what was found last, and when.
  private static let patience = Duration.seconds(300)

  init(_ plan: CurrentPlan, ledger: Ledger, clock: GatewayClock, program: String) {
    (self.plan, self.ledger, self.clock, self.program) = (plan, ledger, clock, program)
    start = clock.now
  }

  func report() async throws -> OperatorsReport {
    countInTime()
    if let look, look.began.duration(to: .now) < Self.freshness { return try await look.task.value }
    let task = Task { try await find() }
    look = (task, .now)
    return try await task.value
  }

  private func countInTime() {
    if let count {
      guard let ended = count.ended, ended.duration(to: .now) >= Self.patience else { return }
    }
    count = (Task { await countWaiting() }, nil)
  }

  private func countWaiting() async {
    let (plan, now, program) = (plan.value, clock.look().now, program)
    var found: [String: OperatorsReport.WaitingKeys] = [:]
    for settings in plan.series {
      // What the page says of the store says why it cannot be read.
      guard
        let series = try? await ledger.read({ state in
          try SeriesStatus(of: settings, in: state, now: now, countingFor: program)
        }), let next = series.next
      else {
        found[settings.name] = waiting[settings.name]
        continue
      }
      found[settings.name] = .init(
        new: next.new, revised: next.revised + next.recalled, held: next.held, paused: next.paused,
        whyNothing: series.whyNothing, counted: now)
    }
    waiting = found
    count?.ended = .now
  }

  /// What the store and files say is wrong. It does not count what waits.
  func faults() async throws -> [StandingFault] { try await find().faults }

  private func find() async throws -> OperatorsReport {
    let (plan, look) = (plan.value, clock.look())
    let now = look.now
    var logFault: String?
    if let log = plan.log, let folder = plan.publicationFolder {
      logFault = await LogStatus.fault(of: log, in: folder, ledger: ledger)
    }
    let unheld = try await ledger.leases?.table().unheld(of: plan.duties).map(\.name) ?? []
    let (waiting, program, start, fault) = (waiting, program, start, logFault)
    return try await ledger.read { state in
      var report = OperatorsReport(now: now, program: program, start: start)
      report.clockDoubt = look.doubt?.reason
      report.systemTime = ClockReading.system.wall
      var status = try StatusReport(
        state, settings: plan.sources, uploads: plan.uploads, federation: plan.federationSources,
        rehearsing: plan.rehearsals, behindAfter: plan.behindLimit, ownOrigins: plan.ownOrigins, now: now)
      report.lastRetention = status.lastRetention
      report.sources = status.sources.map { OperatorsReport.Source($0, pauses: status.pauses, at: now) }
      report.pausedOrigins = status.pauses.compactMap(\.originLine)
      report.take(try state.waitingDocuments(limit: OperatorsReport.mostWaiting), floods: status.floods)
      var allSeries: [SeriesStatus] = []
      for settings in plan.series {
        let series = try SeriesStatus(
          of: settings, in: state, folder: plan.publicationFolder, now: now)
        allSeries.append(series)
        report.series.append(OperatorsReport.Series(series, settings, waiting: waiting[settings.name], at: now))
      }
      status.mirrors = try plan.mirrors.map {
        let archives = try $0.listedArchives(in: state, folder: plan.publicationFolder)
        return .init(name: $0.name, source: $0.source, archives: archives.listed, lost: archives.lost)
      }
      report.mirrors = status.mirrors.map {
        .init(name: $0.name, source: $0.source, archives: $0.archives, lost: $0.lost)
      }
      let destinations = try plan.destinations.map {
        try DestinationStatus(of: $0, in: state, now: now, readsClaims: false)
      }
      report.destinations = destinations.map(OperatorsReport.Destination.init)
      var publicLog: LogStatus?
      if let log = plan.log, let folder = plan.publicationFolder {
        let standing = try LogStatus(of: log, in: state, folder: folder, fault: fault, now: now)
        report.log = .init(
          name: standing.name, entries: standing.size, waiting: standing.waiting, oldest: standing.oldestWaiting,
          fault: standing.fault)
        publicLog = standing
      }
      report.faults =
        StandingFault.stored(
          status, series: allSeries, destinations: destinations,
          federation: try plan.federation.map { try FederationStanding(of: $0, in: state, now: now) },
          callbacks: try state.callbackSubscriptions().all, log: publicLog,
          certificates: plan.certificateFiles.map { CertificateStanding($0.address, in: $0.file, at: now) },
          folders: FolderRoom.faults(
            of: [("state", plan.stateFolder)] + (plan.publicationFolder.map { [("publication", $0)] } ?? [])),
          clockDoubt: report.clockDoubt, unheldWork: unheld)
      return report
    }
  }
}

extension OperatorsReport {
  fileprivate mutating func take(_ documents: WaitingDocuments, floods: [HeldFlood]) {
    waitingCount = documents.count
    waiting = documents.newest.map { document in
      var holds = document.holds.sorted { $0.key < $1.key }.map { "\($0): \(KeyIntake.counted($1, "claim"))" }
      if let flood = floods.first(where: { $0.document == document.id }) { holds.append(flood.text) }
      return Waiting(
        number: document.id.rawValue, source: document.source, document: document.name,
        isHeld: document.held > 0,
        reason: document.held > 0
          ? holds.joined(separator: ", ") : document.fault.map { "\($0.code.rawValue): \($0.reason)" } ?? "",
        since: document.changed)
    }
  }
}

extension OperatorsReport.Source {
  fileprivate init(_ source: StatusReport.Source, pauses: [Pause], at now: Instant) {
    let pause = pauses.first { $0.subject == .source(source.name) }
    let note =
      pause.map(\.words)
      ?? source.record.lastFault.map {
        "\($0.code.rawValue): \($0.reason) (\(counted(source.record.failures, "failure")) in a row)"
      }
    self.init(
      name: source.name, kind: source.peer ?? "not in the configuration", state: source.state,
      mark: source.mark, lag: source.lag(at: now),
      // What is uploaded is dated by the end of its day.
      newestKeyAge: source.newestKey.map { max(0, now.secondsSince1970 - $0.secondsSince1970) },
      nextPull: source.nextAttempt, received: source.summary.counts.received, rejected: source.summary.counts.rejected,
      quarantined: source.summary.documents[.quarantined] ?? 0, held: source.summary.counts.held, note: note)
  }
}

extension StatusReport.Source {
  fileprivate var mark: OperatorsReport.Mark {
    switch state {
    case "fine", "open": .good
    case "failing": .bad
    case "rejecting", "behind": .warning
    default: .quiet
    }
  }
}

extension OperatorsReport.Series {
  fileprivate init(
    _ status: SeriesStatus, _ settings: SeriesSettings, waiting: OperatorsReport.WaitingKeys?, at now: Instant
  ) {
    let signer = settings.identities.last { $0.isValid(at: now) }
    let ends = settings.identities.map(\.until)
    self.init(
      name: status.series, title: status.title, windowSeconds: settings.period, lastWindow: status.lastWindow,
      lastBundle: status.lastBundle.map { ($0.keys, $0.published) }, nextWindow: status.nextWindow,
      listedBundles: status.listedBundles, waiting: waiting,
      signer: signer.map { "\($0.identity.keyID), version \($0.identity.keyVersion)" },
      signingEnd: ends.contains(nil) ? nil : ends.compactMap(\.self).max(), faults: status.faults)
  }
}

extension OperatorsReport.Destination {
  fileprivate init(_ status: DestinationStatus) {
    let fault = status.attempt?.fault.map { "\($0.code.rawValue): \($0.reason)" }
    self.init(
      name: status.name, origin: status.origin, state: status.state,
      mark: status.isWrong ? .bad : status.state == "fine" ? .good : .quiet,
      lastSuccess: status.attempt?.lastSuccess, nextPush: status.nextAttempt, unanswered: status.unanswered.count,
      note: fault)
  }
}

extension Pause {
  fileprivate var words: String {
    "paused since \(since)" + (by.map { " by \($0)" } ?? "") + (reason.map { ": \($0)" } ?? "")
  }

  fileprivate var originLine: String? {
    guard case .origin(let origin) = subject else { return nil }
    return "\(origin), \(words)"
  }
}
