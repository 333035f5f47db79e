internal import ArgumentParser
internal import ExposureKeys
internal import Federation
internal import FileCommands
internal import GatewayDaemon
internal import GatewayServer
internal import GatewaySettings
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", _superCommandName: Program.name,
    abstract: "Show how the gateway's sources and series stand.",
    discussion: """
      For each source: its state, its cursor, the last success and the lag, keys by outcome, and what is in quarantine. \
      For each series: its last window, when the next one is over, what waits for it, and why it would have nothing. With \
      --since also what came since then, by day, origin and source. keyferry explain KEY tells which bundles hold a key.

      It works beside a gateway that runs, and needs none of its secrets. It reports what the gateway on this machine \
      answers at /ready and /ready/publishing, and what the store and files say. Each reason for exit code 1 is a line on \
      standard error. The exit code is 1 when a source is failing, behind or has a quarantine, keys are held until an \
      operator decides, half of the keys of its newest document or more were rejected, a series cannot be published or was not, a mirror has lost files, a national back end's \
      callback is suspended, there is work that no replica does, an upload waits too long for a download batch, the public log cannot go on, a TLS certificate ends \
      within two days or its file is broken, or the clock is in doubt.

      Examples:
        keyferry status --config gateway.yaml
        keyferry status --since -1d
        keyferry status --brief --json
      """)

  @OptionGroup var gateway: GatewayOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Tell what came since then, by day and origin.", valueName: "time"))
  var since: Instant?

  @Flag(help: "Leave out what waits in each series and for each destination, which reads many claims.")
  var brief = false

  @Flag(help: "Print the report as JSON (schemas/status.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  func run() async throws {
    let plan = try gateway.operatorsPlan()
    let ledger = try await gateway.ledger(plan, as: .reader)
    let (start, isBrief) = (since, brief)
    let system = gateway.now == nil ? ClockReading.system : nil
    // The gateway's time, by which nothing leaves an index while the system's is in doubt.
    let shown = await plan.shownTimes
    let look = try await ledger.read { state in try system.flatMap { try state.look(atClock: $0, of: plan, shown) } }
    let (now, doubt) = (look?.now ?? gateway.clock(), look?.doubt)
    var logged: (settings: EvidenceSettings, folder: String, fault: String?)?
    if let log = plan.log, let folder = plan.publicationFolder {
      logged = (log, folder, await LogStatus.fault(of: log, in: folder, ledger: ledger))
    }
    let publicLog = logged
    // The copy of a bucket may be older than what the bucket shows.
    let lists = plan.publicationBucket == nil ? plan.publicationFolder : nil
    let (report, series, destinations, federation, callbacks, log) = try await ledger.read { state in
      var report = try StatusReport(
        state, settings: plan.sources, uploads: plan.uploads, federation: plan.federationSources,
        rehearsing: plan.rehearsals, arrivalsSince: start,
        behindAfter: plan.behindLimit,
        ownOrigins: plan.ownOrigins, now: now)
      report.mirrors = try plan.mirrors.map {
        let archives = try $0.listedArchives(in: state, folder: lists)
        return .init(name: $0.name, source: $0.source, archives: archives.listed, lost: archives.lost)
      }
      return (
        report,
        try plan.series.map {
          try SeriesStatus(
            of: $0, in: state, folder: plan.publicationFolder, now: now,
            countingFor: isBrief ? nil : Program.nameAndVersion, isNamed: system == nil)
        },
        try plan.destinations.map { try DestinationStatus(of: $0, in: state, now: now, readsClaims: !isBrief) },
        try plan.federation.map { try FederationStanding(of: $0, in: state, now: now) },
        try state.callbackSubscriptions().all,
        try publicLog.map {
          try LogStatus(of: $0.settings, in: state, folder: $0.folder, fault: $0.fault, now: now)
        }
      )
    }
    var replicas: ReplicaReport?
    if let office = ledger.leases { replicas = ReplicaReport(try await office.table(), of: plan.duties) }
    let folders = FolderRoom.faults(
      of: [("state", plan.stateFolder)] + (plan.publicationFolder.map { [("publication", $0)] } ?? []))
    let certificates = plan.certificateFiles.map { CertificateStanding($0.address, in: $0.file, at: now) }
    let faults = StandingFault.all(
      FaultFile.faults(in: plan.stateFolder),
      beside: StandingFault.stored(
        report, series: series, destinations: destinations, federation: federation, callbacks: callbacks, log: log,
        certificates: certificates, folders: folders, clockDoubt: doubt?.reason, unheldWork: replicas?.unheld ?? []))
    if json {
      try Console.document(
        line: try JSONText.render(
          StatusDocument(
            report: report, series: series, destinations: destinations, federation: federation,
            doubt: doubt?.reason,
            faults: faults.map(FaultRow.init), callbacks: callbacks.map(CallbackRow.init), log: log,
            certificates: certificates, replicas: replicas)))
    } else {
      for line in report.lines(series: series, destinations: destinations, federation: federation, log: log) {
        try Console.result(line: line)
      }
      for subscription in callbacks where subscription.suspended != nil || subscription.failures > 0 {
        for line in ["callback " + (subscription.lines.first ?? "")] + subscription.lines.dropFirst() {
          try Console.result(line: line)
        }
      }
    }
    if !json { for line in replicas?.lines ?? [] { try Console.result(line: line) } }
    if !json { for certificate in certificates { try Console.result(line: certificate.line) } }
    for fault in faults { Console.note(fault.sentence) }
    for name in plan.leftSeries {
      Console.note(
        "series \(name) is in the publication folder and not in the configuration, and is served as it stands: move its folder away"
      )
    }
    try exit(faults.isEmpty ? .done : .rejected)
  }
}

private struct FaultRow: Encodable {
  let code: String
  let subject: String?
  let reason: String
  let advice: String?

  init(_ fault: StandingFault) {
    (code, subject, reason, advice) = (fault.kind.rawValue, fault.subject, fault.reason, fault.advice)
  }
}

/// What `--json` prints.
private struct StatusDocument: Encodable {
  let report: StatusReport
  let series: [SeriesStatus]
  let destinations: [DestinationStatus]
  let federation: FederationStanding?
  let doubt: String?
  let faults: [FaultRow]
  let callbacks: [CallbackRow]
  let log: LogStatus?
  let certificates: [CertificateStanding]
  /// `nil` where the store has one owner.
  let replicas: ReplicaReport?

  enum CodingKeys: String, CodingKey {
    case series, destinations, federation, faults, callbacks, log, certificates, replicas, unheldWork, clockDoubt
  }

  func encode(to encoder: any Encoder) throws {
    try report.encode(to: encoder)
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(series, forKey: .series)
    try members.encode(destinations, forKey: .destinations)
    try members.encodeIfPresent(federation, forKey: .federation)
    try members.encodeIfPresent(doubt, forKey: .clockDoubt)
    try members.encode(faults, forKey: .faults)
    try members.encode(callbacks, forKey: .callbacks)
    try members.encodeIfPresent(log, forKey: .log)
    try members.encode(certificates, forKey: .certificates)
    try members.encodeIfPresent(replicas?.replicas, forKey: .replicas)
    try members.encodeIfPresent(replicas?.unheld, forKey: .unheldWork)
  }
}
