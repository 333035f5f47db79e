import Crypto
import ExposureKeys
import Foundation
import GatewaySettings
import GatewayTesting
import HTTPTypes
import KeyIntake
import KeyReceiving
import KeyStorage
import Logging
import PolicyFiles
import ProgramMetrics
import ServiceLifecycle
import Testing

@testable import BundleTrust
@testable import Federation
@testable import GatewayDaemon
@testable import GatewayServer

@Suite("The federation's door")
struct DoorTests {
  // MARK: Names

  @Test(
    "The country of a distinguished name",
    arguments: [
      ("C=DE", ["DE"]), ("CN=a,O=b,C=DE", ["DE"]), ("C=DE, O=Foo\\, Bar, CN=x", ["DE"]),
      ("O=\"Foo, C=FR\",C=DE", ["DE"]),
      ("O=a=b,C=DE", ["DE"]), ("CN=x+C=DE,O=y", ["DE"]), ("c = DE ,O=y", ["DE"]), ("2.5.4.6=#13024445,CN=x", ["DE"]),
      ("CN=x;C=DE", ["DE"]), ("CN=C\\=FR,C=DE", ["DE"]), ("CN=\\2CC=FR,C=DE", ["DE"]), ("C=DE\\20", ["DE "]),
      ("/C=DE/O=Ministry/CN=x", ["DE"]), ("/O=a/b/C=DE", ["DE"]),
      ("C=DE,C=FR", ["DE", "FR"]), ("/C=DE/O=x/C=FR", ["DE", "FR"]), ("CN=x+C=DE+C=FR", ["DE", "FR"]), ("CN=x", []),
      ("/CN=x", []), ("DC=DE,CN=x", []), ("C=", [""]),
    ])
  func names(text: String, countries: [String]) { #expect(DistinguishedName.countries(in: text) == countries) }

  @Test(
    "What is no name",
    arguments: [
      "", "DE", "C=DE,", "C=DE,O", "=DE", "C=DE\nC=FR", "/DE", "O=\"x,C=DE", "C=a\"b", "C=#1302", "C=#zz", "C=DE\\",
    ])
  func badNames(text: String) { #expect(DistinguishedName.countries(in: text) == nil) }

  // MARK: Fields of a proxy

  private func fields(_ pairs: [(String, String)]) throws -> HTTPFields {
    var fields: HTTPFields = [:]
    for (name, value) in pairs { fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value)) }
    return fields
  }

  private func answer(
    _ doorkeeper: CertificateAuthenticator, _ pairs: [(String, String)], isThroughProxy: Bool = true,
    certificate: [UInt8]? = nil
  ) throws -> String {
    let caller = PartnerCaller(
      fields: try fields(pairs), isThroughProxy: isThroughProxy, certificate: certificate)
    do throws(FederationRefusal) {
      return try doorkeeper.client(caller, at: TestGateway.noon).country
    } catch {
      return error.code
    }
  }

