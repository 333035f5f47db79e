internal import BundleTrust
internal import ExposureKeys
internal import Federation
internal import GatewayServer
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage
internal import PolicyFiles

/// One reading of a configuration: where its files, its secrets and its policies come from, and what is wrong so far.
final class GatewayReader {
  let document = SettingsDocument(holding: "configuration", byteLimit: GatewayFile.byteLimit)
  let files: any SettingFiles
  let environment: [String: String]
  let now: Instant
  let layouts: Set<String>
  let peers: [PeerProtocol]
  let trials: SettingTrials
  /// Otherwise something stands in place of each.
  let readsSecrets: Bool
  let path: String
  /// The files that the configuration names and that were read.
  var namedFiles: [String] = []
  /// Which of them each setting names; where the file of a secret is named by `file`, by the place of the secret.
  private var filesBySetting: [String: String] = [:]
  /// Those of them that secrets were read from, by the setting that names each: `server.key`.
  var secretFiles: [String: String] = [:]
  private var policyFaults: [GatewayFault] = []
  /// The regions and origins that the configuration names: there are such, whatever they are called.
  var namedCodes: Set<String> = []
  /// Those of them that sources' keys are said to name.
  var codesInKeys: Set<String> = []
  private var policiesByName: [String: Policy] = [:]
  /// `nil` is a file that is at fault; that is told once.
  private var policiesByPath: [String: Policy?] = [:]
  /// SHA-256 of the files of policies that are listed under `policies` or named by their path.
  private var policyDigests: [String: String] = [:]
  /// Where the file asks for no policy.
  let defaultPolicy = (try? ShippedPolicies.policy(named: "default")) ?? Policy(name: "default")

  init(
    path: String, files: any SettingFiles, environment: [String: String], now: Instant, layouts: Set<String>,
    peers: [PeerProtocol] = PeerCatalog.peers, trials: SettingTrials = SettingTrials(), readsSecrets: Bool = true
  ) {
    self.readsSecrets = readsSecrets
    self.path = path
    self.files = files
    self.environment = environment
    self.now = now
    self.layouts = layouts
    self.peers = peers
    self.trials = trials
  }

  /// In the order of the file, then those of the policies.
  var faults: [GatewayFault] {
    document.faults.sorted().map {
      GatewayFault(
        severity: $0.isWarning ? .warning : .error, file: path, place: $0.place.path, line: $0.place.line,
        column: $0.place.column, reason: $0.reason)
    } + policyFaults
  }

