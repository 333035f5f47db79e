internal import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import Federation
internal import FileCommands
internal import FoundationEssentials
internal import GatewayDaemon
internal import GatewayServer
internal import GatewaySettings
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage
internal import S3Publications

struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", _superCommandName: Program.name,
    abstract: "Check a gateway's configuration as a whole and print every fault with its place.",
    discussion: """
      The policies, rings, keys and secrets that the configuration names are read as well, and relations between \
      settings are checked; certificates and keys are tried as keyferry run would use them, and a store that is there is \
      opened. A new store beside series that are published already is an error: keyferry store begin says what to do. Nothing is fetched, and nothing is written. The exit code is 2 when there is an error; warnings are for \
      what can be used and most likely does not do what was meant.

      With --publication every file of the publication folder is read as well: a damaged one, one that is gone, and one that \
      nothing of the series knows are told, and the exit code is 1. keyferry publish makes damaged files again. A damaged \
      file that no index names any more is told, and is no fault: it goes when its grace is over.

      With --online each source is asked as well, and its newest document is fetched, read and verified, without \
      recording anything; each destination is asked for today's batches, which shows whether it is there and lets the \
      certificate in, and nothing is handed over. A bucket is tried with small objects under _keyferry/ that are removed again: \
      whether the rights suffice, and whether the store refuses to overwrite what it should. The exit code is 1 when a source, a \
      destination or the bucket cannot be used.

      Examples:
        keyferry check --config gateway.yaml
        keyferry check --config gateway.yaml --now 2021-06-01
        keyferry check --config gateway.yaml --json > check.json
        keyferry check --config gateway.yaml --online
        keyferry check --config gateway.yaml --publication
      """)

  @OptionGroup var gateway: GatewayOptions

  @Flag(help: "Print the result as JSON (schemas/check.schema.json).")
  var json = false

  @Flag(help: "Try each source, each destination and the bucket as well.")
  var online = false

  @Flag(help: "Read every published file as well.")
  var publication = false

  @OptionGroup var loudness: LoudnessOptions

  func run() async throws {
    var result = try await ConfigurationCheck(gateway, isOnline: online)
    if let plan = result.plan { result.stale = try await staleReadings(plan) }
    var probes = Probes()
    if online { try Descriptors.require() }
    if online, let plan = result.plan { probes = try await probe(plan) }
    var published: PublicationCheck?
    if publication, let plan = result.plan {
      let names = plan.series.map(\.name) + plan.mirrors.map(\.name)
      // What is wrong with the store is told as such.
      var counts: [String: Int] = [:]
      if let ledger = try? await gateway.ledger(plan, as: .reader) {
        counts = (try? await PublicationCheck.published(names, by: ledger)) ?? [:]
      }
      published = try await PublicationCheck(
        of: names, published: counts,
        in: plan.requirePublicationPlace(of: gateway.config).folder)
    }
    if json {
      try Console.document(line: try JSONText.render(result.document(probes, published)))
    } else {
      try Console.result(result.text + probes.text + (published?.text ?? ""))
    }
    guard result.plan != nil else { return try exit(.failed) }
    if published?.faults.contains(where: { $0.kind != .strange }) == true {
      Console.hint("keyferry publish --config \(gateway.config) makes again what is damaged or gone")
    }
    try exit(!probes.areUsable || published?.faults.isEmpty == false ? .rejected : .done)
  }

  /// Sources whose claims were read by another policy than the configured one; none where there is no store yet.
  private func staleReadings(_ plan: GatewayPlan) async throws -> [StaleReading] {
    guard let ledger = try? await gateway.ledger(plan, as: .reader) else { return [] }
    // No key is valid for longer than two days, and none comes later than its retention.
    let start = gateway.clock().secondsSince1970 - (plan.retention.keyDays + 16) * 86_400
    return try await ledger.read { state in
      try StaleReading.all(
        of: plan.sources, ownOrigins: plan.ownOrigins, in: state, from: Instant(secondsSince1970: start))
    }
  }

  /// Asks every source and every destination at the same time.
  private func probe(_ plan: GatewayPlan) async throws -> Probes {
    let paths = PeerPaths(version: Program.version, clock: gateway.clock)
    let (clock, spool) = (gateway.clock, plan.stateFolder + "/probe")
    let sources = plan.sources.enumerated().map { ($0, $1) }
    async let asked = Self.inOrder(sources) { index, source in
      do {
        let transport = try paths.transport(for: source)
        return try await SourceProbe.probe(source, through: transport, spool: "\(spool)-\(index)", now: clock())
      } catch let fault as TransportFault {
        return SourceProbe(source: source.name, fault: fault.documentFault)
      }
    }
    async let offered = Self.inOrder(plan.destinations) { destination in
      do {
        return try await DestinationProbe(
          of: destination, through: try paths.transport(for: destination.way), now: clock())
      } catch let fault as TransportFault {
        return DestinationProbe(destination: destination.name, fault: fault.documentFault)
      }
    }
    var probes = Probes(sources: try await asked, destinations: try await offered)
    await paths.close()
    if let bucket = plan.publicationBucket {
      probes.bucket = (
        bucket.shown, try await bucket.probe(environment: ProcessInfo.processInfo.environment)
      )
    }
    return probes
  }

  /// Does the same with all at once; what comes of it stands in their order.
  private static func inOrder<Subject: Sendable, Outcome: Sendable>(
    _ subjects: [Subject], _ work: @escaping @Sendable (Subject) async throws -> Outcome
  ) async throws -> [Outcome] {
    try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
      for (index, subject) in subjects.enumerated() { group.addTask { (index, try await work(subject)) } }
      var outcomes: [(Int, Outcome)] = []
      for try await outcome in group { outcomes.append(outcome) }
      return outcomes.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }
}

