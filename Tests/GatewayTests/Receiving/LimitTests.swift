import BundleTrust
import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyIntake
import KeyNormalization
import KeyPeers
import KeyReceiving
import KeyStorage
import PolicyFiles
import Testing

/// A limit that one origin exceeds holds back that origin alone.
@Suite struct LimitTests {
  /// 1.2 million region lists of one origin pushed out a thousand honest keys of another; in small.
  @Test(
    "1.2 million region lists of one origin do not push out a thousand honest keys of another",
    arguments: [KeyFormat.csv, .efgsProtobuf, .efgsJSON])
  func regionLists(format: KeyFormat) throws {
    let hostile = RegionTable.limitOfOrigin + 500
    var regions = RegionTable(isLimited: false)
    func key(_ number: Int, _ origin: String, _ visited: [String]) -> ClaimedKey {
      var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(number) + 1, low: 9))
      (key.rollingStart, key.rollingPeriod, key.transmissionRisk) = (2_670_048, 144, 3)
      (key.reportType, key.daysSinceOnset) = (1, 0)
      key.regions = regions.intern(RegionClaim(origin: origin, visited: visited)) ?? .none
      return key
    }
    // Parts of a country have no room of their own.
    let keys =
      (0..<hostile).map { key($0, $0 % 2 == 0 ? "DE" : "DE-\($0 % 7)", ["\($0)", "AT"]) }
      + (0..<100).map { key(hostile + $0, "invented\($0)", ["IT"]) }
      + (0..<1000).map { key(2 * hostile + $0, "IT", ["US-\($0)", "CH"]) }
    let sink = MemorySink()
    let encoder = try FormatCatalog.encoder(for: format, OutputBuffer(sink))
    try encoder.begin(ExportHeader())
    try keys.withUnsafeBufferPointer {
      try encoder.encode($0, regions: regions, unknownFields: UnknownFieldTable())
    }
    try encoder.finish(ExportHeader())

    var claims = ClaimSet()
    let document = SourceDocument(name: "flood", source: MemorySource(sink.bytes), format: format)
    let arrival = Arrival(document, vouching: .operator, at: Instant(secondsSince1970: 2_670_048 * 600))
    let counts = try Intake().accept(arrival, by: ReadingPolicy(), into: &claims).counts
    #expect(counts.received == keys.count && counts.isBalanced)
    #expect(claims.statedClaims.count { $0.origin == "IT" && $0.visited?.count == 2 } == 1000)
    #expect(counts.rejections["too-many-region-sets"] == 500)
    #expect(counts.rejections["origin-unknown"] == 100)
  }

  /// In small: documents of 999 where the floor is 1,000.
  @Test("239,800 of 259,800 keys do not pass from a source that had sent three, in documents of 9,990")
  func floodInSmallDocuments() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(3, seed: 1), as: "first.zip")
      let receiver = Receiver(folder: folder)
      var settings = server.settings()
      settings.reading.reading.floodFloor = 1000
      #expect(try await receiver.pull(settings, server.peer).counts.new == 3)
      receiver.advance(seconds: 86_400)
      for number in 0..<6 { try server.publish(keys(999, seed: UInt64(number) + 10), as: "\(number).zip") }
      let receipt = try await receiver.pull(settings, server.peer)
      #expect(receipt.counts.new == 1000 && receipt.counts.held == 4994)
      #expect(try await receiver.held() == ["flood": 4994])
      // The day after, what is usual has grown by what was taken; and what is known is no volume.
      receiver.advance(seconds: 86_400)
      try server.publish(keys(999, seed: 10), as: "again.zip")
      let again = try await receiver.pull(settings, server.peer)
      #expect(again.counts.known == 999 && again.counts.held == 0)
    }
  }

  /// A relay's keys have no origin that could be counted, so they are counted for the relay.
  @Test("floods of relays are held, each relay by itself")
  func relays() async throws {
    try await withFolder { folder in
      var (hub, mirror) = (try IndexServer(), try IndexServer(keyID: "311"))
      let receiver = Receiver(folder: folder)
      var flooding = hub.settings("hub", origin: nil, isRelay: true)
      var honest = mirror.settings("mirror", origin: nil, isRelay: true)
      (flooding.reading.reading.floodFloor, honest.reading.reading.floodFloor) = (1000, 1000)
      for number in 0..<3 { try hub.publish(keys(600, seed: UInt64(number) + 10), as: "\(number).zip") }
      try mirror.publish(keys(900, seed: 77), as: "a.zip")
      let flood = try await receiver.pull(flooding, hub.peer)
      #expect(flood.counts.new == 1000 && flood.counts.held == 800)
      let other = try await receiver.pull(honest, mirror.peer)
      #expect(other.counts.new == 900 && other.counts.held == 0)
    }
  }

  /// An origin without any history has the floor, through whatever doors it comes.
  @Test("floods through the door for uploads are held, with what peers brought that day")
  func uploads() async throws {
    let now = Instant(secondsSince1970: 1_606_651_200)
    let ledger = Ledger(MemoryStore())
    var reading = Policy(name: "default")
    (reading.reading.floodFloor, reading.reading.floodFactor) = (6, 2)
    let door = UploadIntake(UploadSource(name: "door", origin: "NL", reading: reading), ledger: ledger) { now }
    for number in 0..<5 {
      var upload = DecodedDocument(keys: [])
      upload.keys = (0..<2).map { day in
        var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(number) + 1 << 40, low: UInt64(day)))
        (key.rollingStart, key.rollingPeriod) = (2_677_680 - Int32(144 * day), 144)
        return key
      }
      // Whoever uploads is not told.
      #expect(try await door.accept(upload, certificate: nil, byteCount: 9).accepted == 2)
    }
    let documents = try await ledger.read {
      try $0.documents(of: "door", in: Set(DocumentState.allCases), limit: .max).map($0.waiting)
    }
    #expect(documents.map(\.holds) == [["flood": 4]] && documents.first?.record.facts?.new == 6)
  }

  /// Whoever uploads is not told that it waits, so it counts as said.
  @Test("a key is revised once, also where what was said of it waits for the operator") func revisions() async throws {
    let now = Instant(secondsSince1970: 1_606_651_200)
    let ledger = Ledger(MemoryStore())
    var reading = Policy(name: "default")
    (reading.reading.floodFloor, reading.reading.floodFactor) = (0, 2)
    let door = UploadIntake(UploadSource(name: "door", origin: "NL", reading: reading), ledger: ledger) { now }
    func said(_ type: ReportType, _ proof: RevisionProof) async throws -> UploadIntake.Receipt {
      var key = ClaimedKey(key: TemporaryExposureKey(high: 1 << 40, low: 7))
      (key.rollingStart, key.rollingPeriod, key.reportType) = (2_677_680, 144, type.rawValue)
      var upload = DecodedDocument(keys: [])
      upload.keys = [key]
      return try await door.accept(upload, proof: proof, certificate: nil, byteCount: 9)
    }
    let first = try await said(.confirmedClinicalDiagnosis, .missing)
    #expect(first.inserted == 1)
    func held() async throws -> Int {
      try await ledger.read { try $0.held(about: [TemporaryExposureKey(high: 1 << 40, low: 7)]).count }
    }
    #expect(try await held() == 1)
    // A stranger may not speak of it, and its sender once.
    await #expect(throws: UploadIntake.Refusal.revision(.missingToken)) {
      try await said(.confirmedTest, .missing)
    }
    let token = RevisionProof.keys(first.recorded)
    #expect(try await said(.revoked, token).accepted == 1)
    #expect(try await held() == 2)
    await #expect(throws: UploadIntake.Refusal.revision(.alreadyRevised)) { try await said(.confirmedTest, token) }
    #expect(try await held() == 2)
  }
}
