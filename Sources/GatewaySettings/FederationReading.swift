internal import BundleTrust
internal import ExposureKeys
internal import Federation
internal import GatewayServer
internal import KeyIntake
internal import PolicyFiles

/// The section `federation`: this gateway is one for national back ends.
extension GatewayReader {
  /// `nil` adds a fault.
  ///
  /// - Parameter server: is told how national back ends are known, and how they are called.
  func federation(_ section: Section, _ server: inout StatedServer?) -> FederationGatewaySettings? {
    let trustFile = section.needed(
      "trust", "a JSON file", missing: "the file of the trust anchor and the whitelist",
      "The trust anchor and the whitelist of the countries' certificates. `keyferry trust` makes it.")
    let trust = trustFile.flatMap(federationTrust)
    let words = FederationGatewaySettings.ClientCertificates.allCases.map(\.rawValue)
    let certificates = section.needed(
      "certificates-from", words.ticked, missing: "tls or proxy", as: .words(words),
      "Where the client certificate of a country is taken from: the connection itself, or a proxy of `server.proxies` in the fields of `proxy-fields`."
    )?.option(FederationGatewaySettings.ClientCertificates.self)
    let policy = (try? ShippedPolicies.policy(named: "efgs")) ?? defaultPolicy
    var door = federationDoor(section, certificates == .tls ? .tls : certificates == .proxy ? .proxy : nil)
    if trust != nil { door?.trustFile = trustFile.flatMap(resolvedPath) }
    var callbacks: FederationCallbackSettings?
    section.section(
      "callbacks", default: "no country is called", "How countries are called when there is a new download batch."
    ) {
      callbacks = federationCallbacks($0)
    }
    server?.settings.federationDoor = door
    let reading =
      section.policy(
        "policy", default: "`efgs`", "The policy by which uploads of countries are read for this gateway's own apps."
      ).map { self.policy($0) } ?? policy
    // The other settings are read for their faults, too.
    var settings: FederationGatewaySettings?
    if let trust, let certificates, let reading {
      settings = FederationGatewaySettings(trust: trust, clientCertificates: certificates, reading: reading)
    }
    let path = section.optional(
      "path", "a path: `/efgs`", default: "`/`", "The beginning of every address.", federationPath)
    let keys = 1...100_000
    let uploadKeys = section.number("upload-keys", default: "5000", in: keys, "Keys of one upload at most.")
    let batchKeys = section.number(
      "batch-keys", default: "5000, or `upload-keys` if that is more", in: keys,
      "Keys of one download batch at most. An upload is never split.")
    let batchSeconds = section.duration(
      "batch-every", default: "5 min", in: 10...86_400,
      "The time between two checks for uploads that wait for a download batch.")
    let keptDays = section.days("keep", default: "2 days", in: 0...13, "How many days before today can be downloaded.")
    let tags: FederationTags? = section.option(
      "tags", default: "`country`", "Within what the tag of an upload must be unique, while the upload is kept.")
    var showsStatistics = false
    section.flag("statistics", &showsStatistics, "Whether anyone may read how much each country uploaded on each day.")
    let allowances = signatureAllowances(
      section, "Properties of signatures that are accepted although they are refused by default.")
    let rehearsals = section.codes(
      "rehearsal",
      "Countries whose uploads are verified, recorded and reported like all others, and neither passed on nor published.",
      codes)
    guard var settings else { return nil }
    settings.callbacks = callbacks
    set(&settings.rehearsals, rehearsals)
    set(&settings.path, path)
    set(&settings.uploadKeys, uploadKeys)
    settings.batchKeys = batchKeys ?? max(settings.batchKeys, settings.uploadKeys)
    set(&settings.batchSeconds, batchSeconds)
    set(&settings.keptDays, keptDays.map { Int(clamping: $0) })
    set(&settings.sharesTags, tags.map { $0 == .gateway })
    (settings.showsStatistics, settings.allowances) = (showsStatistics, allowances)
    if settings.batchKeys < settings.uploadKeys {
      document.add(
        section.place(of: "batch-keys"),
        "\(settings.batchKeys), allowed at least upload-keys, \(settings.uploadKeys): an upload is never split")
    }
    return settings
  }

