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
    let state = root.need("state", "a folder").flatMap(resolvedPath)
    var database: DatabaseAccess?
    let isInDatabase = root.states("store")
    root.section("store") { section in database = store(section) }
    root.read("policies") { readPolicies($0) }
    let ownOrigins = root.take("own-origins").flatMap(codes) ?? []
    let population = root.take("population")?.number(Allowed.population)
    var retention = Retention()
    root.section("retention") { self.retention(&retention, $0) }
    var clock = ClockBounds()
    root.section("clock") { section in
      set(&clock.back, section.take("back")?.duration(Allowed.clockBack))
      set(&clock.ahead, section.take("ahead")?.duration(Allowed.clockAhead))
    }
    var silenceLimit: Int64 = 21_600
    set(&silenceLimit, root.take("silence")?.duration(Allowed.silence))
    var behindLimit: Int64?
    root.read("behind") { setting in
      behindLimit = setting.isWord("never") ? nil : setting.duration(Allowed.behind)
    }
    let sources = entries(of: root.take("sources"), source)
    let destinations = entries(of: root.take("destinations"), destination)
    let listed = entries(of: root.take("series"), self.series)
    let series = listed.compactMap { entry -> StatedSeries? in if case .series(let one) = entry { one } else { nil } }
    retention.keepsAgenda = !series.isEmpty
    let mirrors = listed.compactMap { entry -> StatedMirror? in if case .mirror(let one) = entry { one } else { nil } }
    var published = StatedPublication()
    root.section("publication") { section in published = self.publication(section, state: state) }
    let publication = published.folder
    var log: StatedLog?
    root.section("log") { section in log = self.log(section, state: state) }
    var server: StatedServer?
    root.section("server") { server = self.server($0) }
    var federation: (settings: FederationGatewaySettings, section: Section)?
    root.section("federation") { section in federation = self.federation(section, &server).map { ($0, section) } }
    var operators: OperatorsSettings?
    root.section("operators") { section in operators = self.operators(section, server: server) }
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
    set(&retention.keyDays, section.take("keys")?.days(Allowed.keyDays))
    set(&retention.evidenceDays, section.take("evidence")?.days(Allowed.evidenceDays))
    set(&retention.quarantineDays, section.take("quarantine")?.days(Allowed.evidenceDays))
    set(&retention.evidenceBytes, section.take("evidence-bytes")?.byteCount(Allowed.evidenceBytes))
  }

  private func entries<Entry>(of list: Setting?, _ read: (Setting) -> Entry?) -> [Entry] {
    (list?.list() ?? []).compactMap(read)
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

  private var errorCount: Int { document.faults.count { !$0.isWarning } }

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

  private func readPolicies(_ setting: Setting) {
    for entry in setting.list() ?? [] {
      guard let path = resolvedPath(entry), policiesByPath[path] == nil, let policy = policy(at: path, entry) else {
        continue
      }
      if ShippedPolicies.names.contains(policy.name) || policiesByName[policy.name] != nil {
        entry.add("another policy is called \(policy.name) already")
      } else {
        policiesByName[policy.name] = policy
        policyDigests[policy.name] = policyDigests[path]
      }
    }
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
