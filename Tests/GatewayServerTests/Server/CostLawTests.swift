import Crypto
import ExposureKeys
import Foundation
import GatewayTesting
import Glibc
import HTTPTypes
import HummingbirdTesting
import KeyIntake
import KeyStorage
import Testing

@testable import BundleTrust
@testable import Federation
@testable import GatewayDaemon
@testable import GatewayServer

/// What a stranger's request costs is bounded for each byte that he sends, at every address of `schemas/openapi.json`, with
/// what is costliest to read: long targets, many fields, members, ranges and validators, deep and wide JSON, batches of the
/// smallest keys.
@Suite("What a request may cost", .serialized)
struct CostLawTests {
  /// Which of the servers has an address.
  private enum Server: CaseIterable { case publications, uploads, federation }

  /// A request of the kind that the address is for, and how it is answered: what the walk changes reaches its code.
  private struct Example {
    var server: Server
    var target: String
    /// Not that there is nothing here, where a good request has an answer.
    var status: Int
    init(_ server: Server, _ target: String, _ status: Int = 200) {
      (self.server, self.target, self.status) = (server, target, status)
    }
  }

  private static let archive = "1606780800-1606788000-00001"

  /// Those with 404 ask for what the sample does not hold; the answer comes from the address's own code all the same.
  private static let examples: [String: Example] = [
    "GET /": .init(.publications, "/"),
    "GET /api/series": .init(.publications, "/api/series"),
    "GET /apple/configuration": .init(.publications, "/apple/configuration"),
    "GET /apple/files": .init(.publications, "/apple/files"),
    "GET /apple/keys": .init(.publications, "/apple/keys?index=0"),
    "GET /apple/{series}/archives/{name}": .init(.publications, "/apple/NL/archives/\(archive)", 404),
    "GET /apple/{series}/archives/{name}.bin": .init(.publications, "/apple/NL/archives/\(archive).bin", 404),
    "GET /apple/{series}/archives/{name}.sig": .init(.publications, "/apple/NL/archives/\(archive).sig", 404),
    "GET /apple/{series}/configuration": .init(.publications, "/apple/NL/configuration"),
    "GET /apple/{series}/files": .init(.publications, "/apple/NL/files"),
    "GET /apple/{series}/keys": .init(.publications, "/apple/NL/keys?index=0"),
    "POST /apple/{series}/keys": .init(.uploads, "/apple/VA/keys", 400),
    "GET /dp3t/{series}/v1/config": .init(.publications, "/dp3t/NL/v1/config"),
    "GET /dp3t/{series}/v1/gaen/buckets/{day}": .init(.publications, "/dp3t/NL/v1/gaen/buckets/2020-12-01"),
    "GET /dp3t/{series}/v1/gaen/exposed/{date}": .init(.publications, "/dp3t/NL/v1/gaen/exposed/1606780800000", 404),
    "GET /dp3t/{series}/v2/gaen/exposed": .init(.publications, "/dp3t/NL/v2/gaen/exposed"),
    "GET /health": .init(.publications, "/health"),
    "GET /index.txt": .init(.publications, "/index.txt"),
    "GET /log/checkpoint": .init(.publications, "/log/checkpoint"),
    "GET /log/log.vkey": .init(.publications, "/log/log.vkey"),
    "GET /log/tile/{kind}/{tile}": .init(.publications, "/log/tile/entries/000.p/7"),
    "GET /metrics": .init(.publications, "/metrics"),
    "GET /openapi.json": .init(.publications, "/openapi.json"),
    "GET /ready": .init(.publications, "/ready"),
    "GET /ready/publishing": .init(.publications, "/ready/publishing"),
    "GET /roaming.json": .init(.publications, "/roaming.json"),
    "GET /v1/config": .init(.publications, "/v1/config"),
    "GET /v1/gaen/buckets/{day}": .init(.publications, "/v1/gaen/buckets/2020-12-01"),
    "POST /v1/gaen/exposed": .init(.uploads, "/v1/gaen/exposed", 400),
    "GET /v1/gaen/exposed/{date}": .init(.publications, "/v1/gaen/exposed/1606780800000", 404),
    "POST /v1/gaen/exposednextday": .init(.uploads, "/v1/gaen/exposednextday", 400),
    "GET /v1/keys/eu/{country}/index": .init(.publications, "/v1/keys/eu/NL/index"),
    "GET /v1/keys/eu/{country}/{number}": .init(.publications, "/v1/keys/eu/NL/1"),
    "GET /v1/keys/index": .init(.publications, "/v1/keys/index"),
    "GET /v1/keys/{number}": .init(.publications, "/v1/keys/1"),
    "POST /v1/publish": .init(.uploads, "/v1/publish", 400),
    "POST /v1alpha1/publish": .init(.uploads, "/v1alpha1/publish", 400),
    "GET /v2/gaen/exposed": .init(.publications, "/v2/gaen/exposed"),
    "POST /v2/gaen/exposed": .init(.uploads, "/v2/gaen/exposed", 400),
    "GET /version/v1/diagnosis-keys/country": .init(.publications, "/version/v1/diagnosis-keys/country"),
    "GET /version/v1/diagnosis-keys/country/{country}/date": .init(
      .publications, "/version/v1/diagnosis-keys/country/NL/date"),
    "GET /version/v1/diagnosis-keys/country/{country}/date/{date}": .init(
      .publications, "/version/v1/diagnosis-keys/country/NL/date/2020-12-01", 404),
    "GET /version/v1/diagnosis-keys/country/{country}/date/{date}/hour": .init(
      .publications, "/version/v1/diagnosis-keys/country/NL/date/2020-12-01/hour"),
    "GET /version/v1/diagnosis-keys/country/{country}/date/{date}/hour/{hour}": .init(
      .publications, "/version/v1/diagnosis-keys/country/NL/date/2020-12-01/hour/2", 404),
    "GET /{series}/SHA256SUMS": .init(.publications, "/NL/SHA256SUMS"),
    "GET /{series}/keys.json": .init(.publications, "/NL/keys.json"),
    "GET /{series}/index.txt": .init(.publications, "/NL/index.txt"),
    "GET /{series}/manifest.json": .init(.publications, "/NL/manifest.json"),
    "GET /{series}/{file}.zip": .init(.publications, "/NL/\(archive).zip"),
    "GET /{series}/{file}.zip.intoto.jsonl": .init(.publications, "/NL/\(archive).zip.intoto.jsonl"),
    "GET /{series}/{file}.zip.tlog-proof": .init(.publications, "/NL/\(archive).zip.tlog-proof"),
    "OPTIONS /diagnosiskeys": .init(.federation, "/diagnosiskeys"),
    "GET /diagnosiskeys/audit/download/{date}/{batchTag}": .init(
      .federation, "/diagnosiskeys/audit/download/2020-12-01/20201201-1"),
    "GET /diagnosiskeys/callback": .init(.federation, "/diagnosiskeys/callback"),
    "DELETE /diagnosiskeys/callback/{callbackId}": .init(.federation, "/diagnosiskeys/callback/a", 404),
    "PUT /diagnosiskeys/callback/{callbackId}": .init(.federation, "/diagnosiskeys/callback/a", 400),
    "GET /diagnosiskeys/download/{date}": .init(.federation, "/diagnosiskeys/download/2020-12-01"),
    "GET /diagnosiskeys/statistics": .init(.federation, "/diagnosiskeys/statistics", 404),
    "POST /diagnosiskeys/upload": .init(.federation, "/diagnosiskeys/upload", 400),
  ]

