import BundleTrust
import ExposureKeys
import Foundation
import FoundationNetworking
import GatewayTesting
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import KeyInspection
import KeyPublishing
import Logging
import NIOCore
import NIOSSL
import ProgramMetrics
import ServiceLifecycle
import Synchronization
import Testing

@testable import GatewayServer

@Suite("Over sockets", .serialized)
struct LiveTests {
  let fixture: PublicationFixture
  let bundle: SeriesManifest.Bundle

  init() throws {
    fixture = try PublicationFixture()
    bundle = try #require(try fixture.publish("NL", bundles: 1, keys: 30_000).bundles.first)
  }

  @Test(
    "The server listens on a port of the system's choice, serves, and shuts down when told to", .timeLimit(.minutes(1)))
  func service() async throws {
    var settings = ServerSettings()
    settings.port = 0
    let application = try GatewayApplication.testing(fixture, settings: settings)
    let (ports, bound) = AsyncStream.makeStream(of: Int.self)
    let server = ServerService(application) { bound.yield($0) }
    let group = ServiceGroup(
      configuration: .init(services: [server], logger: Logger(label: "test") { _ in SilentHandler() }))
    let running = Task { try await group.run() }
    var iterator = ports.makeAsyncIterator()
    let port = try #require(await iterator.next())
    #expect(port > 0)

    let (data, response) = try await URLSession.shared.data(
      from: try #require(URL(string: "http://127.0.0.1:\(port)/\(bundle.path)")))
    let head = try #require(response as? HTTPURLResponse)
    #expect(head.statusCode == 200)
    #expect(sha256(data) == bundle.sha256)
    #expect(head.value(forHTTPHeaderField: "Server") == nil)
    // The date is the gateway's, like that of its files.
    #expect(head.value(forHTTPHeaderField: "Date") == HTTPDate.text(PublicationFixture.noon))

    await group.triggerGracefulShutdown()
    try await running.value
    #expect(application.readiness.reasons == ["the server shuts down"])
  }

  @Test("An address that somebody else has is named", .timeLimit(.minutes(1)))
  func takenAddress() async throws {
    try await GatewayApplication.testing(fixture, settings: ServerSettings()).whileServing { port in
      var settings = ServerSettings()
      settings.port = port
      let server = ServerService(try GatewayApplication.testing(fixture, settings: settings))
      let group = ServiceGroup(
        configuration: .init(services: [server], logger: Logger(label: "test") { _ in SilentHandler() }))
      let fault = await #expect(throws: ServerFault.self) { try await group.run() }
      #expect(
        fault?.description
          == "server.listen: another program listens at 127.0.0.1:\(port); stop it, or set another port")
    }
  }

  @Test("One connection carries many requests, and large bodies", .timeLimit(.minutes(1)))
  func keepAlive() async throws {
    let app = try GatewayApplication.testing(fixture)
    let bundle = bundle
    try await app.application().live { client in
      for _ in 0..<3 {
        let response = try await client.execute(uri: "/\(bundle.path)", method: .get)
        #expect(sha256(response.bytes) == bundle.sha256)
        let head = try await client.execute(uri: "/\(bundle.path)", method: .head)
        #expect(head["Content-Length"] == String(bundle.bytes))
        let none = try await client.execute(
          uri: "/\(bundle.path)", method: .get, headers: [.ifNoneMatch: "\"\(bundle.sha256)\""])
        #expect(none.code == 304)
        let missing = try await client.execute(uri: "/missing", method: .get)
        #expect(missing.code == 404)
      }
    }
  }

  @Test("A body that is too large ends the connection behind the answer", .timeLimit(.minutes(1)))
  func closing() async throws {
    var settings = ServerSettings()
    settings.uploads = [UploadSettings(token: "x")]
    let app = try GatewayApplication.testing(fixture, settings: settings)
    try await app.application().live { client in
      let port = client.port
      let answer = try await exchange(
        port: port,
        "POST /v1/publish HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
      )
      #expect(answer.hasPrefix("HTTP/1.1 413 "))
      #expect(answer.lowercased().contains("connection: close"))
    }
  }

  @Test("A connection that says nothing is closed", .timeLimit(.minutes(1)))
  func idle() async throws {
    var limits = ServerLimits()
    limits.idleSeconds = 1
    limits.headSeconds = 1
    let app = try GatewayApplication.testing(fixture, limits: limits)
    try await app.application().live { client in
      let answer = try await exchange(port: client.port, "GET / HT")
      #expect(answer == "")
    }
  }

  @Test("A request in a coding that is not known has one response, the connection's last", .timeLimit(.minutes(1)))
  func transferCoding() async throws {
    let app = try GatewayApplication.testing(fixture)
    try await app.application().live { client in
      for coding in ["gzip", "chunked, gzip", "x"] {
        let answer = try await exchange(
          port: client.port, "GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \(coding)\r\n\r\n")
        #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2, "\(answer)")
      }
    }
  }

