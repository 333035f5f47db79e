import Foundation
import GatewayTesting
import KeyPublishing
import NIOCore
import NIOHTTP1
import ProgramMetrics
import Testing

@testable import GatewayServer

/// Clients that hold the server up, each played literally.
@Suite("Slow clients, and too many", .serialized)
struct SlowClientTests {
  let fixture: PublicationFixture

  init() throws {
    fixture = try PublicationFixture()
    try fixture.publish("NL", bundles: 1, keys: 100)
  }

  /// Runs a script that can connect to the server as `connect()`, `ask(path)` and so on.
  private func script(
    _ text: String, limits: ServerLimits, settings: ServerSettings = ServerSettings(),
    metrics: GatewayMetrics = GatewayMetrics()
  ) async throws -> String {
    try await serving(fixture, settings: settings, metrics: metrics, limits: limits) { port in
      try await python(Self.beginning(port: port) + text, input: [])
    }
  }

  private static func beginning(port: Int) -> String {
    """
    import http.client, socket, time
    def connect(source="127.0.0.1"):
      s = socket.create_connection(("127.0.0.1", \(port)), timeout=20, source_address=(source, 0))
      return s
    def rest(s):
      d = b""
      try:
        while True:
          p = s.recv(65536)
          if not p: break
          d += p
      except ConnectionResetError: pass
      return d
    def ask(source="127.0.0.1", headers={}):
      c = http.client.HTTPConnection("127.0.0.1", \(port), timeout=20, source_address=(source, 0))
      c.request("GET", "/NL/index.txt", headers=headers)
      r = c.getresponse()
      r.read()
      return r.status
    def is_open(s):
      s.setblocking(False)
      try: return s.recv(1) != b""
      except BlockingIOError: return True
      except ConnectionResetError: return False

    """
  }

  private static var short: ServerLimits {
    var limits = ServerLimits()
    limits.headSeconds = 1
    limits.idleSeconds = 3
    limits.contentBytesPerSecond = 100
    return limits
  }

  @Test("A head that comes a byte at a time ends its connection when its time is over", .timeLimit(.minutes(1)))
  func slowHeads() async throws {
    let metrics = GatewayMetrics()
    let output = try await script(
      """
      def dribble(s, text):
        began = time.time()
        try:
          for byte in text:
            s.sendall(bytes([byte])); time.sleep(0.2)
          return "taken"
        except OSError: pass
        return 0.8 < time.time() - began < 2.9
      text = b"GET /NL/index.txt HTTP/1.1\\r\\nHost: x\\r\\n"
      print(dribble(connect(), text))
      # What is no request is answered, and the connection ends all the same.
      s = connect(); s.sendall(b"no request\\r\\n\\r\\n"); began = time.time()
      answer = rest(s)
      print(answer[9:12] == b"400" and time.time() - began < 2.9)
      # The second request on a connection, and the time between the two does not count.
      s = connect()
      s.sendall(b"GET /NL/index.txt HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
      time.sleep(0.3); s.recv(65536)
      time.sleep(1.5)
      print(is_open(s)); s.setblocking(True)
      print(dribble(s, text))
      """, limits: Self.short, metrics: metrics)
    #expect(output == "True\nTrue\nTrue\nTrue\n")
    // The two that dribble; what is no request ends with its answer.
    #expect(metrics.text.contains("keyferry_http_dropped_connections_total{reason=\"head\"} 2\n"))
  }

  @Test(
    "Content that comes too slowly ends its connection, and content that comes in time does not",
    .timeLimit(.minutes(1)))
  func slowContent() async throws {
    var settings = ServerSettings()
    settings.uploads = [UploadSettings(token: "a-token-of-some-length")]
    settings.uploads[0].answerSeconds = 0
    let metrics = GatewayMetrics()
    let output = try await script(
      """
      def upload(step, pause):
        s = connect(); began = time.time()
        s.sendall(b"POST /v1/publish HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer a-token-of-some-length\\r\\n"
          b"Content-Type: application/json\\r\\nConnection: close\\r\\nContent-Length: 800\\r\\n\\r\\n")
        try:
          for at in range(0, 800, step):
            s.sendall(b"x" * step); time.sleep(pause)
        except OSError: pass
        answer = rest(s)[9:12]
        return answer.decode() or "dropped", time.time() - began < 4
      print(upload(10, 0.25), upload(200, 0.5))
      """, limits: Self.short, settings: settings, metrics: metrics)
    #expect(output == "('408', True) ('400', True)\n")
    #expect(metrics.text.contains("keyferry_http_dropped_connections_total{reason=\"content\"} 1\n"))
  }

