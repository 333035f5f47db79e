import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import HTTPTypes
import HummingbirdTesting
import KeyFormats
import KeyPublishing
import KeyStorage
import Logging
import NIOCore
import ProgramMetrics
import Synchronization
import Testing

@testable import GatewayDaemon
@testable import GatewayServer
@testable import GatewaySettings

/// A gateway as its configuration says: what an operator writes, read as `keyferry run` reads it, with its doors, its store
/// in memory and a folder of its own.
final class ConfiguredGateway {
  let folder: URL
  private(set) var plan: GatewayPlan
  let warnings: [GatewayFault]
  let ledger: Ledger
  let metrics = GatewayMetrics()

  /// Of the requests in `interop/uploads`.
  static let now = PublicationFixture.noon
  static let requests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "interop/uploads")

  /// Everything that lets uploads in, for Virginia, whose keys are for the United States too.
  static let doors = """
    origin: US-VA
        regions: [US-VA, US]
        rate: none
        token: {file: token}
        clients: {hospital: {file: hospital}}
        certificates:
          - issuer: verify.example.org
            audience: keys.example.org
            health-authority: gov.example.health
            keys: {v1: verifier.pem}
        codes: {url: "https://verify.example.org/code", token: {file: token}}
        revision-key: {file: revision}
        ignored-members: [anything]
        dp3t: {keys: [dp3t.pem], next-day-key: {file: signing.pem}}
    """

  init(doors: String = doors, server: String = "", store: any Store = MemoryStore()) throws {
    ledger = Ledger(store)
    folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-doors-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, text) in [
      ("token", "secret-token-of-all"), ("hospital", "secret-token-of-the-hospital"),
      ("revision", String(repeating: "0123456789abcdef", count: 3)),
      ("signing.pem", SigningKey.generate().pemRepresentation),
      ("verifier.pem", try Self.text("TEST-KEY-verifier.pem")), ("dp3t.pem", try Self.text("TEST-KEY-dp3t.pem")),
      ("keys.jwks", try Self.text("TEST-KEYS.jwks")),
      (
        "config.json",
        #"{"forceUpdate": true, "infoBox": {"deInfoBox": {"title": "Hallo"}}, "iOSGaenSdkConfig": {"factorHigh": 0.75}}"#
      ),
    ] {
      try Data(text.utf8).write(to: folder.appending(path: name))
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: folder.appending(path: name).path)
    }
    let key = "sign: [{key: {file: signing.pem}, id: \"310\", version: v1}]"
    try Data(
      """
      state: state
      series:
        - {name: VA, include: [US-VA], every: 2 hours, \(key)}
        - {name: US, include: [US], every: 2 hours, \(key)}
        - {name: CA, include: [CA], every: 2 hours, \(key)}
        - {name: travel, travellers-only: true, every: 2 hours, \(key)}
      publication: {folder: public}
      server:
        default-series: VA
      \(Self.block(server, 2))
        uploads:
      \(Self.block(doors, 4))
      """.utf8
    ).write(to: folder.appending(path: "gateway.yaml"))
    (plan, warnings) = try GatewayConfiguration.read(
      folder.appending(path: "gateway.yaml").path, environment: [:], now: Self.now)
  }

  /// Answers after so long, since whole seconds are too long for tests.
  func pacing(_ seconds: Double) -> ConfiguredGateway {
    for index in plan.uploads.indices { plan.server?.uploads[index].answerSeconds = seconds }
    return self
  }

  /// As an entrance is that gives out no tokens.
  func withoutRevisionKey() -> ConfiguredGateway {
    for index in plan.uploads.indices { plan.server?.uploads[index].revisionKey = nil }
    return self
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// The lines of a section, as deep as they belong.
  private static func block(_ text: String, _ depth: Int) -> String {
    let lines = text.split(separator: "\n")
    let lead = lines.dropFirst().map { $0.prefix { $0 == " " }.count }.min() ?? 0
    return lines.enumerated().map { String(repeating: " ", count: depth) + ($0 == 0 ? $1 : $1.dropFirst(lead)) }
      .joined(separator: "\n")
  }

  static func text(_ name: String) throws -> String {
    try String(contentsOf: requests.appending(path: name), encoding: .utf8)
  }

  func application(
    caller: any WebCaller = PINService(), keepsPace: Bool = false,
    logger: Logger = Logger(label: "test") { _ in SilentHandler() }
  ) throws -> GatewayApplication {
    guard let settings = plan.server else { throw CocoaError(.featureUnsupported) }
    return try GatewayApplication.testing(
      PublicationFixture(), layouts: LayoutCatalog(LayoutSettings(settings, exposureConfiguration: [])).layouts,
      settings: settings, metrics: metrics, now: Self.now, logger: logger,
      store: PublicationStore(folder: folder.appending(path: "public").path, order: plan.series.map(\.name)),
      uploads: ledger, from: plan.uploads, caller: caller, keepsPace: keepsPace)
  }

  /// Publishes what is due two hours after the uploads, or later, and returns all keys that each series has.
  func publish(after hours: Int64 = 2) async throws -> [String: [ClaimedKey]] {
    let now = Instant(secondsSince1970: Self.now.secondsSince1970 + hours * 3600 + 60)
    for receipt in try await Publisher(ledger: ledger, series: plan.series, folder: plan.publicationFolder ?? "")
      .round(at: ClockLook(toldByOperator: now))
    {
      if let fault = receipt.fault { throw fault }
    }
    var keys: [String: [ClaimedKey]] = [:]
    for series in plan.series.map(\.name) {
      let place = URL(filePath: plan.publicationFolder ?? "").appending(path: series)
      let names = (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? []
      // Day roll-ups hold the same keys again.
      for name in names.sorted() where name.hasSuffix(".zip") && !name.contains("day") {
        keys[series, default: []] += try DecodedDocument(Array(Data(contentsOf: place.appending(path: name)))).keys
      }
    }
    return keys
  }

  var keptCount: Int {
    get async throws { try await ledger.read { try $0.claimCount() } }
  }
}

/// A request of `interop/uploads`, as an app sends it.
struct UploadVector: Decodable, Sendable, CustomTestStringConvertible {
  var comment: String
  var path: String
  var headers: [String: String]
  var status: Int
  var code: String
  var body: String
  var name = ""

  enum CodingKeys: String, CodingKey { case comment, path, headers, status, code, body }

  var testDescription: String { name }

  init(_ name: String) throws {
    self = try JSONDecoder().decode(UploadVector.self, from: Data(try ConfiguredGateway.text("\(name).json").utf8))
    self.name = name
  }

  static let all: [UploadVector] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: ConfiguredGateway.requests.path)) ?? []
    return names.filter { $0.hasSuffix(".json") }.sorted().compactMap { try? UploadVector(String($0.dropLast(5))) }
  }()

  var fields: HTTPFields {
    var fields = HTTPFields()
    for (name, value) in headers { if let name = HTTPField.Name(name) { fields[name] = value } }
    return fields
  }

  func post(
    to app: GatewayApplication, adding: HTTPFields = [:], _ change: (String) -> String = { $0 }
  ) async throws -> TestResponse {
    var fields = fields
    for field in adding { fields[field.name] = field.value }
    return try await app.ask(path, .post, headers: fields, body: Array(change(body).utf8))
  }
}

/// Knows one good PIN, and counts what it is asked.
final class PINService: WebCaller {
  private let asked = Mutex<[WebCall]>([])
  var calls: [WebCall] { asked.withLock { $0 } }

  func call(_ call: WebCall) async throws -> WebAnswer {
    asked.withLock { $0.append(call) }
    let text = String(decoding: call.body ?? [], as: UTF8.self)
    if text.contains("1234-down") { throw CocoaError(.fileReadUnknown) }
    let isGood = text.contains("1234-good")
    return WebAnswer(status: 200, body: Array("{\"valid\":\(isGood),\"reportType\":\"likely\"}".utf8))
  }
}
