internal import BundleTrust
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import PolicyFiles

/// A source, and where its settings stand.
struct StatedSource {
  var settings: SourceSettings
  var section: Section
}

extension GatewayReader {
  /// `nil` adds a fault.
  func source(_ setting: Setting) -> StatedSource? {
    tried({ stated(setting) }) { source in source.map { ($0.section, trials.way($0.settings)) } }
  }

  private func stated(_ setting: Setting) -> StatedSource? {
    guard let section = setting.section(labelledBy: "name") else { return nil }
    let name = section.needed(
      "name", "letters, digits, hyphens, dots", as: .word, "The operator's name for it. It must be unique."
    ) { self.name($0, marks: "-.") }
    let protocols = peers.map(\.rawValue)
    let peer = section.needed(
      "protocol", protocols.ticked, as: .words(protocols), "The protocol of the peer.", self.peer)
    let location = section.needed(
      "location", "`https://…` or `http://…`; for `files` a folder, apart from the gateway's own",
      missing: "an address: https://keys.example.org, or a folder for files", "Where it is."
    ) { self.location($0, of: peer) }
    var options: [String: String] = [:]
    var secrets: [String: Secret] = [:]
    /// What is wrong with these is told already.
    var unread: Set<String> = []
    section.section("options", default: "none", "What else the protocol needs.") { section in
      section.declareSecret("*")
      section.any(
        "a line of text; \(Section.secretForm) if it is a secret of the protocol", as: .either(.word, .section),
        "An option of the protocol."
      ) { name, setting in
        if peer?.description.options.contains(where: { $0.name == name && $0.isPublicKey }) == true {
          guard let key = publicKeyOption(setting) else {
            unread.insert(name)
            return
          }
          options[name] = key
        } else if peer?.description.options.contains(where: { $0.name == name && $0.isCertificate }) == true {
          guard let bytes = contents(setting, limit: Allowed.publicKeyBytes) else {
            unread.insert(name)
            return
          }
          options[name] = String(decoding: bytes, as: UTF8.self)
        } else if peer?.description.isSecret(name) != true {
          options[name] = self.line(setting)
        } else if let secret = self.secret(setting) {
          secrets[name] = secret
        } else {
          unread.insert(name)
        }
      }
    }
    let trust = section.needed(
      "trust",
      "a PEM file, a folder of `ID-VERSION.pem`, a JSON trust store; `host`; `origins`; `operator`; as the protocol allows",
      missing: "\(Self.spellings(of: trusts(of: peer))); add a line such as trust: keys/de.pem",
      "The proof that keys are from this source. Trust store: one of its keys has signed each document. `host`: the host has proved its name by TLS. `origins`: each origin has signed its keys. `operator`: you vouch for it, and Keyferry asks for no proof."
    ) { self.trust($0, of: peer, section, isSecure: location?.hasPrefix("http://") != true) }
    for name in ["federation-trust", "allow"] where section.states(name) && trust.map({ $0.kind != .origins }) ?? false
    {
      document.add(section.place(of: name), "is for trust: origins alone")
    }
    let reading = section.policy("reading", "The policy by which its keys are read.", policy)
    var settings = SourceSettings(
      name: name ?? "", peer: peer ?? .files, location: location ?? "", options: options, secrets: secrets,
      // Without one there is a fault, and no plan comes of it.
      trust: trust ?? .operator, reading: reading ?? defaultPolicy)
    settings.origin = section.optional("origin", "a code: `DE`", "The origin of its keys that name none.", code)
    if let setting = section.optional(
      "relay", "`true`, `false`, \(Section.codesForm)", default: "`\(settings.isRelay)`",
      as: .either(.words(["true", "false"]), .list(.text)),
      "Whether it passes on others' keys and loses their origin; a list names these origins. If such an origin's own claim is known, the relay's report type, risk and onset do not count."
    ) {
      relay(setting, &settings)
    }
    settings.speaksFor = section.optional(
      "speaks-for", "`any`, \(Section.codesForm)", default: "its origin", as: .either(.words(["any"]), .list(.text)),
      "The origins that it may speak for. Its reading policy must allow them, too. A source without an origin speaks for any that its keys name.",
      spokenOrigins)
    settings.regions = section.codes(
      "regions", default: "any",
      "The regions that its keys may name. Keyferry drops others, and rejects a key that names no other.", codesOfKeys)
    section.flag(
      "rehearsal", &settings.isRehearsal,
      "Whether it is pulled, verified and reported like any other, and nothing of it is published.")
    section.duration("every", &settings.interval, in: Allowed.interval, "The time between pulls.")
    section.section("limits", "What is refused for its size.") { section in
      section.bytes("document", &settings.documentByteLimit, in: 1024...4 << 30, "The size that a document may have.")
    }
    section.section("http", "How its server is reached; not for `files`.") { transport(&settings.transport, $0) }
    section.finish()

    guard name != nil, let peer, location != nil else { return nil }
    if peer.description.way == .folder, section.states("http") {
      document.add(section.place(of: "http"), "files are read from a folder, without HTTP")
    }
    for reason in trials.options(settings) where !unread.contains(where: { reason.hasPrefix("\($0): ") }) {
      add(reason, toOptionsOf: section)
    }
    return StatedSource(settings: settings, section: section)
  }

