internal import BundleTrust
internal import ExposureKeys
internal import Federation
internal import KeyNormalization
internal import KeyPeers
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage
internal import PolicyFiles

/// A destination, and where its settings stand.
struct StatedDestination {
  var settings: DestinationSettings
  var section: Section
}

extension GatewayReader {
  /// `nil` adds a fault.
  func destination(_ setting: Setting) -> StatedDestination? {
    tried({ stated(setting) }) { stated in stated.map { ($0.section, destinationMisfits($0.settings)) } }
  }

  private func stated(_ setting: Setting) -> StatedDestination? {
    guard let section = setting.section(labelledBy: "name") else { return nil }
    let name = section.needed(
      "name", "letters, digits, hyphens, dots", as: .word, "The operator's name for it. No source has this name."
    ) { self.name($0, marks: "-.") }
    let efgs = PeerProtocol.efgs.rawValue
    if let peer = section.needed("protocol", "`\(efgs)`", as: .words([efgs]), "The protocol of the gateway."),
      !peer.isWord(efgs)
    {
      peer.add("\(peer.shown), allowed \(efgs)")
    }
    let location = section.needed("location", "an address: `https://efgs.example.org`", "Where it is.", secureAddress)
    let origin = section.needed(
      "origin", "a code: `DE`", missing: "the own origin whose keys are handed over: DE",
      "The own origin whose keys are sent.", code)
    let sources = section.needed(
      "sources", "a list of names", missing: "the sources and doors whose keys may go there: [uploads]",
      as: .list(.word),
      "The sources and upload endpoints whose claims may go there: those whose users have agreed. No other claims are sent, and none that a federation gateway sent.",
      sourceNames)
    let policy = section.policy(
      "policy", default: "`efgs`",
      "The policy that decides when a key may go and which report types do. The key is sent as it was received, not as apps receive it.",
      policy)
    var settings = DestinationSettings(
      name: name ?? "", location: location ?? "", origin: origin ?? "", sources: sources ?? [],
      publishing: policy ?? federationPolicy, signer: .none)
    settings.regions = section.codes(
      "regions", default: "those that its claims name", "The countries that every key is for.", codes)?.sorted()
    section.duration("every", &settings.interval, in: Allowed.interval, "The time between pushes.")
    section.number("batch-keys", &settings.batchKeys, in: EFGSUpload.batchKeys, "Keys of one batch at most.")
    let ages = DestinationSettings.maximumAgeAllowed
    section.days(
      "maximum-age", &settings.maximumAgeDays, in: Int64(ages.lowerBound)...Int64(ages.upperBound),
      "Keys that began more days ago are too old, counted from midnight (UTC). A gateway takes 15; a day is left for batches that wait."
    )
    section.option("format", &settings.format, "The format of batches.")
    section.option(
      "symptoms-not-given", &settings.missingOnset,
      "The value for keys without information about symptoms: 4000 less the key's age in days, or 2147483647.")
    section.flag(
      "rehearsal", &settings.isRehearsal, "Whether everything is selected, signed and shown, and nothing is sent.")
    way(&settings.transport, section, of: origin)
    let signer = section.needed(
      "signing", "a section", missing: "a section with the certificate and the key that sign batches", as: .section,
      "The certificate and the key that sign batches."
    ) { self.signer($0, of: origin) }
    section.finish()
    guard name != nil, location != nil, origin != nil, sources != nil, let signer else { return nil }
    settings.signer = signer
    return StatedDestination(settings: settings, section: section)
  }

  /// Keys and signatures go by TLS alone: no gateway of this kind knows us without our certificate.
  private func secureAddress(_ setting: Setting) -> String? {
    if setting.isText, let text = setting.text(), text.hasPrefix("http://") {
      return setting.fault("plain HTTP, allowed https://efgs.example.org: without TLS no gateway knows who we are")
    }
    return address(setting)
  }

  /// By default a key goes out as the federation's own policy says.
  private var federationPolicy: Policy { (try? ShippedPolicies.policy(named: "efgs")) ?? defaultPolicy }

  private func sourceNames(_ setting: Setting) -> Set<String>? {
    guard let list = setting.list() else { return nil }
    guard !list.isEmpty else {
      return setting.fault("empty, allowed one or more names of sources and doors: [uploads]")
    }
    return Set(list.compactMap { name($0, marks: "-.") })
  }

  // MARK: How it is reached

  private func way(_ transport: inout TransportSettings, _ section: Section, of origin: String?) {
    transport.rootsPEM = section.roots { pem($0, holding: "CERTIFICATE") }
    if let setting = section.optional("certificate", "a PEM file", "The gateway's own certificate for TLS.") {
      transport.clientCertificatePEM = pem(setting, holding: "CERTIFICATE")
      judgeCountry(transport.clientCertificatePEM, of: origin, setting)
    }
    transport.clientKeyPEM = section.secret("key", "Its private key.", privateKey)
    transport.totalSeconds = 300
    section.duration(
      "time-out", &transport.totalSeconds, in: Allowed.totalSeconds, "For one batch and its answer.")
    if section.states("certificate") != section.states("key") {
      let missing = section.states("key") ? "certificate" : "key"
      document.add(section.place(of: missing), "missing: a certificate and its key go together")
    } else if !section.states("certificate") {
      document.add(
        section.place(of: "certificate"), "without certificate and key, no gateway of this kind lets us in",
        isWarning: true)
    }
  }

