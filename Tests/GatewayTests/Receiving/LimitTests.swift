import BundleTrust
import ExposureKeys
import Foundation
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

  /// One leaked token must not hold back what others send of the same origin.
  @Test(
    "a flood at one upload endpoint holds neither another endpoint nor the operator's folder, whose origin is the same")
  func floodAtOneEndpoint() async throws {
    try await withFolder { folder in
      let receiver = Receiver(folder: folder, own: ["US"])
      let ledger = receiver.ledger
      var reading = Policy(name: "default")
      reading.reading.floodFloor = 6
      func door(_ name: String) -> UploadIntake {
        UploadIntake(UploadSource(name: name, origin: "US", reading: reading), ledger: ledger) { receiver.now }
      }
      func upload(_ count: Int, at door: UploadIntake, seed: UInt64) async throws {
        var upload = DecodedDocument(keys: [])
        for number in 0..<count {
          var key = ClaimedKey(key: TemporaryExposureKey(high: seed << 40, low: UInt64(number)))
          // A person has at most three keys of one start.
          let start = Int64(IntervalNumber(containing: receiver.now).rawValue) / 144 * 144 - 144 * Int64(2 + number / 3)
          (key.rollingStart, key.rollingPeriod) = (Int32(clamping: start), 144)
          upload.keys.append(key)
        }
        #expect(try await door.accept(upload, certificate: nil, byteCount: 9).accepted == count)
      }
      let (leaked, clinics) = (door("leaked"), door("clinics"))
      for number in 0..<5 { try await upload(2, at: leaked, seed: 1 + UInt64(number)) }
      try await upload(3, at: clinics, seed: 10)
      let drop = URL(filePath: folder).appending(path: "drop")
      try FileManager.default.createDirectory(at: drop, withIntermediateDirectories: true)
      let identity = try SigningIdentity(key: .generate(), keyID: "310", keyVersion: "v1")
      try Data(try bundle(keys(5, seed: 1), signedBy: identity)).write(to: drop.appending(path: "a.zip"))
      var source = try IndexServer().settings("drop", readingFolder: drop.path)
      (source.trust, source.reading) = (.operator, reading)
      let transport = FolderTransport(path: drop.path) { Instant(secondsSince1970: 4_000_000_000) }
      #expect(try await receiver.pull(source, transport).counts.new == 5)
      func held() async throws -> [String: Int] {
        try await ledger.read { state in
          let waiting = try state.waitingDocuments(limit: 9).newest
          return Dictionary(waiting.map { ($0.source, $0.held) }, uniquingKeysWith: +)
        }
      }
      #expect(try await held() == ["leaked": 4])

      // Which source, how many, which limit, and what to do.
      let today = receiver.now.day
      func flood() async throws -> HeldFlood? {
        try await ledger.read { state in
          try state.waitingDocuments(limit: 9).newest.first.flatMap { try state.heldFlood(of: $0, today: today) }
        }
      }
      let first = try #require(try await flood())
      #expect(
        first.text
          == "4 keys of leaked held: more than 6 new keys of US came on \(today); keyferry quarantine raise leaked "
          + "--keys 12 lets more come today; keyferry quarantine retry \(first.document.rawValue) admits those held")

      // The limit of today is raised for that endpoint alone, while it takes uploads.
      let word = Attribution(by: "ada", reason: "the first day of the tests")
      try await ledger.limitRaised(of: "leaked", to: 12, by: word, at: receiver.now)
      #expect(try await flood()?.raising == nil)
      _ = try await ledger.heldReleased(first.document, by: word, at: receiver.now)
      #expect(try await held() == [:])
      try await upload(2, at: leaked, seed: 20)
      #expect(try await held() == [:])
      try await upload(1, at: leaked, seed: 21)
      try await upload(4, at: clinics, seed: 22)
      #expect(try await held() == ["leaked": 1, "clinics": 4])
      await #expect(throws: StorageFault.self) {
        try await ledger.limitRaised(of: "leaked", to: 12, by: word, at: receiver.now)
      }
      // The next day the policy counts again: what is usual has grown, and the floor with it nothing.
      receiver.advance(seconds: 86_400)
      #expect(try await ledger.read { try $0.volumeRecord(of: "leaked").raisedLimit(on: receiver.now.day) } == nil)
    }
  }

  @Test(
    "the first busy day of a new endpoint is no flood where its population is stated", arguments: [nil, 17_500_000])
  func firstBusyDay(population: Int?) async throws {
    var source = UploadSource(name: "phones", origin: "NL", reading: Policy(name: "default"))
    source.population = population
    let limit = try #require(source.admissionPolicy(at: usualNoon).volumeLimit(usual: 0))
    #expect(limit.keys == (population == nil ? 10_000 : 437_500) && limit.reason == .flood)
    var peer = SourceSettings(
      name: "drop", peer: .files, location: "drop", trust: .operator, reading: Policy(name: "default"), origin: "NL")
    peer.population = population
    #expect(peer.admissionPolicy(at: usualNoon).volumeLimit(usual: 0) == limit)
    // What a policy states stays.
    source.reading.reading.floodFloor = 7
    #expect(source.admissionPolicy(at: usualNoon).volumeLimit(usual: 0)?.keys == 7)
    #expect(BusyDay.keys(of: 1) == 1000 && BusyDay.keys(of: .max) == 50_000_000 && BusyDay.keys(of: nil) == 10_000)
  }

  /// An origin without any history has the floor.
  @Test("floods through the door for uploads are held")
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