  /// The key itself, or the text of the file that has it; `nil` adds a fault.
  private func publicKeyOption(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    // Base64 of a SubjectPublicKeyInfo begins so, and is longer than most paths.
    if text.contains("-----BEGIN") || (text.hasPrefix("MF") && text.utf8.count >= 80) { return text }
    guard let bytes = contents(setting, limit: Allowed.publicKeyBytes) else { return nil }
    let contents = String(decoding: bytes, as: UTF8.self)
    do throws(KeyFault) {
      _ = try P256PublicKey(text: contents)
      return contents
    } catch {
      return setting.fault(inFile(at: setting.place, "\(error)"))
    }
  }

  /// Places `NAME: reason` at that option.
  private func add(_ reason: String, toOptionsOf section: Section) {
    var place = section.place(of: "options")
    var reason = reason
    if let colon = reason.firstIndex(of: ":"), reason[colon...].hasPrefix(": ") {
      if reason[..<colon].utf8.allSatisfy({ $0 > 0x20 }) {
        place = self.place(of: "options.\(reason[..<colon])", in: section)
        reason = String(reason[colon...].dropFirst(2))
      }
    }
    document.add(place, reason)
  }

  private func peer(_ setting: Setting) -> PeerProtocol? {
    guard let name = setting.text() else { return nil }
    return peers.first { $0.rawValue == name }
      ?? setting.fault("\(setting.shown), allowed \(peers.map(\.rawValue).joined(separator: ", "))")
  }

  // MARK: Where

  private func location(_ setting: Setting, of peer: PeerProtocol?) -> String? {
    guard peer?.description.way != .folder else { return resolvedPath(setting) }
    return address(setting)
  }

