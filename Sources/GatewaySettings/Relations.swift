internal import BundleTrust
internal import ExposureKeys
internal import GatewayServer
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyPublishing
internal import KeyReceiving
internal import PolicyFiles

/// What must hold between settings that are each right for themselves.
extension GatewayReader {
  // MARK: Sources

  func check(_ sources: [StatedSource], ownOrigins: Set<String>) {
    var names: [String: StatedSource] = [:]
    var places: [String: StatedSource] = [:]
    for source in sources {
      let (settings, section) = (source.settings, source.section)
      if let other = names.updateValue(source, forKey: settings.name.lowercased()) {
        document.add(
          section.place(of: "name"), "line \(other.section.place(of: "name").line) has a source of that name")
      }
      let options = settings.options.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      let secrets = settings.secrets.sorted { $0.key < $1.key }.map { "\($0.key)=#\($0.value.hashValue)" }
      let place = ([settings.peer.rawValue, settings.location.withoutEndingSlash] + options + secrets).joined(
        separator: "\n")
      if let other = places.updateValue(source, forKey: place) {
        document.add(
          section.place(of: "location"),
          "the source \(other.settings.name) pulls the same, by the same protocol and options")
      }
      checkOrigins(source, ownOrigins: ownOrigins)
      if settings.peer.description.asksForCertificate, settings.transport.clientCertificatePEM == nil {
        warn(section.place(of: "http"), "without client-certificate and client-key, no gateway of this kind lets us in")
      }
    }
  }

  private func checkOrigins(_ source: StatedSource, ownOrigins: Set<String>) {
    let (settings, section) = (source.settings, source.section)
    if settings.isRelay, settings.origin != nil {
      document.add(section.place(of: "origin"), "a relay's keys have no origin; leave out origin, or relay")
    }
    let uncarried = settings.carries.map { ownOrigins.subtracting($0).sorted() } ?? []
    if !uncarried.isEmpty {
      let names = uncarried.joined(separator: ", ")
      warn(
        section.place(of: "relay"),
        "does not list \(names) of own-origins: own keys that this relay returns count as another origin's until they are "
          + "revoked; add \(names) to the list")
    }
    // What is stated and cannot be read has its fault already.
    let isStated = ["origin", "relay", "speaks-for"].contains(where: section.states)
    if !isStated, settings.speaksForWhoeverIsNamed, settings.trust.kind != .origins {
      // Sources of files were without it before, and go on.
      let isNeeded = settings.peer.description.isGateway
      document.add(
        section.place(of: "speaks-for"),
        "missing: its keys name their origins; say which it may speak for, "
          + (isNeeded ? "[DE, IT], or any" : "speaks-for: [DE, IT], or write what holds until then, speaks-for: any"),
        isWarning: !isNeeded)
    }
    for warning in settings.reading.warnings {
      warn(section.place(of: "reading"), "\(settings.reading.name): \(warning.place): \(warning.reason)")
    }
    guard case .only(let allowed) = settings.speaksFor else { return }
    if let origin = settings.origin, !allowed.contains(origin) {
      document.add(section.place(of: "speaks-for"), "lacks \(origin), which is the source's own origin")
    }
    if settings.isRelay {
      warn(section.place(of: "speaks-for"), "has no effect: a relay's keys have no origin")
    }
    // EFGS leaves out of a batch what the country that asks has sent itself.
    if settings.peer != .efgs, !settings.isRelay { checkOwn(origins: ownOrigins, of: source, allowed) }
  }

  /// What becomes of keys of own origins: they are taken from the server of that origin alone, as `Intake` does.
  private func checkOwn(origins ownOrigins: Set<String>, of source: StatedSource, _ allowed: Set<String>) {
    let (settings, place) = (source.settings, source.section.place(of: "speaks-for"))
    let rejected = ownOrigins.intersection(allowed).subtracting([settings.origin ?? ""]).sorted()
    if let first = rejected.first {
      warn(
        place,
        "names \(rejected.joined(separator: ", ")) of own-origins: keys of these that it brings are rejected, as own keys that "
          + "come back (own-key-returned); where it is the server of \(first) itself, write origin: \(first), and elsewhere "
          + "leave \(first) out of speaks-for")
    }
    guard let own = settings.origin, ownOrigins.contains(own) else { return }
    let others = allowed.subtracting([own]).subtracting(rejected).sorted()
    if !others.isEmpty {
      warn(
        place,
        "speaks for \(others.joined(separator: ", ")) too, and for \(own) of own-origins as its origin: its keys of \(own) "
          + "count, and so do copies that came back; where it is a server of \(others[0]), write origin: \(others[0]), and "
          + "leave \(own) out of speaks-for")
    }
  }

