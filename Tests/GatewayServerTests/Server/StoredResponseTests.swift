import ExposureKeys
import Foundation
import GatewayTesting
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import KeyPublishing
import Logging
import NIOCore
import ProgramMetrics
import ServiceLifecycle
import Synchronization
import Testing

@testable import GatewayServer

@Suite("Stored responses", .serialized)
struct StoredResponseTests {
  let fixture: PublicationFixture
  let manifest: SeriesManifest
  let path: String

  init() throws {
    fixture = try PublicationFixture()
    manifest = try fixture.publish("NL", bundles: 3)
    try fixture.publish("BE", bundles: 1)
    path = "/" + (try #require(manifest.bundles.first).path)
  }

  /// A server whose clock stands still and that does not look at its folder, so that every answer can be given again.
  private func application(
    settings: ServerSettings = ServerSettings(), metrics: GatewayMetrics = GatewayMetrics(),
    limits: ServerLimits = ServerLimits(), logger: Logger = Logger(label: "test") { _ in SilentHandler() },
    store: PublicationStore? = nil
  ) throws -> GatewayApplication {
    try GatewayApplication.testing(
      fixture, layouts: [ImmuniLayout()], settings: settings, metrics: metrics, limits: limits, logger: logger,
      store: store ?? fixture.store(checkInterval: 1000))
  }

  private func repeated(_ metrics: GatewayMetrics) -> Int {
    let prefix = "keyferry_http_repeated_answers_total "
    return metrics.text.split(separator: "\n").first { $0.hasPrefix(prefix) }.flatMap {
      Int($0.dropFirst(prefix.count))
    }
      ?? 0
  }

  private static func retrieval(
    _ target: String, _ host: String? = nil, _ fields: [(RetrievalRequest.Field, String)] = []
  ) throws -> RetrievalRequest {
    var retrieval = RetrievalRequest(try RequestTarget(target, byteLimit: 100), host: host)
    for (field, value) in fields { retrieval.take(value, of: field) }
    return retrieval
  }

  @Test(
    "Every field that is read tells requests apart, and nothing else does", arguments: RetrievalRequest.Field.allCases)
  func declared(field: RetrievalRequest.Field) throws {
    let plain = try Self.retrieval("/a", "h")
    let name = try #require(HTTPField.Name(field.rawValue))
    let request = RetrievalRequest(plain.target, host: "h", fields: [name: "gzip", .cookie: "a", .userAgent: "b"])
    #expect(request != plain)
    #expect(request == (try Self.retrieval("/a", "h", [(field, "gzip")])))
    #expect(RetrievalRequest(plain.target, host: "h", fields: [.cookie: "a", .userAgent: "b"]) == plain)
  }

  @Test("Responses are forgotten with the second and with what is published")
  func moments() async throws {
    let responses = StoredResponses()
    let request = try Self.retrieval("/a", "h")
    let body = ResponseBody(byteBuffer: ByteBuffer(string: "x"))
    func stored(_ response: Response, closes: Bool = false) async -> StoredResponse? {
      await StoredResponse(FinalResponse(response: response, closesConnection: closes), route: "file", path: "/a")
    }
    let response = try #require(await stored(Response(status: .ok, body: body)))
    responses.keep(response, for: request, at: .init(second: 5, generation: 1))
    #expect(responses.response(to: request, at: .init(second: 5, generation: 1)) === response)
    #expect(responses.response(to: request, at: .init(second: 6, generation: 1)) == nil)
    #expect(responses.response(to: request, at: .init(second: 5, generation: 2)) == nil)
    #expect(responses.response(to: try Self.retrieval("/a", "i"), at: .init(second: 5, generation: 1)) == nil)
    responses.keep(response, for: try Self.retrieval("/b", "h"), at: .init(second: 6, generation: 1))
    #expect(responses.response(to: request, at: .init(second: 5, generation: 1)) == nil)
    // What some client may not see, or not for a second, is not kept.
    for response in [
      Response(status: .notFound, body: body), Response(status: .ok, headers: [.cacheControl: "no-store"], body: body),
      Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(repeating: 0, count: 300_000))),
    ] {
      #expect(await stored(response) == nil)
    }
    #expect(await stored(Response(status: .ok, body: body), closes: true) == nil)
  }

  @Test("What is kept is bounded with the requests, which strangers make")
  func bounded() async throws {
    let responses = StoredResponses(byteLimit: 100_000)
    let final = FinalResponse(response: Response(status: .ok))
    let response = try #require(await StoredResponse(final, route: "file", path: "/a"))
    for number in 0..<1000 {
      let request = try Self.retrieval("/\(number)", String(repeating: "h", count: 10_000))
      responses.keep(response, for: request, at: .init(second: 5, generation: 1))
    }
    #expect((80_000...100_000).contains(responses.byteCount))
  }

  @Test("What nobody reads makes no new entry")
  func junk() async throws {
    let app = try application()
    _ = try await app.ask("/v1/keys/index?index=1", headers: [.userAgent: "a"])
    let bytes = app.responder.stored.byteCount
    #expect(bytes > 0)
    for number in 0..<20 {
      _ = try await app.ask("/v1/keys/index?index=1&junk\(number)=\(number)", headers: [.userAgent: "\(number)"])
      _ = try await app.ask("/v1/keys/index/?index=1", headers: [.acceptEncoding: "br\(number)"])
    }
    #expect(app.responder.stored.byteCount == bytes)
  }

  // MARK: Over sockets

  @Test("Every request is answered as by the framework alone, byte for byte", .timeLimit(.minutes(5)))
  func sameAsFramework() async throws {
    let metrics = GatewayMetrics()
    let (app, reference) = (
      try application(metrics: metrics), try GatewayApplication.testing(fixture, layouts: [ImmuniLayout()])
    )
    let files = try #require(app.responder.retrievals.store.publications["NL"]).manifest.bundles.map { "/\($0.path)" }
    let targets =
      files + ["/NL/index.txt", "/NL/manifest.json", "/BE/SHA256SUMS", "/v1/keys/index", "/v1/keys/2", "/"]
      + ["/api/series", "/health", "/ready", "/missing"]
    try await app.application().live { client in
      let port = client.port
      try await reference.application().live { other in
        let job: [String: Any] = ["ports": [port, other.port], "targets": targets]
        let input = try JSONSerialization.data(withJSONObject: job)
        let output = try await python(Scripts.compare, input: Array(input))
        #expect(output == "900 cases, 0 differ\n")
      }
    }
    #expect(repeated(metrics) > 500)
  }

  @Test("Requests that are answered again count like others", .timeLimit(.minutes(1)))
  func counting() async throws {
    let (metrics, lines) = (GatewayMetrics(), Lines())
    let app = try application(metrics: metrics, logger: lines.logger())
    let bytes = try fixture.read(String(path.dropFirst()))
    let path = path
    try await app.application().live { client in
      for _ in 0..<5 {
        let response = try await client.execute(uri: path, method: .get)
        #expect(response.bytes == bytes)
      }
    }
    #expect(repeated(metrics) == 4)
    for line in [
      "keyferry_http_requests_total{route=\"file\",method=\"GET\",status=\"200\"} 5",
      "keyferry_http_request_duration_seconds_count{route=\"file\"} 5",
      "keyferry_http_response_bytes_total{route=\"file\"} \(5 * bytes.count)",
    ] {
      #expect(metrics.text.contains("\(line)\n"), "\(line)")
    }
    let told = lines.all.filter { $0.contains("\"request\"") && $0.contains(path) }
    #expect(told.count == 5)
    #expect(Set(told.map { $0.replacing(/"time":"[^"]*"/, with: "") }).count == 1, "\(told)")
  }

  @Test("A client that asks too often waits, also for what could be given again", .timeLimit(.minutes(1)))
  func rateLimit() async throws {
    var settings = ServerSettings()
    settings.requestsPerMinute = 12
    let metrics = GatewayMetrics()
    let app = try application(settings: settings, metrics: metrics)
    let path = path
    try await app.application().live { client in
      var codes: [Int] = []
      for _ in 0..<8 { codes.append(try await client.execute(uri: path, method: .get).code) }
      #expect(codes.prefix(6).allSatisfy { $0 == 200 } && codes.last == 429, "\(codes)")
    }
    #expect(repeated(metrics) >= 4)
  }

  @Test("What is published anew is seen at once", .timeLimit(.minutes(1)))
  func publication() async throws {
    let names = ["NL/manifest.json", "NL/index.txt", "NL/SHA256SUMS"]
    let before = try names.map { try fixture.read($0) }
    try fixture.publish("NL", bundles: 1)
    let after = try names.map { try fixture.read($0) }
    for (name, bytes) in zip(names, before) { try fixture.write(name, bytes) }
    let store = fixture.store(checkInterval: 1000)
    let folder = fixture.folder
    let metrics = GatewayMetrics()
    let app = try application(metrics: metrics, store: store)
    try await app.application().live { client in
      for _ in 0..<3 { #expect(try await client.execute(uri: "/NL/index.txt", method: .get).bytes == before[1]) }
      for (name, bytes) in zip(names, after) { try Data(bytes).write(to: folder.appending(path: name)) }
      store.reload()
      #expect(try await client.execute(uri: "/NL/index.txt", method: .get).bytes == after[1])
    }
    #expect(repeated(metrics) >= 1)
  }

  @Test("A connection with repeated answers only is not idle, and is closed when it is", .timeLimit(.minutes(1)))
  func idle() async throws {
    var limits = ServerLimits()
    limits.idleSeconds = 1
    let metrics = GatewayMetrics()
    let app = try application(metrics: metrics, limits: limits)
    let path = path
    try await app.application().live { client in
      let port = client.port
      let output = try await python(Scripts.idle, input: Array("\(port) \(path)".utf8))
      #expect(output == "8 answers, then closed\n")
    }
    #expect(repeated(metrics) >= 6)
  }

  @Test("A client that is slow to read and sends no more gets everything", .timeLimit(.minutes(1)))
  func halfClosed() async throws {
    let large = try #require(try fixture.publish("DE", bundles: 1, keys: 12_000).bundles.first)
    let metrics = GatewayMetrics()
    let app = try application(metrics: metrics)
    try await app.application().live { client in
      let port = client.port
      let output = try await python(Scripts.slow, input: Array("\(port) /\(large.path) \(large.sha256) end".utf8))
      #expect(output == (0..<16).map(String.init).joined(separator: " ") + "\n")
    }
    #expect(repeated(metrics) >= 16)
  }

  @Test(
    "A server that shuts down sends what it has begun, stored or not", .timeLimit(.minutes(1)),
    arguments: [1000, 0] as [Double])
  func shutdown(checkInterval: Double) async throws {
    let large = try #require(try fixture.publish("DE", bundles: 1, keys: 12_000).bundles.first)
    var settings = ServerSettings()
    settings.port = 0
    let metrics = GatewayMetrics()
    let app = try application(settings: settings, metrics: metrics, store: fixture.store(checkInterval: checkInterval))
    func responses() -> Int {
      let prefix = "keyferry_http_request_duration_seconds_count{route=\"file\"} "
      return metrics.text.split(separator: "\n").first { $0.hasPrefix(prefix) }.flatMap {
        Int($0.dropFirst(prefix.count))
      } ?? 0
    }
    try await app.whileServing { port, group in
      async let output = python(Scripts.slow, input: Array("\(port) /\(large.path) \(large.sha256) wait".utf8))
      // When nothing is asked any more, the clients wait with many responses on their way.
      var count = 0
      repeat {
        count = responses()
        try await Task.sleep(for: .seconds(1))
      } while responses() < 32 || responses() > count
      await group.triggerGracefulShutdown()
      // None is sent in part; how many requests the server has read by then is a matter of time.
      let counts = try await output.split(separator: " ").map { Int($0.trimmingCharacters(in: .newlines)) ?? -1 }
      #expect(counts.prefix(3) == [0, 1, 2] && counts.count == 16, "\(counts)")
    }
    #expect((repeated(metrics) > 0) == (checkInterval > 0))
  }
}

