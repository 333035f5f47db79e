import ExposureKeys
import GatewayTesting
import Hummingbird
import HummingbirdTesting
import ProgramMetrics
import Testing

@testable import GatewayServer

@Suite("What all pages for people have around them")
struct PageFrameTests {
  let fixture: PublicationFixture

  init() throws { fixture = try PublicationFixture() }

  enum Page: String, CaseIterable {
    case empty, people, several, operators, calmOperators, servingAlone
  }

  private func response(_ page: Page) async throws -> TestResponse {
    switch page {
    case .empty: break
    case .people, .several:
      try fixture.publish("NL", bundles: 6, title: "Netherlands & <Aruba>")
      if page == .several { try fixture.publish("BE", bundles: 1) }
    case .operators, .calmOperators, .servingAlone: try fixture.publish("NL", bundles: 1)
    }
    switch page {
    case .empty, .people, .several:
      return try await GatewayApplication.testing(
        fixture, layouts: [GoogleLayout(), AppleLayout(configuration: [])]
      ).ask("/")
    case .operators: return try await operators(OperatorsTests.report)
    case .calmOperators:
      let now = PublicationFixture.noon
      return try await operators(OperatorsReport(now: now, program: "keyferry", start: now))
    case .servingAlone: return try await operators(nil)
    }
  }

  private func operators(_ report: OperatorsReport?) async throws -> TestResponse {
    let desk = StatusProvider()
    if let report { desk.answer { report } }
    return try await OperatorsApplication(
      OperatorsSettings(), store: fixture.store(), metrics: GatewayMetrics(), readiness: Readiness(),
      publishing: Readiness(), isServing: true, desk: desk, clock: ServerClock { PublicationFixture.noon }
    ).application().test(.router) {
      try await $0.executeRequest(uri: "/", method: .get, headers: [:], body: nil)
    }
  }

  @Test("A page needs nothing from elsewhere, is well formed, and leads past its head", arguments: Page.allCases)
  func frame(_ page: Page) async throws {
    let response = try await response(page)
    #expect(try PageJudge.faults(of: response) == [])
  }

  /// A judge who sees nothing wrong with anything would be none.
  @Test(
    "Who judges pages sees what is wrong",
    arguments: [
      ("<main", "<script>1</script><main"), ("</style>", " </style>"), ("<footer>", "<footer><p>"),
      ("class=\"skip\"", "class=\"skp\""), ("href=\"#", "href=\"#no"), ("<h1>", "<h1></h1><h1>"),
      (" aria-labelledby=", " aria-lbelledby="),
    ])
  func judge(_ old: String, _ new: String) async throws {
    let response = try await response(.people)
    let page = response.text.replacing(old, with: new, maxReplacements: 1)
    let policy = try #require(response["Content-Security-Policy"])
    let faults = try PageJudge.faults(of: page, policy: policy)
    #expect(page != response.text && !faults.isEmpty)
  }
}