  // MARK: Series

  func check(_ series: [StatedSeries]) {
    var names: [String: StatedSeries] = [:]
    for one in series {
      let (settings, section) = (one.settings, one.section)
      if let other = names.updateValue(one, forKey: settings.name.lowercased()) {
        document.add(
          section.place(of: "name"),
          "line \(other.section.place(of: "name").line) has a series of that name, in any case")
      }
      if settings.minimumKeys > settings.maximumKeys {
        document.add(
          section.place(of: "minimum"),
          "\(counted(settings.minimumKeys, "key")), allowed 0...\(settings.maximumKeys), as split says")
      }
      if settings.minimumKeys == 0, settings.pads {
        warn(section.place(of: "minimum"), "pads to no number of keys; state keys: 100")
      }
      let both = settings.selection.include?.intersection(settings.selection.exclude) ?? []
      if !both.isEmpty {
        document.add(
          section.place(of: "exclude"), "\(both.sorted().joined(separator: ", ")) is included and excluded")
      }
      checkSchedule(of: one)
    }
    // Who reads no keys has others in their place.
    if readsSecrets { checkIdentities(series) }
  }

  /// Keys that name no region may be those of everybody. Doors name regions for each of theirs.
  func checkTravellers(_ series: [StatedSeries]) {
    for one in series where one.settings.selection.travellersOnly {
      let policy = one.settings.publishing.at(now)
      let place = one.section.place(of: "travellers-only")
      if policy.publishing.ignoresVisited {
        warn(
          place,
          "every key is for everywhere by the policy \(policy.name) (regions.named: ignored), so this series has all of "
            + "them; publish it by a policy with named: as-stated")
      } else if policy.publishing.emptyVisited == .all {
        warn(
          place,
          "keys that name no region are for everywhere by the policy \(policy.name) (regions.none-named: all), so this "
            + "series has them too; publish it by a policy with none-named: origin, or none")
      }
    }
  }

  /// A mirror shows what a source has verified, and needs its bytes.
  func mirrored(
    _ mirrors: [StatedMirror], beside series: [StatedSeries], of sources: [StatedSource], _ retention: Retention
  ) -> [MirrorSettings] {
    var names = Set(series.map { $0.settings.name.lowercased() })
    return mirrors.compactMap { mirror in
      if !names.insert(mirror.name.lowercased()).inserted {
        document.add(mirror.section.place(of: "name"), "another series has that name, in any case")
      }
      let known = sources.filter(\.settings.peer.description.canMirror).map(\.settings.name)
      guard let name = mirror.source.text() else { return nil }
      guard let source = sources.first(where: { $0.settings.name == name })?.settings else {
        return mirror.source.fault(
          "no source \(mirror.source.shown), allowed "
            + (known.isEmpty ? "one with protocol: index, and there is none" : known.joined(separator: ", ")))
      }
      guard source.peer.description.canMirror else {
        return mirror.source.fault(
          "the source \(name) speaks \(source.peer.rawValue), allowed one with protocol: index")
      }
      guard let ring = source.trust.ring else {
        return mirror.source.fault(
          "the source \(name) is trusted as \(source.trust.kind.rawValue), allowed trust: the public keys of its origin, "
            + "since apps are shown what these have signed")
      }
      if retention.evidenceDays < 2 {
        document.add(
          mirror.section.place(of: "mirror"),
          "needs the bytes that came in, and retention.evidence keeps them for \(counted(Int(retention.evidenceDays), "day")); allowed "
            + "are 2 days and more")
      }
      var settings = MirrorSettings(name: mirror.name, title: mirror.title, source: name, ring: ring)
      set(&settings.period, mirror.period)
      set(&settings.graceSeconds, mirror.graceSeconds)
      return settings
    }
  }