  @Test("Who is refused as often as he likes has a line a minute, and the others are counted")
  func refusedLines() throws {
    let federation = try SimulatedFederation(["DE"])
    let (lines, metrics) = (Lines(), GatewayMetrics())
    let doorkeeper = CertificateAuthenticator(
      FederationListenerSettings(.proxy), trust: HeldFederationTrust(federation.trust), metrics: metrics,
      logger: lines.logger())
    for _ in 0..<500 { #expect(try answer(doorkeeper, []) != "DE") }
    for _ in 0..<500 { #expect(try answer(doorkeeper, [("X-SSL-Client-SHA256", "zz")]) != "DE") }
    #expect((1...2).contains(lines.all.count), "\(lines.all.prefix(5))")

    let limit = LogLimit()
    #expect(limit.admit("a", at: 0) == 0)
    for second in 1...59 { #expect(limit.admit("a", at: Double(second)) == nil) }
    #expect(limit.admit("b", at: 5) == 0)
    #expect(limit.admit("a", at: 60) == 59)
    #expect(limit.admit("a", at: 119) == nil)
    #expect(limit.admit("a", at: 180) == 1)
    // Reasons that a stranger makes up are bounded, too.
    let made = (0..<10_000).count { limit.admit("reason \($0)", at: 200) != nil }
    #expect((200...256).contains(made))
    #expect(limit.admit("one more", at: 300) == 0)
  }

  @Test("A country is not told which address of our network its callback means")
  func refusedCallback() async throws {
    let federation = try SimulatedFederation(["DE"])
    let settings = FederationCallbackSettings(
      certificatePEM: federation.trust.anchor.pem, privateKeyPEM: Secret(federation.anchor.pemRepresentation))
    let office = try CallbackSetup(settings, ledger: Ledger(MemoryStore()), version: "1") { TestGateway.noon }
    await #expect {
      try await office.registration.set(RegisteredCallback(id: "a", url: "https://10.1.2.3/"), of: "DE")
    } throws: {
      ($0 as? CallbackRefusal)?.reason == "its host has an address that is not public"
    }
  }

  @Test("A whole certificate tells who asks, and must agree with what stands beside it")
  func wholeCertificate() throws {
    let federation = try SimulatedFederation(["DE", "FR"])
    let (german, french) = (try federation["DE"].client, try federation["FR"].client)
    let escaped = { (pem: String) in
      pem.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }
    let metrics = GatewayMetrics()
    let doorkeeper = CertificateAuthenticator(
      FederationListenerSettings(.proxy), trust: HeldFederationTrust(federation.trust), metrics: metrics)
    let pem = ("X-SSL-Client-Cert", escaped(german.pem))
    #expect(try answer(doorkeeper, [pem]) == "DE")
    #expect(try answer(doorkeeper, [pem, ("X-SSL-Client-SHA256", german.thumbprint)]) == "DE")
    #expect(
      try answer(doorkeeper, [pem, ("x-ssl-client-sha256", french.thumbprint)]) == "client-certificate-unreadable")
    #expect(try answer(doorkeeper, [pem, ("X-SSL-Client-DN", "CN=a,C=DE")]) == "DE")
    for name in ["CN=a,C=FR", "CN=a", "C=DE,C=FR", "DE"] {
      #expect(try answer(doorkeeper, [pem, ("X-SSL-Client-DN", name)]) == "client-certificate-unreadable", "\(name)")
    }
    #expect(try answer(doorkeeper, [pem, pem]) == "client-certificate-unreadable")
    #expect(try answer(doorkeeper, [("X-SSL-Client-Cert", "%zz")]) == "client-certificate-unreadable")
    #expect(try answer(doorkeeper, [("X-SSL-Client-Cert", "")]) == "client-certificate-missing")
    #expect(try answer(doorkeeper, []) == "client-certificate-missing")
    let two = [("X-SSL-Client-SHA256", german.thumbprint), ("X-SSL-Client-DN", "C=DE,C=FR")]
    #expect(try answer(doorkeeper, two) == "client-without-country")
    // Another country's name under a certificate, and a digest without its zero.
    #expect(
      try answer(doorkeeper, [("X-SSL-Client-SHA256", german.thumbprint), ("X-SSL-Client-DN", "C=FR")])
        == "client-wrong-country")
    #expect(
      try answer(
        doorkeeper, [("X-SSL-Client-SHA256", String(german.thumbprint.dropLast())), ("X-SSL-Client-DN", "C=DE")])
        == "client-certificate-unreadable")
    // Who is no proxy of ours is refused, and counted, whatever he sends.
    #expect(try answer(doorkeeper, [pem], isThroughProxy: false) == "client-certificate-forged")
    #expect(try answer(doorkeeper, [("X-SSL-Client-DN", "C=DE")], isThroughProxy: false) == "client-certificate-forged")
    #expect(try answer(doorkeeper, [], isThroughProxy: false) == "client-certificate-missing")
    let line = #"keyferry_federation_refused_clients_total{reason="client-certificate-forged"} 2"#
    #expect(metrics.text.contains(line))
  }

  @Test("Where TLS says who asks, nobody may write fields, not even a proxy")
  func fieldsBesideTLS() throws {
    let federation = try SimulatedFederation(["DE"])
    let client = try federation["DE"].client
    let doorkeeper = CertificateAuthenticator(
      FederationListenerSettings(.tls), trust: HeldFederationTrust(federation.trust), metrics: GatewayMetrics())
    let told = [("X-SSL-Client-SHA256", client.thumbprint), ("X-SSL-Client-DN", "C=DE")]
    #expect(try answer(doorkeeper, [], certificate: client.der) == "DE")
    #expect(try answer(doorkeeper, told, certificate: client.der) == "client-certificate-forged")
    #expect(try answer(doorkeeper, told) == "client-certificate-forged")
    #expect(try answer(doorkeeper, []) == "client-certificate-missing")
    #expect(try answer(doorkeeper, [], certificate: [0x30, 0]) == "client-certificate-unreadable")
  }

  // MARK: Live

  @Test("TLS says who asks, over each version of HTTP", arguments: ["--http1.1", "--http2"])
  func live(version: String) async throws {
    try await DoorBench.run { bench in
      let asked = try await bench.curl([version])
      #expect(asked.status == 403 && asked.code == "client-certificate-missing", "\(asked)")
      for (name, status, code) in [
        ("DE", 404, "no-batch"), ("zero", 404, "no-batch"), ("unknown", 403, "client-unknown"),
        ("revoked", 403, "client-revoked"), ("signing", 403, "client-wrong-use"),
        ("stateless", 400, "client-without-country"), ("two", 400, "client-without-country"),
        ("borrowed", 403, "client-wrong-country"),
      ] {
        let asked = try await bench.curl([version, "--cert", "\(name).pem", "--key", "\(name).key"])
        // What an unlisted day is called is the responder's; that it speaks of it shows that the client is in.
        #expect(asked.status == status && (status == 404 || asked.code == code), "\(name): \(asked)")
      }
      // Valid until 2049.
      bench.clock.now = Instant(secondsSince1970: 2_556_144_000)
      let late = try await bench.curl([version, "--cert", "DE.pem", "--key", "DE.key"])
      #expect(late.status == 403 && late.code == "client-expired", "\(late)")
    }
  }

  @Test(
    "A session that is resumed has the client's certificate, and who is revoked is out at once",
    arguments: ["-tls1_2", "-tls1_3"])
  func resumption(version: String) async throws {
    try await DoorBench.run { bench in
      let first = try await bench.session([version, "-cert", "DE.pem", "-key", "DE.key", "-sess_out", "s"])
      #expect(first.contains(" 404 ") && first.contains("New, "), "\(first)")
      let again = try await bench.session([version, "-sess_in", "s"])
      #expect(again.contains("Reused, ") && again.contains(" 404 "), "\(again)")
      var trust = bench.counter.trust.value
      for index in trust.rows.indices where trust.rows[index].country == "DE" { trust.rows[index].isRevoked = true }
      bench.counter.trust.value = trust
      let revoked = try await bench.session([version, "-sess_in", "s"])
      #expect(revoked.contains(" 403 ") && revoked.contains("client-revoked"), "\(revoked)")
      // A session without a certificate stays one.
      _ = try await bench.session([version, "-sess_out", "t"])
      let none = try await bench.session([version, "-sess_in", "t"])
      #expect(none.contains(" 403 ") && none.contains("client-certificate-missing"), "\(none)")
    }
  }

  @Test("Phones and national back ends have addresses of their own")
  func addresses() async throws {
    try await DoorBench.run { bench in
      // Nobody is asked for a certificate at the apps' address, and the federation is not there.
      let apps = try await bench.curl([], port: bench.apps, path: "/")
      #expect(apps.status == 200)
      let there = try await bench.curl(["--cert", "DE.pem", "--key", "DE.key"], port: bench.apps)
      #expect(there.status == 404, "\(there)")
      let page = try await bench.curl(["--cert", "DE.pem", "--key", "DE.key"], path: "/")
      #expect(page.status == 404, "\(page)")
      let options = try await bench.curl(["-X", "OPTIONS"], path: "/diagnosiskeys")
      #expect(options.status == 200, "\(options)")
    }
  }

  @Test(
    "nginx ends TLS as the configuration in interop/deploy says",
    .enabled(if: nginx != nil, "apt-get install nginx-light"))
  func behindNginx() async throws {
    let nginx = try #require(nginx)
    try await DoorBench.run(.proxy) { bench in
      try await bench.running(nginx) { port in
        let none = try await bench.curl([], port: port)
        #expect(none.status == 403 && none.code == "client-certificate-missing", "\(none)")
        for (name, status, code) in [
          ("DE", 404, ""), ("zero", 404, ""), ("unknown", 403, "client-unknown"), ("revoked", 403, "client-revoked"),
          ("signing", 403, "client-wrong-use"), ("two", 400, "client-without-country"),
        ] {
          for version in ["--http1.1", "--http2"] {
            let asked = try await bench.curl([version, "--cert", "\(name).pem", "--key", "\(name).key"], port: port)
            #expect(asked.status == status && (code.isEmpty || asked.code == code), "\(name): \(asked)")
          }
        }
        // What a client writes itself is gone behind nginx.
        let digest = try FederationCertificate(pem: bench.text("DE.pem")).thumbprint
        let forged = [
          "-H", "X-SSL-Client-SHA256: \(digest)", "-H", "X-SSL-Client-DN: C=DE", "-H",
          "X-SSL-Client-Cert: \(try bench.text("DE.pem").replacing("\n", with: "%0A"))",
        ]
        let liar = try await bench.curl(forged, port: port)
        #expect(liar.status == 403 && liar.code == "client-certificate-missing", "\(liar)")
        let other = try await bench.curl(forged + ["--cert", "unknown.pem", "--key", "unknown.key"], port: port)
        #expect(other.status == 403 && other.code == "client-unknown", "\(other)")
      }
    }
  }

  @Test("Fields from an address that is no proxy's are refused")
  func strangeProxy() async throws {
    try await DoorBench.run(.proxy, proxies: ["203.0.113.0/24"]) { bench in
      let digest = try FederationCertificate(pem: bench.text("DE.pem")).thumbprint
      let liar = try await bench.curl(
        ["-H", "X-SSL-Client-SHA256: \(digest)", "-H", "X-SSL-Client-DN: C=DE"], port: bench.apps, scheme: "http")
      #expect(liar.status == 403 && liar.code == "client-certificate-forged", "\(liar)")
    }
  }

  // MARK: The whitelist

  @Test("A whitelist that cannot be read is told to who asks, until it is mended; the old one holds meanwhile")
  func damagedWhitelist() throws {
    let federation = try SimulatedFederation(["DE", "FR"])
    let path = FileManager.default.temporaryDirectory.path + "/whitelist-\(UUID().uuidString).json"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let (held, readiness) = (HeldFederationTrust(federation.trust), Readiness())
    let watch = TrustWatch(path, held, readiness: readiness)
    try Data("{".utf8).write(to: URL(filePath: path))
    watch.read()
    #expect(readiness.reasons.count == 1)
    #expect(readiness.reasons.first?.hasPrefix("the whitelist \(path) has changed and cannot be read") == true)
    #expect(held.value == federation.trust)
    var other = federation
    other.revoke("DE", .signing)
    try Data(other.trust.json()).write(to: URL(filePath: path))
    watch.read()
    #expect(readiness.reasons.isEmpty)
    #expect(held.value == other.trust)
  }
}

