import AsyncHTTPClient
import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import HTTPTypes
import KeyInspection
import KeyPublishing
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import ProgramMetrics
import ServiceLifecycle
import Testing

@testable import GatewayServer

@Suite("Over HTTP/2 and HTTP/1.1", .serialized)
struct VersionTests {
  let fixture: PublicationFixture
  let settings: ServerSettings
  let small: SeriesManifest.Bundle
  let large: SeriesManifest.Bundle

  init() throws {
    fixture = try PublicationFixture()
    small = try #require(try fixture.publish("NL", bundles: 3).bundles.first)
    large = try #require(try fixture.publish("BE", bundles: 1, keys: 30_000).bundles.first)
    var settings = ServerSettings()
    try settings.useCertificate(in: fixture.folder)
    settings.port = 0
    self.settings = settings
  }

  private func application(
    _ change: (inout ServerSettings) -> Void = { _ in }, metrics: GatewayMetrics = GatewayMetrics(),
    limits: ServerLimits = ServerLimits(), checkInterval: Double = 1000
  ) throws -> GatewayApplication {
    var settings = settings
    change(&settings)
    let exposure = ExposureConfiguration.defaultJSON
    let catalog = LayoutCatalog(LayoutSettings(settings, exposureConfiguration: exposure))
    return try GatewayApplication.testing(
      fixture, layouts: catalog.layouts, settings: settings, metrics: metrics, limits: limits,
      store: fixture.store(checkInterval: checkInterval))
  }

  @Test("A client has the version that it prefers, and HTTP/1.1 where it names none", .timeLimit(.minutes(1)))
  func negotiation() async throws {
    try await application().whileServing { port in
      for (version, expected) in [
        (HTTPClient.Configuration.HTTPVersion.automatic, HTTPVersion.http2), (.http1Only, .http1_1),
      ] {
        try await withClient(version) { client in
          let response = try await client.get("https://localhost:\(port)/\(large.path)")
          #expect(response.version == expected)
          #expect(response.status == .ok)
          #expect(sha256(response.bytes) == large.sha256)
          #expect(response.headers["Strict-Transport-Security"] == ["max-age=31536000"])
          let date = try #require(response.headers.first(name: "Date").flatMap(HTTPDate.instant))
          #expect(date == PublicationFixture.noon)
        }
      }
      let script = """
        import http.client, ssl
        context = ssl._create_unverified_context()
        context.set_alpn_protocols([])
        connection = http.client.HTTPSConnection("localhost", \(port), timeout=20, context=context)
        connection.request("GET", "/NL/index.txt")
        print(connection.getresponse().status, connection.sock.selected_alpn_protocol())
        """
      #expect(try await python(script, input: []) == "200 None\n")
    }
  }

  /// Phones compare it with their clock, and files are never newer than it.
  @Test("Every answer has the date of the gateway's clock", .timeLimit(.minutes(1)))
  func date() async throws {
    try await application().whileServing { port in
      let script = """
        import socket, ssl, subprocess
        context = ssl._create_unverified_context()
        def ask(text):
          s = context.wrap_socket(socket.create_connection(("localhost", \(port)), timeout=20))
          s.sendall(text)
          d = b""
          while piece := s.recv(65536): d += piece
          return d.decode("latin1")
        head = b" HTTP/1.1\\r\\nHost: localhost\\r\\n"
        plain = b"GET /NL/index.txt" + head + b"\\r\\n"
        close = b"GET /ready" + head + b"Connection: close\\r\\n\\r\\n"
        answers = ask(plain + plain + close) + ask(plain + close) + ask(b"no request\\r\\n\\r\\n")
        for path in ["NL/index.txt", "NL/index.txt", "missing", "ready/publishing"]:
          answers += subprocess.run(["curl", "-sk", "--http2", "-D", "-", f"https://localhost:\(port)/{path}"], capture_output=True, text=True).stdout
        print(sorted(set(line[6:] for line in answers.splitlines() if line.lower().startswith("date: "))))
        """
      let dates = try await python(script, input: [])
      #expect(dates == "['\(HTTPDate.text(PublicationFixture.noon))']\n")
    }
  }

