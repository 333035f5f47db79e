internal import ExposureKeys
internal import Federation
internal import GatewayServer
package import GatewaySettings
internal import KeyPublishing
package import KeyStorage
internal import Logging
internal import ProgramMetrics
internal import ServiceLifecycle
package import UnixSignals

/// A gateway that runs: each source is pulled by its schedule, each series is published when a window is over, and what is
/// published is served, until it is told to end; then what has begun is ended first. It knows no command line, so that a
/// Swift program can run one.
package struct Daemon: Sendable {
  private let plan: GatewayPlan
  private let ledger: Ledger
  private let serving: Serving?
  private let operators: OperatorsAddress?
  private let version: String
  private let clock: GatewayClock
  private let replica: (name: ReplicaName, lease: Duration)
  private let manager: ServiceManager?
  private let overdue: (@Sendable () -> Void)?
  private let readAgain: @Sendable () throws -> (plan: GatewayPlan, warnings: [GatewayFault])

  /// - Parameters:
  ///   - ledger: of a store that was opened as its owner.
  ///   - replica: what this process is called among those that share its store, and for how long it takes a piece of work; asked
  ///     only where a store is shared.
  ///   - serving: `nil` where nothing is served.
  ///   - operators: `nil` where they have no address of their own.
  ///   - version: what peers are told of this program.
  ///   - manager: who has started this process and wants to know how it is.
  ///   - overdue: is called where it was told to end and has not after a minute, whatever holds it up; the store bears that the process
  ///     ends then at any moment. `nil` waits on.
  ///   - readAgain: reads the configuration once more, on SIGHUP.
  package init(
    _ plan: GatewayPlan, ledger: Ledger, serving: Serving?, operators: OperatorsAddress? = nil, version: String,
    clock: GatewayClock, replica: (name: ReplicaName, lease: Duration) = (.ofMachine, .seconds(15)),
    manager: ServiceManager? = nil, overdue: (@Sendable () -> Void)? = nil,
    readAgain: @escaping @Sendable () throws -> (plan: GatewayPlan, warnings: [GatewayFault])
  ) {
    self.plan = plan
    self.ledger = ledger
    self.serving = serving
    self.operators = operators
    self.version = version
    self.clock = clock
    self.replica = replica
    self.manager = manager
    self.overdue = overdue
    self.readAgain = readAgain
  }

  /// Runs until SIGTERM or SIGINT, or until a service fails.
  ///
  /// - Parameter hangups: trapped before anything else was begun, since without a handler SIGHUP ends the process.
  package func run(hangups: UnixSignalsSequence) async throws {
    let metrics = serving?.metrics ?? operators?.metrics ?? GatewayMetrics()
    let current = CurrentPlan(plan)
    let readiness = serving?.publishing ?? operators?.publishing ?? Readiness()
    let receiving = try Receiving(plan, ledger: ledger, version: version, clock: clock.time)

    let pushing = Pushing(ledger: ledger, version: version, clock: clock.time)
    let tenure = WorkOwnership(ledger, as: replica.name, for: replica.lease, clock: clock.time)

    var services: [any Service] = []
    // Services end in the order of this list, backwards: work is given back when nobody does it any more.
    var (fitness, own): (LogFitness?, Replica?)
    if case .shared(let replica) = tenure {
      own = replica
      if plan.log?.place == .replicas { fitness = LogFitness() }
      services.append(
        ReplicaService(
          replica, plan: current, serving: serving?.readiness, publishing: readiness, fitness: fitness))
    }
    services += [
      ClockService(
        clock: clock, ledger: ledger, replica: ledger.leases.map { _ in replica.name }, hosts: receiving.hostTimes,
        readiness: readiness, metrics: metrics),
      PullService(
        plan: current, receiving: receiving, tenure: tenure, ledger: ledger, clock: clock, metrics: metrics,
        readiness: readiness),
      PushService(
        plan: current, pushing: pushing, tenure: tenure, ledger: ledger, clock: clock, metrics: metrics,
        readiness: readiness),
      StateMonitor(
        plan: current, ledger: ledger, clock: clock, metrics: metrics, readiness: readiness, version: version),
      ReloadService(
        plan: current, hangups: hangups, exposure: serving?.exposure, doors: serving?.doors ?? [],
        trust: serving?.federation?.trust,
        certificates: serving?.certificateWatch, readAgain: readAgain),
    ]
    if let probe = serving?.probe { services.append(probe) }
    if let watch = serving?.watch { services.append(watch) }
    if let watch = serving?.certificateWatch { services.append(watch) }
    if let federation = serving?.federation, let callbacks = serving?.callbacks {
      services.append(
        CallbackService(
          tenure: tenure, ledger: ledger, clock: clock.time, trust: federation.trust, caller: callbacks.caller,
          takesAuthenticationCertificates: callbacks.settings.takesAuthenticationCertificates, metrics: metrics))
    }
    if plan.federation != nil { services.append(BatchService(plan: current, tenure: tenure, clock: clock)) }
    if let place = PublicationPlace(plan) {
      if let serving, let copying = CopyService(place, for: serving, plan: { current.value }) {
        services.append(copying)
      }
      if let fitness {
        services.append(
          LogService(
            plan: current, tenure: tenure, ledger: ledger, place: place, clock: clock, metrics: metrics,
            readiness: readiness, fitness: fitness))
      }
      services.append(
        PublishService(
          plan: current, tenure: tenure, place: place, clock: clock, metrics: metrics, readiness: readiness,
          publications: serving?.publications, program: "keyferry \(version)"))
    }
    if let serving { services.append(serving.server) }
    let office = StatusCollector(current, ledger: ledger, clock: clock, program: "keyferry \(version)")
    services.append(
      FaultWatch(
        [serving?.readiness, readiness].compactMap(\.self), writtenTo: plan.stateFolder, by: .run, metrics: metrics
      ) { try await office.faults() })
    if let operators {
      operators.desk.answer { try await office.report() }
      services.append(operators.service)
    }
    let deadline = ShutdownDeadline(ledger: ledger, replica: own, overdue: overdue)
    services.append(deadline)
    if let serving { services.append(serving.leaving) }
    // The end is told before anything is waited for.
    if let manager {
      services.append(NotifyService(manager, after: [serving?.listening, operators?.listening].compactMap(\.self)))
    }
    defer { deadline.isOver.set() }
    var configuration = ServiceGroupConfiguration(
      services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "keyferry"))
    // A supervisor kills after a minute and a half, as a rule.
    configuration.maximumGracefulShutdownDuration =
      .seconds(ShutdownDeadline.patience) + (serving?.leaving.time ?? .zero)
    do {
      try await ServiceGroup(configuration: configuration).run()
      if deadline.isOver.isLate { throw HeldUp() }
    } catch {
      await receiving.close()
      await pushing.close()
      // Nobody else has cancelled it: what was under way was not over in time.
      throw error is CancellationError && !Task.isCancelled ? HeldUp() : error
    }
    await receiving.close()
    await pushing.close()
  }
}