private let nginx =
  Tool(named: "nginx") ?? ["/usr/sbin/nginx"].first(where: FileManager.default.isExecutableFile).map { Tool(path: $0) }

/// A federation gateway that listens, with clients' certificates in files.
struct DoorBench: Sendable {
  let folder: URL
  let apps: Int
  let port: Int
  let clock: TestClock
  let counter: FederationGateway

  static func run(
    _ certificates: FederationListenerSettings.CertificateSource = .tls, proxies: [String] = ["127.0.0.1"],
    _ body: (DoorBench) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-door-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let clock = TestClock(TestGateway.noon)
    let federation = try Self.federation(in: folder)
    let policy = try #require(try ShippedPolicies.policy(named: "efgs"))
    let counter = FederationGateway(
      FederationGatewaySettings(
        trust: federation.trust, clientCertificates: certificates == .tls ? .tls : .proxy, reading: policy),
      ledger: Ledger(MemoryStore()), ownOrigins: [], evidenceDays: Retention().evidenceDays
    ) { clock.now }
    var settings = ServerSettings(host: "127.0.0.1", port: 0)
    var door = FederationListenerSettings(certificates)
    if certificates == .tls {
      try settings.useCertificate(in: folder)
      door.listen = .init(host: "127.0.0.1", port: 0)
    } else {
      settings.proxies = TrustedProxies(proxies.compactMap { AddressBlock($0) })
    }
    settings.federationDoor = door
    let metrics = GatewayMetrics()
    let app = try GatewayApplication(
      settings: settings, store: try PublicationFixture().store(), layouts: LayoutCatalog([]),
      partners: [FederationResponder(counter.entrance(door, metrics: metrics), metrics: metrics)], metrics: metrics,
      clock: ServerClock { clock.now },
      logger: Logger(label: "test") { _ in SilentHandler() })
    let (ports, bound) = AsyncStream.makeStream(of: (Bool, Int).self)
    let server = ServerService(app) {
      bound.yield((false, $0))
    } onFederationBound: {
      bound.yield((true, $0))
    }
    let group = ServiceGroup(
      configuration: .init(services: [server], logger: Logger(label: "test") { _ in SilentHandler() }))
    let running = Task {
      defer { bound.finish() }
      try await group.run()
    }
    var (apps, own): (Int?, Int?) = (nil, nil)
    for await (isFederation, port) in ports {
      if isFederation { own = port } else { apps = port }
      if apps != nil, own != nil || certificates == .proxy { break }
    }
    let bench = DoorBench(
      folder: folder, apps: try #require(apps), port: own ?? apps ?? 0, clock: clock, counter: counter)
    do {
      try await body(bench)
    } catch {
      await group.triggerGracefulShutdown()
      throw error
    }
    await group.triggerGracefulShutdown()
    try await running.value
  }

  /// Certificates and keys under their names: `DE`, `unknown`, `revoked`, …
  private static func federation(in folder: URL) throws -> SimulatedFederation {
    var federation = try SimulatedFederation([])
    func write(_ name: String, _ der: [UInt8], _ key: P256.Signing.PrivateKey) throws -> FederationCertificate {
      let certificate = try FederationCertificate(der: der)
      try Data(certificate.pem.utf8).write(to: folder.appending(path: "\(name).pem"))
      try Data(key.pemRepresentation.utf8).write(to: folder.appending(path: "\(name).key"))
      return certificate
    }
    func made(_ name: String, _ country: String = "DE") throws -> FederationCertificate {
      let key = P256.Signing.PrivateKey()
      return try write(name, try SimulatedFederation.certificate(country, name, key), key)
    }
    try federation.list(try made("DE"), of: "DE", for: .authentication)
    _ = try made("unknown")
    try federation.list(try made("revoked", "FR"), of: "FR", for: .authentication)
    federation.revoke("FR", .authentication)
    try federation.list(try made("signing"), of: "DE", for: .signing)
    try federation.list(try made("borrowed", "AT"), of: "DE", for: .authentication)
    // A digest that begins with a whole byte of zeros.
    while true {
      let key = P256.Signing.PrivateKey()
      let der = try SimulatedFederation.certificate("DE", "zero", key)
      guard try FederationCertificate(der: der).thumbprint.hasPrefix("00") else { continue }
      try federation.list(try write("zero", der, key), of: "DE", for: .authentication)
      break
    }
    // Subjects that a country's authority would not write.
    let openssl = try #require(Tool(named: "openssl"), "openssl makes certificates")
    for (name, subject) in [("stateless", "/O=x/CN=x"), ("two", "/C=DE/C=FR/CN=x")] {
      let made = try openssl.run(
        [
          "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
          subject, "-keyout", "\(name).key", "-out", "\(name).pem",
        ], in: folder)
      try #require(made.status == 0, "\(made.errors)")
    }
    return federation
  }

  struct Answer: CustomStringConvertible {
    let status: Int
    let code: String?
    let text: String
    var description: String { "\(status) \(text)" }
  }

  func text(_ name: String) throws -> String {
    try String(contentsOf: folder.appending(path: name), encoding: .utf8)
  }

  /// Asks for a day of the federation.
  func curl(
    _ arguments: [String], port: Int? = nil, path: String = "/diagnosiskeys/download/2020-12-01",
    scheme: String = "https"
  ) async throws -> Answer {
    let curl = try #require(Tool(named: "curl"), "needs curl: apt-get install curl")
    let outcome = try await offPool { [folder] in
      try curl.run(
        [
          "-sk", "--max-time", "30", "-H", "Accept: application/protobuf; version=1.0", "-w", "\n%{http_code}",
          "\(scheme)://127.0.0.1:\(port ?? self.port)\(path)",
        ] + arguments, in: folder)
    }
    let parts = outcome.text.split(separator: "\n")
    let body = parts.dropLast().joined(separator: "\n")
    let json = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
    return Answer(
      status: parts.last.flatMap { Int($0) } ?? -1, code: json?["code"] as? String, text: body + outcome.errors)
  }

  /// One request by OpenSSL's client, with what it says of the session.
  func session(_ arguments: [String]) async throws -> String {
    let openssl = try #require(Tool(named: "openssl"), "needs openssl")
    let request =
      "GET /diagnosiskeys/download/2020-12-01 HTTP/1.1\r\nHost: localhost\r\n"
      + "Accept: application/protobuf; version=1.0\r\nConnection: close\r\n\r\n"
    return try await offPool { [folder] in
      try openssl.run(
        ["s_client", "-connect", "127.0.0.1:\(port)", "-ign_eof"] + arguments, input: Array(request.utf8),
        in: folder
      ).text
    }
  }

  /// nginx with the configuration that is shipped, at a port of this machine, in front of the gateway.
  func running(_ nginx: Tool, _ body: (Int) async throws -> Void) async throws {
    let shipped = try String(
      contentsOf: (0..<4).reduce(URL(filePath: #filePath)) { place, _ in place.deletingLastPathComponent() }
        .appending(path: "interop/deploy/nginx-federation.conf"), encoding: .utf8)
    var settings = ServerSettings()
    try settings.useCertificate(in: folder)
    // Below those that systems give to clients.
    let front = Int.random(in: 20_000...32_000)
    var server = shipped
    for (old, new) in [
      ("listen 443 ssl", "listen 127.0.0.1:\(front) ssl"), ("/etc/nginx/tls/gateway.pem", "\(folder.path)/tls.pem"),
      ("/etc/nginx/tls/gateway.key", "\(folder.path)/tls.key"), ("http://127.0.0.1:8080", "http://127.0.0.1:\(apps)"),
    ] {
      try #require(server.contains(old))
      server = server.replacing(old, with: new)
    }
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
      "\($0)_temp_path \(folder.path)/\($0);"
    }.joined(separator: "\n")
    try Data(
      """
      daemon off;
      worker_processes 1;
      pid \(folder.path)/nginx.pid;
      error_log \(folder.path)/nginx.log;
      events {}
      http {
      access_log off;
      \(paths)
      \(server)
      }
      """.utf8
    ).write(to: folder.appending(path: "nginx.conf"))
    let process = Process()
    process.executableURL = URL(filePath: nginx.path)
    process.arguments = ["-p", folder.path, "-c", "\(folder.path)/nginx.conf", "-e", "\(folder.path)/nginx.log"]
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    for _ in 0..<100 {
      if try await curl([], port: front, path: "/").status == 200 { break }
      try await Task.sleep(for: .milliseconds(100))
    }
    try await body(front)
  }
}

/// What blocks, on a thread that may be blocked.
private func offPool<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue.global().async { continuation.resume(with: Result(catching: body)) }
  }
}