/// Runs a script on a thread of its own, since those that serve are few.
func python(_ script: String, input: [UInt8]) async throws -> String {
  try await run("python3", ["-c", script], input: input)
}

/// Runs a program on a thread of its own, since those that serve are few.
func run(_ name: String, _ arguments: [String], input: [UInt8] = []) async throws -> String {
  let tool = try #require(Tool(named: name), "\(name) speaks to the socket")
  return try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread {
      continuation.resume(
        with: Result {
          let outcome = try tool.run(arguments, input: input)
          #expect(outcome.status == 0, "\(outcome.errors.suffix(2000))")
          return outcome.text
        })
    }
  }
}

private enum Scripts {
  /// Sends each request behind a plain one on a connection to both servers, twice, and compares all that comes back but
  /// the dates.
  static let compare = #"""
    import json, random, re, socket, sys
    job = json.load(sys.stdin)
    random.seed(1)
    targets = [t.encode() for t in job["targets"]]
    plain = targets[0]

    def head(target=plain, extra=b"", method=b"GET", version=b"HTTP/1.1"):
        return method + b" " + target + b" " + version + b"\r\nHost: localhost\r\n" + extra + b"\r\n"

    def more(connection):
        return connection.recv(65536) or sys.exit("an answer ends early")

    def answer(connection):
        data = more(connection)
        while b"\r\n\r\n" not in data:
            data += more(connection)
        end = data.index(b"\r\n\r\n") + 4
        length = int(re.search(rb"(?i)content-length: (\d+)", data).group(1))
        while len(data) < end + length:
            data += more(connection)
        return data