  /// Exactly one key signs at a time: the one that began last.
  private func checkSchedule(of series: StatedSeries) {
    // One that cannot be read has its fault already, and would only look like a gap.
    guard series.statedKeys == series.identities.count else { return }
    let ordered = series.identities.enumerated().sorted {
      ($0.element.start, $0.offset) < ($1.element.start, $1.offset)
    }.map(\.element)
    guard let first = ordered.first else {
      return document.add(series.section.place(of: "sign"), "empty, allowed one key or more")
    }
    var end = first.end
    for (earlier, later) in zip(ordered, ordered.dropFirst()) {
      if earlier.start == later.start {
        let start = later.scheduled.from.map { "at \($0)" } ?? "from ever: state from"
        document.add(later.section.place(of: "from"), "another key of this series begins \(start)")
      }
      if end < later.start, later.start > now {
        document.add(
          later.section.place(of: "from"), "no key signs from \(end) until \(later.start); let the keys overlap")
      }
      end = max(end, later.end)
    }
    let sign = series.section.place(of: "sign")
    // A clock alone never turns a good configuration into a bad one: a gateway must be able to start again.
    if first.start > now {
      warn(sign, "the first key begins at \(first.start); nothing is published before")
    } else if end <= now {
      warn(sign, "no key signs now, the last one ended at \(end); nothing is published")
    } else if end < .distantFuture, end.secondsSince1970 - now.secondsSince1970 <= Allowed.endingSoon {
      warn(sign, "the last key ends at \(end); add the next one")
    }
  }

  /// Phones find a key by id and version, for the app that asks.
  private func checkIdentities(_ series: [StatedSeries]) {
    var seen: [(series: String, identity: StatedIdentity)] = []
    for one in series {
      for identity in one.identities {
        for (name, other) in seen where other.fingerprint == identity.fingerprint || other.hasName(of: identity) {
          let sameApp = other.identity.sharesApp(with: identity.identity)
          if other.fingerprint != identity.fingerprint, name == one.settings.name || sameApp {
            document.add(
              identity.section.place(of: "id"),
              "line \(other.section.place(of: "id").line) gives id \(printable(identity.identity.keyID)), version "
                + "\(printable(identity.identity.keyVersion)) to another key")
          } else if other.fingerprint == identity.fingerprint, name != one.settings.name,
            other.identity.appBundleID != identity.identity.appBundleID
              || other.identity.androidPackage != identity.identity.androidPackage
          {
            warn(
              identity.section.place(of: "key"),
              "the series \(name) signs with the same key for another app; phones trust a key for one app")
          }
        }
        seen.append((one.settings.name, identity))
      }
    }
  }

  // MARK: Server and folders

  func check(_ server: StatedServer, series: [StatedSeries], mirrors: [MirrorSettings], publication: String?) {
    let (settings, section) = (server.settings, server.section)
    if publication == nil {
      document.add(section.place, "there is nothing to serve, publication.folder or publication.s3 is missing")
    }
    let names = series.map(\.settings.name) + mirrors.map(\.name)
    let allowed = names.isEmpty ? "no series is stated" : "allowed \(names.joined(separator: ", "))"
    let named =
      [("default-series", settings.defaultSeries), ("travel", settings.travelSeries)].map {
        (section.place(of: $0.0), $0.1)
      }
      + settings.roaming.sorted { $0.key < $1.key }.map {
        (document.place(of: "\(section.place.path).roaming.\($0.key)"), Optional($0.value))
      }
      + settings.countries.sorted { $0.key < $1.key }.flatMap { layout, countries in
        countries.sorted { $0.key < $1.key }.map {
          (document.place(of: "\(section.place.path).countries.\(layout).\($0.key)"), Optional($0.value))
        }
      }
    for case (let place, let name?) in named where !names.contains(name) {
      document.add(place, "no series \"\(printable(name))\", \(allowed)")
    }
    if let layouts = settings.layouts {
      for (layout, _) in settings.countries.sorted(by: { $0.key < $1.key }) where !layouts.contains(layout) {
        warn(
          document.place(of: "\(section.place.path).countries.\(layout)"),
          "has no effect: server.layouts leaves out the layout \(layout)")
      }
      if section.states("roaming"), layouts.isDisjoint(with: ["google", "dp3t"]) {
        warn(
          section.place(of: "roaming"),
          "has no effect without the layout google or dp3t; countries of other layouts are in server.countries")
      }
    }
    if settings.layouts?.contains("dp3t") == true {
      for name in series.filter({ !$0.settings.makesKeyDays }).map(\.settings.name) {
        warn(
          section.place(of: "layouts"),
          "apps of DP-3T's first SDK ask for days of exposure, and the series \(name) has no archives by key day: add "
            + "key-day to its rollups (and since, for new apps of the second SDK)")
      }
    }
    for one in series { checkPhones(of: one, settings.layouts) }
    let isLocal = HostAndPort("\(settings.host.contains(":") ? "[\(settings.host)]" : settings.host)", defaultPort: 0)?
      .isLoopback
    checkProxies(server, isLocal: isLocal == true)
    for door in server.uploads.map(\.section) {
      if door.states("token") || !door.states("certificates"), settings.certificatePEM == nil, isLocal != true {
        warn(
          door.place(of: "token"), "the token comes over plain HTTP; state certificate and key, or listen on 127.0.0.1")
      }
      if isLocal == true, settings.proxies.isEmpty, !door.states("rate") {
        warn(
          door.place,
          "behind a proxy on this machine all phones share one address and 30 uploads a minute; name it in server.proxies, "
            + "or state rate here, and limit clients at the proxy")
      }
    }
  }