  @Test("Clients that reset in the middle of an answer keep nobody out", .timeLimit(.minutes(1)))
  func resets() async throws {
    let path = bundle.path
    try await serving(fixture) { port in
      let script = """
        import http.client, socket
        for _ in range(60):
          connection = socket.create_connection(("127.0.0.1", \(port)), timeout=10)
          connection.sendall(b"GET /\(path) HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
          connection.recv(10)
          connection.close()
        def ask():
          connection = http.client.HTTPConnection("127.0.0.1", \(port), timeout=10)
          connection.request("GET", "/health")
          return connection.getresponse().status
        print(*{ask() for _ in range(12)})
        """
      let said = try await python(script, input: [])
      #expect(said == "200\n")
    }
  }

  @Test("A listener for all of IPv6 tells the clients of IPv4 apart", .timeLimit(.minutes(1)))
  func mappedAddresses() async throws {
    var settings = ServerSettings()
    settings.host = "::"
    settings.requestsPerMinute = 4
    try await serving(fixture, settings: settings) { port in
      let script = """
        import http.client
        def ask(source):
          connection = http.client.HTTPConnection("127.0.0.1", \(port), timeout=20, source_address=(source, 0))
          connection.request("GET", "/NL/index.txt")
          return connection.getresponse().status
        print(*[ask(source) for source in ["127.0.0.1"] * 3 + ["127.0.0.2"] * 3])
        """
      let said = try await python(script, input: [])
      #expect(said == "200 200 429 200 200 429\n")
    }
  }

  @Test("TLS, with a certificate of its own", .timeLimit(.minutes(1)))
  func tls() async throws {
    let bundle = bundle
    let small = try #require(try fixture.publish("BE", bundles: 1, keys: 5000).bundles.first)
    var settings = ServerSettings()
    try settings.useCertificate(in: fixture.folder)
    let metrics = GatewayMetrics()
    let app = try GatewayApplication.testing(
      fixture, settings: settings, metrics: metrics, store: fixture.store(checkInterval: 1000))
    try await app.application().test(.ahc(.https)) { client in
      for bundle in [bundle, small, small, small, small] {
        let response = try await client.execute(uri: "/\(bundle.path)", method: .get)
        #expect(sha256(response.bytes) == bundle.sha256)
        #expect(response["Strict-Transport-Security"] == "max-age=31536000")
      }
    }
    #expect(!metrics.text.contains("\nkeyferry_http_repeated_answers_total 0\n"))
    settings.privateKeyPEM = Secret(P256Key.other)
    #expect(throws: ServerFault.self) { try GatewayApplication.testing(fixture, settings: settings).application() }
  }
}

/// Sends bytes and reads until the server closes: on a thread of its own, since those that serve are few.
private func exchange(port: Int, _ request: String) async throws -> String {
  let tool = try #require(Tool(named: "python3"), "python3 speaks to the socket")
  let script = """
    import socket,sys
    s=socket.create_connection(("localhost",\(port)));s.settimeout(20);s.sendall(sys.stdin.buffer.read())
    d=b""
    while True:
      try: p=s.recv(65536)
      except ConnectionResetError: break
      if not p: break
      d+=p
    sys.stdout.buffer.write(d)
    """
  return try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread {
      continuation.resume(
        with: Result {
          let outcome = try tool.run(["-c", script], input: Array(request.utf8))
          #expect(outcome.status == 0, "\(outcome.errors.suffix(200))")
          return outcome.text
        })
    }
  }
}

private enum P256Key {
  static let other = SigningKey.generate().pemRepresentation
}

/// Serves at 127.0.0.1, or where the settings say, while `body` runs: `localhost`, where others' tests listen, may be ::1.
func serving<Result: Sendable>(
  _ fixture: PublicationFixture, settings: ServerSettings = ServerSettings(),
  metrics: GatewayMetrics = GatewayMetrics(),
  limits: ServerLimits = ServerLimits(), _ body: (_ port: Int) async throws -> Result
) async throws -> Result {
  var settings = settings
  settings.port = 0
  let (ports, bound) = AsyncStream.makeStream(of: Int.self)
  let app = try GatewayApplication.testing(fixture, settings: settings, metrics: metrics, limits: limits)
  let server = ServerService(app) { bound.yield($0) }
  let group = ServiceGroup(
    configuration: .init(services: [server], logger: Logger(label: "test") { _ in SilentHandler() }))
  let running = Task { try await group.run() }
  var iterator = ports.makeAsyncIterator()
  let port = try #require(await iterator.next())
  let result: Swift.Result<Result, any Error>
  do { result = .success(try await body(port)) } catch { result = .failure(error) }
  await group.triggerGracefulShutdown()
  try await running.value
  return try result.get()
}