    def exchange(port, request):
        connection = socket.create_connection(("localhost", port))
        connection.settimeout(20)
        connection.sendall(head())
        data = answer(connection)
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                data += piece
        except ConnectionError:
            pass
        connection.close()
        return re.sub(rb"Date: [^\r]*", b"", data)

    fields = [
        b"Range: bytes=0-9", b"range: bytes=5-", b"If-Range: \"x\"", b"If-None-Match: *", b"If-Match: \"x\"",
        b"If-Modified-Since: Tue, 01 Dec 2037 12:00:00 GMT", b"If-Unmodified-Since: Tue, 01 Dec 1970 12:00:00 GMT",
        b"Accept-Encoding: gzip", b"accept-encoding:identity", b"Accept-Encoding: gzip\r\nAccept-Encoding: br",
        b"Connection: close", b"Connection: Keep-Alive", b"Connection: keep-alive, x", b"Connection: upgrade\r\nUpgrade: h2c",
        b"Content-Length: 0", b"Content-Length: 5", b"Content-Length: x", b"Transfer-Encoding: chunked",
        b"Expect: 100-continue", b"Host: other", b"Host:", b"X-Forwarded-For: 10.0.0.1", b"Forwarded: for=10.0.0.1",
        b"Cookie: a=b", b"Authorization: Bearer x", b"User-Agent: App/1 (a; b)", b"Accept: */*", b"Accept-Language: nl",
        b"Cache-Control: no-cache", b"Pragma: no-cache", b"Origin: https://a", b"Referer: https://a", b"Via: 1.1 a",
        b"TE: trailers", b"Trailer: A", b"Keep-Alive: 5", b"Proxy-Connection: close", b"Date: x", b"Max-Forwards: 0",
        b"Content-Type: a/b", b"Accept-Charset: a", b"From: a", b"DNT: 1", b" folded: x", b"Bad Name: x", b"Name : x", b": x",
        b"A: \x01", b"A: \xff", b"A: b\n", b"A", b"A: " + b"b" * 3000, b"\r\n".join([b"A: b"] * 120),
    ]
    cases = [head(t) for t in targets] + [head(t, b"Accept-Encoding: gzip\r\n") for t in targets]
    cases += [head(t, method=b"HEAD") for t in targets] + [head(extra=f + b"\r\n") for f in fields]
    cases += [head(method=m) for m in [b"POST", b"OPTIONS", b"DELETE", b"get", b"GETS", b""]]
    cases += [head(version=v) for v in [b"HTTP/1.0", b"HTTP/1.2", b"HTTP/2.0", b"http/1.1", b""]]
    cases += [head(t) for t in [b"http://localhost" + plain, b"*", b"", b"a", b"/a b", b"//", plain + b"?", plain + b"?a=b",
        plain + b"/", plain + b"#a", b"/%4e" + plain[2:], plain.lower(), plain + b"%", b"/" + b"a" * 3000]]
    cases += [b"", b"\r\n", b"\r\n" + head(), head() + b"\r\n", head() + head(), head() + head(targets[3]) + head(targets[-1]),
        head() + b"GE", head()[:-2], head()[:20], head() * 40, head(extra=b"Content-Length: 4\r\n", method=b"POST") + b"\r\n\r\n",
        head().replace(b"\r\n", b"\n"), head().replace(b"Host", b"Hots")]
    while len(cases) < 900:
        extra = b"".join(f + b"\r\n" for f in random.sample(fields[:44], random.randrange(3)))
        data = bytearray(head(random.choice(targets), extra))
        for _ in range(random.choice([0, 1, 1, 2])):
            at = random.randrange(len(data))
            byte = random.choice(b"\r\n \t:/aG\0\x7f\xff0,%")
            change = random.randrange(3)
            data[at:at + (change < 2)] = b"" if change == 0 else bytes([byte])
        cases.append(bytes(data))

