import ExposureKeys
import Foundation
import GatewayTesting
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import ProgramMetrics
import Testing

@testable import GatewayServer
@testable import KeyPublishing

@Suite("Requests")
struct ServerTests {
  let fixture: PublicationFixture

  init() throws {
    fixture = try PublicationFixture()
    try fixture.publish("NL", bundles: 2, title: "Netherlands")
  }

  @Test("Every answer carries the headers that keep a browser out of trouble, and none that tells what we are")
  func commonHeaders() async throws {
    let app = try GatewayApplication.testing(fixture)
    for (path, method) in [
      ("/", HTTPRequest.Method.get), ("/NL/index.txt", .get), ("/missing", .get), ("/health", .get), ("/", .delete),
      ("/%zz", .get), ("/", .options),
    ] {
      let response = try await app.ask(path, method)
      #expect(response["X-Content-Type-Options"] == "nosniff")
      #expect(response["Referrer-Policy"] == "no-referrer")
      #expect(response["Access-Control-Allow-Origin"] == "*")
      #expect(response["Content-Security-Policy"]?.hasPrefix("default-src 'none'") == true)
      #expect(response["Server"] == nil)
      #expect(response["Date"] == "Tue, 01 Dec 2020 12:00:00 GMT")
      #expect(response["Strict-Transport-Security"] == nil)
    }
  }