  /// The three servers with all their doors, and what they hold.
  private struct Servers {
    let fixture: PublicationFixture
    let configured: ConfiguredGateway
    let federation: TestGateway
    let apps: [Server: GatewayApplication]

    init() async throws {
      fixture = try PublicationFixture()
      try fixture.publish("NL", bundles: 2, keys: 100)
      for path in [
        "log/checkpoint", "log/log.vkey", "log/tile/entries/000.p/7", "NL/\(archive).zip.tlog-proof",
        "NL/\(archive).zip.intoto.jsonl",
      ] {
        try fixture.write(path, "content")
      }
      var settings = ServerSettings()
      settings.logFolder = "log"
      let layouts = LayoutCatalog(LayoutSettings(settings, exposureConfiguration: Array("{}".utf8))).layouts
      configured = try ConfiguredGateway()
      federation = try TestGateway(
        ["DE", "FR"],
        callbacks: { ledger, clock in
          let federation = try SimulatedFederation(["XX"])
          let settings = FederationCallbackSettings(
            certificatePEM: federation.trust.anchor.pem,
            privateKeyPEM: Secret(federation.anchor.pemRepresentation))
          return try CallbackSetup(settings, ledger: ledger, version: "1", clock: clock).registration
        })
      var random = SeededRandom(seed: 3)
      let sent = NationalBatch(20, of: "FR", at: TestGateway.noon, &random)
      _ = try await federation.upload(sent, tag: "one", of: "FR")
      try await federation.close()
      apps = [
        .publications: try GatewayApplication.testing(
          fixture, layouts: layouts, settings: settings, publishing: Readiness()),
        .uploads: try configured.application(), .federation: federation.app,
      ]
    }

