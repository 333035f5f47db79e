import Crypto
import ExposureKeys
import Foundation
import GatewaySettings
import GatewayTesting
import HTTPTypes
import HummingbirdTesting
import KeyFormats
import KeyIntake
import KeyNormalization
import KeyReceiving
import KeyStorage
import Logging
import PolicyFiles
import ProgramMetrics
import Synchronization

@testable import BundleTrust
@testable import Federation
@testable import GatewayDaemon
@testable import GatewayServer

/// A federation of simulated countries: an operator with his trust anchor, and for each country a certificate of its
/// client and one that signs. All keys are made for the test.
struct SimulatedFederation: Sendable {
  struct Country: Sendable {
    let code: String
    let client: FederationCertificate
    let signing: BatchSigningIdentity
  }

  let anchor: P256.Signing.PrivateKey
  private(set) var trust: FederationTrust
  private(set) var countries: [String: Country] = [:]

  init(_ codes: [String]) throws {
    anchor = P256.Signing.PrivateKey()
    trust = FederationTrust(anchor: try FederationCertificate(der: try Self.certificate("XX", "anchor", anchor)))
    for code in codes { try add(code) }
  }

  subscript(code: String) -> Country {
    get throws {
      guard let country = countries[code] else { throw CocoaError(.keyValueValidation) }
      return country
    }
  }

  mutating func add(_ code: String) throws {
    let (client, signing) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
    let country = Country(
      code: code, client: try FederationCertificate(der: try Self.certificate(code, "client", client)),
      signing: try BatchSigningIdentity(
        certificate: try FederationCertificate(der: try Self.certificate(code, "signing", signing)),
        key: Secret(signing.pemRepresentation)))
    countries[code] = country
    try list(country.client, of: code, for: .authentication)
    try list(country.signing.certificate, of: code, for: .signing)
  }

  mutating func list(
    _ certificate: FederationCertificate, of code: String, for use: CertificateUse, at host: String? = nil
  ) throws {
    let signature = try anchor.signature(for: Data(certificate.pem.utf8)).derRepresentation
    trust.rows.append(
      WhitelistedCertificate(
        certificate: certificate, country: code, use: use, host: host, operatorSignature: Array(signature)))
  }

  mutating func revoke(_ code: String, _ use: CertificateUse) {
    for index in trust.rows.indices where trust.rows[index].country == code && trust.rows[index].use == use {
      trust.rows[index].isRevoked = true
    }
  }

  /// What a load balancer writes about a country's client.
  func proxyFields(_ code: String) throws -> HTTPFields {
    [.clientDigest: try self[code].client.thumbprint, .clientName: "C=\(code),O=Test,CN=client"]
  }

  /// A self-signed certificate on P-256 (RFC 5280), valid from 2020 to 2049.
  static func certificate(_ country: String, _ name: String, _ key: P256.Signing.PrivateKey) throws -> [UInt8] {
    let ecdsa = der(0x30, [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02])
    let subject = der(
      0x30,
      der(0x31, der(0x30, [0x06, 0x03, 0x55, 0x04, 0x06] + der(0x13, Array(country.utf8))))
        + der(0x31, der(0x30, [0x06, 0x03, 0x55, 0x04, 0x03] + der(0x0C, Array(name.utf8)))))
    let validity = der(0x30, der(0x17, Array("200101000000Z".utf8)) + der(0x17, Array("491231235959Z".utf8)))
    let version = der(0xA0, [0x02, 0x01, 0x02])
    let serial = der(0x02, [0x01] + Array(SHA256.hash(data: key.publicKey.rawRepresentation).prefix(8)))
    let body = der(
      0x30, version + serial + ecdsa + subject + validity + subject + Array(key.publicKey.derRepresentation))
    let signature = try key.signature(for: Data(body)).derRepresentation
    return der(0x30, body + ecdsa + der(0x03, [0x00] + Array(signature)))
  }

  private static func der(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    switch content.count {
    case ..<0x80: [tag, UInt8(content.count)] + content
    case ..<0x100: [tag, 0x81, UInt8(content.count)] + content
    default: [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
    }
  }
}

/// Keys as a national back end has them.
struct NationalBatch: Sendable {
  var keys: [ClaimedKey] = []
  var regions = RegionTable()

  /// - Parameter random: decides what is said.
  init(_ count: Int, of country: String, at now: Instant, _ random: inout SeededRandom) {
    for _ in 0..<count {
      var key = ClaimedKey(
        key: TemporaryExposureKey(
          high: .random(in: 0...(.max), using: &random), low: .random(in: 0...(.max), using: &random)))
      let day = Day(daysSince1970: now.day.daysSince1970 - Int64.random(in: 1...14, using: &random))
      key.rollingStart = Int32(day.firstInterval.rawValue)
      key.rollingPeriod = random.pick([144, 144, 144, 1, 72])
      key.transmissionRisk = random.pick([0, 3, 8, nil])
      key.reportType = random.pick([0, 1, 1, 2, 5])
      key.daysSinceOnset = random.pick([0, 0, -3, 4, 3986, 2003, 14])
      let visited: [String] = random.pick([[], ["DE"], ["IT", "FR"], ["FR", "IT", "FR"], ["CH", "AT", "NL"]])
      key.regions = regions.intern(RegionClaim(origin: country, visited: visited)) ?? .none
      keys.append(key)
    }
  }

  var canonical: [UInt8] {
    get throws { try keys.withUnsafeBufferPointer { try CanonicalBatch.bytes(of: $0, regions: regions) } }
  }

  func signature(by identity: BatchSigningIdentity, at now: Instant) throws -> String {
    Base64.encode(try identity.sign(try canonical, at: now))
  }