  private func destinationMisfits(_ settings: DestinationSettings) -> [SettingMisfit] {
    guard readsSecrets else { return [] }
    return trials.way(settings.way).map { misfit in
      SettingMisfit(misfit.setting.hasPrefix("http") ? "certificate" : misfit.setting, misfit.reason)
    }
  }

  /// A gateway takes who connects for the country of the certificate.
  private func judgeCountry(_ pem: String?, of origin: String?, _ setting: Setting) {
    // Those that issued it may stand below it.
    guard readsSecrets, let pem, let origin, let end = pem.firstRange(of: "-----END CERTIFICATE-----"),
      let certificate = try? FederationCertificate(pem: String(pem[..<end.upperBound]) + "\n"),
      let country = certificate.country, country != origin
    else { return }
    setting.add(
      "it is the certificate of \(country), and the keys are of \(origin): a gateway takes keys of the country that connects",
      isWarning: true)
  }

  // MARK: Who signs

  private func signer(_ setting: Setting, of origin: String?) -> PushSigner? {
    guard let section = setting.section() else { return nil }
    let certificate = section.needed(
      "certificate", "a PEM file", "The certificate, of the origin's country. The gateway's operator has it on record.")
    let key = section.neededSecret("key", "Its private key, RSA or P-256.")
    let pem = certificate.flatMap { self.pem($0, holding: "CERTIFICATE") }
    let secret = key.flatMap(privateKey)
    section.finish()
    guard let certificate, let key, let pem, let secret else { return nil }
    guard readsSecrets else { return PushSigner.none }

    let parsed: FederationCertificate
    do throws(FederationFault) {
      parsed = try FederationCertificate(pem: pem)
    } catch {
      return certificate.fault("\(error)")
    }
    do throws(FederationFault) {
      let identity = try BatchSigningIdentity(certificate: parsed, key: secret)
      judge(identity.certificate, of: origin, certificate)
      return PushSigner(identity)
    } catch {
      return (error.code == .wrongCountry ? certificate : key).fault("\(error)")
    }
  }

  private func judge(_ certificate: FederationCertificate, of origin: String?, _ setting: Setting) {
    if let origin, let country = certificate.country, country != origin {
      setting.add(
        "it is the certificate of \(country), and the keys are of \(origin): a gateway takes them of no other")
    }
    if !certificate.isValid(at: now) {
      setting.add(
        "it is valid from \(certificate.notBefore) to \(certificate.notAfter), and not now", isWarning: true)
    } else if certificate.notAfter.secondsSince1970 - now.secondsSince1970 < Allowed.endingSoon {
      setting.add("it ends at \(certificate.notAfter); have its successor taken up in time", isWarning: true)
    }
  }

  // MARK: Relations

  func check(
    _ destinations: [StatedDestination], sources: [StatedSource], doors: [UploadSource], ownOrigins: Set<String>
  ) {
    var names: [String: Int] = [:]
    for source in sources { names[source.settings.name.lowercased()] = source.section.place(of: "name").line }
    for destination in destinations {
      let (settings, section) = (destination.settings, destination.section)
      let place = section.place(of: "name")
      if let line = names.updateValue(place.line, forKey: settings.name.lowercased()) {
        document.add(place, "line \(line) has a source or a destination of that name")
      }
      check(settings.sources, of: section, sources: sources, doors: doors)
      if !ownOrigins.contains(settings.origin) {
        document.add(
          section.place(of: "origin"),
          "own-origins lacks \(settings.origin): keys of it that a gateway passes on are not recognised as own ones",
          isWarning: true)
      }
    }
  }

  private func check(_ names: Set<String>, of section: Section, sources: [StatedSource], doors: [UploadSource]) {
    let place = section.place(of: "sources")
    for door in doors where names.contains(door.name) && door.regions.allSatisfy({ $0 == door.origin.uppercased() }) {
      document.add(
        place,
        "none of the keys of the door \(door.name) would go: they are for \(door.origin.uppercased()) alone; name the "
          + "countries that people are asked about in its regions", isWarning: true)
    }
    for name in names.sorted() where !doors.contains(where: { $0.name == name }) {
      guard let source = sources.first(where: { $0.settings.name == name })?.settings else {
        let known =
          (sources.filter { !$0.settings.peer.description.isGateway }.map(\.settings.name) + doors.map(\.name)).sorted()
        let allowed =
          known.isEmpty
          ? "there are none; a door is opened by server.uploads" : "there are \(known.joined(separator: ", "))"
        document.add(place, "\(name) is neither a source nor a door for uploads; \(allowed)")
        continue
      }
      if source.peer.description.isGateway {
        document.add(place, "\(name) is a federation gateway: what comes from one is never handed to another")
      } else if source.isRelay {
        document.add(place, "\(name) is a relay, whose keys have no origin: none of them would go")
      }
    }
  }
}

extension PushSigner {
  /// In place of one that nobody asked for.
  fileprivate static let none = PushSigner(subject: "", thumbprint: "") { _, _ in throw NoKey() }

  private struct NoKey: Error, CustomStringConvertible {
    var description: String { "the key was not read" }
  }

  /// A country's certificate and its key.
  fileprivate init(_ identity: BatchSigningIdentity) {
    self.init(subject: identity.certificate.subject, thumbprint: identity.certificate.thumbprint) { canonical, now in
      try identity.sign(canonical, at: now)
    }
  }
}
