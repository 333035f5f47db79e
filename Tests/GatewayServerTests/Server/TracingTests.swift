import ExposureKeys
import Federation
import Foundation
import GatewaySettings
import GatewayTesting
import HTTPTypes
import InMemoryTracing
import KeyNormalization
import KeyPublishing
import KeyStorage
import ProgramMetrics
import Testing
import Tracing

@testable import GatewayDaemon
@testable import GatewayServer

@Suite("What a tracer is told")
struct TracingTests {
  /// The tracer of this process: there is one.
  private static let tracer: InMemoryTracer = {
    let tracer = InMemoryTracer()
    InstrumentationSystem.bootstrap(tracer)
    return tracer
  }()

  private func spans(_ name: String, _ attribute: String) -> [String] {
    Self.tracer.finishedSpans.filter { $0.operationName == name }.compactMap { span in
      span.attributes.get(attribute).flatMap { if case .string(let text) = $0 { text } else { nil } }
    }
  }

  @Test("An upload is a span, which says the door and nothing of the keys")
  func upload() async throws {
    _ = Self.tracer
    let fixture = try PublicationFixture()
    var settings = ServerSettings()
    settings.uploads = [UploadSettings(token: "secret-token", requestsPerMinute: nil)]
    let application = try GatewayApplication.testing(
      fixture, settings: settings, metrics: GatewayMetrics(), uploads: Ledger(MemoryStore()))
    let key = Data((1..<17).map(UInt8.init)).base64EncodedString()
    let body =
      "[{\"keyData\":\"\(key)\",\"rollingPeriod\":144,\"rollingStartNumber\":2677680,\"transmissionRiskLevel\":3}]"
    let response = try await application.ask(
      "/apple/NL/keys", .post,
      headers: [.contentType: "application/json", .authorization: "Bearer secret-token"], body: Array(body.utf8))
    #expect(response.code < 300, "\(response.code) \(response.text)")
    #expect(spans("keyferry.upload", "keyferry.door").contains("sample-app"), "\(Self.tracer.finishedSpans)")
    #expect(!"\(Self.tracer.finishedSpans)".contains(key))
  }

  @Test("A pull is a span, which says the source, and what went wrong")
  func pull() async throws {
    _ = Self.tracer
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder.appending(path: "drop"), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try """
    state: state
    sources:
      - {name: traced-drop, protocol: files, location: drop, trust: operator, origin: NL, speaks-for: [NL]}
      - {name: traced-none, protocol: files, location: nowhere, trust: operator, origin: BE, speaks-for: [BE]}
    """.write(to: folder.appending(path: "gateway.yaml"), atomically: true, encoding: .utf8)
    let (plan, _) = try GatewayConfiguration.read(
      folder.appending(path: "gateway.yaml").path(), environment: [:], now: PublicationFixture.noon)
    let receiving = try Receiving(plan, ledger: Ledger(MemoryStore()), version: "1") { PublicationFixture.noon }
    _ = try await receiving.pull(plan.sources)
    await receiving.close()
    let sources = spans("keyferry.pull", "keyferry.source").filter { $0.hasPrefix("traced-") }
    #expect(sources.sorted() == ["traced-drop", "traced-none"])
    let failed = Self.tracer.finishedSpans.filter { $0.attributes.get("keyferry.fault") != nil }
    #expect(failed.map { $0.attributes.get("keyferry.source") } == [.string("traced-none")])
  }

  @Test("A push is a span, which says the destination")
  func push() async throws {
    _ = Self.tracer
    let pushing = Pushing(ledger: Ledger(MemoryStore()), version: "1") { PublicationFixture.noon }
    let destinations = ["traced-a", "traced-b"].map { name in
      DestinationSettings(
        name: name, location: "https://127.0.0.1:9", origin: "NL", sources: ["door"], publishing: Policy(name: "test"),
        signer: PushSigner(subject: "C=NL,CN=test", thumbprint: "ab") { _, _ in [] })
    }
    let receipts = try await pushing.push(to: destinations, isForced: true, isOnce: true)
    await pushing.close()
    #expect(receipts.count == 2)
    #expect(
      spans("keyferry.push", "keyferry.destination").filter { $0.hasPrefix("traced-") }.sorted()
        == destinations.map(\.name))
  }

  @Test("A round of publishing is a span, which says its series")
  func round() async throws {
    _ = Self.tracer
    let gateway = try ConfiguredGateway()
    var plan = gateway.plan
    for index in plan.series.indices { plan.series[index].name = "traced-\(plan.series[index].name)" }
    let service = PublishService(
      plan: CurrentPlan(plan), tenure: .alone(gateway.ledger), place: try #require(PublicationPlace(plan)),
      clock: GatewayClock(toldByOperator: ConfiguredGateway.now), metrics: GatewayMetrics(), readiness: Readiness(),
      publications: nil, program: "test")
    let work = Task { try await service.run() }
    var found: [[String]] = []
    for _ in 0..<300 where found.isEmpty {
      try await Task.sleep(for: .milliseconds(100))
      found = Self.tracer.finishedSpans.filter { $0.operationName == "keyferry.round" }.compactMap { span in
        span.attributes.get("keyferry.series").flatMap { if case .stringArray(let names) = $0 { names } else { nil } }
      }
    }
    work.cancel()
    try await work.value
    #expect(found.first == plan.series.map(\.name).sorted())
  }
}
