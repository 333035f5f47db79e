import Crypto
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

@Suite("The address of operators")
struct OperatorsTests {
  let fixture: PublicationFixture

  init() throws { fixture = try PublicationFixture() }

  private static let now = PublicationFixture.noon

  /// A gateway with something of everything.
  static let report: OperatorsReport = {
    var report = OperatorsReport(now: now, program: "keyferry 1.2.3", start: Instant("2020-11-20T00:00:00Z") ?? now)
    report.sources = [
      .init(
        name: "nl", kind: "index", state: "fine", mark: .good, lag: 240, newestKeyAge: 3600, nextPull: now,
        received: 12_345, rejected: 6, quarantined: 0, held: 0, note: nil),
      .init(
        name: "de", kind: "corona-warn-app", state: "failing", mark: .bad, lag: 90_000, newestKeyAge: nil,
        nextPull: Instant(secondsSince1970: now.secondsSince1970 + 600), received: 1, rejected: 0, quarantined: 2,
        held: 17, note: "time-out: no answer within 30 s (4 failures in a row)"),
      .init(
        name: "be", kind: "efgs", state: "paused", mark: .quiet, lag: nil, newestKeyAge: nil, nextPull: nil,
        received: 0,
        rejected: 0, quarantined: 0, held: 0, note: "paused since 2020-11-30T00:00:00Z by eva: <b>leak</b>"),
    ]
    report.waiting = [
      .init(
        number: 41, source: "de", document: "<script>alert(1)</script>.zip", isHeld: false,
        reason: "untrusted-signature: no key of the ring verifies it", since: now),
      .init(number: 40, source: "de", document: "day.zip", isHeld: true, reason: "flood: 17 claims", since: now),
    ]
    report.waitingCount = 103
    report.series = [
      .init(
        name: "NL", title: "Netherlands", windowSeconds: 7200, lastWindow: now,
        lastBundle: (keys: 1234, published: "2020-12-01T11:59:00Z"),
        nextWindow: Instant(secondsSince1970: now.secondsSince1970 + 7200), listedBundles: 88,
        waiting: .init(
          new: 12, revised: 3, held: 40, paused: 5, whyNothing: "12 new keys are fewer than the 100 of a bundle",
          counted: now),
        signer: "204, version v1", signingEnd: Instant("2021-01-01T00:00:00Z"), faults: []),
      .init(
        name: "travel", title: "Travellers", windowSeconds: 1800, lastWindow: nil, lastBundle: nil, nextWindow: now,
        listedBundles: 0, waiting: nil, signer: nil, signingEnd: nil, faults: ["no signing key is valid"]),
    ]
    report.mirrors = [.init(name: "VA-original", source: "va", archives: 300, lost: 1)]
    report.destinations = [
      .init(
        name: "efgs", origin: "NL", state: "failing", mark: .bad, lastSuccess: nil, nextPush: now, unanswered: 1,
        note: "refused: 403")
    ]
    report.pausedOrigins = ["FR, paused since 2020-11-30T00:00:00Z"]
    report.log = .init(name: "keys.example.org/log", entries: 9876, waiting: 4, oldest: now, fault: nil)
    report.clockDoubt = "the system's clock is 3 days ahead"
    report.systemTime = Instant("2020-12-04T12:00:00Z")
    report.lastRetention = now
    report.faults = [
      StandingFault(.clock, because: "the system's clock is 3 days ahead"),
      StandingFault(
        .source, of: "de", because: "source de is failing: time-out: no answer within 30 s (4 failures in a row)"),
      StandingFault(.series, of: "travel", because: "series travel: no signing key is valid"),
      StandingFault(.mirror, of: "VA-original", because: "VA-original lacks 1 archive of va"),
      StandingFault(.destination, of: "efgs", because: "destination efgs is failing: refused: 403"),
    ]
    return report
  }()

  private func application(
    _ report: OperatorsReport? = Self.report, publishing: Readiness? = Readiness(), readiness: Readiness = Readiness(),
    isServing: Bool = true
  ) throws -> Application<GatewayResponder> {
    let desk = StatusProvider()
    if let report { desk.answer { report } }
    return OperatorsApplication(
      OperatorsSettings(), store: isServing ? fixture.store() : nil, metrics: GatewayMetrics(), readiness: readiness,
      publishing: publishing, isServing: isServing, desk: desk, clock: ServerClock { Self.now }
    ).application()
  }

  private func ask(
    _ uri: String, _ method: HTTPRequest.Method = .get, at application: Application<GatewayResponder>
  ) async throws -> TestResponse {
    try await application.test(.router) {
      try await $0.executeRequest(uri: uri, method: method, headers: [:], body: nil)
    }
  }

  @Test("The page tells sources, what waits and why, series, destinations, log and clock, and what is wrong")
  func page() async throws {
    try fixture.publish("NL", bundles: 1)
    let publishing = Readiness()
    publishing.hold(.series, of: "travel", because: "series travel: no signing key is valid")
    let page = try await ask("/", at: application(publishing: publishing)).text
    for text in [
      "de is failing: time-out: no answer within 30 s (4 failures in a row)", "series travel: no signing key is valid",
      "VA-original lacks 1 archive of va", "destination efgs is failing: refused: 403",
      "the system&#39;s clock is 3 days ahead", "12\u{202F}345", "4\u{00A0}min ago", "25\u{00A0}h ago",
      "untrusted-signature: no key of the ring verifies it", "flood: 17 claims", "keyferry quarantine show 41",
      "And 101 more", "keyferry quarantine list</code> lists all", "1\u{202F}234 keys",
      "12 new, 3 revised, 40 held, 5 paused", "fewer than the 100 of a bundle",
      "204, version v1", "FR, paused since", "keys.example.org/log", "9\u{202F}876", "2020-12-04\u{00A0}12:00",
      "keyferry 1.2.3", "3, 1 not well", "by eva",
    ] {
      #expect(page.contains(text), "\(text)")
    }
    // What two say stands once.
    #expect(page.components(separatedBy: "no signing key is valid").count == 2)
    let calm = try await ask(
      "/", at: application(OperatorsReport(now: Self.now, program: "keyferry", start: Self.now)))
    #expect(calm.text.contains("Nothing is wrong") && calm.text.contains("No source is configured."))
  }