  @Test(
    "TLS 1.2 takes suites that authenticate what they encrypt, and none with CBC", .timeLimit(.minutes(1)),
    arguments: [
      ("ECDHE-ECDSA-AES128-GCM-SHA256", true), ("ECDHE-ECDSA-CHACHA20-POLY1305", true),
      ("ECDHE-ECDSA-AES128-SHA", false), ("ECDHE-ECDSA-AES256-SHA", false),
    ])
  func suites(name: String, isTaken: Bool) async throws {
    try await application().whileServing { port in
      let output = try await run(
        "sh",
        [
          "-c",
          "openssl s_client -connect localhost:\(port) -tls1_2 -cipher \(name):@SECLEVEL=0 </dev/null 2>&1; true",
        ])
      #expect(output.contains("Cipher is \(name)") == isTaken, "\(output)")
      #expect(output.contains("alert handshake failure") == !isTaken, "\(output)")
    }
  }

  @Test("The same limits hold", .timeLimit(.minutes(1)))
  func limits() async throws {
    try await application().whileServing { port in
      for version in [HTTPClient.Configuration.HTTPVersion.automatic, .http1Only] {
        try await withClient(version) { client in
          let many = HTTPHeaders((0..<101).map { ("x-\($0)", "1") })
          for (method, path, headers, status) in [
            (HTTPMethod.GET, "/", many, HTTPResponseStatus.requestHeaderFieldsTooLarge),
            (.GET, "/" + String(repeating: "a", count: 3000), [:], .uriTooLong), (.DELETE, "/", [:], .methodNotAllowed),
            (.GET, "/NL/index.txt", [:], .ok),
          ] {
            let response = try await client.send(method, "https://localhost:\(port)\(path)", headers)
            #expect(response.status == status)
            #expect(
              response.headers["connection"].isEmpty
                == (version == .automatic || status == .ok || status == .uriTooLong))
          }
        }
      }
    }
  }

  @Test("A request that is not read to its end ends its stream, and the connection goes on", .timeLimit(.minutes(1)))
  func unreadRequests() async throws {
    let app = try application({ $0.uploads = [UploadSettings(token: "secret")] })
    try await app.whileServing { port in
      for (method, path, status) in [("POST", "/v1/publish", 413), ("POST", "/", 405), ("GET", "/NL/index.txt", 200)] {
        let ask = "curl -sk --http2 -m 20 -o /dev/null -w '%{http_code} %{http_version} %{num_connects}\\n'"
        let script = """
          yes | \(ask) -X \(method) -H 'content-type: application/json' -T - https://localhost:\(port)\(path) \\
            --next \(ask.dropFirst(5)) https://localhost:\(port)/NL/index.txt
          """
        let output = try await run("sh", ["-c", script])
        #expect(output == "\(status) 2 1\n200 2 0\n", "\(method) \(path)")
      }
    }
  }

  @Test("A client that asks too often waits, over whichever version it asks", .timeLimit(.minutes(1)))
  func rateLimit() async throws {
    let metrics = GatewayMetrics()
    let app = try application({ $0.requestsPerMinute = 12 }, metrics: metrics)
    try await app.whileServing { port in
      var statuses: [UInt] = []
      for version in [HTTPClient.Configuration.HTTPVersion.automatic, .http1Only] {
        try await withClient(version) { client in
          for _ in 0..<4 { statuses.append(try await client.get("https://localhost:\(port)/NL/index.txt").status.code) }
        }
      }
      #expect(statuses == [200, 200, 200, 200, 200, 200, 429, 429])
    }
    #expect(metrics.text.contains("\nkeyferry_http_rate_limited_total 2\n"))
    #expect(!metrics.text.contains("\nkeyferry_http_repeated_answers_total 0\n"))
  }

  @Test(
    "Who is silent, does not read, or never ends a request is let go",
    .timeLimit(.minutes(1)), arguments: ["handshake", "preface", "silent", "request", "window"])
  func slowClients(what: String) async throws {
    var limits = ServerLimits()
    limits.idleSeconds = what == "window" ? 4 : 1
    limits.stalledSeconds = 1
    limits.headSeconds = 1
    try await application(limits: limits).whileServing { port in
      let output = try await python(
        HTTP2Scripts.frames + HTTP2Scripts.slow, input: Array("\(port) \(what) /\(large.path)".utf8))
      #expect(output == "let go\n")
    }
  }

  @Test("A server that shuts down responds to what it was asked, and says that it goes", .timeLimit(.minutes(1)))
  func shutdown() async throws {
    let (app, large) = (try application(), large)
    try await app.whileServing { port, group in
      async let output = python(
        HTTP2Scripts.frames + HTTP2Scripts.shutdown, input: Array("\(port) /\(large.path)".utf8))
      // The first response has begun when the server has made it.
      while !app.responder.metrics.text.contains("route=\"file\"") { try await Task.sleep(for: .milliseconds(20)) }
      await group.triggerGracefulShutdown()
      let said = try await output
      #expect(said == "\(large.bytes) bytes, then goodbye\n")
    }
  }

  @Test("A server that ends soon says so to who keeps a connection, and answers all the same", .timeLimit(.minutes(1)))
  func leaving() async throws {
    let (app, large) = (try application(), large)
    try await app.whileServing { port in
      async let output = python(HTTP2Scripts.frames + HTTP2Scripts.leaving, input: Array("\(port) /\(large.path)".utf8))
      while !app.responder.metrics.text.contains("route=\"file\"") { try await Task.sleep(for: .milliseconds(20)) }
      app.responder.connections.beginLeaving()
      #expect(try await output == "goodbye\n")
      // Who comes now is answered.
      let later = try await run(
        "curl", ["-sk", "--http1.1", "-D", "-", "-o", "/dev/null", "https://localhost:\(port)/NL/index.txt"])
      #expect(later.hasPrefix("HTTP/1.1 200") && later.lowercased().contains("connection: close"), "\(later)")
      let same = try await run(
        "curl", ["-sk", "--http2", "-o", "/dev/null", "-w", "%{http_code}", "https://localhost:\(port)/NL/index.txt"])
      #expect(same == "200")
    }
  }

  // MARK: The law of stored responses

  @Test(
    "Whatever is asked, a stored response is the one that would be made, over HTTP/1.1 and over HTTP/2",
    .timeLimit(.minutes(5)), arguments: LongList.cases([nil, "https://keys.example.org"]))
  func law(publicURL: String?) async throws {
    let metrics = GatewayMetrics()
    let change = { (settings: inout ServerSettings) in
      settings.publicURL = publicURL
      settings.responseKeyPEM = Secret(fixture.identity.key.pemRepresentation)
    }
    let storing = try application(change, metrics: metrics)
    // It looks at its folder for each request, and so makes every response.
    let making = try application(change, checkInterval: 0)
    var requests = RandomRequests(fixture, storing.responder.retrievals)
    try await storing.whileServing { port in
      try await making.whileServing { other in
        try await withClient(.http1Only) { http1 in
          try await withClient { http2 in
            for number in 0..<300 {
              let request = requests.next()
              var seen: [Seen] = []
              for (client, port) in [
                (http1, port), (http2, port), (http1, port), (http2, port), (http1, other), (http2, other),
              ] {
                seen.append(try await client.see(request, port))
              }
              requests.remember(seen[0], of: request)
              #expect(seen[0] == seen[2] && seen[1] == seen[3] && seen[0] == seen[1], "\(request)")
              for index in seen.indices { seen[index].fields["signature"] = nil }
              #expect(seen[4] == seen[0] && seen[5] == seen[0], "\(number): \(request)")
            }
          }
        }
      }
    }
    let statuses = requests.statuses
    for status: UInt in [200, 204, 206, 304, 400, 404, 412, 416] { #expect(statuses[status] ?? 0 > 0, "\(statuses)") }
    let repeated = metrics.text.split(separator: "\n").first { $0.hasPrefix("keyferry_http_repeated_answers_total ") }
    #expect(repeated.flatMap { Int($0.split(separator: " ")[1]) } ?? 0 > 300)
  }
}