  @Test("Where one client opens as many as he can, others are let in at once", .timeLimit(.minutes(1)))
  func crowds() async throws {
    var limits = ServerLimits()
    limits.connections = 200
    limits.clientConnections = 50
    let metrics = GatewayMetrics()
    let output = try await script(
      """
      def slow(source):
        s = connect(source); s.sendall(b"GET / HT"); return s
      crowd = [slow("127.0.0.1") for _ in range(300)]
      began = time.time()
      print(ask("127.0.0.2"))
      time.sleep(0.2)
      print(sum(is_open(s) for s in crowd))
      # Of many clients together; the last ones stay.
      crowd += [slow("127.0.1.%d" % (n % 20 + 1)) for n in range(400)]
      print(ask("127.0.0.2"), ask("127.0.1.1"), time.time() - began < 5)
      time.sleep(0.2)
      print(sum(is_open(s) for s in crowd) <= 200, is_open(crowd[-1]), is_open(crowd[0]))
      """, limits: limits, metrics: metrics)
    #expect(output == "200\n50\n200 200 True\nTrue True False\n")
    #expect(metrics.text.contains("keyferry_http_dropped_connections_total{reason=\"client\"} 2"))
  }

  @Test(
    "A proxy's connections are not counted as one client's; the requests of its clients are", .timeLimit(.minutes(1)))
  func proxies() async throws {
    var limits = ServerLimits()
    limits.clientConnections = 3
    var settings = ServerSettings()
    settings.proxies = TrustedProxies([try #require(AddressBlock("127.0.0.1"))])
    settings.uploads = [UploadSettings(token: "a-token-of-some-length")]
    let output = try await script(
      """
      def upload(client):
        s = connect()
        s.sendall(("POST /v1/publish HTTP/1.1\\r\\nHost: x\\r\\nX-Forwarded-For: %s\\r\\nAuthorization: "
          "Bearer a-token-of-some-length\\r\\n"
          "Content-Type: application/json\\r\\nContent-Length: 800\\r\\n\\r\\n" % client).encode())
        return s
      slow = [upload("192.0.2.1") for _ in range(3)]
      time.sleep(0.3)
      print(ask(headers={"X-Forwarded-For": "192.0.2.1"}), ask(headers={"X-Forwarded-For": "192.0.2.2"}))
      for s in slow: s.close()
      time.sleep(1)
      print(ask(headers={"X-Forwarded-For": "192.0.2.1"}))
      """, limits: limits, settings: settings)
    #expect(output == "429 200\n200\n")
  }

  @Test("The one that waits longest goes, and nobody who is being answered")
  func order() {
    let connections = OpenConnections(most: 4, mostOfClient: 3, metrics: GatewayMetrics())
    let dropped = Box()
    func connection(_ name: String, _ client: String?, since: UInt64) -> OpenConnection {
      OpenConnection(client: client.map { RateLimitedClient(address: Array($0.utf8)) }, waitingSince: since) {
        dropped.names.append(name)
      }
    }
    let first = connection("first", "aaaa", since: 10)
    let second = connection("second", "aaaa", since: 5)
    let third = connection("third", "aaaa", since: 7)
    for one in [first, second, third] { #expect(connections.enter(one)) }
    second.isBusy()
    #expect(connections.enter(connection("fourth", "aaaa", since: 11)))
    #expect(dropped.names == ["third"])
    #expect(connections.enter(connection("fifth", "bbbb", since: 12)))
    #expect(connections.enter(connection("proxy", nil, since: 13)))
    #expect(dropped.names == ["third", "first"])
    #expect(connections.count == 4)
    connections.leave(first)
    #expect(connections.count == 4)
    connections.leave(second)
    #expect(connections.count == 3)

    let busy = OpenConnections(most: 1, mostOfClient: 1, metrics: GatewayMetrics())
    let answered = connection("answered", "cccc", since: 1)
    answered.isBusy()
    #expect(busy.enter(answered))
    #expect(!busy.enter(connection("new", "dddd", since: 2)))
    #expect(busy.count == 1)
  }

  private final class Box: @unchecked Sendable {
    var names: [String] = []
  }

  @Test(
    "Requests of HTTP/1.1 as the standard wants them", .timeLimit(.minutes(1)),
    arguments: [
      ("GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", "400"),
      ("GET /health HTTP/1.1\r\nHost: a\r\nHost: a\r\nConnection: close\r\n\r\n", "400"),
      ("GET /health HTTP/1.1\r\nHost: a/b\r\nConnection: close\r\n\r\n", "400"),
      ("GET /health HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", "200"),
      ("GET /health HTTP/1.1\r\nHost: a:8080\r\nConnection: close\r\n\r\n", "200"),
      ("GET /health HTTP/1.0\r\nConnection: close\r\n\r\n", "200"),
      ("GET http://keys.example.org/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "200"),
      ("GET HTTP://keys.example.org HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "200"),
      ("GET http://user@keys.example.org/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "400"),
      ("GET /health HTTP/1.1\r\nHost: a\r\n folded\r\nConnection: close\r\n\r\n", "400"),
      ("no request at all\r\n\r\n", "400"),
      ("GET /health HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", "431"),
      ("GET /health HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 100_000))\r\n\r\n", "431"),
      (
        "POST /v1/publish HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
          + "Authorization: Bearer a-token-of-some-length\r\n\r\nZZ\r\nabc\r\n0\r\n\r\n", "400"
      ),
    ])
  func conformance(request: String, status: String) async throws {
    var settings = ServerSettings()
    settings.uploads = [UploadSettings(token: "a-token-of-some-length")]
    settings.uploads[0].answerSeconds = 0
    let output = try await script(
      """
      s = connect(); s.sendall(\(String(reflecting: request))); answer = rest(s)
      problem = answer[9:10] == b"2" or b'"code"' in answer
      print(answer[9:12].decode(), answer.count(b"HTTP/1."), problem)
      """.replacingOccurrences(of: "sendall(\"", with: "sendall(b\""), limits: Self.short, settings: settings)
    #expect(output == "\(status) 1 True\n")
  }

  @Test("A target in absolute form says which host is asked")
  func absoluteForm() {
    var head = HTTPRequestHead(
      version: .http1_1, method: .GET, uri: "https://keys.example.org:8443?a=b", headers: ["Host": "other"])
    RequestFramingHandler.settleHost(of: &head)
    #expect(head.headers["host"] == ["keys.example.org:8443"])
    #expect(head.uri == "/?a=b")
  }

  @Test("A client that waits to be told sends its content then", .timeLimit(.minutes(1)))
  func expectations() async throws {
    var settings = ServerSettings()
    settings.uploads = [UploadSettings(token: "a-token-of-some-length")]
    settings.uploads[0].answerSeconds = 0
    let output = try await script(
      """
      def upload(token, length):
        s = connect()
        s.sendall(("POST /v1/publish HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer %s\\r\\nExpect: 100-continue\\r\\n"
          "Content-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % (token, length)).encode())
        first = s.recv(65536)
        if not first.startswith(b"HTTP/1.1 100 Continue\\r\\n\\r\\n"): return first[9:12].decode()
        s.sendall(b"{}"); s.shutdown(socket.SHUT_WR)
        return "100 " + rest(s)[9:12].decode()
      print(upload("a-token-of-some-length", 2), upload("a-token-of-some-length", 1000000), upload("wrong", 2))
      """, limits: ServerLimits(), settings: settings)
    #expect(output == "100 400 413 100 401\n")
  }
}