  @Test("What stands in the store is text and never markup")
  func markup() async throws {
    try fixture.publish("NL", bundles: 1)
    let response = try await ask("/", at: application())
    #expect(try PageJudge.faults(of: response) == [])
    #expect(response.text.contains("&lt;script&gt;alert(1)&lt;/script&gt;.zip"))
    #expect(response.text.contains("&lt;b&gt;leak&lt;/b&gt;") && !response.text.contains("<b>"))
  }

  @Test("Nothing else is there, nothing can be changed, and no page of a stranger reads it in a browser")
  func alone() async throws {
    try fixture.publish("NL", bundles: 1)
    let publishing = Readiness()
    let application = try application(publishing: publishing)
    for (path, code) in [
      ("/", 200), ("/metrics", 200), ("/health", 200), ("/ready", 200), ("/ready/publishing", 200),
      ("/NL/index.txt", 404), ("/api/series", 404), ("/apple/NL/keys", 404), ("/x", 404),
    ] {
      let response = try await ask(path, at: application)
      #expect(response.code == code, "\(path)")
      #expect(
        response["Access-Control-Allow-Origin"] == nil && response["Cross-Origin-Resource-Policy"] == "same-origin")
    }
    for method in [HTTPRequest.Method.post, .put, .delete, .options] {
      let response = try await ask("/", method, at: application)
      #expect(response.code == 405 && response["Allow"] == "GET, HEAD", "\(method)")
    }
    publishing.hold(.clock, because: "the clock is in doubt")
    #expect(try await ask("/ready/publishing", at: application).code == 503)
    #expect(try await ask("/metrics", at: application).text.contains("keyferry_listed_bundles{series=\"NL\""))
    // Who serves alone does not know about publishing.
    let serving = try self.application(nil, publishing: nil)
    #expect(try await ask("/ready/publishing", at: serving).code == 404)
    #expect(try await ask("/", at: serving).text.contains("This process serves alone"))
    // Who serves nothing is ready without a series.
    let receiving = try self.application(isServing: false)
    #expect(try await ask("/ready", at: receiving).code == 200)
  }

  @Test(
    "The page and the metrics are for some addresses, and on this machine for its own names",
    arguments: [
      ("127.0.0.1", "127.0.0.1:9091", 200), ("127.0.0.1", "localhost", 200), ("::1", "[::1]:9091", 200),
      ("127.0.0.1", "evil.example", 421), ("::1", "evil.example:9091", 421), ("192.0.2.1", "127.0.0.1:9091", 403),
      ("10.1.2.3", "gateway.internal:9091", 200),
    ])
  func clients(address: String, host: String, code: Int) async throws {
    let desk = StatusProvider()
    desk.answer { Self.report }
    let responder = OperatorsResponder(
      clients: AddressBlock.ofThisMachine + [try #require(AddressBlock("10.0.0.0/8"))],
      watch: WatchAnswers(
        metrics: GatewayMetrics(), metricsPath: "metrics", readiness: Readiness(), publishing: nil, isServing: false),
      store: nil, desk: desk, logger: .init(label: "test") { _ in SilentHandler() })
    func ask(_ path: String) async throws -> Int {
      var route = ""
      do {
        return try await responder.response(
          to: HTTPRequest(method: .get, scheme: "http", authority: host, path: path),
          at: try RequestTarget(path, byteLimit: 100), from: try SocketAddress(ipAddress: address, port: 1),
          route: &route
        ).status.code
      } catch let problem as Problem {
        return problem.status.code
      }
    }
    #expect(try await ask("/") == code)
    #expect(try await ask("/metrics") == code)
    #expect(try await ask("/health") == 200)
    #expect(try await ask("/ready") == 200)
  }

  @Test("Where operators have an address of their own, phones find nothing of theirs")
  func elsewhere() async throws {
    try fixture.publish("NL", bundles: 1)
    let application = try GatewayApplication(
      settings: ServerSettings(), store: fixture.store(), layouts: LayoutCatalog([]), answersOperators: false,
      publishing: Readiness())
    for path in ["/metrics", "/health", "/ready", "/ready/publishing"] {
      #expect(try await application.ask(path).code == 404, "\(path)")
    }
    #expect(try await application.ask("/").code == 200)
  }

  @Test("Words stand out from what is behind them, light and dark")
  func contrast() throws {
    let pairs: [(String, String, Double)] =
      ["ink", "soft", "accent"].flatMap { [($0, "card", 4.5), ($0, "paper", 4.5)] }
      + [
        ("ink", "code", 4.5), ("ink", "quietpaper", 4.5), ("good", "goodpaper", 4.5), ("warn", "warnpaper", 4.5),
        ("bad", "badpaper", 4.5), ("bad", "card", 3), ("overview", "header", 4.5),
      ]
    let faults = try ColourContrast.faults(
      of: pairs, in: OperatorsPageStyle.text, more: ["overview": "#b9dfe2", "header": "#0b3d4f"])
    #expect(faults == [])
  }
}