/// What came of trying those that a configuration names.
struct Probes {
  var sources: [SourceProbe] = []
  var destinations: [DestinationProbe] = []

  /// `nil` where bundles are published into a folder.
  var bucket: (name: String, probe: BucketProbe)?

  var areUsable: Bool {
    sources.allSatisfy(\.isUsable) && destinations.allSatisfy(\.isUsable) && bucket?.probe.isUsable ?? true
  }

  var text: String {
    sources.map(\.text).joined() + destinations.map(\.text).joined() + (bucket.map { $0.probe.text(of: $0.name) } ?? "")
  }
}

/// What a check of a configuration found.
struct ConfigurationCheck {
  let path: String
  /// `nil` where there is an error.
  let plan: GatewayPlan?
  let faults: [GatewayFault]
  /// Sources whose stored claims were read by another policy.
  var stale: [StaleReading] = []
  /// When policies are judged that change with time.
  private let now: Instant

  /// - Throws: `FileFault` when the configuration itself cannot be read.
  init(_ options: GatewayOptions, isOnline: Bool) async throws {
    path = options.config
    now = options.clock()
    do {
      let (plan, warnings) = try options.read()
      faults =
        warnings + GatewayConfiguration.folderFaults(of: plan, options.config)
        + GatewayConfiguration.publicationFaults(of: plan, options.config)
        + (await GatewayConfiguration.logFaults(of: plan, options.config, now: options.clock()))
        + GatewayConfiguration.signingFaults(of: plan, options.config, now: options.clock())
        + GatewayConfiguration.storeFaults(of: plan, options.config, now: options.clock())
        + (await GatewayConfiguration.beginningFaults(
          of: plan, options.config, isOnline: isOnline, now: options.clock()))
      self.plan = faults.contains { $0.severity == .error } ? nil : plan
    } catch let error as GatewayFaults {
      plan = nil
      faults = error.all
    }
  }

  /// What the series mean for phones; nothing where nothing is served.
  var phones: [PhoneLoad] {
    guard let plan, let server = plan.server else { return [] }
    return plan.series.flatMap { PhoneLoad.loads(of: $0, servedAs: server.layouts) }
  }

  /// Where the keys of a series come from.
  func supplies(of series: SeriesSettings) -> [SeriesSupply] { plan?.supplies(of: series, at: now) ?? [] }

  /// Which limit keys of a day exceed that are held; of upload endpoints, and of the sources of own origins.
  var floodLimits: [FloodLimit] {
    guard let plan else { return [] }
    func limit(_ name: String, _ policy: ReadingPolicy, _ stated: ReadingPolicy, _ population: Int?) -> FloodLimit {
      let limit = policy.volumeLimit(usual: 0)
      let reason =
        limit == nil
        ? "none, by policy"
        : limit?.reason == .tooManyKeysADay
          ? "most-a-day" : stated.floodFloor != nil ? "floor" : population.map { "population \(grouped($0))" }
      return FloodLimit(source: name, keys: limit?.keys, reason: reason ?? Self.noPopulation)
    }
    let sources = plan.sources.filter { !$0.isRelay && $0.origin.map(plan.ownOrigins.contains) == true }
    return plan.uploads.map { limit($0.name, $0.admissionPolicy(at: now), $0.reading.at(now).reading, $0.population) }
      + sources.map { limit($0.name, $0.admissionPolicy(at: now), $0.reading.at(now).reading, $0.population) }
  }

  struct FloodLimit: Encodable {
    let source: String
    /// `nil` if none are held.
    let keys: Int?
    /// What states it.
    let reason: String
  }

  static let noPopulation = "default"

  // MARK: JSON

