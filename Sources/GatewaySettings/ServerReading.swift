internal import BundleTrust
internal import GatewayServer
internal import KeyNormalization
internal import PolicyFiles

/// The server, and where its settings stand.
struct StatedServer {
  var settings: ServerSettings
  var section: Section
  var uploads: [StatedUploads] = []
}

/// The doors of one origin.
struct StatedUploads {
  let section: Section
  /// `nil` where they are at fault.
  let settings: UploadSettings?
  let name: String
  let origin: String?
  let reading: Policy?
  /// `nil` is the origin alone.
  let regions: Set<String>?
  /// `nil` is those that publish its keys.
  let series: [Setting]?
}

extension GatewayReader {
  func server(_ section: Section) -> StatedServer {
    tried({ stated(section) }) { ($0.section, trials.server($0.settings)) }
  }

  private func stated(_ section: Section) -> StatedServer {
    var settings = ServerSettings()
    let listen = section.optional(
      "listen", "`HOST:PORT`; port 0 is any free one", default: "`\(settings.host):\(settings.port)`",
      "Address and port.", listen)
    if let listen { (settings.host, settings.port) = (listen.host, listen.port) }
    settings.publicURL = section.optional(
      "url", "`https://…`", default: "taken from the request", "The beginning of every address, as apps see it.",
      address)
    if let setting = section.optional(
      "certificate", "a PEM file",
      "The server's certificate: HTTP/2 and HTTP/1.1 over TLS. Without it the server uses plain HTTP/1.1. A renewed file is used within half a minute."
    ) {
      settings.certificatePEM = pem(setting, holding: "CERTIFICATE")
      settings.certificateFile = settings.certificatePEM == nil ? nil : resolvedPath(setting)
    }
    if let setting = section.secret("key", "Its private key.") {
      settings.privateKeyPEM = privateKey(setting)
      settings.privateKeyFile = secretFiles[setting.place.path]
    }
    if section.states("certificate") != section.states("key") {
      let missing = section.states("key") ? "certificate" : "key"
      document.add(section.place(of: missing), "missing: a certificate and its key go together")
    }
    settings.responseKeyPEM = section.secret(
      "response-key", "The P-256 key that signs the answers of the layout `dp3t`.", signingKeyPEM)
    settings.layouts = section.optional(
      "layouts", "a list of layouts", default: "all layouts", as: .list(.words(layouts.sorted())),
      "The layouts to serve.", readLayouts)
    settings.defaultSeries = section.optional(
      "default-series", "a series", default: "the first", as: .word, "The series for an app that asks for none."
    ) { $0.text() }
    settings.travelSeries = section.optional(
      "travel", "a series", as: .word, "The series of travellers, in the roaming map."
    ) { $0.text() }
    section.section(
      "roaming", default: "none; in the roaming map, each series but `travel` is a country of its name",
      "The series of each country, in the roaming map of Google's app and the countries of DP-3T's."
    ) { section in
      section.any("a series", as: .word, "A country by its two letters: `DE`.") { name, setting in
        guard name.utf8.count == 2, name.unicodeScalars.allSatisfy({ ("A"..."Z").contains($0) }) else {
          return setting.add(
            "must be a country's two letters: DE; codes of Corona-Warn-App and Immuni, such as EUR, belong in server.countries"
          )
        }
        settings.roaming[name] = setting.text()
      }
    }
    section.section(
      "countries", default: "none", "The series of each country, for the layouts whose addresses name a country."
    ) { section in
      for layout in LayoutCatalog.all.filter({ $0.namesCountries }).map({ $0.name }) {
        section.section(
          layout, default: "each series is a country of its name", "The countries of the layout `\(layout)`."
        ) { settings.countries[layout] = countries($0) }
      }
    }
    settings.exposureConfiguration = section.optional(
      "exposure-configuration", "a JSON file", default: "a default", "The exposure configuration to serve.",
      exposureConfiguration)
    settings.dp3tConfiguration = section.optional(
      "dp3t-configuration", "a JSON file", default: "the defaults",
      "What the layout `dp3t` serves at `/v1/config`: thresholds, factors and texts, in place of the defaults.",
      dp3tConfiguration)
    rate(section, &settings.requestsPerMinute, "Requests a minute from one client.")
    section.section("connections", "How many connections there may be, and how slow clients may be.") {
      connections($0, &settings.limits)
    }
    section.bytes(
      "cache", &settings.limits.cacheBytes, in: 1 << 20...64 << 30, "Memory for files and responses, with their index.")
    addressBlocks(
      section, "proxies", &settings.proxies.blocks,
      "Proxies in front of the server. Keyferry trusts their reports: the client is the last hop that is not one of them."
    )
    addressBlocks(
      section, "metrics-clients", &settings.metricsClients,
      "The clients that may read `/metrics`, and never through a proxy. The counters of upload endpoints there tell real uploads from fake ones."
    )
    section.option(
      "proxy-field", &settings.proxies.field,
      "The header field in which they report it. They must write it, and not pass on what they received.")
    var uploads: [StatedUploads] = []
    if let setting = section.optional(
      "uploads", "a section, or a list of sections", default: "closed", as: .either(.section, .list(.section)),
      "The upload endpoints of one origin, or a list of such sections.")
    {
      let isList = setting.isList
      for entry in setting.oneOrMore() ?? [] {
        guard let section = entry.section(labelledBy: isList ? "name" : nil) else { continue }
        uploads.append(self.uploads(section, isNamed: isList))
        section.finish()
      }
    }
    settings.uploads = uploads.compactMap(\.settings)
    return StatedServer(settings: settings, section: section, uploads: uploads)
  }