    differ = 0
    for case in cases:
        # An answer before the end of a request that is damaged can be lost on its way, whoever gives it.
        for _ in range(3):
            first, again, expected = (exchange(job["ports"][i], case) for i in [0, 0, 1])
            if first == expected == again:
                break
        else:
            differ += 1
            print(case[:300], first[-150:], again[-150:], expected[-150:], file=sys.stderr)
    print(len(cases), "cases,", differ, "differ")
    if differ:
        sys.exit(1)
    """#

  /// Asks every 0.4 s on one connection, and then waits for its end.
  static let idle = #"""
    import re, socket, sys, time
    port, path = sys.stdin.read().split()
    connection = socket.create_connection(("localhost", int(port)))
    connection.settimeout(20)
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()

    def more():
        return connection.recv(65536) or sys.exit("an answer ends early")

    answers = 0
    for _ in range(8):
        connection.sendall(request)
        data = more()
        while b"\r\n\r\n" not in data:
            data += more()
        end = data.index(b"\r\n\r\n") + 4 + int(re.search(rb"Content-Length: (\d+)", data).group(1))
        while len(data) < end:
            data += more()
        answers += 1
        time.sleep(0.4)
    print(answers, "answers, then", "closed" if connection.recv(1) == b"" else "more")
    """#

  /// Asks for a bundle on many connections, on each once more than on the last, so that on some the last answer is on its
  /// way in part; sends no more where that is asked for; and then reads.
  static let slow = #"""
    import hashlib, re, socket, sys, time
    port, path, digest, end = sys.stdin.read().split()
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()