  var protobuf: [UInt8] { get throws { try encoded { BatchEncoder($0) } } }
  var json: [UInt8] { get throws { try encoded { EFGSJSONEncoder($0) } } }

  private func encoded(_ make: (OutputBuffer) -> any KeyEncoder) throws -> [UInt8] {
    let sink = MemorySink()
    let encoder = make(OutputBuffer(sink))
    try encoder.begin(ExportHeader())
    try keys.withUnsafeBufferPointer {
      try encoder.encode($0, regions: regions, unknownFields: UnknownFieldTable())
    }
    try encoder.finish(ExportHeader())
    return sink.bytes
  }
}

/// A clock that a test sets.
final class TestClock: Sendable {
  private let instant: Mutex<Instant>

  init(_ now: Instant) { instant = Mutex(now) }

  var now: Instant {
    get { instant.withLock { $0 } }
    set { instant.withLock { $0 = newValue } }
  }

  func step(_ seconds: Int64) { now = Instant(secondsSince1970: now.secondsSince1970 + seconds) }
}

/// A federation gateway behind a proxy, asked without a socket.
struct TestGateway: Sendable {
  static let protobuf = "application/protobuf; version=1.0"
  static let json = "application/json; version=1.0"
  /// 2020-12-01, noon.
  static let noon = Instant(secondsSince1970: 1_606_824_000)

  var federation: SimulatedFederation
  let clock = TestClock(TestGateway.noon)
  let ledger: Ledger
  let counter: FederationGateway
  let metrics = GatewayMetrics()
  let app: GatewayApplication
  let settings: FederationGatewaySettings

  /// The proxy is believed: the router's connections have no address.
  private struct OpenDoorkeeper: ClientAuthenticator {
    let base: CertificateAuthenticator
    func client(_ caller: PartnerCaller, at now: Instant) throws(FederationRefusal) -> FederationClient {
      var caller = caller
      caller.isThroughProxy = true
      return try base.client(caller, at: now)
    }
  }

  init(
    _ codes: [String] = ["DE", "FR", "FI", "IT"], ledger: Ledger = Ledger(MemoryStore()),
    desk: (any FederationBackend)? = nil,
    change: (inout FederationGatewaySettings) -> Void = { _ in },
    callbacks: ((Ledger, @escaping @Sendable () -> Instant) throws -> any CallbackRegistrar)? = nil
  ) throws {
    federation = try SimulatedFederation(codes)
    self.ledger = ledger
    guard let policy = try ShippedPolicies.policy(named: "efgs") else { throw CocoaError(.fileNoSuchFile) }
    var settings = FederationGatewaySettings(
      trust: federation.trust, clientCertificates: .proxy, reading: policy)
    change(&settings)
    self.settings = settings
    let clock = clock
    counter = FederationGateway(
      settings, ledger: ledger, ownOrigins: [], evidenceDays: Retention().evidenceDays
    ) { clock.now }
    var entrance = counter.entrance(
      nil, registrar: try callbacks.map { try $0(ledger) { clock.now } }, metrics: metrics)
    if let desk { entrance.desk = desk }
    entrance.doorkeeper = OpenDoorkeeper(
      base: CertificateAuthenticator(FederationListenerSettings(.proxy), trust: counter.trust, metrics: metrics))
    app = try GatewayApplication(
      settings: ServerSettings(), store: try PublicationFixture().store(), layouts: LayoutCatalog([]),
      partners: [FederationResponder(entrance, metrics: metrics)], metrics: metrics, clock: ServerClock { clock.now },
      logger: .init(label: "test") { _ in SilentHandler() })
  }

  /// As the national back end of a country uploads.
  func upload(
    _ batch: NationalBatch, tag: String, of country: String, inJSON: Bool = false, signature: String? = nil,
    body: [UInt8]? = nil, change: (inout HTTPFields) -> Void = { _ in }
  ) async throws -> TestResponse {
    var fields = try federation.proxyFields(country)
    fields[.contentType] = inJSON ? Self.json : Self.protobuf
    fields[.batchTag] = tag
    fields[.batchSignature] =
      try signature ?? batch.signature(by: federation[country].signing, at: clock.now)
    change(&fields)
    return try await app.ask(
      "\(settings.path)/diagnosiskeys/upload", .post, headers: fields,
      body: body ?? (inJSON ? batch.json : batch.protobuf))
  }

  func download(
    _ day: String, tag: String? = nil, for country: String, inJSON: Bool = false,
    change: (inout HTTPFields) -> Void = { _ in }
  ) async throws -> TestResponse {
    var fields = try federation.proxyFields(country)
    fields[.accept] = inJSON ? Self.json : Self.protobuf
    fields[.batchTag] = tag
    change(&fields)
    return try await app.ask("\(settings.path)/diagnosiskeys/download/\(day)", headers: fields)
  }

  func audit(_ day: String, _ tag: String, for country: String) async throws -> TestResponse {
    try await app.ask(
      "\(settings.path)/diagnosiskeys/audit/download/\(day)/\(tag)", headers: federation.proxyFields(country))
  }

  /// Closes all batches that can be closed.
  @discardableResult
  func close() async throws -> [FederationBatch] {
    var batches: [FederationBatch] = []
    while let batch = try await ledger.batched(
      within: settings.batchKeys, keptFor: settings.keptDays, at: clock.now)
    {
      batches.append(batch)
    }
    return batches
  }

  static func keys(_ bytes: [UInt8]) throws -> DecodedDocument {
    bytes.isEmpty ? DecodedDocument() : try DecodedDocument(decoding: BatchDecoder(InputWindow(MemorySource(bytes))))
  }
}