  /// An address leads to one entrance alone, or to one for each series that it can name.
  func checkDoors(_ entrances: [(StatedUploads, UploadSource?)]) {
    var names: [String: StatedUploads] = [:]
    var doors: [String: [(entrance: StatedUploads, series: Set<String>)]] = [:]
    for (entrance, source) in entrances {
      if let other = names.updateValue(entrance, forKey: entrance.name.lowercased()) {
        document.add(
          entrance.section.place(of: "name"),
          "line \(other.section.place.line) has doors of that name, in any case")
        continue
      }
      guard let settings = entrance.settings, let opened = try? UploadEndpoints.addresses(of: settings) else {
        continue
      }
      for name in (settings.protocols ?? []).subtracting(opened.map(\.name)).sorted() {
        document.add(
          entrance.section.place(of: "protocols"),
          "nothing is stated that lets in at \(name): "
            + (name.hasPrefix("dp3t")
              ? "state dp3t" : "state token, clients, certificates or codes, as the manual says"))
      }
      if opened.isEmpty { continue }
      let series = Set(source?.series.map { $0.lowercased() } ?? [])
      for (name, addresses) in opened {
        for address in addresses {
          let other = doors[address]?.first { other in
            !address.contains("{series}") || !other.series.isDisjoint(with: series)
          }
          doors[address, default: []].append((entrance, series))
          guard let other else { continue }
          let shared = address.contains("{series}") ? other.series.intersection(series).sorted() : []
          document.add(
            entrance.section.place,
            "its door \(name) stands at \(address)"
              + (shared.isEmpty ? "" : " for the series \(shared.joined(separator: ", "))")
              + ", where the one of \(other.entrance.name) stands already: state a path, other protocols"
              + (shared.isEmpty ? "" : ", or series that are not the other's"))
          // One fault of two entrances is enough.
          return
        }
      }
    }
  }

  /// Where the server listens on this machine alone, something stands in front of it.
  private func checkProxies(_ server: StatedServer, isLocal: Bool) {
    let (settings, section) = (server.settings, server.section)
    if isLocal, settings.proxies.isEmpty, settings.requestsPerMinute != nil, settings.certificatePEM == nil {
      warn(
        section.place(of: "rate"),
        "behind a proxy on this machine all phones share one address, and this rate; name the proxy in proxies: "
          + "[127.0.0.1, \"::1\"]")
    }
    if !settings.proxies.isEmpty, settings.publicURL == nil, settings.certificatePEM == nil {
      warn(
        section.place(of: "url"),
        "missing: answers that name addresses begin them with http:// and the Host of the request, also where the proxy "
          + "speaks https; state url: https://keys.example.org")
    }
    if settings.proxies.isEmpty, section.states("proxy-field") {
      warn(section.place(of: "proxy-field"), "has no effect without proxies")
    }
  }