    func ask(
      _ example: Example, _ method: HTTPRequest.Method, _ target: String? = nil, _ fields: HTTPFields = [:],
      _ body: [UInt8]? = nil
    ) async throws -> Int {
      var headers = fields
      switch example.server {
      case .publications: break
      case .uploads:
        headers[.contentType] = headers[.contentType] ?? "application/json"
        headers[.authorization] = headers[.authorization] ?? "Bearer secret-token-of-all"
      case .federation:
        for field in try federation.federation.proxyFields("DE") where headers[field.name] == nil {
          headers.append(field)
        }
        headers[.accept] = headers[.accept] ?? TestGateway.protobuf
        if method == .post {
          headers[.contentType] = headers[.contentType] ?? TestGateway.protobuf
          headers[.batchTag] = headers[.batchTag] ?? "tag"
          headers[.batchSignature] = headers[.batchSignature] ?? "AAAA"
        }
      }
      let app = try #require(apps[example.server])
      return try await app.ask(target ?? example.target, method, headers: headers, body: body).code
    }
  }

  private static func addresses() throws -> Set<String> {
    let root = (0..<4).reduce(URL(filePath: #filePath)) { place, _ in place.deletingLastPathComponent() }
    let document = try JSONSerialization.jsonObject(
      with: Data(contentsOf: root.appending(path: "schemas/openapi.json")))
    let paths = try #require((document as? [String: Any])?["paths"] as? [String: [String: Any]])
    let verbs: Set = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]
    return Set(
      paths.flatMap { path, methods in
        methods.keys.filter(verbs.contains).map { "\($0.uppercased()) \(path)" }
      })
  }

  @Test("every address of the document has an example that its code answers") func everyAddressIsReached() async throws
  {
    #expect(try Self.addresses().symmetricDifference(Self.examples.keys).sorted() == [])
    let servers = try await Servers()
    for (address, example) in Self.examples.sorted(by: { $0.key < $1.key }) {
      let code = try await servers.ask(example, Self.method(address), nil, [:], body(of: address))
      #expect(code == example.status, "\(address)")
    }
  }

  private func body(of address: String) -> [UInt8]? { address.hasPrefix("POST") ? Array("[".utf8) : nil }

  private static func method(_ address: String) -> HTTPRequest.Method {
    HTTPRequest.Method(String(address.prefix { $0 != " " })) ?? .get
  }

  // MARK: The costliest

  private struct Costly {
    let what: String
    var target: String?
    var fields: HTTPFields = [:]
    var body: [UInt8]?

    /// As it goes over the wire, nearly.
    var byteCount: Int {
      (target?.utf8.count ?? 20) + fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 }
        + (body?.count ?? 0)
    }
  }