  /// Codes as a layout's apps ask for them, to the series of each.
  private func countries(_ section: Section) -> [String: String] {
    var countries: [String: String] = [:]
    section.any("a series", as: .word, "A country by the code that apps ask for: `DE`, `EUR`.") { name, setting in
      let letters = name.unicodeScalars
      guard (2...16).contains(name.utf8.count), letters.allSatisfy({ ("A"..."Z").contains($0) || $0 == "-" }) else {
        return setting.add("must be a code in capital letters: DE, EUR")
      }
      countries[name] = setting.text()
    }
    return countries
  }

  /// - Parameter isNamed: whether there may be others, from which a name tells it.
  private func uploads(_ section: Section, isNamed: Bool) -> StatedUploads {
    let name = section.needed(
      "name", "letters, digits, `-` `_` `.`", default: "`\(UploadSettings.usualName)`; in a list, it *must be stated*",
      as: .word, when: isNamed, "The name of these endpoints in claims, `status`, `pause`, `recall` and metrics."
    ) { self.name($0, marks: "-_.") }
    var settings = uploadSettings(section)
    settings?.name = name ?? UploadSettings.usualName
    // It is looked for with what else holds between settings.
    let origin = section.take(
      SettingDescription(
        "origin", .text, normally: nil, allowed: "a code: `DE`",
        "The region whose keys are uploaded here: their own region.")
    ).flatMap(code)
    let reading = section.policy(
      "reading",
      "The policy by which its keys are read. Keys that expired more than 15 days ago and keys from the future are always rejected.",
      policy)
    let regions = section.codes(
      "regions", default: "the origin",
      "The regions that its keys are for. Keys of a user who has not travelled are only for the origin.", codes)
    let series = section.optional(
      "series", "a list of series", default: "those that publish its keys", as: .list(.word),
      "The series at whose addresses keys are taken: `/apple/{series}/keys`."
    ) { $0.list() }
    return StatedUploads(
      section: section, settings: settings, name: name ?? UploadSettings.usualName,
      origin: origin, reading: reading, regions: regions, series: series)
  }

  private func connections(_ section: Section, _ limits: inout ServerLimits) {
    section.number(
      "all", &limits.connections, in: 1...1_000_000,
      "Connections at a time. For a new one, Keyferry closes the one that has waited longest for its client. The limit of open files may allow fewer."
    )
    section.number(
      "client", &limits.clientConnections, in: 1...1_000_000,
      "Connections of one client, likewise. For a client behind a proxy: requests that are answered at a time.")
    section.duration(
      "head", &limits.headSeconds, in: 1...300,
      "The time until the head of a request must be complete, from its first byte or the connection's beginning.")
    section.bytes(
      "least", &limits.contentBytesPerSecond, in: 1...1 << 20,
      "How much of a request's content must be received in each second, from then on.")
    section.duration(
      "idle", &limits.idleSeconds, in: 1...3600,
      "For how long a connection may be silent between two requests, or within content.")
    section.duration(
      "stalled", &limits.stalledSeconds, in: 1...3600, "The time until a client must take more of a response.")
    // With what a gateway needs to end after it, this is less than supervisors wait.
    section.duration(
      "ending", &limits.endingSeconds, in: 0...20,
      "For how long a gateway that was told to end still answers, while `/ready` returns 503. Load balancers stop sending requests in this time (lame-duck time)."
    )
  }