  /// `nil` adds a fault.
  func plan(_ text: String) -> GatewayPlan? {
    guard let root = document.root(of: text) else { return nil }
    let state = root.needed(
      "state", Section.path, missing: "a folder", "The folder of the store and of downloads in progress.", resolvedPath)
    var database: DatabaseAccess?
    let isInDatabase = root.states("store")
    root.section("store", default: "in the folder of `state`", "Where the store is.") { database = store($0) }
    _ = root.list(
      "policies", of: "paths", "Policy files. Settings can then refer to each by the name that it states.", readPolicy)
    let ownOrigins =
      root.codes(
        "own-origins",
        "The gateway's own origins. Keyferry takes their keys from a source that has the origin itself (`origin: NL`), and rejects them from every other source, as own keys that come back.",
        codes) ?? []
    let population = root.number(
      "population", default: "\(BusyDay.keys(of: nil)) keys a day", in: BusyDay.populations,
      "Inhabitants of the own origins. \(BusyDay.keysPerThousand) keys of each thousand, at least \(BusyDay.fewestKeys), are no flood on any day: from each upload endpoint, and from each source of an own origin."
    )
    var retention = Retention()
    root.section("retention", "How long Keyferry keeps keys and received bytes.") { self.retention(&retention, $0) }
    var clock = ClockBounds()
    root.section("clock", "How far the system's clock may step without being doubted.") { section in
      section.duration("back", &clock.back, in: 60...86_400, "How far it may fall behind the greatest time seen.")
      section.duration(
        "ahead", &clock.ahead, in: 3600...2_592_000, "How far it may run ahead of the time that has passed.")
    }
    var silenceLimit: Int64 = 21_600
    root.duration(
      "silence", &silenceLimit, in: 60...2_592_000,
      "Keyferry raises an alarm if no source could be pulled for this time: `/ready/publishing`.")
    let behind: ClosedRange<Int64> = 3600...2_592_000
    let behindLimit = root.optional(
      "behind", "never, \(behind.durations)", default: "never", as: .either(.words(["never"]), .duration),
      "Keyferry raises an alarm if a source answers and has had no new key for this time: `/ready/publishing` and `keyferry status`. A source that never had any key raises none."
    ) { $0.isWord("never") ? nil : $0.duration(behind) }
    let sources = root.sections("sources", "Where keys are pulled from.", source)
    let destinations = root.sections("destinations", "Federation gateways that receive own keys.", destination)
    let listed = root.sections("series", "What is published.", self.series)
    let series = listed.compactMap { entry -> StatedSeries? in if case .series(let one) = entry { one } else { nil } }
    retention.keepsAgenda = !series.isEmpty
    let mirrors = listed.compactMap { entry -> StatedMirror? in if case .mirror(let one) = entry { one } else { nil } }
    var published = StatedPublication()
    root.section("publication", default: "nothing is published", "Where bundles are published.") { section in
      published = self.publication(section, state: state)
    }
    let publication = published.folder
    var log: StatedLog?
    root.section("log", default: "no log", "A public log of publications, which cannot be rewritten in secret.") {
      log = self.log($0, state: state)
    }
    var server: StatedServer?
    root.section("server", default: "nothing is served", "How publications are served.") { server = self.server($0) }
    var federation: (settings: FederationGatewaySettings, section: Section)?
    root.section(
      "federation", default: "countries do not federate here",
      "This gateway serves national back ends, in place of the European one."
    ) { section in
      federation = self.federation(section, &server).map { ($0, section) }
    }
    var operators: OperatorsSettings?
    root.section(
      "operators", default: "these are at the server's address",
      "A separate address for operators: a page with the gateway's status, `/metrics`, `/health`, `/ready` and `/ready/publishing`. The server then no longer answers these."
    ) { operators = self.operators($0, server: server) }
    root.finish()

    check(sources, ownOrigins: ownOrigins)
    check(series)
    let isRead = sources.contains { !$0.settings.isRehearsal } || federation != nil
    if isRead { checkTravellers(series) }
    checkRetention(retention, of: series, root)
    let shown = mirrored(mirrors, beside: series, of: sources, retention)
    if let federation { check(federation.settings, federation.section, server: server, root) }
    if let server { check(server, series: series, mirrors: shown, publication: publication) }
    checkFolders(root, state: state, published, hasSeries: !listed.isEmpty)
    checkFolders(of: sources, state: state, publication: publication, log: log?.settings?.state)
    if let log {
      check(
        log, state: state, published, names: series.map(\.settings.name) + mirrors.map(\.name),
        server: server?.settings)
      checkRetention(retention, of: series, beside: log)
      server?.settings.logFolder = log.settings?.folder
    }
    let entrances = (server?.uploads ?? []).map { ($0, uploadSource($0, sources: sources, series: series)) }
    checkDoors(entrances)
    check(
      destinations, sources: sources, doors: entrances.compactMap(\.1), ownOrigins: ownOrigins)
    // Nobody takes the store of the folder for that of a database which is at fault.
    guard let state, !isInDatabase || database != nil else { return nil }
    var plan = GatewayPlan(
      stateFolder: state,
      sources: sources.map { source in
        var settings = source.settings
        settings.declaredRegions = namedCodes
        settings.ownOrigins = ownOrigins
        if !settings.isRelay, let origin = settings.origin, ownOrigins.contains(origin) {
          settings.population = population
        }
        settings.isMirrored = shown.contains { $0.source == settings.name }
        return settings
      }, series: series.map(\.settings),
      publicationFolder: publication, ownOrigins: ownOrigins, retention: retention, server: server?.settings,
      uploads: entrances.compactMap { $0.0.settings == nil ? nil : $0.1 })
    for index in plan.uploads.indices { plan.uploads[index].population = population }
    plan.database = database
    plan.publicationBucket = published.bucket
    plan.mirrors = shown
    plan.log = log?.settings
    plan.federation = federation?.settings
    plan.operators = operators
    for index in plan.series.indices {
      plan.series[index].rehearsals = plan.rehearsals
      plan.series[index].ownOrigins = ownOrigins
    }
    let doors = Set(entrances.compactMap { $0.1?.name })
    plan.log?.doors = doors.sorted()
    plan.log?.evidenceDays = retention.evidenceDays
    plan.log?.place = published.isBucket ? database == nil ? .bucket : .replicas : .folder
    plan.destinations = destinations.map { destination in
      var settings = destination.settings
      settings.doors = doors.intersection(settings.sources)
      return settings
    }
    (plan.clock, plan.silenceLimit, plan.behindLimit) = (clock, silenceLimit, behindLimit)
    return plan
  }