  /// `https://host[:port][/path]`.
  func address(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    let example = "allowed an address: https://keys.example.org"
    let isSecure = text.hasPrefix("https://")
    guard isSecure || text.hasPrefix("http://"), text.utf8.count <= 2048,
      text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) })
    else { return setting.fault(text.contains("@") || text.contains("?") ? example : "\(setting.shown), \(example)") }
    let authority = text.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard !authority.contains("@") else {
      return setting.fault("a user and a password do not belong into an address; see http.headers")
    }
    guard !text.contains("?"), !text.contains("#") else {
      return setting.fault("an address without ? and # is expected; what is secret goes into http.headers")
    }
    guard let host = HostAndPort(authority, defaultPort: isSecure ? 443 : 80) else {
      return setting.fault("\(setting.shown), \(example)")
    }
    if !isSecure, !host.isLoopback {
      setting.add("plain HTTP: anyone on the way can read and change what comes", isWarning: true)
    }
    return text
  }

  /// Whether it is a relay, or whose keys it carries as one.
  private func relay(_ setting: Setting, _ settings: inout SourceSettings) {
    if setting.isList {
      settings.carries = codesOfKeys(setting)
      settings.isRelay = true
    } else if setting.isWord("true") || setting.isWord("false") {
      settings.isRelay = setting.isWord("true")
    } else {
      setting.add("\(setting.shown), allowed true, false, or whose keys it carries: [DE, US-VA]")
    }
  }

  // MARK: Whom to trust

  private func trusts(of peer: PeerProtocol?) -> [Trust.Kind] {
    peer.map { $0.description.trusts } ?? Trust.Kind.allCases
  }

  private static func spellings(of kinds: [Trust.Kind]) -> String { kinds.map(\.spelling).joined(separator: ", ") }

  private func trust(
    _ setting: Setting, of peer: PeerProtocol?, _ section: Section, isSecure: Bool
  ) -> Trust? {
    guard let text = setting.text() else { return nil }
    let allowed = trusts(of: peer)
    let kind = text == Trust.Kind.ring.rawValue ? .ring : Trust.Kind(rawValue: text) ?? .ring
    guard allowed.contains(kind) else {
      let reason = kind == .ring ? "; what comes by this protocol bears no signature of a ring" : ""
      return setting.fault("\(setting.shown), allowed \(Self.spellings(of: allowed))\(reason)")
    }
    if kind != .origins, let caution = peer?.description.caution {
      setting.add(caution, isWarning: true)
    }
    switch kind {
    case .ring: return ring(setting).map(Trust.ring)
    case .host:
      guard isSecure else { return setting.fault("host, allowed with a location https://… alone: TLS proves the name") }
      return .host
    case .origins: return origins(section)
    case .operator: return .operator
    }
  }

  /// A federation's list of certificates, and what its origins' signatures may be like.
  private func origins(_ section: Section) -> Trust? {
    let allowed = signatureAllowances(
      section, "With `trust: origins`: properties of signatures that are accepted although they are refused by default."
    )
    guard
      let setting = section.needed(
        "federation-trust", "the JSON file that `keyferry trust` makes",
        default: "*must be stated* with `trust: origins`",
        "With `trust: origins`: the federation's anchor and its list of certificates."),
      let bytes = contents(setting, limit: FederationTrust.maximumLength)
    else { return nil }
    do throws(FederationFault) {
      let trust = try FederationTrust(json: bytes)
      if !trust.anchor.isValid(at: now) {
        setting.add(
          "its anchor is valid from \(trust.anchor.notBefore) to \(trust.anchor.notAfter), and not now", isWarning: true
        )
      }
      return .origins(trust, allowed)
    } catch {
      return setting.fault("\(setting.shown): \(error)")
    }
  }

  private func spokenOrigins(_ setting: Setting) -> ReadingPolicy.SpokenOrigins? {
    guard setting.isWord("any") else { return codesOfKeys(setting).map(ReadingPolicy.SpokenOrigins.only) }
    setting.add("any: whatever origin its keys name is taken to have said so", isWarning: true)
    return .any
  }

  private func ring(_ setting: Setting) -> TrustRing? {
    guard let path = resolvedPath(setting) else { return nil }
    do {
      let ring = try ring(at: path)
      for note in ring.notes { setting.add("\(path): \(note)", isWarning: true) }
      if !ring.keys.contains(where: { $0.isValid(at: now) }) {
        setting.add("\(path): none of its keys is valid now", isWarning: true)
      }
      return ring
    } catch let error as TrustRingError {
      for fault in error.faults { setting.add("\(path): \(fault)") }
    } catch let error as FileFault {
      setting.add(words(error, of: setting))
    } catch {
      setting.add("\(error)")
    }
    return nil
  }

  private func ring(at path: String) throws -> TrustRing {
    guard let names = try files.names(in: path) else {
      namedFiles.append(path)
      return try TrustRing(document: try files.contents(of: path, limit: Allowed.ringBytes))
    }
    let pemNames = names.filter { $0.hasSuffix(".pem") }.sorted()
    namedFiles += pemNames.map { "\(path)/\($0)" }
    guard !pemNames.isEmpty else { throw FileFault("read", path, reason: "it holds no file named ID-VERSION.pem") }
    return try TrustRing(
      files: pemNames.map { name in
        let bytes = try files.contents(of: "\(path)/\(name)", limit: Allowed.ringBytes)
        return (name, String(decoding: bytes, as: UTF8.self))
      })
  }

  // MARK: HTTP

  private func transport(_ transport: inout TransportSettings, _ section: Section) {
    section.section("headers", default: "none", "Headers sent to its host, and to no other.") {
      transport.headers = headers($0)
    }
    transport.rootsPEM = section.roots { pem($0, holding: "CERTIFICATE") }
    transport.clientCertificatePEM = section.optional(
      "client-certificate", "a PEM file", "The gateway's own certificate, for peers that ask for one."
    ) { pem($0, holding: "CERTIFICATE") }
    transport.clientKeyPEM = section.secret("client-key", "Its private key.", privateKey)
    if section.states("client-certificate") != section.states("client-key") {
      let missing = section.states("client-key") ? "client-certificate" : "client-key"
      document.add(section.place(of: missing), "missing: a client certificate and its key go together")
    }
    transport.allowedHosts = Set(
      section.list(
        "allowed-hosts", of: "names",
        "Other hosts than the location's that redirects and links may lead to, with their port if it is not the scheme's.",
        host))
    section.flag("http2", &transport.http2, "Whether HTTP/2 is used if the peer supports it.")
    section.duration(
      "connect", &transport.connectSeconds, in: 1...300, "The time until a connection must be established.")
    section.duration("idle", &transport.idleSeconds, in: 1...3600, "The time until a body must make progress.")
    section.duration(
      "total", &transport.totalSeconds, in: Allowed.totalSeconds, "The time for one response as a whole.")
    section.number("retries", &transport.retries, in: 0...10, "How often a failed request is repeated.")
    section.number("connections", &transport.connectionsPerHost, in: 1...16, "Connections to one host at a time.")
  }

  private func host(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    guard let host = HostAndPort(text[...], defaultPort: 0) else {
      return setting.fault("\(setting.shown), allowed the name of a host: cdn.example.org, cdn.example.org:8443")
    }
    return host.port == 0 ? host.host.lowercased() : "\(host.host.lowercased()):\(host.port)"
  }
}

/// `keys.example.org:8080`, `[::1]:8080`.
struct HostAndPort {
  /// Without brackets.
  var host: String
  var port: Int

  /// - Parameter defaultPort: where the text has none; `nil` needs one.
  init?(_ text: Substring, defaultPort: Int?) {
    var rest = text
    if text.first == "[" {
      guard let end = text.firstIndex(of: "]") else { return nil }
      host = String(text[text.index(after: text.startIndex)..<end])
      rest = text[text.index(after: end)...]
      guard host.contains(":"),
        host.unicodeScalars.allSatisfy({ $0.properties.isASCIIHexDigit || $0 == ":" || $0 == "." })
      else { return nil }
    } else {
      let name = text.prefix { $0 != ":" }
      host = String(name)
      rest = text[name.endIndex...]
      guard (1...253).contains(host.utf8.count),
        host.unicodeScalars.allSatisfy({ $0.isLetterOrDigit || $0 == "-" || $0 == "." })
      else { return nil }
    }
    if rest.isEmpty, let defaultPort {
      port = defaultPort
    } else {
      guard rest.first == ":", let number = Int(rest.dropFirst()), rest.dropFirst().first != "+",
        (0...65_535).contains(number)
      else { return nil }
      port = number
    }
  }

  var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}