  /// The address at which operators are answered.
  func operators(_ section: Section, server: StatedServer?) -> OperatorsSettings? {
    var settings = OperatorsSettings()
    let listen = section.needed(
      "listen", "`HOST:PORT`; port 0 is any free one", missing: "an address and a port: 127.0.0.1:\(settings.port)",
      "Address and port, over plain HTTP. Phones and national back ends are not answered there.", listen)
    addressBlocks(
      section, "clients", &settings.clients,
      "The clients that may read the page and the metrics. Any client that reaches the address may read whether the gateway works."
    )
    guard let listen else { return nil }
    (settings.host, settings.port) = (listen.host, listen.port)
    if listen.port != 0 {
      let others = [
        ("server.listen", server.map { (host: $0.settings.host, port: $0.settings.port) }),
        ("federation.listen", server?.settings.federationDoor?.listen.map { (host: $0.host, port: $0.port) }),
      ]
      for case (let name, let other?) in others where other.port == listen.port && other.host == listen.host {
        document.add(section.place(of: "listen"), "the same as \(name): operators need an address apart from it")
      }
    }
    if server?.section.states("metrics-clients") == true {
      document.add(
        section.place, "the metrics are here, so server.metrics-clients has no effect: say it in operators.clients",
        isWarning: true)
    }
    return settings
  }

  func listen(_ setting: Setting) -> HostAndPort? {
    guard let text = setting.text() else { return nil }
    return HostAndPort(text[...], defaultPort: nil)
      ?? setting.fault("\(setting.shown), allowed an address and a port: 127.0.0.1:8080, \"[::1]:8080\"")
  }

  private func readLayouts(_ setting: Setting) -> Set<String>? {
    let known = layouts.sorted()
    return setting.list().map { list in
      Set(
        list.compactMap { entry in
          guard let name = entry.text() else { return nil }
          guard layouts.contains(name) else {
            return entry.fault("\(entry.shown), allowed \(known.joined(separator: ", "))")
          }
          return name
        })
    }
  }

  private func exposureConfiguration(_ setting: Setting) -> ExposureConfiguration? {
    guard let bytes = contents(setting, limit: Allowed.exposureConfigurationBytes) else { return nil }
    do throws(ExposureConfigurationFault) {
      let (configuration, completions) = try ExposureConfiguration.completing(bytes)
      for completion in completions { setting.add(completion, isWarning: true) }
      return configuration
    } catch {
      for fault in error.faults { setting.add(fault) }
      return nil
    }
  }

  private func dp3tConfiguration(_ setting: Setting) -> String? {
    guard let bytes = contents(setting, limit: Allowed.exposureConfigurationBytes) else { return nil }
    do {
      _ = try DP3TApplicationSettings(json: bytes)
    } catch {
      return setting.fault("\(error)")
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  func addressBlocks(_ section: Section, _ name: String, _ target: inout [AddressBlock], _ meaning: String) {
    let allowed = "a list of addresses and blocks: `[127.0.0.1, 10.0.0.0/8, \"fd00::/8\"]`"
    let normally = target == AddressBlock.ofThisMachine ? "`[127.0.0.0/8, \"::1\"]`" : "none"
    section.value(name, &target, allowed, default: normally, as: .list(.text), meaning) {
      $0.list()?.compactMap(addressBlock)
    }
  }

  private func addressBlock(_ setting: Setting) -> AddressBlock? {
    guard let text = setting.text() else { return nil }
    return AddressBlock(text)
      ?? setting.fault("\(setting.shown), allowed an address or a block of them: 127.0.0.1, 10.0.0.0/8, \"fd00::/8\"")
  }

  /// `rate`, which is `none` or a number a minute.
  func rate(_ section: Section, _ target: inout Int?, _ meaning: String) {
    let setting = section.optional(
      "rate", "`none`, \(Self.rates)", default: target.map { "`\($0)/min`" } ?? "`none`",
      as: .either(.words(["none"]), .rate), meaning)
    if let setting { target = setting.isWord("none") ? nil : rate(setting) }
  }

  static let rates = "`1/min`...`1000000/min`"

  func rate(_ setting: Setting) -> Int? {
    guard let text = setting.text() else { return nil }
    guard text.hasSuffix("/min"), let number = Int(text.dropLast(4).filter { $0 != " " }),
      (1...1_000_000).contains(number)
    else { return setting.fault("\(setting.shown), allowed none, \(Self.rates.filter { $0 != "`" })") }
    return number
  }

  func uploadToken(_ setting: Setting) -> Secret? {
    guard let secret = secret(setting) else { return nil }
    let token = secret.disclosed
    guard Allowed.tokenLength.contains(token.utf8.count), token.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
      return setting.fault(
        "a token is \(Allowed.tokenLength.lowerBound)...\(Allowed.tokenLength.upperBound) letters, digits and marks; "
          + "openssl rand -hex 32 makes one")
    }
    return secret
  }
}