    class Client:
        def __init__(self):
            self.data = b""
            self.connection = socket.socket()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self.connection.connect(("127.0.0.1", int(port)))
            self.connection.settimeout(20)

        def more(self):
            piece = self.connection.recv(65536)
            self.data += piece
            return piece

        def whole_bundles(self, most):
            for count in range(most):
                while b"\r\n\r\n" not in self.data:
                    if not self.more():
                        return count if self.data == b"" else sys.exit("a head ends early")
                start = self.data.index(b"\r\n\r\n") + 4
                stop = start + int(re.search(rb"Content-Length: (\d+)", self.data).group(1))
                while len(self.data) < stop:
                    if not self.more():
                        sys.exit("a bundle ends early")
                if hashlib.sha256(self.data[start:stop]).hexdigest() != digest:
                    sys.exit("a bundle is damaged")
                self.data = self.data[stop:]
            return most

    clients = [Client() for _ in range(16)]
    for client in clients:
        client.connection.sendall(request)
        client.whole_bundles(1)
    for number, client in enumerate(clients):
        for _ in range(number):
            client.connection.sendall(request)
            time.sleep(0.01)
        if end == "end":
            client.connection.shutdown(socket.SHUT_WR)
    time.sleep(1 if end == "end" else 4)
    print(*[client.whole_bundles(number) for number, client in enumerate(clients)])
    """#
}