  private func checkPhones(of series: StatedSeries, _ layouts: Set<String>?) {
    let settings = series.settings
    if settings.makesKeyDays, layouts?.contains("dp3t") != false, settings.listedDays < Self.daysOfFirstSDK {
      warn(
        series.section.place(of: "listed"),
        "\(counted(Int(settings.listedDays), "day")): DP-3T's first SDK asks for the last \(Self.daysOfFirstSDK) days of exposure, and "
          + "archives by key day are made for as many days as are listed: its phones lose the older keys; state listed: 14 days"
      )
    }
    for load in PhoneLoad.loads(of: series.settings, servedAs: layouts) where !load.fits {
      let (name, reason) = Self.advice(for: load)
      warn(series.section.place(of: name.first { series.section.states($0) } ?? "every"), reason)
    }
  }

  /// What to change for a phone that does not get on: the settings that mean it, and why.
  private static func advice(for load: PhoneLoad) -> (settings: [String], reason: String) {
    let takes = "\(load.phone) takes \(load.limit.text)"
    if load.takesArchives, let keys = load.keysPerDay {
      return (
        ["split"],
        "\(takes), and split makes more files than that above \(counted(keys, "key")) a day: raise split, or leave the "
          + "layout \(load.layout) out of server.layouts"
      )
    }
    switch load.phone {
    case PhoneLoad.covidwise:
      return (
        ["every"],
        "\(load.phone) reads only the newest 14 entries of an index, and this one has up to \(load.firstFiles): state "
          + "every: 1 day and listed: 14 days, or phones that were off for a while lose keys"
      )
    case PhoneLoad.secondSDK:
      return (
        ["rollups"],
        "\(load.phone) is given one bundle a visit and visits 6 times a day, and this series has up to "
          + "\(load.filesPerDay) a day: its phones fall behind and lose keys; add since to rollups"
      )
    case PhoneLoad.firstFramework:
      return (
        ["editions", "listed"],
        "a new phone with iOS 13.5 is given \(load.firstFiles) files by the layout apple in one call, which takes "
          + "15 in 24 hours: it never gets further; make editions: 1 and listed: 14 days, or leave apple out of server.layouts"
      )
    default:
      return (
        ["editions"],
        "\(takes) a day, and an app that checks whenever there is something new makes \(load.callsPerDay): make fewer "
          + "editions, or leave the layout \(load.layout) out of server.layouts"
      )
    }
  }

  private static let daysOfFirstSDK: Int64 = 10

  /// A key that is removed while it may still be published is new when it comes in again.
  func checkRetention(_ retention: Retention, of series: [StatedSeries], _ root: Section) {
    let policies = series.map(\.settings.publishing).filter { $0.publishing.maximumAgeDays > Int(retention.keyDays) }
    guard let policy = policies.max(by: { $0.publishing.maximumAgeDays < $1.publishing.maximumAgeDays }) else { return }
    warn(
      document.place(of: root.states("retention") ? "retention.keys" : "retention"),
      "\(counted(Int(retention.keyDays), "day")), and the policy \(policy.name) publishes keys of "
        + "\(counted(policy.publishing.maximumAgeDays, "day")): one that was removed and comes in again is new, goes out again, and no recall of it "
        + "is known any more; state keys: \(policy.publishing.maximumAgeDays) days or more")
  }

  /// The upload endpoint as a source.
  func uploadSource(
    _ stated: StatedUploads, sources: [StatedSource], series: [StatedSeries]
  ) -> UploadSource? {
    guard let origin = stated.origin else {
      if !stated.section.states("origin") {
        document.add(
          stated.section.place,
          "origin is missing: the region whose keys come in by this door; add a line such as origin: DE")
      }
      return nil
    }
    let name = stated.name
    if let other = sources.first(where: { $0.settings.name == name }) {
      document.add(
        other.section.place,
        "a source cannot be called \(name) beside a door for uploads, whose claims have this name")
    }
    var door = UploadSource(
      name: name, origin: origin, reading: stated.reading ?? defaultPolicy,
      regions: stated.regions?.sorted(), series: seriesOfDoor(stated, of: series))
    let wanting = series.filter { series in
      series.settings.selection.include.map { !$0.isDisjoint(with: door.regions + [origin]) } ?? true
    }
    if stated.series == nil { door.series = wanting.map(\.settings.name) }
    door.outlets = wanting.map {
      UploadSource.Outlet(publishing: $0.settings.publishing, period: $0.settings.period)
    }
    if wanting.isEmpty {
      warn(
        stated.section.place,
        "no series publishes keys for \(door.regions.joined(separator: ", ")): what comes in by this door goes nowhere")
    }
    return door
  }