  /// Fields that are long, have many members, and name what takes time to look for.
  private static func fields(_ bytes: Int) -> [Costly] {
    func repeated(_ text: String) -> String { String(repeating: text, count: bytes / text.utf8.count) }
    func named(_ name: String, _ value: String) -> Costly {
      var fields = HTTPFields()
      if let name = HTTPField.Name(name) { fields[name] = value }
      return Costly(what: name, fields: fields)
    }
    var many = HTTPFields()
    for number in 0..<90 {
      if let name = HTTPField.Name("x-\(number)") {
        many.append(HTTPField(name: name, value: repeated("a").prefix(80).description))
      }
    }
    return [
      named("Accept-Encoding", repeated("gzip;q=0.001, ")), named("If-None-Match", repeated("W/\"a\", ")),
      named("If-None-Match", repeated("\"\",")), named("Range", "bytes=" + repeated("0-0,")),
      named("Range", "bytes=" + repeated("-1,")), named("If-Range", repeated("\"")),
      named("If-Modified-Since", repeated("Sunday, ")), named("Authorization", "Bearer " + repeated("a.")),
      named("Accept", repeated("a/b;q=0.1,")), named("Content-Type", "application/json" + repeated("; a=b")),
      named("X-Forwarded-For", repeated("10.0.0.1,")), named("Forwarded", repeated("for=\"[::1]:1\";by=_a,")),
      named("batchTag", repeated("a")), named("batchSignature", repeated("A")),
      named("X-SSL-Client-DN", "C=" + repeated("\\,")), Costly(what: "many fields", fields: many),
    ]
  }

  /// In the place of each variable, and of the query.
  private static func targets(_ path: String) -> [Costly] {
    let bytes = 1900
    func filled(_ filling: String) -> String {
      let parts = path.split(separator: "{", omittingEmptySubsequences: false)
      guard parts.count > 1 else { return path + "?" + filling.prefix(bytes) }
      var target = String(parts[0])
      for part in parts.dropFirst() {
        target += filling.prefix(bytes / parts.count)
        target += part.drop { $0 != "}" }.dropFirst()
      }
      return target
    }
    func repeated(_ text: String) -> String { String(repeating: text, count: bytes / text.utf8.count) }
    let plain = path.filter { $0 != "{" && $0 != "}" }
    return [
      Costly(what: "digits", target: filled(repeated("9"))), Costly(what: "escapes", target: filled(repeated("%2e"))),
      Costly(what: "separators", target: filled(repeated("-"))),
      Costly(what: "segments", target: path + repeated("/a")),
      Costly(what: "members", target: plain + "?" + String(repeated("a=&").prefix(bytes - 100))),
      Costly(what: "one member again", target: plain + "?" + String(repeated("index=1&").prefix(bytes - 100))),
    ]
  }

  private static func bodies(_ bytes: Int) -> [Costly] {
    func repeated(_ text: String) -> [UInt8] { Array(String(repeating: text, count: bytes / text.utf8.count).utf8) }
    func json(_ what: String, _ body: [UInt8]) -> Costly { Costly(what: what, body: body) }
    func list(_ start: String, _ end: String) -> [UInt8] { Array(start.utf8) + repeated("{},") + Array(end.utf8) }
    var names = Array("{".utf8)
    for number in 0..<bytes / 16 { names += Array("\"\(number)\":[],".utf8) }
    names += Array("\"\":0}".utf8)
    return [
      json("arrays", repeated("[")), json("objects", repeated("{\"a\":")), json("text", repeated("\"")),
      json("escapes", [0x22] + repeated("\\u0000")), json("digits", repeated("1")),
      json("exponent", Array("1e".utf8) + repeated("9")), json("spaces", repeated(" ")),
      json("keys", list("{\"temporaryExposureKeys\":[", "{}]}")), json("gaenKeys", list("{\"gaenKeys\":[", "{}]}")),
      json("key array", list("[", "{}]")), json("federation's keys", list("{\"keys\":[", "{}]}")), json("names", names),
    ]
  }