/// What a client sees of a response.
private struct Seen: Equatable, CustomStringConvertible {
  var status: UInt
  /// By their names in small letters.
  var fields: [String: [String]]
  var body: [UInt8]

  var description: String { "\(status) \(fields) \(body.count) bytes" }
}

private struct RandomRequest: CustomStringConvertible {
  var method = HTTPMethod.GET
  var target: String
  var fields: HTTPHeaders = [:]

  var description: String { "\(method) \(target) \(fields)" }
}

/// Requests for all addresses, of which most have something to say.
private struct RandomRequests {
  private var random = SeededRandom(for: "stored responses")
  private let templates: [String]
  private let values: [String]
  private let files: [String]
  private var tags: [String: String] = [:]
  private(set) var statuses: [UInt: Int] = [:]
  /// One for each status, before chance has its way.
  private var certain: [RandomRequest]

  init(_ fixture: PublicationFixture, _ responder: RetrievalResponder) {
    templates = LayoutCatalog.all.flatMap { $0.templates }
    let bundles = responder.store.publications.series.flatMap(\.increments)
    files = bundles.map { "/\($0.facts.path)" } + ["/NL/index.txt", "/NL/manifest.json", "/BE/SHA256SUMS"]
    let names = bundles.map { String($0.fileName.dropLast(4)) }
    values =
      names + names.map { "NL-\($0)" } + ["NL", "NL", "NL", "BE", "XX", "1", "2", "3", "9", "2020-12-01"]
      + ["1606780800000", "0", "2", "x"]
    certain = [
      RandomRequest(target: "/v2/gaen/exposed?lastKeyBundleTag=1606788000000&a=b"), RandomRequest(target: "/%zz"),
      RandomRequest(target: files[0], fields: ["range": "bytes=0-9"]), RandomRequest(target: "/missing"),
      RandomRequest(target: files[0], fields: ["range": "bytes=99999999-"]),
      RandomRequest(target: files[0], fields: ["if-match": "\"y\""]),
      RandomRequest(target: files[0], fields: ["if-none-match": "*"]),
    ]
  }