  private func retention(_ retention: inout Retention, _ section: Section) {
    section.days(
      "keys", &retention.keyDays, in: Allowed.keyDays,
      "How long keys are kept after their expiry. Each expires a day after its rolling start, whatever its period.")
    section.days("evidence", &retention.evidenceDays, in: 0...3650, "How long received bytes are kept as evidence.")
    section.days(
      "quarantine", &retention.quarantineDays, in: 0...3650, "How long the bytes of refused documents are kept.")
    section.bytes(
      "evidence-bytes", &retention.evidenceBytes, in: 1_000_000...1_000_000_000_000_000,
      "How much room kept bytes may take. Keyferry checks once an hour, and removes the oldest evidence first and the oldest bytes of refused documents last."
    )
  }

  // MARK: Trials

  /// Reads a section, and then tries it where nothing is wrong with what it states.
  func tried<Stated>(_ read: () -> Stated, _ misfits: (Stated) -> (section: Section, [SettingMisfit])?) -> Stated {
    let before = errorCount
    let stated = read()
    guard errorCount == before, let (section, misfits) = misfits(stated) else { return stated }
    for misfit in misfits {
      document.add(place(of: misfit.setting, in: section), misfit.reason)
    }
    return stated
  }

  /// Where a setting stands that may be deep in a section, or the nearest section around it that the file states.
  func place(of setting: String, in section: Section) -> SettingPlace {
    var place = document.place(of: "\(section.place.path).\(setting)")
    // An entry of a list has its name in the path, and its place is known by its number: what it lacks would be placed
    // at the whole list.
    if !section.states(String(setting.prefix { $0 != "." })) {
      (place.line, place.column) = (section.place.line, section.place.column)
    }
    return place
  }

  var errorCount: Int { document.faults.count { !$0.isWarning } }

  // MARK: Values

  /// A path of this machine, seen from the folder of the configuration.
  func resolvedPath(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    guard !text.isEmpty, text.utf8.count <= 4096, !text.utf8.contains(0) else {
      // A long text may be a whole private key.
      return setting.fault("\(text.utf8.count > 4096 ? "\(text.utf8.count) bytes" : setting.shown), allowed a path")
    }
    return FilePath.resolved(text, in: FilePath.folder(of: path))
  }

  /// Letters, digits and these marks.
  func name(_ setting: Setting, marks: String) -> String? {
    guard let text = setting.text() else { return nil }
    let isName =
      (1...Allowed.nameLength).contains(text.utf8.count)
      && text.unicodeScalars.allSatisfy { $0.isLetterOrDigit || marks.unicodeScalars.contains($0) }
    guard isName, text.unicodeScalars.contains(where: \.isLetterOrDigit) else {
      let marks = marks.map { "\"\($0)\"" }.joined(separator: ", ")
      return setting.fault("\(setting.shown), allowed 1...\(Allowed.nameLength) letters, digits, \(marks)")
    }
    return text
  }

  /// A line for people, or for a header.
  func line(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    guard (1...255).contains(text.utf8.count), text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else { return setting.fault("\(setting.shown), allowed one line of 1...255 bytes") }
    return text
  }

  func instant(_ setting: Setting) -> Instant? {
    guard let text = setting.text() else { return nil }
    return Instant(text) ?? setting.fault("\(setting.shown), allowed a time in UTC: 2020-06-01T00:00:00Z")
  }

  /// The bytes of a file that the setting names.
  func contents(_ setting: Setting, limit: Int) -> [UInt8]? {
    guard let path = resolvedPath(setting) else { return nil }
    namedFiles.append(path)
    filesBySetting[setting.place.path] = path
    do throws(FileFault) {
      return try files.contents(of: path, limit: limit)
    } catch {
      return setting.fault(words(error, of: setting))
    }
  }