  /// In both forms that a federation takes; the smallest keys, and one key with many countries.
  private static func batches(_ bytes: Int) -> [Costly] {
    func repeated(_ piece: [UInt8]) -> [UInt8] { Array(repeatElement(piece, count: bytes / piece.count).joined()) }
    var length = bytes
    var prefix: [UInt8] = [0x0A]
    while length > 127 {
      prefix.append(UInt8(length & 0x7F) | 0x80)
      length >>= 7
    }
    prefix.append(UInt8(length))
    var all = [
      Costly(what: "smallest keys", body: repeated([0x0A, 0x00])),
      Costly(what: "small keys", body: repeated([0x0A, 0x02, 0x4A, 0x00])),
      Costly(what: "countries", body: prefix + repeated([0x3A, 0x00])),
      Costly(what: "unknown fields", body: repeated([0xF8, 0x3F, 0x01])),
    ]
    for var body in bodies(bytes) {
      body.fields[.contentType] = TestGateway.json
      all.append(body)
    }
    return all
  }

  private static func requests(to address: String, _ example: Example) -> [Costly] {
    let path = String(address.drop { $0 != " " }.dropFirst())
    var all = fields(8000) + targets(path)
    guard address.hasPrefix("POST") else { return all }
    for index in all.indices { all[index].body = Array("[]".utf8) }
    return all + (example.server == .federation ? batches(400_000) : bodies(60_000))
  }

  // MARK: The bounds

  /// Seconds of processor and bytes of memory for each byte that was sent, in debug code, and what any request may cost.
  private static let secondsPerByte = 6e-6
  private static let seconds = 0.15
  private static let bytesPerByte = 96
  private static let bytes = 6 << 20

  @Test("time and memory are bounded for each byte that is sent", .timeLimit(.minutes(3)))
  func everyAddress() async throws {
    let servers = try await Servers()
    var worst = (time: (ratio: 0.0, what: ""), memory: (ratio: 0.0, what: ""))
    for (address, example) in Self.examples.sorted(by: { $0.key < $1.key }) {
      for request in Self.requests(to: address, example) {
        let allowed = (
          seconds: Self.seconds + Double(request.byteCount) * Self.secondsPerByte,
          bytes: Self.bytes + request.byteCount * Self.bytesPerByte
        )
        let what = "\(address) with \(request.what) of \(request.byteCount) bytes"
        var cost = try await Self.cost { try await ask(servers, address, example, request) }
        // Others work in the same process, and a memory is measured by its pages.
        for _ in 0..<3 where cost.seconds > allowed.seconds || cost.bytes > allowed.bytes {
          let again = try await Self.cost { try await ask(servers, address, example, request) }
          cost = (min(cost.seconds, again.seconds), min(cost.bytes, again.bytes), again.status)
        }
        #expect(cost.status < 500, "\(what)")
        #expect(cost.seconds <= allowed.seconds, "\(what)")
        #expect(cost.bytes <= allowed.bytes, "\(what)")
        let ratios = (cost.seconds / allowed.seconds, Double(cost.bytes) / Double(allowed.bytes))
        if ratios.0 > worst.time.ratio { worst.time = (ratios.0, "\(what): \(cost.seconds) s") }
        if ratios.1 > worst.memory.ratio { worst.memory = (ratios.1, "\(what): \(cost.bytes) bytes") }
      }
    }
    print("costliest: \(worst.time); \(worst.memory)")
  }

  private func ask(_ servers: Servers, _ address: String, _ example: Example, _ request: Costly) async throws -> Int {
    try await servers.ask(example, Self.method(address), request.target, request.fields, request.body)
  }

  /// What the process needs meanwhile, all threads together.
  private static func cost(
    _ body: () async throws -> Int
  ) async throws -> (seconds: Double, bytes: Int, status: Int) {
    try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
    let (before, began) = (try kibibytes("VmRSS:"), processorSeconds())
    let status = try await body()
    return (processorSeconds() - began, max(0, try kibibytes("VmHWM:") - before) << 10, status)
  }

  private static func kibibytes(_ name: String) throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name) })
    return try #require(Int(line.filter(\.isNumber)))
  }
}