  mutating func next() -> RandomRequest {
    if let request = certain.popLast() { return request }
    var request = RandomRequest(target: target())
    if Int.random(in: 0..<8, using: &random) == 0 { request.method = .HEAD }
    if Bool.random(using: &random) { request.target += query() }
    request.fields.add(name: "host", value: random.pick(["keys.test", "keys.test", "other.test:8443"]))
    let tag = tags[request.target] ?? "\"x\""
    let date = HTTPDate.text(Instant(secondsSince1970: PublicationFixture.noon.secondsSince1970 - 43_200 + 7200))
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      let (name, values) = random.pick(
        [
          ("accept-encoding", ["gzip", "br, gzip;q=0.5", "gzip;q=0", "identity", "*", "gzip, br"]),
          ("if-none-match", [tag, tag, "\"y\"", "*", "W/\(tag)", "no tag", String(tag.dropLast()) + "-gzip\""]),
          ("if-match", [tag, "\"y\"", "*"]), ("if-modified-since", [date, "Tue, 01 Dec 2037 12:00:00 GMT", "never"]),
          ("range", ["bytes=0-9", "bytes=5-", "bytes=-7", "bytes=99999999-", "bytes=1-2,4-5", "lines=1-2"]),
          ("if-range", [tag, date, "\"y\""]), ("if-unmodified-since", [date]), ("user-agent", ["a", "b/1"]),
          ("cookie", ["a=b"]), ("x-forwarded-for", ["192.0.2.1"]), ("accept-language", ["nl", "de"]),
          ("authorization", ["Bearer x"]),
        ] as [(String, [String])])
      request.fields.replaceOrAdd(name: name, value: random.pick(values))
    }
    return request
  }

  private mutating func target() -> String {
    switch Int.random(in: 0..<10, using: &random) {
    case 0:
      return random.pick(["/", "/", "/api/series", "/health", "/ready", "/missing", "/%zz", "//", "/a/../b", "/NL"])
    case 1, 2, 3: return random.pick(files)
    default:
      return random.pick(templates).split(separator: "{").map { part in
        guard let close = part.firstIndex(of: "}") else { return String(part) }
        return random.pick(values) + part[part.index(after: close)...]
      }.joined()
    }
  }

  private mutating func query() -> String {
    let pairs = (0...Int.random(in: 0...2, using: &random)).map { _ in
      let name = random.pick(LayoutCatalog.parameters.keys.sorted() + ["junk", "a"])
      return
        "\(name)=\(random.pick(["0", "1", "2", "5", "1606788000000", "1606802400000", "1606831200000", "x", "true", "archives", ""]))"
    }
    return "?" + pairs.joined(separator: "&")
  }

  mutating func remember(_ seen: Seen, of request: RandomRequest) {
    statuses[seen.status, default: 0] += 1
    if let tag = seen.fields["etag"]?.first { tags[request.target] = tag }
  }
}