  @Test("Faults have a status, a stable code and a reason")
  func problems() async throws {
    var limits = ServerLimits()
    limits.targetBytes = 100
    limits.headerBytes = 500
    let app = try GatewayApplication.testing(fixture, limits: limits)
    let long = String(repeating: "a", count: 600)
    for (uri, method, headers, status, code) in [
      ("/missing", HTTPRequest.Method.get, HTTPFields(), 404, "not-found"),
      ("/%zz", .get, [:], 400, "malformed-path"),
      ("/a?b=%", .get, [:], 400, "malformed-query"),
      ("/" + long, .get, [:], 414, "target-too-long"),
      ("/", .get, [.cookie: long], 431, "header-too-large"),
      ("/", .post, [:], 405, "method-not-allowed"),
      ("/NL/index.txt", .put, [:], 405, "method-not-allowed"),
      ("/", .get, [.contentLength: "5"], 413, "body-not-allowed"),
      ("/v1/publish", .post, [:], 405, "method-not-allowed"),
    ] {
      let response = try await app.ask(uri, method, headers: headers)
      #expect(response.code == status, "\(uri.prefix(20))")
      #expect(response.problem == code)
      #expect(response["Content-Type"] == "application/problem+json")
      #expect(response["Cache-Control"] == "no-store")
      #expect((response.json["detail"] as? String)?.isEmpty == false)
      #expect(response.json["status"] as? Int == status)
      if status == 405 { #expect(response["Allow"] == "GET, HEAD, OPTIONS") }
      if status == 413 || status == 431 { #expect(response["Connection"] == "close") }
    }
    let many = HTTPFields((0..<101).map { HTTPField(name: HTTPField.Name("X-\($0)")!, value: "1") })
    #expect(try await GatewayApplication.testing(fixture).ask("/", headers: many).code == 431)
  }

  @Test("OPTIONS says what is allowed")
  func options() async throws {
    let response = try await GatewayApplication.testing(fixture).ask("/NL/index.txt", .options)
    #expect(response.code == 204)
    #expect(response["Allow"] == "GET, HEAD, OPTIONS")
    #expect(response["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS")
  }

  @Test("Layouts answer in their order, and files come before them")
  func layouts() async throws {
    var layout = TestLayout()
    layout.answers = [
      "list": LayoutAnswer(
        .bytes(Array("[1]".utf8), mediaType: "application/json"), headers: [("x-next-index", "7")]),
      "minute": LayoutAnswer(.bytes([1], mediaType: "application/octet-stream"), cache: .seconds(60)),
      "now": LayoutAnswer(.bytes([1], mediaType: "application/octet-stream"), cache: .seconds(0)),
      "secret": LayoutAnswer(.bytes([1], mediaType: "application/octet-stream"), cache: .never),
      "nothing": LayoutAnswer(.nothing, headers: [("x-published-until", "5")]),
      "missing": LayoutAnswer(.notFound("no such day"), cache: .seconds(60)),
      "bad": LayoutAnswer(.badRequest("startingAt is no number")),
    ]
    let app = try GatewayApplication.testing(fixture, layouts: [layout])
    let list = try await app.ask("/test/list")
    #expect(list.text == "[1]")
    #expect(list["x-next-index"] == "7")
    #expect(list["Cache-Control"] == "public, max-age=300")
    #expect(try await app.ask("/test/list", headers: [.ifNoneMatch: list["ETag"] ?? ""]).code == 304)
    #expect(try await app.ask("/test/minute")["Cache-Control"] == "public, max-age=60")
    #expect(try await app.ask("/test/now")["Cache-Control"] == "public, no-cache")
    #expect(try await app.ask("/test/secret")["Cache-Control"] == "no-store")
    let nothing = try await app.ask("/test/nothing")
    #expect(nothing.code == 204)
    #expect(nothing["x-published-until"] == "5")
    #expect(nothing["Content-Length"] == nil)
    let missing = try await app.ask("/test/missing")
    #expect(missing.code == 404)
    #expect(missing.json["detail"] as? String == "no such day")
    #expect(missing["Cache-Control"] == "public, max-age=60")
    #expect(try await app.ask("/test/bad").code == 400)
    #expect(try await app.ask("/test/unknown").code == 404)
  }

  @Test("Layouts see the decoded path, the query, the base address and the time")
  func layoutRequest() async throws {
    let layout = TestLayout { request, publications in
      LayoutAnswer(
        .bytes(
          Array(
            "\(request.path)|\(request.query[.index] ?? "")|\(request.baseURL)|\(request.now)|\(publications.series.count)"
              .utf8), mediaType: "text/plain"))
    }
    let app = try GatewayApplication.testing(fixture, layouts: [layout])
    #expect(
      try await app.ask("/test/a%20b?index=1&a=3&index=2").text
        == "[\"test\", \"a b\"]|2|http://localhost|2020-12-01T12:00:00Z|1")
    var settings = ServerSettings()
    settings.publicURL = "https://keys.example.org/"
    let named = try GatewayApplication.testing(fixture, layouts: [layout], settings: settings)
    #expect(try await named.ask("/test").text.contains("|https://keys.example.org|"))
  }

  @Test("An address that is shown has the host of the request, if that is one")
  func hosts() {
    for host in ["localhost", "keys.example.org:8080", "[::1]:8080", "keyferry_gateway_1:8080"] {
      #expect(RetrievalResponder.isHost(host), "\(host)")
    }
    for host in ["", "a b", "a/b", "a%20b", "a\"b", "<script>", "a@b", String(repeating: "a", count: 256)] {
      #expect(!RetrievalResponder.isHost(host), "\(host)")
    }
  }

  @Test("Archives, their members and pages made from them are answered under a layout's addresses")
  func layoutContents() async throws {
    let layout = TestLayout { request, publications in
      guard let bundles = publications["NL"]?.increments, request.path.count == 2 else { return nil }
      switch request.path[1] {
      case "zip":
        return LayoutAnswer(
          .archive(bundles[0]), cache: .seconds(60),
          exportHeaders: [.init(name: "x-size", value: { "\($0.count)" })])
      case "bin": return LayoutAnswer(.member(bundles[0], .export), cache: .immutable)
      case "sig": return LayoutAnswer(.member(bundles[0], .signature), cache: .immutable)
      case "page":
        return LayoutAnswer(
          .page(of: bundles, parameters: "counts", mediaType: "text/plain") { exports in
            Array("\(exports.map(\.count))".utf8)
          })
      case "broken":
        return LayoutAnswer(
          .page(of: bundles, parameters: "broken", mediaType: "text/plain") { _ in throw UploadFault(reason: "") })
      default: return nil
      }
    }
    let app = try GatewayApplication.testing(fixture, layouts: [layout])
    let bundles = try #require(fixture.store().publications["NL"]).increments
    let archives = try bundles.map { try fixture.read($0.facts.path) }
    let exports = try archives.map { try member("export.bin", of: $0) }

    let zip = try await app.ask("/test/zip")
    #expect(zip.bytes == archives[0])
    #expect(zip["x-size"] == "\(exports[0].count)")
    #expect(zip["Cache-Control"] == "public, max-age=60")
    let bin = try await app.ask("/test/bin")
    #expect(bin.bytes == exports[0])
    #expect(bin["ETag"] == "\"\(bundles[0].facts.exportSHA256)\"")
    #expect(try await app.ask("/test/bin", headers: [.range: "bytes=0-15"]).text == "EK Export v1    ")
    #expect(try await app.ask("/test/sig").bytes == (try member("export.sig", of: archives[0])))
    #expect(try await app.ask("/test/page").text == "\(exports.map(\.count))")
    #expect(try await app.ask("/test/broken").code == 500)
  }

  @Test("Too many requests from one address have to wait")
  func rateLimit() async throws {
    var settings = ServerSettings()
    settings.requestsPerMinute = 6
    let metrics = GatewayMetrics()
    let app = try GatewayApplication.testing(fixture, settings: settings, metrics: metrics)
    for _ in 0..<3 { #expect(try await app.ask("/NL/index.txt").code == 200) }
    // Another address in a header is anybody's invention.
    let response = try await app.ask("/NL/index.txt", headers: [HTTPField.Name("X-Forwarded-For")!: "10.0.0.1"])
    #expect(response.code == 429)
    let wait = try #require(response["Retry-After"].flatMap { Int($0) })
    #expect((1...10).contains(wait))
    #expect(metrics.text.contains("keyferry_http_rate_limited_total 1\n"))
    // Those who watch over the server are not counted.
    #expect(try await app.ask("/health").code == 200)
    #expect(try await app.ask("/metrics").code == 200)
  }

  @Test("The metrics tell real uploads from fake ones, and are for the operator alone")
  func metricsAreNotForEverybody() async throws {
    let app = try GatewayApplication.testing(fixture)
    for field in ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "CF-Connecting-IP"] {
      let response = try await app.ask("/metrics", headers: [HTTPField.Name(field)!: "192.0.2.1"])
      #expect(response.code == 403 && response.problem == "not-for-you")
    }
    let mine = AddressBlock.ofThisMachine
    for (address, isMine) in [("127.0.0.1", true), ("::ffff:127.0.0.2", true), ("::1", true), ("192.0.2.1", false)] {
      let address = try #require(IPAddress(address))
      #expect(mine.contains { $0.contains(address) } == isMine)
    }
  }

  @Test("A coding of transfer that is not known is refused", arguments: ["gzip, chunked", "x, chunked", "identity"])
  func transferCoding(coding: String) async throws {
    let response = try await GatewayApplication.testing(fixture).ask("/health", headers: [.transferEncoding: coding])
    #expect(response.code == 501)
  }

  @Test("A bucket fills up again, addresses do not share one, and the table is bounded")
  func buckets() throws {
    let limiter = RateLimiter(requestsPerMinute: 60, maximumClients: 10)
    let (a, b) = (RateLimitedClient(address: [192, 0, 2, 1]), RateLimitedClient(address: [192, 0, 2, 2]))
    for _ in 0..<30 { #expect(limiter.take(for: a, at: 0) == nil) }
    #expect(limiter.take(for: a, at: 0) == 1)
    #expect(limiter.take(for: b, at: 0) == nil)
    #expect(limiter.take(for: a, at: 0.5) == 0.5)
    #expect(limiter.take(for: a, at: 1.1) == nil)
    #expect(limiter.take(for: a, at: 1.1) != nil)
    // Time does not go backwards for anybody's advantage.
    #expect(limiter.take(for: a, at: 0) != nil)
    for number in 0..<1000 {
      _ = limiter.take(for: RateLimitedClient(address: [10, 0, UInt8(number / 256), UInt8(number % 256)]), at: 2)
    }
  }

  @Test(
    "Who counts as one client: a network of IPv6, and an address of IPv4 however a listener sees it",
    arguments: [
      ("2001:db8::1", "2001:db8::ffff:1", true), ("2001:db8::1", "2001:db8:0:1::1", false),
      ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("192.0.2.1", "::ffff:192.0.2.1", true),
      ("::ffff:192.0.2.1", "::ffff:192.0.2.2", false), ("64:ff9b::192.0.2.1", "64:ff9b::198.51.100.1", false),
      ("64:ff9b::192.0.2.1", "192.0.2.1", true), ("::1", "::ffff:127.0.0.1", false), ("::1", "::2", true),
      ("0.0.0.0", "::", false),
    ])
  func clients(one: String, other: String, isSame: Bool) throws {
    let (one, other) = (try SocketAddress(ipAddress: one, port: 1), try SocketAddress(ipAddress: other, port: 2))
    #expect((RateLimitedClient(one) == RateLimitedClient(other)) == isSame)
  }

  // MARK: Operators

  @Test("Alive is not ready")
  func readiness() async throws {
    let empty = try PublicationFixture()
    let readiness = Readiness()
    let app = try GatewayApplication.testing(empty, readiness: readiness)
    #expect(try await app.ask("/health").text == "{\"status\":\"alive\"}")
    let early = try await app.ask("/ready")
    #expect(early.code == 503)
    #expect(early.json["reason"] as? String == "no series has been published yet")
    try empty.publish("BE", bundles: 1)
    #expect(try await app.ask("/ready").code == 200)
    readiness.hold(.storeUnwritable, because: "the store is being migrated")
    readiness.hold(.drained, because: "no source has answered")
    let held = try await app.ask("/ready")
    #expect(held.code == 503)
    #expect(
      held.json["reason"] as? String
        == "no source has answered; the store is being migrated; the gateway tries again until it can write")
    readiness.release(.storeUnwritable)
    readiness.release(.drained)
    #expect(try await app.ask("/ready").text == "{\"status\":\"ready\"}")
    #expect(try await app.ask("/ready")["Cache-Control"] == "no-store")
  }

  @Test("Publishing has an address of its own: load balancers ask the one, alerts the other")
  func readinessForPublishing() async throws {
    // Who only serves does not know.
    #expect(try await GatewayApplication.testing(fixture).ask("/ready/publishing").status == .notFound)
    let publishing = Readiness()
    let app = try GatewayApplication.testing(fixture, publishing: publishing)
    #expect(try await app.ask("/ready/publishing").status == .ok)
    publishing.hold(.clock, because: "the clock is in doubt")
    publishing.ask { [StandingFault(.silence, because: "no source has been pulled")] }
    let held = try await app.ask("/ready/publishing")
    #expect(held.status == .serviceUnavailable)
    #expect(held.json["reason"] as? String == "the clock is in doubt; no source has been pulled")
    #expect(try await app.ask("/ready").status == .ok)
    publishing.release(.clock)
    #expect(try await app.ask("/ready/publishing").json["reason"] as? String == "no source has been pulled")
  }

  @Test("Metrics count requests by class of address and status")
  func metrics() async throws {
    let metrics = GatewayMetrics()
    let app = try GatewayApplication.testing(fixture, layouts: [TestLayout()], metrics: metrics)
    let bundle = try #require(fixture.store().publications["NL"]).increments[0].facts
    _ = try await app.ask("/\(bundle.path)")
    _ = try await app.ask("/\(bundle.path)")
    _ = try await app.ask("/\(bundle.path)", .head)
    _ = try await app.ask("/a/b/c")
    _ = try await app.ask("/%zz")
    _ = try await app.ask("/", HTTPRequest.Method("BREW")!)
    let response = try await app.ask("/metrics")
    #expect(response["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
    for line in [
      "# TYPE keyferry_http_requests_total counter",
      "keyferry_http_requests_total{route=\"file\",method=\"GET\",status=\"200\"} 2",
      "keyferry_http_requests_total{route=\"file\",method=\"HEAD\",status=\"200\"} 1",
      "keyferry_http_requests_total{route=\"unknown\",method=\"GET\",status=\"404\"} 1",
      "keyferry_http_requests_total{route=\"refused\",method=\"GET\",status=\"400\"} 1",
      "keyferry_http_requests_total{route=\"refused\",method=\"other\",status=\"405\"} 1",
      "keyferry_http_response_bytes_total{route=\"file\"} \(bundle.bytes * 2)",
      "keyferry_http_request_duration_seconds_count{route=\"file\"} 3",
      "keyferry_bundle_cache_lookups_total{result=\"miss\"} 1",
      "keyferry_listed_bundles{series=\"NL\",kind=\"increment\"} 2",
    ] {
      #expect(response.text.contains("\n\(line)\n") || response.text.hasPrefix("\(line)\n"), "\(line)")
    }
    let closed = try GatewayApplication(
      settings: ServerSettings(), store: fixture.store(), layouts: LayoutCatalog([]), metricsPath: nil)
    #expect(try await closed.ask("/metrics").code == 404)
  }

  @Test("Logs name the path without its query, and never a body")
  func logs() async throws {
    let lines = Lines()
    let app = try GatewayApplication.testing(fixture, logger: lines.logger())
    _ = try await app.ask("/NL/index.txt?token=secret")
    #expect(lines.text.contains("/NL/index.txt"))
    #expect(!lines.text.contains("secret"))
    #expect(!lines.text.contains("token"))
  }

  @Test("Settings that cannot be used are found before a socket opens")
  func badSettings() throws {
    var settings = ServerSettings()
    settings.responseKeyPEM = "no key"
    #expect(throws: ServerFault.self) { try GatewayApplication.testing(fixture, settings: settings) }
    settings = ServerSettings()
    settings.certificatePEM = "no certificate"
    #expect(throws: ServerFault.self) { try GatewayApplication.testing(fixture, settings: settings).application() }
    settings.privateKeyPEM = "no key"
    #expect(throws: ServerFault.self) { try GatewayApplication.testing(fixture, settings: settings).application() }
  }
}
