internal import BundleTrust
internal import GatewayServer
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyPublishing
internal import PolicyFiles

/// A source, and where its settings stand.
struct StatedSource {
  var settings: SourceSettings
  var section: Section
}

extension PeerProtocol {
  /// Who can vouch for what comes from such a peer.
  fileprivate enum Vouching {
    /// Its bundles carry signatures.
    case signatures
    /// Nothing is signed.
    case nobody
    /// Origins sign, and the peer's TLS identity stands for them as long as that is not verified.
    case gateway
  }

  fileprivate var vouching: Vouching {
    switch self {
    case .index, .coronaWarnApp, .dp3t, .immuni, .files: .signatures
    case .sampleApp: .nobody
    case .efgs: .gateway
    }
  }
}

extension GatewayReader {
  /// `nil` adds a fault.
  func source(_ setting: Setting, checkingOptions: (SourceSettings) -> [String]) -> StatedSource? {
    guard let section = setting.section(labelledBy: "name") else { return nil }
    let name = section.need("name", "letters, digits, hyphens, dots").flatMap { self.name($0, marks: "-.") }
    let peer = section.need("protocol", PeerProtocol.allCases.map(\.rawValue).joined(separator: ", "))?
      .option(PeerProtocol.self)
    let location = section.need("location", "an address: https://keys.example.org, or a folder for files")
      .flatMap { self.location($0, of: peer) }
    var options: [String: String] = [:]
    section.section("options") { section in
      section.readAll { name, setting in options[name] = self.line(setting) }
    }
    let ring = section.need("trust", "a ring of public keys (PEM, folder, JSON), operator, or gateway for efgs")
      .flatMap { trust($0, of: peer) }
    let reading = section.take("reading").flatMap(policy)
    var settings = SourceSettings(
      name: name ?? "", peer: peer ?? .files, location: location ?? "", options: options, trust: ring,
      reading: reading ?? defaultPolicy)
    settings.origin = section.take("origin").flatMap(code)
    set(&settings.isRelay, section.take("relay")?.flag())
    settings.allowedOrigins = section.take("origins").flatMap(codes)
    set(&settings.interval, section.take("every")?.duration(Allowed.interval))
    section.section("limits") { section in
      set(&settings.documentByteLimit, section.take("document")?.byteCount(Allowed.documentBytes))
    }
    section.section("http") { transport(&settings.transport, $0) }
    section.finish()

    guard name != nil, let peer, location != nil else { return nil }
    if peer == .files, section.states("http") {
      document.add(section.place(of: "http"), "files are read from a folder, without HTTP")
    }
    for reason in checkingOptions(settings) { add(reason, toOptionsOf: section) }
    return StatedSource(settings: settings, section: section)
  }

  /// Places `NAME: reason` at that option.
  private func add(_ reason: String, toOptionsOf section: Section) {
    var place = section.place(of: "options")
    var reason = reason
    if let colon = reason.firstIndex(of: ":"), reason[colon...].hasPrefix(": ") {
      let option = document.place(of: "\(place.path).\(reason[..<colon])")
      if reason[..<colon].utf8.allSatisfy({ $0 > 0x20 }) {
        if option.line > 0 { place = option }
        place.path = option.path
        reason = String(reason[colon...].dropFirst(2))
      }
    }
    document.add(place, reason)
  }

  // MARK: Where

  private func location(_ setting: Setting, of peer: PeerProtocol?) -> String? {
    guard peer != .files else { return resolvedPath(setting) }
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

  // MARK: Whom to trust

  private func trust(_ setting: Setting, of peer: PeerProtocol?) -> TrustRing? {
    switch (peer?.vouching, setting.text()) {
    case (_, nil): return nil
    case (.gateway, "gateway"?):
      setting.add(
        "origins are not verified yet: the gateway's TLS identity vouches for all that it sends", isWarning: true)
      return nil
    case (_, "operator"?): return nil
    case (.gateway, _): return setting.fault("\(setting.shown), allowed gateway, operator")
    case (.nobody, _):
      return setting.fault("\(setting.shown), allowed operator: what comes by this protocol is not signed")
    case (_, "gateway"?):
      return setting.fault("gateway is for efgs alone, allowed a ring of public keys (PEM, folder, JSON), or operator")
    default: return ring(setting)
    }
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
    } catch {
      setting.add("\(error)")
    }
    return nil
  }

  private func ring(at path: String) throws -> TrustRing {
    guard let names = try files.names(in: path) else {
      return try TrustRing(document: try files.contents(of: path, limit: Allowed.ringBytes))
    }
    let pemNames = names.filter { $0.hasSuffix(".pem") }.sorted()
    guard !pemNames.isEmpty else { throw FileFault("read", path, reason: "it holds no file named ID-VERSION.pem") }
    return try TrustRing(
      files: pemNames.map { name in
        let bytes = try files.contents(of: "\(path)/\(name)", limit: Allowed.ringBytes)
        return (name, String(decoding: bytes, as: UTF8.self))
      })
  }

  // MARK: HTTP

  private func transport(_ transport: inout TransportSettings, _ section: Section) {
    section.section("headers") { transport.headers = headers($0) }
    transport.rootsPEM = section.take("roots").flatMap { pem($0, holding: "CERTIFICATE") }
    transport.clientCertificatePEM = section.take("client-certificate").flatMap { pem($0, holding: "CERTIFICATE") }
    transport.clientKeyPEM = section.take("client-key").flatMap(privateKey)
    if section.states("client-certificate") != section.states("client-key") {
      let missing = section.states("client-key") ? "client-certificate" : "client-key"
      document.add(section.place(of: missing), "missing: a client certificate and its key go together")
    }
    section.read("allowed-hosts") { setting in
      transport.allowedHosts = Set((setting.list() ?? []).compactMap { self.host($0) })
    }
    set(&transport.http2, section.take("http2")?.flag())
    set(&transport.connectSeconds, section.take("connect")?.duration(Allowed.connectSeconds))
    set(&transport.idleSeconds, section.take("idle")?.duration(Allowed.idleSeconds))
    set(&transport.totalSeconds, section.take("total")?.duration(Allowed.totalSeconds))
    set(&transport.retries, section.take("retries")?.number(Allowed.retries))
    set(&transport.connectionsPerHost, section.take("connections")?.number(Allowed.connections))
  }

  private func host(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    guard let host = HostAndPort(text[...], defaultPort: 0), !text.contains(":") else {
      return setting.fault("\(setting.shown), allowed the name of a host: cdn.example.org")
    }
    return host.host.lowercased()
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
        Allowed.port.contains(number)
      else { return nil }
      port = number
    }
  }

  var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}