private struct Received {
  var version: HTTPVersion
  var status: HTTPResponseStatus
  var headers: HTTPHeaders
  var bytes: [UInt8]
}

extension HTTPClient {
  fileprivate func get(_ url: String) async throws -> Received { try await send(.GET, url) }

  fileprivate func send(
    _ method: HTTPMethod, _ url: String, _ headers: HTTPHeaders = [:], _ body: HTTPClientRequest.Body? = nil
  ) async throws -> Received {
    var request = HTTPClientRequest(url: url)
    request.method = method
    request.headers = headers
    request.body = body
    let response = try await execute(request, timeout: .seconds(20))
    let bytes = try await response.body.collect(upTo: 1 << 26)
    return Received(
      version: response.version, status: response.status, headers: response.headers,
      bytes: Array(bytes.readableBytesView))
  }

  fileprivate func see(_ request: RandomRequest, _ port: Int) async throws -> Seen {
    let received = try await send(request.method, "https://localhost:\(port)\(request.target)", request.fields)
    var fields = Dictionary(grouping: received.headers, by: { $0.name.lowercased() }).mapValues { $0.map(\.value) }
    #expect(fields["date"]?.count == 1)
    fields["date"] = nil
    return Seen(status: received.status.code, fields: fields, body: received.bytes)
  }
}

/// With a client that believes any certificate.
private func withClient<Value>(
  _ version: HTTPClient.Configuration.HTTPVersion = .automatic, _ body: (HTTPClient) async throws -> Value
) async throws -> Value {
  var configuration = HTTPClient.Configuration(certificateVerification: .none)
  configuration.httpVersion = version
  let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  do {
    let value = try await body(client)
    try await client.shutdown()
    return value
  } catch {
    try await client.shutdown()
    throw error
  }
}

extension ServerSettings {
  /// A certificate for localhost, and its key.
  mutating func useCertificate(in folder: URL) throws {
    let tool = try #require(Tool(named: "openssl"), "openssl makes the certificate")
    let (key, certificate) = (folder.appending(path: "tls.key"), folder.appending(path: "tls.pem"))
    let made = try tool.run([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
      "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key.path, "-out", certificate.path,
    ])
    try #require(made.status == 0, "\(made.errors)")
    certificatePEM = try String(contentsOf: certificate, encoding: .utf8)
    privateKeyPEM = Secret(try String(contentsOf: key, encoding: .utf8))
  }
}

extension GatewayApplication {
  /// Serves on a port of the system's choice until the body ends.
  func whileServing<Value>(_ body: (Int) async throws -> Value) async throws -> Value {
    try await whileServing { port, _ in try await body(port) }
  }

  func whileServing<Value>(
    _ body: (Int, ServiceGroup) async throws -> Value
  ) async throws -> Value {
    let (ports, bound) = AsyncStream.makeStream(of: Int.self)
    let server = ServerService(self) { bound.yield($0) }
    let group = ServiceGroup(
      configuration: .init(services: [server], logger: Logger(label: "test") { _ in SilentHandler() }))
    let running = Task {
      defer { bound.finish() }
      try await group.run()
    }
    var iterator = ports.makeAsyncIterator()
    let port = try #require(await iterator.next())
    do {
      let value = try await body(port, group)
      await group.triggerGracefulShutdown()
      try await running.value
      return value
    } catch {
      await group.triggerGracefulShutdown()
      try await running.value
      throw error
    }
  }
}