  private func seriesOfDoor(_ stated: StatedUploads, of series: [StatedSeries]) -> [String] {
    let names = series.map(\.settings.name)
    return (stated.series ?? []).compactMap { setting in
      guard let name = setting.text() else { return nil }
      return names.contains(name)
        ? name
        : setting.fault("no series \(setting.shown), allowed \(names.joined(separator: ", "))")
    }
  }

  func checkFolders(_ root: Section, state: String?, _ stated: StatedPublication, hasSeries: Bool) {
    if let publication = stated.folder {
      let place = document.place(of: "publication.folder")
      // The copy of a bucket is nobody's but the server's.
      if let state, !stated.isBucket || publication == state, overlap(state, publication) {
        document.add(
          place, "\(shown(publication)), allowed a folder apart from state, \(shown(state))")
      }
      let folder = files.realPath(of: publication)
      // What lies there is for everybody.
      if let file = ([path] + secretFiles.values.sorted()).first(where: {
        FilePath.contains(folder, realFolder(of: $0))
      }) {
        document.add(
          place, "\(shown(publication)), allowed a folder without \(printable(file)), which everybody could read")
      }
    }
    if hasSeries, !root.states("publication") {
      document.add(
        root.place(of: "series"), "there is nowhere to publish, publication.folder or publication.s3 is missing")
    }
  }

  /// A source of files takes what lies in its folder, and moves what it refuses: nothing of the gateway's own lies there.
  func checkFolders(of sources: [StatedSource], state: String?, publication: String?, log: String?) {
    let own = [("state", state), ("publication.folder", publication), ("log.state", log)]
    for source in sources where source.settings.peer.description.way == .folder {
      let (location, place) = (source.settings.location, source.section.place(of: "location"))
      var kept: Set<String> = []
      for case (let setting, let folder?) in own where overlap(folder, location) && kept.insert(folder).inserted {
        document.add(
          place,
          "\(shown(location)), allowed a folder apart from \(setting), \(shown(folder)): what lies in it is read, and moved "
            + "away where it is refused")
      }
      let real = files.realPath(of: location)
      if let file = ([path] + namedFiles).first(where: { realFolder(of: $0) == real }) {
        document.add(
          place,
          "\(shown(location)), allowed a folder without \(printable(file)): what lies in it is read, and moved away where it "
            + "is refused")
      }
    }
  }

  /// Whether one of two folders is the other or lies in it, wherever links lead.
  func overlap(_ left: String, _ right: String) -> Bool {
    FilePath.overlap(left, right) || FilePath.overlap(files.realPath(of: left), files.realPath(of: right))
  }

  private func realFolder(of path: String) -> String {
    let folder = FilePath.folder(of: path)
    return files.realPath(of: folder.isEmpty ? "." : folder)
  }

  /// A folder as it is stated, and where it leads.
  private func shown(_ folder: String) -> String {
    let real = files.realPath(of: folder)
    let isLink = folder.hasPrefix("/") ? real != folder : !real.hasSuffix("/\(folder)") && folder != "."
    return isLink ? "\(printable(folder)) (\(printable(real)))" : printable(folder)
  }

  private func warn(_ place: SettingPlace, _ reason: String) { document.add(place, reason, isWarning: true) }
}

extension StatedIdentity {
  fileprivate var start: Instant { scheduled.from ?? .distantPast }
  fileprivate var end: Instant { scheduled.until ?? .distantFuture }

  fileprivate func hasName(of other: StatedIdentity) -> Bool {
    identity.keyID == other.identity.keyID && identity.keyVersion == other.identity.keyVersion
  }
}

extension SigningIdentity {
  fileprivate func sharesApp(with other: SigningIdentity) -> Bool {
    (appBundleID != nil && appBundleID == other.appBundleID)
      || (androidPackage != nil && androidPackage == other.androidPackage)
  }
}

extension Instant {
  fileprivate static let distantPast = Instant(secondsSince1970: .min)
  fileprivate static let distantFuture = Instant(secondsSince1970: .max)
}

extension String {
  fileprivate var withoutEndingSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}