  func document(_ probes: Probes, _ published: PublicationCheck?) -> Document {
    Document(
      faults: faults.map {
        .init(
          severity: $0.severity, file: $0.file, place: $0.place, line: $0.line, column: $0.column, reason: $0.reason)
      },
      sources: (plan?.sources ?? []).map { source in
        .init(
          name: source.name, protocol: source.peer.rawValue, location: source.location, everySeconds: source.interval,
          origin: source.origin, relay: source.isRelay,
          speaksFor: source.spokenOrigins,
          trustedKeys: source.trust.ring?.keys.count ?? 0, reading: source.reading.name)
      },
      series: (plan?.series ?? []).map { series in
        .init(
          name: series.name, title: series.title, everySeconds: series.period, publishing: series.publishing.name,
          supplies: supplies(of: series).map { .init(keys: $0.share.rawValue, sources: $0.sources) },
          keys: series.identities.map { scheduled in
            .init(
              id: scheduled.identity.keyID, version: scheduled.identity.keyVersion,
              from: scheduled.from?.description, until: scheduled.until?.description,
              fingerprint: scheduled.identity.key.publicKey.fingerprint)
          })
      },
      mirrors: (plan?.mirrors ?? []).map { .init(name: $0.name, title: $0.title, source: $0.source) },
      phones: phones.map { load in
        .init(
          series: load.series, phone: load.phone, layout: load.layout, filesPerDay: load.filesPerDay,
          firstFiles: load.firstFiles, callsPerDay: load.callsPerDay, limit: load.limit.text,
          keysPerDay: load.keysPerDay, fits: load.fits)
      },
      floods: floodLimits,
      readings: stale.map { stale in
        .init(
          source: stale.source, policy: stale.policy, documents: stale.documents, notKept: stale.unkept,
          readBy: stale.policies)
      },
      destinations: (plan?.destinations ?? []).map { destination in
        .init(
          name: destination.name, location: destination.location, origin: destination.origin,
          sources: destination.sources.sorted(), everySeconds: destination.interval, batchKeys: destination.batchKeys,
          publishing: destination.publishing.name, signer: destination.signer.subject,
          thumbprint: destination.signer.thumbprint, rehearsal: destination.isRehearsal)
      },
      probes: probes.sources.map { probe in
        .init(source: probe.source, usable: probe.isUsable, findings: probe.findings, faults: probe.faults.map(\.line))
      },
      destinationProbes: probes.destinations.map { probe in
        .init(
          destination: probe.destination, usable: probe.isUsable, findings: probe.findings,
          faults: probe.faults.map(\.line))
      },
      bucketProbe: probes.bucket.map { bucket in
        .init(
          bucket: bucket.name, usable: bucket.probe.isUsable, findings: bucket.probe.findings,
          faults: bucket.probe.faults)
      }, publication: published.map { .init(files: $0.files, faults: $0.faults, leaving: $0.leaving) })
  }

  /// `schemas/check.schema.json`.
  struct Document: Encodable {
    var reportVersion = 2
    var faults: [Fault]
    /// Empty where there is an error, like the series.
    var sources: [Source]
    var series: [Series]
    /// What is shown as its origin has signed it.
    var mirrors: [Mirror]
    /// What the series mean for each kind of phone, where they are served.
    var phones: [Phone]
    /// Which limit keys of a day exceed that are held.
    var floods: [FloodLimit]
    /// Sources whose stored claims were read by another policy than the configured one.
    var readings: [Reading]
    /// Empty where there is an error.
    var destinations: [Destination]
    /// One a source where they were tried.
    var probes: [Probe]
    /// One a destination where they were tried.
    var destinationProbes: [DestinationProbe]
    /// `nil` where it was not tried, or there is none.
    var bucketProbe: BucketProbe?
    /// `nil` where the published files were not read.
    var publication: Publication?

    struct Mirror: Encodable {
      var name: String
      var title: String
      var source: String
    }

    struct Reading: Encodable {
      var source: String
      var policy: String
      var documents: Int
      var notKept: Int
      var readBy: [String]
    }

    struct Publication: Encodable {
      var files: Int
      var faults: [PublicationCheck.Fault]
      var leaving: [PublicationCheck.Fault]
    }

    struct Probe: Encodable {
      var source: String
      var usable: Bool
      var findings: [String]
      var faults: [String]
    }

    struct DestinationProbe: Encodable {
      var destination: String
      var usable: Bool
      var findings: [String]
      var faults: [String]
    }

    struct BucketProbe: Encodable {
      var bucket: String
      var usable: Bool
      var findings: [String]
      var faults: [String]
    }

    struct Destination: Encodable {
      var name: String
      var location: String
      var origin: String
      var sources: [String]
      var everySeconds: Int64
      var batchKeys: Int
      var publishing: String
      var signer: String
      var thumbprint: String
      var rehearsal: Bool
    }

    struct Phone: Encodable {
      var series: String
      var phone: String
      var layout: String
      var filesPerDay: Int
      var firstFiles: Int
      var callsPerDay: Int
      var limit: String
      /// `nil` where the number of keys makes no difference.
      var keysPerDay: Int?
      var fits: Bool
    }

    struct Fault: Encodable {
      var severity: GatewayFault.Severity
      var file: String
      var place: String
      var line: Int
      var column: Int
      var reason: String
    }

    struct Source: Encodable {
      var name: String
      var `protocol`: String
      var location: String
      var everySeconds: Int64
      var origin: String?
      var relay: Bool
      var speaksFor: [String]?
      var trustedKeys: Int
      var reading: String
    }

    struct Series: Encodable {
      var name: String
      var title: String
      var everySeconds: Int64
      var publishing: String
      /// Where its keys come from.
      var supplies: [Supply]
      var keys: [Key]
    }

    struct Supply: Encodable {
      var keys: String
      var sources: [String]
    }

    struct Key: Encodable {
      var id: String
      var version: String
      var from: String?
      var until: String?
      var fingerprint: String
    }
  }
}
