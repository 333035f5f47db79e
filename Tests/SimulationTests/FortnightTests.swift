import ExposureKeys
import Federation
import Foundation
import GatewayServer
import GatewayTesting
import KeyFormats
import KeyIntake
import KeyNormalization
import KeyPeers
import KeyPublishing
import KeyReceiving
import KeyStorage
import SQLiteDriver
import Synchronization
import Testing

@testable import BundleTrust
@testable import GatewaySimulation

#if PostgreSQL
  import PostgresDriver
#endif

/// Fourteen days of a national gateway whose every published byte is known: `interop/fixtures/fortnight/digests.json` has the
/// SHA-256 of each `export.bin`, index and federation batch. Keys come in as from outside and are compared as they go out, so
/// another store, another merge or another encoder must publish the same.
///
/// `KEYFERRY_RECORD=fortnight swift test --filter FortnightTests` records the digests again; CI never does. Record only a change
/// of what is published that is meant, and say in the commit what changed and why.
@Suite("Fortnight", .serialized)
struct FortnightTests {
  @Test func sqlitePublishesWhatIsRecorded() async throws {
    try await Fortnight.inFolder { folder in
      try compare(
        try await Fortnight.digests(in: folder, of: try SQLiteStore(folder: folder + "/state", now: .now)))
    }
  }

  #if PostgreSQL
    @Test(.enabled(if: PostgresServer.programs != nil, Comment(rawValue: PostgresServer.advice)))
    func postgresPublishesWhatIsRecorded() async throws {
      let store = try PostgresStore(ConnectionWords(PostgresServer.shared.words), schema: PostgresServer.newSchema())
      try await Fortnight.inFolder { folder in try compare(try await Fortnight.digests(in: folder, of: store)) }
    }
  #endif

  /// Its first days with another secret, with one key that means something else, and as recorded.
  @Test(arguments: [nil, .paddingSecret, .lastReportType] as [Fortnight.Change?])
  func aChangeIsSeen(change: Fortnight.Change?) async throws {
    try await Fortnight.inFolder { folder in
      let found = try await Fortnight.digests(in: folder, of: MemoryStore(), days: 3, change: change)
      let recorded = try Fortnight.recorded
      let different = found.filter { recorded[$0.key] != $0.value }
      #expect(different.isEmpty == (change == nil), "\(different.count) of \(found.count)")
      #expect(found.count > 100)
    }
  }

  private func compare(_ found: [String: String]) throws {
    if ProcessInfo.processInfo.environment["KEYFERRY_RECORD"] == "fortnight" { try Fortnight.record(found) }
    let recorded = try Fortnight.recorded
    // Where the inputs differ, the generator has changed, and not the gateway.
    try #require(found[Fortnight.inputs] == recorded[Fortnight.inputs])
    let places = Set(found.keys).union(recorded.keys).sorted()
    let different = places.filter { found[$0] != recorded[$0] }
    #expect(
      different.isEmpty,
      "\(different.count) of \(places.count) differ: \(different.prefix(12).joined(separator: ", "))")
  }
}

/// What happens in the fortnight. Nothing in it is drawn by the system: keys follow from a seed, times from a count.
struct Fortnight {
  enum Change: String { case paddingSecret, lastReportType }

  static let inputs = "inputs"
  private static let file = PackageFolder.root.appending(path: "interop/fixtures/fortnight/digests.json")
  /// 2020-12-04, five minutes after midnight.
  private static let beginning: Int64 = 18_600 * 86_400 + 300
  private static let stepSeconds: Int64 = 14_400
  private static let word = Attribution(by: "operator", reason: "fortnight")

  static var recorded: [String: String] {
    get throws { try JSONDecoder().decode([String: String].self, from: Data(contentsOf: file)) }
  }

