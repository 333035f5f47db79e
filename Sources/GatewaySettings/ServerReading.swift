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
    if let listen = section.take("listen").flatMap(listen) {
      (settings.host, settings.port) = (listen.host, listen.port)
    }
    settings.publicURL = section.take("url").flatMap(address)
    section.read("certificate") { setting in
      settings.certificatePEM = pem(setting, holding: "CERTIFICATE")
      settings.certificateFile = settings.certificatePEM == nil ? nil : resolvedPath(setting)
    }
    section.read("key") { setting in
      settings.privateKeyPEM = privateKey(setting)
      settings.privateKeyFile = secretFiles[setting.place.path]
    }
    if section.states("certificate") != section.states("key") {
      let missing = section.states("key") ? "certificate" : "key"
      document.add(section.place(of: missing), "missing: a certificate and its key go together")
    }
    section.read("response-key") { setting in
      settings.responseKeyPEM = secret(setting).flatMap { pem in signingKey(pem, setting).map { _ in pem } }
    }
    section.read("layouts") { settings.layouts = readLayouts($0) }
    settings.defaultSeries = section.take("default-series").flatMap { $0.text() }
    settings.travelSeries = section.take("travel").flatMap { $0.text() }
    section.section("roaming") { section in
      section.readAll { name, setting in
        guard name.utf8.count == 2, name.unicodeScalars.allSatisfy({ ("A"..."Z").contains($0) }) else {
          return setting.add(
            "must be a country's two letters: DE; codes of Corona-Warn-App and Immuni, such as EUR, belong in server.countries"
          )
        }
        settings.roaming[name] = setting.text()
      }
    }
    section.section("countries") { section in
      for layout in LayoutCatalog.all.filter({ $0.namesCountries }).map({ $0.name }) {
        section.section(layout) { settings.countries[layout] = countries($0) }
      }
    }
    settings.exposureConfiguration = section.take("exposure-configuration").flatMap(exposureConfiguration)
    settings.dp3tConfiguration = section.take("dp3t-configuration").flatMap(dp3tConfiguration)
    section.read("rate") { settings.requestsPerMinute = rate($0) }
    section.section("connections") { connections($0, &settings.limits) }
    set(&settings.limits.cacheBytes, section.take("cache")?.byteCount(Allowed.cacheBytes))
    section.read("proxies") { setting in
      settings.proxies.blocks = (setting.list() ?? []).compactMap(addressBlock)
    }
    section.read("metrics-clients") { setting in
      set(&settings.metricsClients, setting.list()?.compactMap(addressBlock))
    }
    set(&settings.proxies.field, section.take("proxy-field")?.option(TrustedProxies.Field.self))
    var uploads: [StatedUploads] = []
    section.read("uploads") { setting in
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
    section.readAll { name, setting in
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
    let name = (isNamed ? section.need("name", "letters, digits, - _ .") : section.take("name"))
      .flatMap { self.name($0, marks: "-_.") }
    var settings = uploadSettings(section)
    settings?.name = name ?? UploadSettings.usualName
    return StatedUploads(
      section: section, settings: settings, name: name ?? UploadSettings.usualName,
      origin: section.take("origin").flatMap(code), reading: section.take("reading").flatMap(policy),
      regions: section.take("regions").flatMap(codes), series: section.take("series").flatMap(seriesNames))
  }

  private func connections(_ section: Section, _ limits: inout ServerLimits) {
    set(&limits.connections, section.take("all")?.number(Allowed.serverConnections))
    set(&limits.clientConnections, section.take("client")?.number(Allowed.serverConnections))
    set(&limits.headSeconds, section.take("head")?.duration(Allowed.headSeconds))
    set(&limits.contentBytesPerSecond, section.take("least")?.byteCount(Allowed.contentBytesPerSecond))
    set(&limits.idleSeconds, section.take("idle")?.duration(Allowed.idleSeconds))
    set(&limits.stalledSeconds, section.take("stalled")?.duration(Allowed.idleSeconds))
    set(&limits.endingSeconds, section.take("ending")?.duration(Allowed.endingSeconds))
  }

  /// The address at which operators are answered.
  func operators(_ section: Section, server: StatedServer?) -> OperatorsSettings? {
    var settings = OperatorsSettings()
    let listen = section.need("listen", "an address and a port: 127.0.0.1:\(settings.port)").flatMap(listen)
    section.read("clients") { setting in
      set(&settings.clients, setting.list()?.compactMap(addressBlock))
    }
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

  func addressBlock(_ setting: Setting) -> AddressBlock? {
    guard let text = setting.text() else { return nil }
    return AddressBlock(text)
      ?? setting.fault("\(setting.shown), allowed an address or a block of them: 127.0.0.1, 10.0.0.0/8, \"fd00::/8\"")
  }

  func rate(_ setting: Setting) -> Int? {
    if setting.isWord("none") { return nil }
    let allowed = Allowed.requestsPerMinute
    guard let text = setting.text(), text.hasSuffix("/min"),
      let number = Int(text.dropLast(4).filter { $0 != " " }), allowed.contains(number)
    else {
      let range = "\(allowed.lowerBound)/min...\(allowed.upperBound)/min"
      return setting.isText ? setting.fault("\(setting.shown), allowed none, \(range)") : nil
    }
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