enum HTTP2Scripts {
  /// Enough of HTTP/2 to misbehave.
  static let frames = #"""
    import socket, ssl, struct, sys

    def connect(port):
        context = ssl._create_unverified_context()
        context.set_alpn_protocols(["h2"])
        connection = context.wrap_socket(socket.create_connection(("localhost", port)), server_hostname="localhost")
        connection.settimeout(20)
        return connection

    def frame(kind, flags, stream, content=b""):
        return struct.pack(">I", len(content))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + content

    def settings(**values):
        return b"".join(struct.pack(">HI", {"window": 4}[name], value) for name, value in values.items())

    def request(path, stream, end=True):
        fields = b"\x82\x87\x04" + bytes([len(path)]) + path.encode() + b"\x41\x09localhost"
        return frame(1, 5 if end else 4, stream, fields)

    class Frames:
        def __init__(self, connection):
            self.connection, self.data = connection, b""

        def read(self, count):
            while len(self.data) < count:
                try:
                    piece = self.connection.recv(65536)
                except (ConnectionError, ssl.SSLError):
                    return None
                if not piece:
                    return None
                self.data += piece
            piece, self.data = self.data[:count], self.data[count:]
            return piece

        def next(self):
            head = self.read(9)
            if head is None:
                return None
            content = self.read(int.from_bytes(head[:3], "big"))
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
            if kind == 6 and not flags & 1:
                self.connection.sendall(frame(6, 1, 0, content))
            if kind == 4 and not flags & 1:
                self.connection.sendall(frame(4, 1, 0))
            return None if content is None else (kind, flags, stream, content)

    PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    """#

  /// Asks once, and waits to be told to go.
  static let leaving = #"""
    port, path = sys.stdin.read().split()
    connection = connect(int(port))
    frames = Frames(connection)
    connection.sendall(PREFACE + frame(4, 0, 0) + request(path, 1))
    while (got := frames.next()) is not None and got[0] != 7:
        pass
    print("goodbye" if got else "closed")

    """#

  /// Waits for the end of a stream that is its own fault, or else of the connection.
  static let slow = #"""
    port, what, path = sys.stdin.read().split()
    if what == "handshake":
        connection = socket.create_connection(("localhost", int(port)))
        connection.settimeout(20)
        assert connection.recv(1) == b""
        print("let go")
        sys.exit()
    connection = connect(int(port))
    frames = Frames(connection)
    window = 0 if what == "window" else 65535
    if what != "preface":
        connection.sendall(PREFACE + frame(4, 0, 0, settings(window=window)))
    if what in ["request", "window"]:
        connection.sendall(request(path, 1, end=what == "window"))
    reset = False
    while (got := frames.next()) is not None:
        reset = reset or (got[0] == 3 and got[2] == 1)
    print("let go" if reset or what in ["preface", "silent", "request"] else "the stream was not reset")
    """#

  /// Asks, lets the server wait with the most of the response until it has been told to shut down, and reads it.
  static let shutdown = #"""
    port, path = sys.stdin.read().split()
    connection = connect(int(port))
    frames = Frames(connection)
    connection.sendall(PREFACE + frame(4, 0, 0, settings(window=1000)) + request(path, 1))
    count, goodbye, opened = 0, False, False
    while (got := frames.next()) is not None:
        kind, flags, stream, content = got
        if kind == 0:
            count += len(content)
        if kind == 7:
            goodbye = True
            if not opened:
                opened = True
                connection.sendall(frame(8, 0, 0, struct.pack(">I", 1 << 30)) + frame(8, 0, 1, struct.pack(">I", 1 << 30)))
    print(count, "bytes, then", "goodbye" if goodbye else "nothing")
    """#
}
