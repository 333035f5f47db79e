import ExposureKeys
import Foundation
import GatewayTesting
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import KeyNormalization
import KeyReceiving
import KeyStorage
import Logging
import NIOCore
import ProgramMetrics
import Synchronization

@testable import GatewayDaemon
@testable import GatewayServer

/// Says nothing.
struct SilentHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.critical
  subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }
  func log(event: LogEvent) {}
}

/// Keeps lines.
final class Lines: Sendable {
  private let lines = Mutex<[String]>([])
  func add(_ line: String) { lines.withLock { $0.append(line) } }
  var all: [String] { lines.withLock { $0 } }
  var text: String { all.joined() }

  func logger(_ format: LogFormat = .json, level: Logger.Level = .debug) -> Logger {
    Logger(label: "test") { label in format.handler(label: label, level: level) { self.add($0) } }
  }
}

/// Answers what it is told under `/test/…`.
struct TestLayout: Layout {
  static let (name, title, summary) = ("test", "Tests", "what tests say")
  static let templates: [String] = []
  var answers: [String: LayoutAnswer] = [:]
  var make: (@Sendable (LayoutRequest, Publications) -> LayoutAnswer?)?

  init(
    answers: [String: LayoutAnswer] = [:], make: (@Sendable (LayoutRequest, Publications) -> LayoutAnswer?)? = nil
  ) {
    (self.answers, self.make) = (answers, make)
  }

  init(_ settings: LayoutSettings) {}

  func addresses(of series: String) -> [ConfiguredAddress] { [] }

  func answer(_ request: LayoutRequest, from publications: Publications) -> LayoutAnswer? {
    guard request.path.first == "test" else { return nil }
    return make?(request, publications) ?? answers[request.path.dropFirst().joined(separator: "/")]
  }
}

extension GatewayApplication {
  static func testing(
    _ fixture: PublicationFixture, layouts: [any Layout] = [], settings: ServerSettings = ServerSettings(),
    metrics: GatewayMetrics = GatewayMetrics(), readiness: Readiness = Readiness(), publishing: Readiness? = nil,
    limits: ServerLimits = ServerLimits(), now: Instant = PublicationFixture.noon,
    logger: Logger = Logger(label: "test") { _ in SilentHandler() }, store: PublicationStore? = nil,
    uploads: Ledger = Ledger(MemoryStore()), from sources: [UploadSource] = [.netherlands],
    caller: (any WebCaller)? = nil,
    keepsPace: Bool = false
  ) throws -> GatewayApplication {
    var settings = settings
    // Tests that measure time say so.
    if !keepsPace { for index in settings.uploads.indices { settings.uploads[index].answerSeconds = 0 } }
    return try GatewayApplication(
      settings: settings, store: store ?? fixture.store(), layouts: LayoutCatalog(layouts),
      uploads: sources.map { source in
        var source = source
        if source.series.isEmpty { source.series = ["NL"] }
        return UploadEntrance(source, recordedBy: uploads) { now }
      },
      caller: caller, metrics: metrics,
      readiness: readiness, publishing: publishing, limits: limits, clock: ServerClock { now }, logger: logger)
  }

  func ask(
    _ uri: String, _ method: HTTPRequest.Method = .get, headers: HTTPFields = [:], body: [UInt8]? = nil
  ) async throws -> TestResponse {
    try await application().test(.router) { client in
      try await client.executeRequest(
        uri: uri, method: method, headers: headers, body: body.map { ByteBuffer(bytes: $0) })
    }
  }
}

/// What a server has answered, live or not.
protocol AnsweredResponse {
  var status: HTTPResponse.Status { get }
  var headers: HTTPFields { get }
  var body: ByteBuffer { get }
}

extension TestResponse: AnsweredResponse {}

extension AnsweredResponse {
  var text: String { String(buffer: body) }
  var bytes: [UInt8] { Array(body.readableBytesView) }
  var code: Int { status.code }

  subscript(name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }

  /// The stable code of a problem document.
  var problem: String? { json["code"] as? String }

  var json: [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]) ?? [:]
  }
}

extension UploadSource {
  /// A door of one region, which reads as the default policy says.
  static let netherlands = UploadSource(origin: "NL", reading: Policy(name: "default"))
}