  /// What is wrong with the file that a setting names. The value may be a secret that was written in place of the path of
  /// its file, so the message shows it whole only if it looks like a path. The resolved path always does.
  func words(_ fault: FileFault, of setting: Setting) -> String {
    guard fault.operation == "open", let text = setting.text() else { return "\(fault)" }
    let shown = PathText.shownAsMissing(text)
    return shown == text ? "\(fault)" : "\(shown)\(fault.description.dropFirst(fault.shownPath.count))"
  }

  /// What is wrong with what a setting names, behind the path of the file, if it is one.
  func inFile(at place: SettingPlace, _ reason: String) -> String {
    filesBySetting[place.path].map { "\(PathText.onOneLine($0)): \(reason)" } ?? reason
  }

  /// The text of a file with PEM blocks of this kind.
  func pem(_ setting: Setting, holding label: String) -> String? {
    guard readsSecrets else { return "" }
    guard let bytes = contents(setting, limit: Allowed.secretBytes) else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.contains("-----BEGIN \(label)-----") else {
      return setting.fault(inFile(at: setting.place, "the file has no PEM block, allowed -----BEGIN \(label)-----"))
    }
    return text
  }

  // MARK: Policies

  private func readPolicy(_ entry: Setting) -> Policy? {
    guard let path = resolvedPath(entry), policiesByPath[path] == nil, let policy = policy(at: path, entry) else {
      return nil
    }
    if ShippedPolicies.names.contains(policy.name) || policiesByName[policy.name] != nil {
      return entry.fault("another policy is called \(policy.name) already")
    }
    (policiesByName[policy.name], policyDigests[policy.name]) = (policy, policyDigests[path])
    return policy
  }

  /// A policy by the name of one that ships or is listed under `policies`, or by its file.
  func policy(_ setting: Setting) -> Policy? {
    guard let name = setting.text() else { return nil }
    if let policy = policiesByName[name] { return policy }
    do throws(PolicyFileFault) {
      if let policy = try ShippedPolicies.policy(named: name) { return policy }
    } catch {
      return setting.fault("\(error)")
    }
    guard name.contains("/") || name.contains(".") else {
      let names = ShippedPolicies.names + policiesByName.keys.sorted()
      return setting.fault(
        "\(setting.shown), allowed \(names.joined(separator: ", ")), or the path of a file: ./mine.yaml")
    }
    return resolvedPath(setting).flatMap { policy(at: $0, setting) }
  }

  /// SHA-256 of the file of a policy that ``policy(_:)`` found, as `policy show --yaml` prints it; `nil` is the default one.
  func policyDigest(_ setting: Setting?) -> String? {
    let name = setting.map { $0.text() ?? "" } ?? defaultPolicy.name
    if policiesByName[name] == nil, let text = ShippedPolicies.text(of: name) {
      return ExportDigests(of: Array(text.utf8), includingBody: false).hexadecimal
    }
    return policyDigests[name] ?? setting.flatMap(resolvedPath).flatMap { policyDigests[$0] }
  }

  private func policy(at path: String, _ setting: Setting) -> Policy? {
    if let known = policiesByPath[path] { return known }
    var policy: Policy?
    namedFiles.append(path)
    do throws(FileFault) {
      let bytes = try files.contents(of: path, limit: PolicyFile.byteLimit)
      policyDigests[path] = ExportDigests(of: bytes, includingBody: false).hexadecimal
      policy = parsed(String(decoding: bytes, as: UTF8.self), path)
    } catch {
      setting.add("\(error)")
    }
    policiesByPath[path] = .some(policy)
    return policy
  }

  private func parsed(_ text: String, _ path: String) -> Policy? {
    do throws(PolicyFileFault) {
      return try PolicyFile.parse(text, named: path) { policyFaults.append(GatewayFault(.warning, $0, in: path)) }
    } catch {
      policyFaults += error.faults.map { GatewayFault(.error, $0, in: path) }
      return nil
    }
  }
}

extension GatewayFault {
  fileprivate init(_ severity: Severity, _ fault: PolicyFault, in file: String) {
    self.init(
      severity: severity, file: file, place: fault.place, line: fault.line, column: fault.column, reason: fault.reason)
  }
}

extension Unicode.Scalar {
  var isLetterOrDigit: Bool {
    ("a"..."z").contains(self) || ("A"..."Z").contains(self) || ("0"..."9").contains(self)
  }
}

/// Keeps the default where the file says nothing, or is at fault.
func set<Value>(_ target: inout Value, _ value: Value?) {
  if let value { target = value }
}
