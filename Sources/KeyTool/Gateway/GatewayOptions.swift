internal import ArgumentParser
internal import ExposureKeys
internal import Federation
internal import FileCommands
internal import FoundationEssentials
internal import GatewayDaemon
internal import GatewayServer
internal import GatewaySettings
internal import KeyIntake
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage
internal import S3Publications

/// Which gateway a command is about.
struct GatewayOptions: ParsableArguments {
  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "The configuration of the gateway; keyferry check explains what is wrong with it.", valueName: "file"),
    completion: .configuration
  )
  var config = defaultConfiguration

  /// The configuration where none is stated.
  static let defaultConfiguration = "gateway.yaml"

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The clock, instead of the system's; for tests and for looking back. Nothing is removed or unlisted by a time that is still to come.",
      valueName: "time"))
  var now: Instant?

  /// The clock of the command.
  var clock: @Sendable () -> Instant {
    guard let now else { return { Clock.now } }
    return { now }
  }

  /// Reads and checks the configuration.
  ///
  /// - Throws: `FileFault` or `GatewayFaults`.
  func read() throws -> (plan: GatewayPlan, warnings: [GatewayFault]) {
    try GatewayConfiguration.read(config, environment: ProcessInfo.processInfo.environment, now: clock())
  }

  /// The same, with the warnings on standard error.
  ///
  /// - Parameter isTold: not for commands that ask, or do something about one key or document: `check`, `run`, `serve`, `pull`
  ///   and `publish` tell them.
  func plan(warnings isTold: Bool = true) throws -> GatewayPlan {
    let (plan, warnings) = try read()
    tell(plan.stateFolder, plan.publicationBucket?.shown ?? plan.publicationFolder)
    guard isTold else { return plan }
    var said: Set<String> = []
    for warning in warnings where said.insert("\(warning)").inserted { Console.note("\(warning)") }
    return plan
  }

  private func tell(_ state: String, _ publication: String?) {
    Console.detail(
      "configuration \(config); the store in \(state); \(publication.map { "published in \($0)" } ?? "nothing is published")"
    )
  }

  /// The configuration for a command that asks the store alone, or says a word of the operator: its secrets are not read,
  /// and what is wrong with it elsewhere is no reason not to do it.
  func operatorsPlan() throws -> OperatorsPlan {
    let (plan, faultCount) = try GatewayConfiguration.readForOperators(
      config, environment: ProcessInfo.processInfo.environment, now: clock())
    tell(plan.stateFolder, plan.publicationBucket?.shown ?? plan.publicationFolder)
    if faultCount > 0 {
      Console.note("\(config) has \(counted(faultCount, "fault")), and what is at fault is left out here")
      Console.hint("keyferry check --config \(config)")
    }
    return plan
  }

  /// What `--now` says. A time that is still to come closes windows, and removes nothing: what is gone does not come back.
  private func told(_ now: Instant) -> GatewayClock {
    // Somebody who says "now" is not ahead.
    let isAhead = now.secondsSince1970 > Clock.now.secondsSince1970 + 60
    if isAhead { Console.note("--now is ahead of the system's clock: nothing is removed or unlisted by it") }
    return GatewayClock(toldByOperator: now, isAhead: isAhead)
  }

  /// The clock of a command that owns the store: the system's, judged by what earlier ones have seen, and what is wrong
  /// with it on standard error; or what `--now` says.
  ///
  /// - Parameter isCompared: whether it may not differ from the clock of a database that others share; who goes on for long looks himself.
  /// - Throws: ``StorageFault`` `incompatible` where it differs: what a command publishes and removes by it, others go on from.
  func gatewayClock(_ plan: GatewayPlan, _ ledger: Ledger, isCompared: Bool = true) async throws -> GatewayClock {
    if let now { return told(now) }
    if isCompared, let time = try await ledger.leases?.table().time {
      let ahead = Clock.now.secondsSince1970 - time.secondsSince1970
      guard abs(ahead) <= LeaseTable.clockTolerance else {
        throw StorageFault(
          .incompatible,
          "the clock of this machine is \(abs(ahead)) seconds \(ahead > 0 ? "ahead of" : "behind") the database's; "
            + "up to \(LeaseTable.clockTolerance) are allowed, and nothing was done")
      }
    }
    let clock = try await GatewayClock.opened(
      ledger, bounds: plan.clock, folder: PublicationPlace(plan)?.folder, series: plan.series.map(\.name),
      replica: plan.clockOwner)
    if let doubt = clock.look().doubt { Console.note(doubt.reason) }
    return clock
  }

  /// The clock of a command that only serves: it goes on from what the owner of the store has seen, where there is one. While
  /// versions change, the store may be an earlier or a later one's: what is published has the same form, and is served.
  func servingClock(_ plan: GatewayPlan) async throws -> GatewayClock {
    if let now { return told(now) }
    let record: ClockJudge.Record?
    do {
      record = try await ledger(plan, as: .reader).read { [owner = plan.clockOwner] in
        try $0.clockRecord(of: owner)
      }
    } catch let fault as StorageFault where fault.code == .notFound {
      record = nil
    } catch let fault as StorageFault where [.earlier, .later].contains(fault.code) {
      Console.note("\(fault); until a restart the system's clock is believed")
      record = nil
    }
    let clock = GatewayClock(continuing: record, bounds: plan.clock)
    if let doubt = clock.look().doubt { Console.note(doubt.reason) }
    return clock
  }

  /// Opens the store of the gateway; another process that has it is named.
  ///
  /// - Throws: ``StorageFault`` `beginsAnew` where it is to be written and does not know the series that are published.
  func ledger(_ plan: GatewayPlan, as role: StoreRole) async throws -> Ledger {
    try await Stores.ledger(
      at: plan.store, in: plan.stateFolder, as: role, beside: PublishedSeries(of: plan), now: clock(),
      listeners: Self.listeners(plan.log))
  }

  func ledger(_ plan: OperatorsPlan, as role: StoreRole) async throws -> Ledger {
    let published = PublishedSeries(of: plan) { [self] in try read().plan }
    return try await Stores.ledger(
      at: plan.store, in: plan.stateFolder, as: role, beside: published, now: clock(),
      listeners: Self.listeners(plan.log))
  }

  /// What is said by hand comes into the log, too.
  static func listeners(_ log: EvidenceSettings?) -> [any LedgerListener] {
    log == nil ? [] : [EvidenceListener(program: Program.nameAndVersion)]
  }

  /// The serving half of the gateway.
  ///
  /// - Parameters:
  ///   - port: listen here instead of the configured port.
  ///   - clock: the gateway's.
  ///   - publishing: answers for pulling and publishing; `nil` where this process does neither.
  ///   - ledger: records uploads; it is asked for where there is a door for them, or a federation.
  /// - Throws: `ValidationError` where the configuration has no server or no publication, `ServerFault`.
  func serving(
    _ plan: GatewayPlan, port: Int?, clock: GatewayClock, publishing: Readiness? = nil,
    ledger: () async throws -> Ledger
  ) async throws -> Serving {
    guard var settings = plan.server else {
      throw ValidationError("\(config) has no server: say where to listen with server: {listen: 127.0.0.1:8080}")
    }
    if let port { settings.port = port }
    let kept = plan.uploads.isEmpty && plan.federation == nil ? nil : try await ledger()
    // Before the first copy of a bucket there is nothing to serve, and that is in order.
    if plan.publicationBucket != nil, let folder = plan.publicationFolder { try LocalFolder(folder).make() }
    return try Serving(
      settings, publishedIn: try plan.requirePublicationFolder(of: config), series: plan.series,
      mirrors: plan.mirrors,
      uploads: plan.uploads.isEmpty ? nil : kept.map { (plan.uploads, $0) },
      storedIn: kept == nil || plan.database != nil ? nil : plan.stateFolder,
      federation: plan.federation.flatMap { settings in
        kept.map {
          FederationGateway(
            settings, ledger: $0, ownOrigins: plan.ownOrigins, evidenceDays: plan.retention.evidenceDays,
            clock: clock.time)
        }
      },
      callbacks: try plan.federation?.callbacks.flatMap { callbacks in
        try kept.map { try CallbackSetup(callbacks, ledger: $0, version: Program.version, clock: clock.time) }
      },
      answersOperators: plan.operators == nil, publishing: publishing, clock: clock.time
    ) { Console.remark("serving at \($0)") }
  }

  /// The address of operators; `nil` where they have none of their own.
  ///
  /// - Parameters:
  ///   - port: listen here instead of the configured port.
  ///   - serving: the serving half; `nil` where nothing is served.
  ///   - isRunning: whether this process pulls and publishes.
  /// - Throws: `ValidationError` where a port is named for what the configuration does not have.
  func operators(
    _ plan: GatewayPlan, port: Int?, beside serving: Serving?, isRunning: Bool, clock: GatewayClock
  ) throws -> OperatorsAddress? {
    guard var settings = plan.operators else {
      guard port == nil else {
        throw ValidationError(
          "\(config) has no address for operators: say it with operators: {listen: 127.0.0.1:\(OperatorsSettings().port)}"
        )
      }
      return nil
    }
    if let port { settings.port = port }
    return OperatorsAddress(
      settings, beside: serving, publishedIn: plan.publicationFolder, isRunning: isRunning, clock: clock
    ) { Console.note("operators are answered at \($0)") }
  }
}