  static func record(_ digests: [String: String]) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try (try encoder.encode(digests) + Data("\n".utf8)).write(to: file)
  }

  static func inFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-fortnight-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder.appending(path: "state"), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.path)
  }

  /// - Returns: by the place of each file that was published, however long, its SHA-256.
  static func digests(
    in folder: String, of store: any Store, days: Int = 14, change: Change? = nil
  ) async throws -> [String: String] {
    var fortnight = try Fortnight(in: folder, Ledger(store), change)
    for step in 0..<days * 6 { try await fortnight.step(step) }
    fortnight.digests[inputs] = days == 14 ? digest(of: fortnight.said) : nil
    return fortnight.digests
  }

  private let machine = Machine(at: Self.beginning)
  private let ledger: Ledger
  private let change: Change?
  private let series: [SeriesSettings]
  private let publisher: Publisher
  private let publicFolder: String
  private let puller: Puller
  private let door: UploadIntake
  private let federation: FederationIntake
  private let client: FederationClient
  private let downloads: FederationDownloads
  private let pusher: Pusher
  private let hub = Hub()
  private let servers: [ForeignServer]
  private let drop: DropFolder
  private var random = SeededRandom(seed: 2020)
  /// Everything that was said, for a digest.
  private var said: [UInt8] = []
  private var digests: [String: String] = [:]
  /// By path, when the file was written.
  private var known: [String: Date?] = [:]
  /// Of uploads that are still to be revised, with the step in which they are.
  private var pending: [(step: Int, keys: [ClaimedKey], proof: [RevisableKey])] = []
  private var uploaded: [[ClaimedKey]] = []
  private var shared: [[ClaimedKey]] = []

  private init(in folder: String, _ ledger: Ledger, _ change: Change?) throws {
    let clock: @Sendable () -> Instant = { [machine] in Instant(secondsSince1970: machine.truth) }
    let reading = Policy(name: "reading")
    (self.ledger, self.change, publicFolder) = (ledger, change, folder + "/public")
    let identity = try SigningIdentity(
      key: SigningKey(pem: TestCertificate.netherlands.keyPEM), keyID: "204", keyVersion: "v1")
    series = Self.series(identity)
    let firstByte: UInt8 = change == .paddingSecret ? 1 : 0
    publisher = Publisher(
      ledger: ledger, series: series, folder: LocalFolder(publicFolder), program: "fortnight",
      randomBytes: { count in (0..<count).map { UInt8(truncatingIfNeeded: $0) &+ firstByte } })
    puller = try Puller(ledger: ledger, spool: folder + "/spool", ownOrigins: ["NL"], clock: clock)
    door = UploadIntake(
      UploadSource(name: "door", origin: "NL", reading: reading, regions: ["DE", "NL"]), ledger: ledger, clock: clock)
    let trust = try Self.trust()
    let settings = FederationGatewaySettings(trust: trust, clientCertificates: .proxy, reading: reading)
    federation = FederationIntake(
      settings, trust: HeldFederationTrust(trust), ledger: ledger, ownOrigins: ["NL"], clock: clock)
    client = FederationClient(trust.rows[0])
    downloads = FederationDownloads(ledger: ledger, keptDays: settings.keptDays, clock: clock)
    pusher = Pusher(ledger: ledger, clock: clock)
    servers = [
      try ForeignServer("de", country: "DE", .index, on: machine),
      try ForeignServer("it", country: "IT", .federation, on: machine),
    ]
    drop = try DropFolder(below: folder)
  }

  private static func series(_ identity: SigningIdentity) -> [SeriesSettings] {
    var policy = Policy(name: "publishing")
    policy.publishing.emptyVisited = .origin
    var national = SeriesSettings(
      name: "NL", selection: RegionSelection(include: ["NL"]), publishing: policy, headerRegion: "204",
      identities: [ScheduledIdentity(identity: identity)], period: 14_400, minimumKeys: 40, pads: true)
    national.makesKeyDays = true
    var travel = SeriesSettings(
      name: "travel", selection: RegionSelection(include: nil), publishing: policy, headerRegion: "204",
      identities: [ScheduledIdentity(identity: identity)], period: 28_800, publishesEmptyWindows: true,
      makesSince: true,
      editionsPerDay: 4, listedDays: 10)
    travel.maximumKeys = 60
    travel.ownOrigins = ["NL"]
    national.ownOrigins = ["NL"]
    return [national, travel]
  }

  /// France may upload, as its operator's anchor has signed.
  private static func trust() throws -> FederationTrust {
    var trust = FederationTrust(anchor: try FederationCertificate(pem: TestCertificate.anchor.pem))
    let certificate = try FederationCertificate(pem: TestCertificate.france.pem)
    let anchor = try SigningKey(pem: TestCertificate.anchor.keyPEM)
    let signature = try anchor.signature(for: ExportDigests(of: Array(certificate.pem.utf8)))
    trust.rows = [CertificateUse.authentication, .signing].map {
      WhitelistedCertificate(certificate: certificate, country: "FR", use: $0, operatorSignature: signature)
    }
    return trust
  }

  private var now: Instant { Instant(secondsSince1970: machine.truth) }

  // MARK: A step of four hours

  private mutating func step(_ step: Int) async throws {
    machine.pass(seconds: Self.stepSeconds)
    try await upload(step)
    if step % 3 == 0 { try speak(servers[0]) }
    if step % 4 == 1 { try speak(servers[1]) }
    if step % 6 == 2 { try dropFile() }
    if step % 6 == 3 { try await uploadAsFrance(step) }
    try await operate(step)
    for server in servers { try await pull(server.settings, server) }
    try await pull(drop.settings, drop.transport { [machine] in Instant(secondsSince1970: machine.truth) })
    while try await ledger.batched(within: 5000, keptFor: 2, at: now) != nil {}
    let look = ClockLook(toldByOperator: now)
    if let settled = look.settled { _ = try await Retention().carryOut(in: ledger, at: settled) }
    for receipt in try await publisher.round(at: look) { try #require(receipt.fault == nil, "\(receipt)") }
    let push = try await pusher.push(to: try destination(), through: hub, isForced: true)
    try #require(push.outcome == .done, "\(push.outcome)")
    try takeFiles(step)
    if step % 6 == 5 { try await takeBatches() }
  }

  private func pull(_ settings: SourceSettings, _ transport: any Transport) async throws {
    let receipt = try await puller.pull(settings, through: transport, isForced: true)
    try #require(receipt.outcome == .done || receipt.outcome == .paused, "\(receipt.outcome)")
  }

  /// People of the Netherlands, some of whom say more a day later.
  private mutating func upload(_ step: Int) async throws {
    for person in 0..<1 + draw(3) {
      var keys = (0..<2 + draw(5)).map { newKey(age: Int64($0)) }
      let type: ReportType = [.confirmedTest, .confirmedClinicalDiagnosis, .selfReport][draw(3)]
      for index in keys.indices { keys[index].reportType = type.rawValue }
      if change == .lastReportType, step == 3 { keys[keys.count - 1].reportType = ReportType.selfReport.rawValue }
      let regions = person == 0 ? ["NL"] : ["DE", "NL"]
      note(keys, regions.joined())
      let receipt = try await door.accept(
        DecodedDocument(keys: keys), for: regions, proof: .missing, certificate: nil, byteCount: 500)
      try #require(receipt.accepted == keys.count)
      uploaded.append(keys)
      if type != .confirmedTest, draw(2) == 0 { pending.append((step + 5 + draw(4), keys, receipt.recorded)) }
    }
    let due = pending.filter { $0.step == step }
    pending.removeAll { $0.step == step }
    for var person in due {
      let type: ReportType = draw(2) == 0 ? .revoked : .confirmedTest
      for index in person.keys.indices { person.keys[index].reportType = type.rawValue }
      note(person.keys, "revised")
      _ = try await door.accept(
        DecodedDocument(keys: person.keys), for: ["NL"], proof: .keys(person.proof), certificate: nil, byteCount: 500)
    }
  }

  private mutating func speak(_ server: ForeignServer) throws {
    var document = newDocument(of: server.country, 5 + draw(15))
    // Some have been in Italy's batches as well as in Germany's exports, and one may say otherwise by now.
    if server.country == "DE", let last = shared.last {
      let region = document.keys[0].regions
      for (number, key) in last.prefix(4).enumerated() {
        var key = key
        key.regions = region
        key.isRevised = true
        key.reportType = (number == 0 ? ReportType.revoked : .confirmedTest).rawValue
        document.keys.append(key)
      }
    }
    if server.country == "DE" { shared.append(document.keys.prefix(8).filter { $0.reportType != 1 }) }
    note(document.keys, server.country)
    _ = server.publish(document)
  }

  private mutating func dropFile() throws {
    let document = newDocument(of: "BE", 4 + draw(6))
    note(document.keys, "BE")
    _ = try drop.drop(document, at: machine.truth)
  }

  private mutating func uploadAsFrance(_ step: Int) async throws {
    let document = newDocument(of: "FR", 3 + draw(9), visited: ["FR", "NL"])
    note(document.keys, "FR")
    let canonical = try document.keys.withUnsafeBufferPointer {
      try CanonicalBatch.bytes(of: $0, regions: document.regions)
    }
    let identity = try BatchSigningIdentity(
      certificate: FederationCertificate(pem: TestCertificate.france.pem), key: Secret(TestCertificate.france.keyPEM))
    let outcome = try await federation.accept(
      FederationDelivery(
        client: client, tag: "FR-\(step)", signature: Base64.encode(try identity.sign(canonical, at: now)),
        format: .efgsProtobuf, body: try ReferenceBatch.encode(document)))
    try #require(outcome == .recorded(keys: document.keys.count, held: 0))
  }

  /// A recall on the sixth day and one on the tenth, erasures on the seventh and the eleventh, a pause in between.
  private func operate(_ step: Int) async throws {
    switch step {
    case 33:
      _ = try await ledger.recalled(
        RecallRequest(origin: "DE", since: start(of: 20), source: "de"), by: Self.word, at: now)
    case 40, 41, 64:
      // Published long ago, and not yet.
      for key in (uploaded[10] + (uploaded.last ?? [])).prefix(step == 64 ? 1 : 9) {
        _ = try await ledger.erased(key.key, digest: digest(of: key.key.bytes), by: Self.word, at: now) { _ in [] }
      }
    case 44: try await ledger.paused(.source("it"), by: Self.word, at: now)
    case 50: _ = try await ledger.resumed(.source("it"), by: Self.word, at: now)
    case 57: _ = try await ledger.recalled(RecallRequest(origin: "BE"), by: Self.word, at: now)
    default: break
    }
  }

  private func start(of step: Int64) -> Instant {
    Instant(secondsSince1970: Self.beginning + step * Self.stepSeconds)
  }

  private func destination() throws -> DestinationSettings {
    var policy = Policy(name: "push")
    policy.publishing.emptyVisited = .none
    policy.publishing.includesOrigin = false
    var settings = DestinationSettings(
      name: "hub", location: "https://hub.example", origin: "NL", sources: ["door"], publishing: policy,
      signer: PushSigner(subject: "C=NL,CN=test", thumbprint: "ab") { canonical, _ in canonical })
    settings.doors = ["door"]
    return settings
  }

  // MARK: What is seen outside

  private mutating func takeFiles(_ step: Int) throws {
    let files = FileManager.default.enumerator(atPath: publicFolder)?.compactMap { $0 as? String } ?? []
    for path in files.sorted() where path.hasSuffix(".zip") {
      let time = try FileManager.default.attributesOfItem(atPath: "\(publicFolder)/\(path)")[.modificationDate] as? Date
      // A file that was not written again has the digest that it had.
      guard known.updateValue(time, forKey: path) != time else { continue }
      guard let data = FileManager.default.contents(atPath: "\(publicFolder)/\(path)") else { continue }
      let zip = try ZipArchive(MemorySource([UInt8](data)))
      let entry = try #require(zip["export.bin"])
      take(path, try zip.open(entry).readAll(limit: 1 << 24))
    }
    let publications = PublicationStore(folder: publicFolder, checkInterval: 0).publications
    for name in series.map(\.name) {
      let request = LayoutRequest(path: [name, "index.txt"], baseURL: "", now: now)
      guard case .bytes(let bytes, _)? = GoogleLayout().answer(request, from: publications)?.content else {
        throw Unanswered()
      }
      take("\(name)/index.txt at \(now)", bytes)
    }
    for (number, body) in hub.bodies.enumerated() { take("pushed/\(number)", body) }
  }

  /// A layout that gave no index.
  private struct Unanswered: Error {}

  private mutating func takeBatches() async throws {
    for country in ["DE", "FR"] {
      var tag: String?
      var day = now.day
      repeat {
        let batch: FederationDownload
        do throws(any Error) {
          batch = try await downloads.batch(of: day, tagged: tag, for: country)
        } catch is FederationRefusal {
          break
        }
        take("federation/\(batch.tag) for \(country)", batch.keys)
        tag = batch.next
        day = tag.flatMap { FederationBatch.place(of: $0)?.day } ?? day
      } while tag != nil
    }
  }

  private mutating func take(_ place: String, _ bytes: [UInt8]) {
    let digest = digest(of: bytes)
    #expect(digests[place] == nil || digests[place] == digest, "\(place) has changed")
    digests[place] = digest
  }

  // MARK: What is said

  private mutating func newKey(age: Int64) -> ClaimedKey {
    var key = ClaimedKey(key: TemporaryExposureKey(high: random.next(), low: random.next()))
    key.rollingStart = Int32((machine.truth / 86_400 - age) * 144)
    // One of today is in use until now at most.
    key.rollingPeriod = age == 0 ? Int32(max(1, machine.truth % 86_400 / 600)) : draw(8) == 0 ? 60 : 144
    key.transmissionRisk = Int32(draw(9))
    key.daysSinceOnset = Int32(draw(15) - 7)
    return key
  }

  private mutating func newDocument(of country: String, _ count: Int, visited: [String]? = nil) -> DecodedDocument {
    var document = DecodedDocument()
    let choices = visited.map { [$0] } ?? [[country], [country, "NL"], [country, "DE", "NL"]]
    let regions = choices.map { document.regions.intern(RegionClaim(origin: country, visited: $0)) ?? .none }
    for _ in 0..<count {
      var key = newKey(age: Int64(1 + draw(10)))
      key.reportType =
        [ReportType.confirmedTest, .confirmedTest, .confirmedClinicalDiagnosis, .selfReport][draw(4)].rawValue
      key.regions = regions[draw(regions.count)]
      document.keys.append(key)
    }
    return document
  }

  private mutating func draw(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

  private mutating func note(_ keys: [ClaimedKey], _ what: String) {
    said += Array("\(what) \(now)\n".utf8)
    for key in keys {
      let numbers = [
        key.rollingStart, key.rollingPeriod, key.transmissionRisk, key.reportType, key.daysSinceOnset,
        key.isRevised ? 1 : 0,
      ]
      said += key.key.bytes + Array(numbers.map { $0.map { "\($0)" } ?? "-" }.joined(separator: " ").utf8)
    }
  }
}

/// A federation gateway that takes whatever it is given. The lock owns the bodies.
private final class Hub: Transport {
  private let taken = Mutex<[[UInt8]]>([])

  var bodies: [[UInt8]] { taken.withLock { $0 } }

  func ask(_ request: PeerRequest) async throws -> (head: ResponseHead, body: [UInt8]) {
    taken.withLock { $0.append(request.body ?? []) }
    return (ResponseHead(status: 201), [])
  }

  func fetch(_ request: PeerRequest, into path: String, byteLimit: Int) async throws -> ResponseHead {
    ResponseHead(status: 404)
  }
}

/// SHA-256 in lower-case hexadecimal.
private func digest(of bytes: [UInt8]) -> String { ExportDigests(of: bytes, includingBody: false).hexadecimal }

extension Instant {
  fileprivate static var now: Instant { Instant(secondsSince1970: 18_600 * 86_400) }
}