  /// What the rest of the configuration has to say for it.
  func check(_ federation: FederationGatewaySettings, _ section: Section, server: StatedServer?, _ root: Section) {
    guard let server else {
      document.add(section.place, "without a server: say where to listen with server: {listen: 127.0.0.1:8080}")
      return
    }
    switch federation.clientCertificates {
    case .proxy where server.settings.proxies.isEmpty:
      document.add(
        section.place(of: "certificates-from"),
        "proxy, and server.proxies names none: anybody could say that he is a country")
    case .tls where !section.states("listen"):
      document.add(
        section.place(of: "listen"),
        "missing: where TLS says who asks, national back ends need an address apart from that of phones, which are never "
          + "asked for a certificate")
    case .tls where server.settings.certificatePEM == nil && !section.states("certificate"):
      document.add(
        section.place(of: "certificates-from"), "tls, and neither federation nor server states a certificate")
    case .proxy, .tls: break
    }
    if let listen = server.settings.federationDoor?.listen, listen.port != 0, listen.port == server.settings.port,
      listen.host == server.settings.host
    {
      document.add(
        section.place(of: "listen"), "the same as server.listen: national back ends need an address apart from it")
    }
    if !document.faults.contains(where: { !$0.isWarning }) {
      for misfit in trials.federation(server.settings, federation.callbacks) {
        document.add(place(of: misfit.setting, in: section), misfit.reason)
      }
    }
    warnOfUnusableCertificates(federation.trust, section)
    if federation.countries.isEmpty {
      document.add(
        section.place(of: "trust"), "no country has a certificate of the kind AUTHENTICATION: nobody can upload",
        isWarning: true)
    }
  }

  /// Countries that could do nothing now, since none of their certificates counts.
  private func warnOfUnusableCertificates(_ trust: FederationTrust, _ section: Section) {
    for (use, consequence) in [(CertificateUse.authentication, "connect"), (.signing, "upload")] {
      let able = trust.rows.filter { row in
        row.use == use
          && (try? trust.certificate(
            thumbprint: row.certificate.thumbprint, country: row.country, use: use, at: now)) != nil
      }
      let lacking = Set(trust.rows.map(\.country)).subtracting(able.map(\.country)).sorted()
      guard !lacking.isEmpty else { continue }
      document.add(
        section.place(of: "trust"),
        "\(lacking.joined(separator: ", ")): no certificate of the kind \(use.rawValue) counts now, so that none of them "
          + "can \(consequence): there is none, or it is expired, not yet valid, revoked or not signed by the operator; "
          + "keyferry trust check tells",
        isWarning: true)
    }
  }

  private func federationTrust(_ setting: Setting) -> FederationTrust? {
    guard let bytes = contents(setting, limit: FederationTrust.maximumLength) else { return nil }
    do throws(FederationFault) {
      return try FederationTrust(json: bytes)
    } catch {
      return setting.fault("\(error)")
    }
  }

  private func federationPath(_ setting: Setting) -> String? {
    setting.isWord("/") ? "" : doorPath(setting)
  }

  /// `allow`.
  func signatureAllowances(_ section: Section, _ meaning: String) -> SignatureAllowances {
    let names = SignatureAllowances.names
    let allowances = section.list("allow", of: names.ticked, as: .words(names), meaning) { entry in
      entry.text().flatMap {
        SignatureAllowances.named($0) ?? entry.fault("\(entry.shown), allowed \(names.joined(separator: ", "))")
      }
    }
    return SignatureAllowances(allowances)
  }
}

/// For whom the tags of uploads are unique.
private enum FederationTags: String, CaseIterable {
  case country
  case gateway
}
