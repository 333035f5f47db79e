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
import ProgramMetrics
import Testing

@testable import BundleTrust
@testable import Federation
@testable import GatewayDaemon
@testable import GatewayServer

@Suite("A federation gateway")
struct FederationGatewayTests {
  private func batch(_ count: Int, of country: String = "DE", _ name: String = #function) -> NationalBatch {
    var random = SeededRandom(seed: name.utf8.reduce(UInt64(count)) { $0 &* 31 &+ UInt64($1) })
    return NationalBatch(count, of: country, at: TestGateway.noon, &random)
  }

  // MARK: The way through

  @Test("What one country uploads, another downloads and verifies", arguments: [false, true])
  func through(inJSON: Bool) async throws {
    let gateway = try TestGateway { $0.path = "/efgs" }
    let sent = batch(7)
    let answer = try await gateway.upload(sent, tag: "20201201-de-1", of: "DE", inJSON: inJSON)
    #expect(answer.code == 201 && answer["batchTag"] == "20201201-de-1" && answer.bytes.isEmpty)
    #expect(try await gateway.download("2020-12-01", for: "FR").code == 404)
    try await gateway.close()

    let download = try await gateway.download("2020-12-01", for: "FR")
    #expect(download.code == 200 && download["content-type"] == TestGateway.protobuf)
    #expect(download["batchTag"] == "20201201-1" && download["nextBatchTag"] == "null")
    #expect(download["X-Protobuf-Schema"] == "Efgs.proto")
    #expect(download["X-Protobuf-Message"] == "eu.interop.DiagnosisKeyBatch")
    #expect(download.bytes == (try sent.protobuf))
    let json = try await gateway.download("2020-12-01", tag: "20201201-1", for: "FR", inJSON: true)
    #expect(json.bytes == (try sent.json) && json["content-type"] == TestGateway.json)
    #expect(!json.text.contains("\"days_since_onset_of_symptoms\":0"))

    let entries = try JSONDecoder().decode(
      [AuditEntry].self, from: Data(try await gateway.audit("2020-12-01", "20201201-1", for: "FR").bytes))
    let entry = try #require(entries.first)
    #expect(entries.count == 1 && entry.country == "DE" && entry.amount == 7)
    #expect(entry.uploadedTime == "2020-12-01T12:00:00Z")
    #expect(entry.uploaderThumbprint == (try gateway.federation["DE"].client.thumbprint))
    try gateway.federation.trust.verify(entry, over: Self.signed(TestGateway.keys(download.bytes), 0..<7))

    // The uploader gets nothing of its own, and its audit entry.
    let own = try await gateway.download("2020-12-01", for: "DE")
    #expect(own.code == 200 && own.bytes.isEmpty)
    #expect(try await gateway.download("2020-12-01", for: "DE", inJSON: true).text == "{}")
    #expect(try await gateway.audit("2020-12-01", "20201201-1", for: "DE").bytes.count > 100)
  }

  private static func signed(_ keys: DecodedDocument, _ range: Range<Int>) throws -> SignedBatch {
    try CanonicalBatch.signed(Array(keys.keys[range]), regions: keys.regions)
  }

  @Test("Every country can verify every upload of others, as the European rule says and as Finland does it")
  func law() async throws {
    for round in 0..<6 {
      var random = SeededRandom(seed: UInt64(round) + 40)
      let codes = ["DE", "FI", "FR", "IT"]
      let gateway = try TestGateway(codes) {
        $0.uploadKeys = 30
        $0.batchKeys = 40
      }
      for number in 0..<12 {
        let country = random.pick(codes)
        let sent = NationalBatch(Int.random(in: 1...30, using: &random), of: country, at: gateway.clock.now, &random)
        let answer = try await gateway.upload(sent, tag: "\(number)", of: country, inJSON: random.once(in: 3))
        #expect(answer.code == 201, "\(answer.text)")
        if random.once(in: 3) { try await gateway.close() }
      }
      try await gateway.close()
      for requester in codes {
        var tag: String?
        var count = 0
        repeat {
          let download = try await gateway.download("2020-12-01", tag: tag, for: requester, inJSON: random.once(in: 2))
          let name = try #require(download["batchTag"])
          count += 1
          #expect(name == "20201201-\(count)")
          let keys =
            download["content-type"] == TestGateway.json
            ? try Self.readJSON(download.bytes) : try TestGateway.keys(download.bytes)
          #expect(keys.keys.count <= 40)
          let audit = try await gateway.audit("2020-12-01", name, for: requester)
          let entries = try JSONDecoder().decode([AuditEntry].self, from: Data(audit.bytes))
          try verify(entries, keys, for: requester, gateway.federation.trust)
          tag = download["nextBatchTag"] == "null" ? nil : download["nextBatchTag"]
        } while tag != nil
      }
    }
  }

  private static func readJSON(_ bytes: [UInt8]) throws -> DecodedDocument {
    if bytes == Array("{}".utf8) { return DecodedDocument() }
    return try DecodedDocument(
      decoding: JSONKeyDecoder(InputWindow(MemorySource(bytes)), limits: ReadLimits(), dialect: .efgs))
  }

  private func verify(
    _ entries: [AuditEntry], _ keys: DecodedDocument, for requester: String, _ trust: FederationTrust
  ) throws {
    // Each entry of another country has the next keys of this country.
    var used: [String: Int] = [:]
    let ownOrigin = keys.keys.filter { keys.regions[$0.regions].origin == requester }
    #expect(ownOrigin.isEmpty)
    for entry in entries where entry.country != requester {
      let all = keys.keys.indices.filter { keys.regions[keys.keys[$0].regions].origin == entry.country }
      let begin = used[entry.country, default: 0]
      let slice = all[begin..<begin + entry.amount].map { keys.keys[$0] }
      used[entry.country] = begin + entry.amount
      try trust.verify(
        entry, over: CanonicalBatch.signed(slice, regions: keys.regions))
    }
    #expect(used.values.reduce(0, +) == keys.keys.count)
    // Finland gives entries their keys one after the other, own ones included, and ends where there are none left.
    var begin = 0
    for entry in entries where begin < keys.keys.count {
      try #require(begin + entry.amount <= keys.keys.count)
      try trust.verify(entry, over: Self.signed(keys, begin..<begin + entry.amount))
      begin += entry.amount
    }
    #expect(begin == keys.keys.count)
  }

  // MARK: At the door

  @Test("The same upload again is told so; another one of its tag is refused")
  func repeated() async throws {
    let gateway = try TestGateway()
    let sent = batch(3)
    let signature = try sent.signature(by: gateway.federation["DE"].signing, at: TestGateway.noon)
    #expect(try await gateway.upload(sent, tag: "a", of: "DE", signature: signature).code == 201)
    gateway.clock.step(3600)
    let events = try await gateway.ledger.read { try $0.lastEvent()?.id }
    let again = try await gateway.upload(sent, tag: "a", of: "DE", signature: signature)
    #expect(again.code == 201 && again["batchTag"] == "a")
    #expect(try await gateway.ledger.read { try $0.lastEvent()?.id } == events)
    // Signed anew, as many do for each attempt; but not by anything.
    #expect(try await gateway.upload(sent, tag: "a", of: "DE").code == 201)
    #expect(try await gateway.upload(sent, tag: "a", of: "DE", signature: "AAAA").code == 400)
    #expect(try await gateway.ledger.read { try $0.lastEvent()?.id } == events)
    // Other keys.
    let other = try await gateway.upload(batch(2, of: "DE"), tag: "a", of: "DE")
    #expect(other.code == 409 && other["content-type"] == "application/json")
    #expect(other.text.contains("BatchTag already exists") && other.problem == "tag-taken")
    #expect(try await gateway.upload(batch(2, of: "DE"), tag: "a", of: "DE", signature: signature).code == 409)
    #expect(try await gateway.upload(batch(2, of: "FR"), tag: "a", of: "FR").code == 201)
    #expect(gateway.metrics.text.contains(#"keyferry_federation_uploads_total{country="DE",outcome="repeated"} 2"#))
    #expect(gateway.metrics.text.contains(#"keyferry_federation_keys_total{country="DE",outcome="recorded"} 3"#))

    let strict = try TestGateway { $0.sharesTags = true }
    #expect(try await strict.upload(sent, tag: "a", of: "DE").code == 201)
    #expect(try await strict.upload(batch(2, of: "FR"), tag: "a", of: "FR").code == 409)
  }

  @Test("Who did not hear the answer is told it again by the next process, and by one that serves beside it")
  func repeatedAfterDeath() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-federation-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let plan = GatewayPlan(stateFolder: folder.path)
    func ledger(as role: StoreRole) async throws -> Ledger {
      try await Stores.ledger(
        at: plan.store, in: plan.stateFolder, as: role, beside: PublishedSeries(of: plan), now: TestGateway.noon)
    }
    let first = try TestGateway(ledger: try await ledger(as: .owner))
    let sent = batch(5)
    let signature = try sent.signature(by: first.federation["DE"].signing, at: TestGateway.noon)
    #expect(try await first.upload(sent, tag: "a", of: "DE", signature: signature).code == 201)
    // The same federation, served by another process on the same store.
    let beside = FederationGateway(
      first.settings, ledger: try await ledger(as: .operator), ownOrigins: plan.ownOrigins,
      evidenceDays: plan.retention.evidenceDays
    ) { TestGateway.noon }
    func delivery(_ batch: NationalBatch, _ tag: String, _ signature: String) throws -> FederationDelivery {
      let row = try first.settings.trust.certificate(
        thumbprint: first.federation["DE"].client.thumbprint, country: "DE", use: .authentication,
        at: TestGateway.noon)
      return FederationDelivery(
        client: FederationClient(row), tag: tag, signature: signature, format: .efgsProtobuf,
        body: try batch.protobuf)
    }
    #expect(try await beside.accept(delivery(sent, "a", signature)) == .repeated)
    let other = batch(4, of: "DE", "beside")
    let second = try other.signature(by: first.federation["DE"].signing, at: TestGateway.noon)
    #expect(try await beside.accept(delivery(other, "b", second)) == .recorded(keys: 4, held: 0))
    #expect(try await first.upload(other, tag: "b", of: "DE", signature: second).code == 201)
    #expect(try await first.close().map(\.tag) == ["20201201-1"])
    let download = try await first.download("2020-12-01", for: "FR")
    #expect(download.bytes == (try sent.protobuf + other.protobuf))
    #expect(try await first.ledger.read { try $0.claimCount() } == 9)
  }

  @Test("Known keys are told by their place, and nothing is stored")
  func duplicates() async throws {
    let gateway = try TestGateway()
    let first = batch(3)
    #expect(try await gateway.upload(first, tag: "a", of: "DE").code == 201)
    var second = batch(5, of: "DE", "other")
    // Of another country the same key data is another key; with another risk level too.
    let known = first.keys[2]
    second.keys[1] = known
    second.keys[1].regions = second.regions.intern(first.regions[known.regions]) ?? .none
    second.keys[4] = second.keys[0]
    let answer = try await gateway.upload(second, tag: "b", of: "DE")
    #expect(answer.code == 207 && answer.text == #"{"201":[0,2,3],"409":[1,4],"500":[]}"#)
    #expect(answer["batchTag"] == nil && answer["content-type"] == "application/json")
    #expect(try await gateway.ledger.read { try $0.claimCount() } == 3)
    // The rest under the same tag, signed anew.
    second.keys = [second.keys[0], second.keys[2], second.keys[3]]
    #expect(try await gateway.upload(second, tag: "b", of: "DE").code == 201)
    second.keys[0].transmissionRisk = 5
    second.keys = [second.keys[0]]
    #expect(try await gateway.upload(second, tag: "c", of: "DE").code == 201)
  }

  @Test("One bad key refuses the batch, with its place, value and what is allowed")
  func badKeys() async throws {
    let gateway = try TestGateway()
    let now = TestGateway.noon
    let earliest = Day(daysSince1970: now.day.daysSince1970 - 15).firstInterval.rawValue
    let latest = now.secondsSince1970 / 600 + 1
    let cases: [(code: String, detail: String, change: (inout ClaimedKey, inout RegionTable) -> Void)] = [
      (
        "rolling-start-too-early", "\(earliest - 1), allowed \(earliest)...\(latest)",
        { key, _ in key.rollingStart = Int32(earliest - 1) }
      ),
      (
        "rolling-start-in-future", "\(latest + 1), allowed",
        { key, _ in key.rollingStart = Int32(latest + 1) }
      ),
      ("rolling-period-out-of-range", "rolling period 0, allowed 1...144", { key, _ in key.rollingPeriod = 0 }),
      ("rolling-period-out-of-range", "rolling period 145, allowed 1...144", { key, _ in key.rollingPeriod = 145 }),
      ("risk-out-of-range", "transmission risk level 9, allowed 0...8", { key, _ in key.transmissionRisk = 9 }),
      ("risk-out-of-range", "transmission risk level -1", { key, _ in key.transmissionRisk = -1 }),
      ("report-type-unrecognized", "report type 6", { key, _ in key.reportType = 6 }),
      (
        "ambiguous-country", "holds a comma",
        { key, regions in
          key.regions = regions.intern(RegionClaim(origin: "DE", visited: ["DE,IT"])) ?? .none
        }
      ),
      (
        "ambiguous-country", "is empty",
        { key, regions in key.regions = regions.intern(RegionClaim(origin: "DE", visited: ["IT", ""])) ?? .none }
      ),
      (
        "ambiguous-country", "ASCII",
        { key, regions in key.regions = regions.intern(RegionClaim(origin: "DE", visited: ["ÖS"])) ?? .none }
      ),
    ]
    for inJSON in [false, true] {
      for (number, (code, detail, change)) in cases.enumerated() {
        var sent = batch(4)
        change(&sent.keys[2], &sent.regions)
        let answer = try await gateway.upload(
          sent, tag: "\(number)", of: "DE", inJSON: inJSON, signature: "AA==")
        #expect(answer.code == 400 && answer.problem == code, "\(answer.text)")
        #expect(answer["content-type"] == "application/json" && answer.json["key"] as? Int == 2)
        let message = try #require(answer.json["message"] as? String)
        #expect(
          message.hasPrefix("Validation of diagnosis key failed: key 2: ") && message.contains(detail), "\(message)")
      }
    }
    // Key data that is no key.
    let json =
      #"{"keys":[{"keyData":"AAECAwQFBgcICQoLDA0O","rollingStartIntervalNumber":2676096,"rollingPeriod":144,"origin":"DE"}]}"#
    let short = try await gateway.upload(batch(1), tag: "x", of: "DE", inJSON: true, body: Array(json.utf8))
    #expect(short.code == 400 && short.json["key"] as? Int == 0, "\(short.text)")
    for body in ["{", "[]", "nothing", #"{"keys":[{"keyData":"*"}]}"#] {
      let answer = try await gateway.upload(batch(1), tag: "x", of: "DE", inJSON: true, body: Array(body.utf8))
      #expect(answer.code == 400, "\(body) \(answer.code) \(answer.text)")
    }
    #expect(try await gateway.upload(batch(1), tag: "x", of: "DE", body: [0x0a, 0x7f, 1]).code == 400)
    #expect(try await gateway.ledger.read { try $0.lastEvent() } == nil)
  }

  @Test("JSON is read in both spellings, with report types as names or numbers")
  func spellings() async throws {
    let gateway = try TestGateway()
    let sent = batch(6)
    let text = String(decoding: try sent.json, as: UTF8.self)
    let other = text.replacing("days_since_onset_of_symptoms", with: "daysSinceOnsetOfSymptoms")
      .replacing("\"CONFIRMED_TEST\"", with: "1").replacing("\"REVOKED\"", with: "5")
    #expect(other != text)
    let answer = try await gateway.upload(sent, tag: "a", of: "DE", inJSON: true, body: Array(other.utf8))
    #expect(answer.code == 201, "\(answer.text)")
    try await gateway.close()
    #expect(try await gateway.download("2020-12-01", for: "FR", inJSON: true).text == text)
  }

  @Test("What the reading policy does not admit refuses the batch as well")
  func policy() async throws {
    let gateway = try TestGateway { $0.reading.reading.reportTypes = [.confirmedTest] }
    var sent = batch(3)
    for index in sent.keys.indices { sent.keys[index].reportType = index == 1 ? 2 : 1 }
    let answer = try await gateway.upload(sent, tag: "a", of: "DE")
    #expect(answer.code == 400 && answer.json["key"] as? Int == 1, "\(answer.text)")
    #expect(try await gateway.ledger.read { try $0.claimCount() } == 0)
  }

  @Test("A refused signature names its step and what we would have had signed")
  func signatures() async throws {
    let gateway = try TestGateway()
    let sent = batch(4)
    let other = try batch(4, of: "DE", "other").signature(by: gateway.federation["DE"].signing, at: TestGateway.noon)
    let wrong = try await gateway.upload(sent, tag: "a", of: "DE", signature: other)
    #expect(wrong.code == 400 && wrong.json["step"] as? Int == 8 && wrong.problem == "invalid-signature")
    #expect(wrong.json["canonicalSHA256"] as? String == FederationDigest.hexadecimal(try sent.canonical))
    #expect(wrong.json["canonicalLength"] as? Int == (try sent.canonical.count))
    #expect((wrong.json["firstRows"] as? [String])?.count == 3)
    #expect((wrong.json["message"] as? String)?.hasPrefix("Invalid signature") == true)
    let noise = try await gateway.upload(sent, tag: "a", of: "DE", signature: "AAAA")
    #expect(noise.code == 400 && noise.json["step"] as? Int == 1)
    // France signs what Germany sends, and signs German keys as its own.
    let french = try sent.signature(by: gateway.federation["FR"].signing, at: TestGateway.noon)
    let foreign = try await gateway.upload(sent, tag: "a", of: "DE", signature: french)
    #expect(foreign.code == 400 && foreign.json["step"] as? Int == 7 && foreign.json["key"] as? Int == 0)
    let stolen = try await gateway.upload(sent, tag: "a", of: "FR", signature: french)
    #expect(stolen.code == 400 && stolen.json["step"] as? Int == 7)
    // What Germany has signed, France sends.
    let mine = try sent.signature(by: gateway.federation["DE"].signing, at: TestGateway.noon)
    let replay = try await gateway.upload(sent, tag: "a", of: "FR", signature: mine)
    #expect(replay.code == 400 && replay.problem == "signed-by-another-country", "\(replay.text)")
    #expect(try await gateway.ledger.read { try $0.lastEvent() } == nil)
    // A revoked signer from the next request on.
    var trust = gateway.federation.trust
    for index in trust.rows.indices where trust.rows[index].country == "DE" && trust.rows[index].use == .signing {
      trust.rows[index].isRevoked = true
    }
    gateway.counter.trust.value = trust
    let revoked = try await gateway.upload(sent, tag: "a", of: "DE")
    #expect(revoked.code == 400 && revoked.json["step"] as? Int == 6)
  }

  @Test("Media types and versions have the statuses of the European gateway")
  func mediaTypes() async throws {
    let gateway = try TestGateway()
    let sent = batch(1)
    for (type, status) in [
      ("application/protobuf", 400), ("application/protobuf; version=1", 400),
      ("application/protobuf; version=1.0; version=1.0", 400), ("application/json; version=1.0; Version=1.1", 400),
      ("application/protobuf; version=1.0.0", 400), ("application/json; version=a.b", 400),
      ("application/protobuf; version=1.1", 406), ("application/json; version=2.0", 406),
      ("text/plain; version=1.0", 415), (nil, 415), ("application/x-protobuf; version=1.0", 415),
      ("Application/Protobuf;Version=\"1.0\"", 201),
    ] {
      let answer = try await gateway.upload(sent, tag: "a", of: "DE") { $0[.contentType] = type }
      #expect(answer.code == status, "\(type ?? "none"): \(answer.text)")
      if status != 201 { #expect(answer.json["message"] is String) }
    }
    try await gateway.close()
    for (type, status) in [
      (nil, 400), ("", 400), ("application/protobuf", 415), ("application/json; version=1.1", 415), ("*/*", 415),
      ("text/html", 415), ("application/protobuf; version=1.0; q=0", 415),
      ("text/html, application/json;version=1.0", 200),
    ] {
      let answer = try await gateway.download("2020-12-01", for: "FR") { $0[.accept] = type }
      #expect(answer.code == status, "\(type ?? "none"): \(answer.text)")
    }
    for coding in ["gzip", "br"] {
      let answer = try await gateway.upload(sent, tag: "b", of: "DE") { $0[.contentEncoding] = coding }
      #expect(answer.code == 415)
    }
  }

  @Test("Fields that are missing, doubled, or too long")
  func fields() async throws {
    let gateway = try TestGateway { $0.uploadKeys = 3 }
    let sent = batch(2)
    #expect(try await gateway.upload(sent, tag: "a", of: "DE") { $0[.batchTag] = nil }.problem == "tag-missing")
    for tag in [String(repeating: "x", count: 65), "a b", "ü"] {
      #expect(try await gateway.upload(sent, tag: tag, of: "DE").problem == "tag-malformed", "\(tag)")
    }
    let twice = try await gateway.upload(sent, tag: "a", of: "DE") {
      $0.append(HTTPField(name: .batchTag, value: "b"))
    }
    #expect(twice.code == 400)
    let unsigned = try await gateway.upload(sent, tag: "a", of: "DE") { $0[.batchSignature] = nil }
    #expect(unsigned.code == 400 && unsigned.problem == "signature-missing")
    #expect(unsigned.text.contains("the field batchSignature is missing"))
    let empty = try await gateway.upload(sent, tag: "a", of: "DE", signature: "")
    #expect(empty.code == 400 && empty.text.contains("the field batchSignature is empty"), "\(empty.text)")
    // A signature of 1 MB is not even looked at.
    let huge = try await gateway.upload(sent, tag: "a", of: "DE", signature: String(repeating: "A", count: 1 << 20))
    #expect(huge.code == 431)
    let many = try await gateway.upload(batch(4), tag: "a", of: "DE")
    #expect(many.code == 413 && many.problem == "too-many-keys")
    let large = try await gateway.upload(sent, tag: "a", of: "DE", body: [UInt8](repeating: 0x0a, count: 5000))
    #expect(large.code == 413 && large.problem == "body-too-large")
    for tag in ["Y-M-D-ab+/=-1", String(repeating: "x", count: 64)] {
      let new = NationalBatch.one(tag)
      #expect(try await gateway.upload(new, tag: tag, of: "DE").code == 201, "\(tag)")
    }
  }

  @Test("An empty batch is taken, occupies its tag, and is passed on to nobody")
  func empty() async throws {
    let gateway = try TestGateway()
    for inJSON in [false, true] {
      let tag = inJSON ? "json" : "protobuf"
      let answer = try await gateway.upload(batch(0), tag: tag, of: "DE", inJSON: inJSON)
      #expect(answer.code == 201, "\(answer.text)")
      #expect(try await gateway.upload(batch(2, of: "DE", tag), tag: tag, of: "DE").code == 409)
    }
    #expect(try await gateway.close().isEmpty)
  }

  @Test("Of two uploads of one tag at one moment one is taken")
  func atOnce() async throws {
    for isSame in [true, false] {
      let gateway = try TestGateway()
      let sent = (0..<8).map { batch(5, of: "DE", isSame ? "same" : "\($0)") }
      let signature = try sent[0].signature(by: gateway.federation["DE"].signing, at: TestGateway.noon)
      let codes = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<4 {
          group.addTask {
            try await gateway.upload(
              sent[number], tag: "a", of: "DE", signature: isSame ? signature : nil
            ).code
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(codes.sorted() == (isSame ? [201, 201, 201, 201] : [201, 409, 409, 409]))
      #expect(try await gateway.ledger.read { try $0.claimCount() } == 5)
    }
  }

  /// A desk at which nobody is served before the test says so.
  private actor SlowDesk: FederationBackend {
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var isOpen = false
    private(set) var begun: [String] = []

    func open() {
      isOpen = true
      for one in waiting { one.resume() }
      waiting = []
    }

    func accept(_ delivery: FederationDelivery) async throws -> FederationOutcome {
      begun.append(delivery.client.country)
      if !isOpen { await withCheckedContinuation { waiting.append($0) } }
      return .recorded(keys: 1, held: 0)
    }

    func batch(of day: Day, tagged tag: String?, for client: FederationClient) async throws -> FederationDownload {
      FederationDownload(tag: "20201201-1", next: nil, keys: [])
    }

    func audit(of day: Day, tagged tag: String, for client: FederationClient) async throws -> [UInt8] { [] }
    func statistics() async throws -> [FederationStatistics] { throw CocoaError(.fileReadUnknown) }
  }

  @Test("Who uploads too much at a time waits, and the others do not")
  func turns() async throws {
    let desk = SlowDesk()
    let gateway = try TestGateway(desk: desk)
    let sent = batch(1)
    let french = batch(1, of: "FR")
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<4 { group.addTask { try await gateway.upload(sent, tag: "a", of: "DE").code } }
      for _ in 0..<2000 where await desk.begun.count < 4 { try await Task.sleep(for: .milliseconds(2)) }
      #expect(await desk.begun.count == 4)
      let refused = try await gateway.upload(sent, tag: "a", of: "DE")
      #expect(refused.code == 429 && refused["retry-after"] == "1" && refused.problem == "too-many-at-a-time")
      #expect(try await gateway.download("2020-12-01", for: "DE").code == 200)
      group.addTask { try await gateway.upload(french, tag: "a", of: "FR").code }
      for _ in 0..<2000 where await desk.begun.count < 5 { try await Task.sleep(for: .milliseconds(2)) }
      #expect(await desk.begun == ["DE", "DE", "DE", "DE", "FR"])
      await desk.open()
      #expect(try await group.reduce(into: [Int]()) { $0.append($1) } == [201, 201, 201, 201, 201])
    }
    #expect(try await gateway.upload(sent, tag: "a", of: "DE").code == 201)
  }

  // MARK: Downloading

  @Test("Links cross midnight, and what is too old is gone")
  func days() async throws {
    let gateway = try TestGateway()
    for day in 0..<3 {
      var random = SeededRandom(seed: UInt64(day))
      let sent = NationalBatch(2, of: "DE", at: gateway.clock.now, &random)
      #expect(try await gateway.upload(sent, tag: "\(day)", of: "DE").code == 201)
      try await gateway.close()
      gateway.clock.step(86_400)
    }
    // It is 2020-12-04; batches of the 1st to the 3rd were made.
    #expect(try await gateway.download("2020-12-01", for: "FR").code == 410)
    #expect(try await gateway.audit("2020-12-01", "20201201-1", for: "FR").code == 410)
    let first = try await gateway.download("2020-12-02", for: "FR")
    #expect(first["batchTag"] == "20201202-1" && first["nextBatchTag"] == "20201203-1")
    let next = try await gateway.download("2020-12-02", tag: "20201203-1", for: "FR")
    #expect(next.code == 200 && next["nextBatchTag"] == "null")
    #expect(try await gateway.download("2020-12-03", tag: "20201202-1", for: "FR").code == 400)
    #expect(try await gateway.download("2020-12-04", for: "FR").code == 404)
    for tag in ["20201203-2", "20201203-0", "x"] {
      #expect(try await gateway.download("2020-12-02", tag: tag, for: "FR").code == 404, "\(tag)")
    }
    #expect(try await gateway.download("2020-12-02", tag: "20201201-1", for: "FR").code == 410)
    for day in ["2020-13-01", "20201202", "x"] {
      #expect(try await gateway.download(day, for: "FR").code == 400, "\(day)")
      #expect(try await gateway.audit(day, "20201202-1", for: "FR").code == 400, "\(day)")
    }
    #expect(try await gateway.audit("2020-12-03", "20201202-1", for: "FR").code == 404)
    #expect(try await gateway.audit("2020-12-02", "20201202-1", for: "FR").code == 200)
  }

  @Test("A closed batch never changes, but for what is withdrawn, which goes as a whole")
  func withdrawn() async throws {
    let gateway = try TestGateway()
    let (german, french) = (batch(3), batch(4, of: "FR"))
    #expect(try await gateway.upload(german, tag: "a", of: "DE").code == 201)
    #expect(try await gateway.upload(french, tag: "a", of: "FR").code == 201)
    try await gateway.close()
    let before = try await gateway.download("2020-12-01", for: "IT").bytes
    #expect(before == (try german.protobuf + french.protobuf))
    #expect(try await gateway.upload(batch(2, of: "DE", "later"), tag: "b", of: "DE").code == 201)
    #expect(try await gateway.download("2020-12-01", for: "IT").bytes == before)
    let word = Attribution(by: "ada")
    try await gateway.ledger.paused(.origin("DE"), by: word, at: TestGateway.noon)
    #expect(try await gateway.close().isEmpty)
    #expect(try await gateway.download("2020-12-01", for: "IT").bytes == before)
    _ = try await gateway.ledger.recalled(RecallRequest(origin: "DE"), by: word, at: TestGateway.noon)
    #expect(try await gateway.download("2020-12-01", for: "IT").bytes == (try french.protobuf))
    let audit = try await gateway.audit("2020-12-01", "20201201-1", for: "IT")
    #expect(try JSONDecoder().decode([AuditEntry].self, from: Data(audit.bytes)).map(\.country) == ["FR"])
    _ = try await gateway.ledger.resumed(.origin("DE"), by: word, at: TestGateway.noon)
    #expect(try await gateway.close().isEmpty)
  }

  @Test("A flood is taken, held for the operator, and goes on when he says so")
  func flood() async throws {
    let gateway = try TestGateway {
      $0.reading.reading.floodFloor = 5
      $0.reading.reading.floodFactor = 2
    }
    #expect(try await gateway.upload(batch(4), tag: "a", of: "DE").code == 201)
    #expect(try await gateway.upload(batch(9, of: "DE", "more"), tag: "b", of: "DE").code == 201)
    #expect(try await gateway.upload(batch(3, of: "FR"), tag: "a", of: "FR").code == 201)
    try await gateway.close()
    let passed = try TestGateway.keys(try await gateway.download("2020-12-01", for: "IT").bytes)
    #expect(passed.keys.count == 7)
    let upload = try #require(
      try await gateway.ledger.read { try $0.federationUpload(tagged: "b", of: "DE") })
    let held = try await gateway.ledger.read { try $0.holds(of: upload.document) }
    #expect(!held.isEmpty)
    _ = try await gateway.ledger.heldReleased(upload.document, by: Attribution(by: "ada"), at: TestGateway.noon)
    #expect(try await gateway.close().map(\.tag) == ["20201201-2"])
  }

  // MARK: Who asks

  @Test("The proxy's two fields are read in every spelling, and nobody else is believed")
  func proxy() async throws {
    var federation = try SimulatedFederation(["DE"])
    let thumbprint = try federation["DE"].client.thumbprint
    let raw = try #require(
      stride(from: 0, to: 64, by: 2).map { offset -> UInt8? in
        let start = thumbprint.index(thumbprint.startIndex, offsetBy: offset)
        return UInt8(thumbprint[start..<thumbprint.index(start, offsetBy: 2)], radix: 16)
      } as? [UInt8])
    let base64 = Base64.encode(raw)
    let encoded = base64.replacing("+", with: "%2B").replacing("/", with: "%2F").replacing("=", with: "%3D")
    let held = HeldFederationTrust(federation.trust)
    let doorkeeper = CertificateAuthenticator(
      FederationListenerSettings(.proxy), trust: held, metrics: GatewayMetrics())
    func code(_ digest: String?, _ name: String?, isThroughProxy: Bool = true) -> String {
      var fields: HTTPFields = [:]
      fields[.clientDigest] = digest
      fields[.clientName] = name
      do throws(FederationRefusal) {
        return try doorkeeper.client(
          PartnerCaller(fields: fields, isThroughProxy: isThroughProxy), at: TestGateway.noon
        ).country
      } catch {
        return error.code
      }
    }
    for spelled in [thumbprint, thumbprint.uppercased(), base64, encoded] {
      #expect(code(spelled, "C=DE") == "DE", "\(spelled)")
    }
    for name in [
      "CN=x, c=DE ,O=y", "O=Foo\\, Bar,C=DE", "C%3DDE%2CO%3Dy", "O=a=b,C=DE", "/C=DE/O=y/CN=x",
    ] {
      #expect(code(thumbprint, name) == "DE", "\(name)")
    }
    #expect(code(thumbprint, "C=DE", isThroughProxy: false) == "client-certificate-forged")
    #expect(code(nil, "C=DE") == "client-certificate-missing")
    #expect(code(thumbprint, nil) == "client-certificate-missing")
    #expect(code(thumbprint, "CN=x") == "client-without-country")
    #expect(code(thumbprint, "C=FR") == "client-wrong-country")
    #expect(code(String(thumbprint.dropFirst()), "C=DE") == "client-certificate-unreadable")
    #expect(code(String(repeating: "0", count: 64), "C=DE") == "client-unknown")
    #expect(code(try federation["DE"].signing.certificate.thumbprint, "C=DE") == "client-wrong-use")
    var fields: HTTPFields = [.clientDigest: thumbprint, .clientName: "C=DE"]
    fields.append(HTTPField(name: .clientDigest, value: thumbprint))
    #expect(throws: FederationRefusal.self) {
      try doorkeeper.client(PartnerCaller(fields: fields, isThroughProxy: true), at: TestGateway.noon)
    }
    federation.revoke("DE", .authentication)
    held.value = federation.trust
    #expect(code(thumbprint, "C=DE") == "client-revoked")
  }

  @Test("Nobody reads or uploads without a certificate; the protocol itself is everybody's")
  func strangers() async throws {
    let gateway = try TestGateway { $0.showsStatistics = true }
    let options = try await gateway.app.ask("/diagnosiskeys", .options)
    #expect(options.code == 200 && options["allow"] == "POST,GET,OPTIONS")
    #expect(options["accept"] == "application/json; version=1.0, application/protobuf; version=1.0")
    for (path, method) in [
      ("upload", HTTPRequest.Method.post), ("download/2020-12-01", .get),
      ("audit/download/2020-12-01/20201201-1", .get),
    ] {
      let answer = try await gateway.app.ask("/diagnosiskeys/\(path)", method, body: method == .post ? [1] : nil)
      #expect(answer.code == 403 && answer.json["message"] is String, "\(path)")
    }
    for (path, method) in [
      ("upload", HTTPRequest.Method.get), ("download/2020-12-01", .post), ("upload", .put), ("statistics", .post),
    ] {
      let answer = try await gateway.app.ask("/diagnosiskeys/\(path)", method)
      #expect(answer.code == 405 && answer["allow"] != nil, "\(path)")
    }
    #expect(try await gateway.app.ask("/diagnosiskeys/other").code == 404)
    let metrics = gateway.metrics.text
    #expect(
      metrics.contains(
        #"keyferry_federation_uploads_total{country="unknown",outcome="client-certificate-missing"} 1"#))
  }

  @Test("Statistics are for everybody, where they are enabled")
  func statistics() async throws {
    let silent = try TestGateway()
    #expect(try await silent.app.ask("/diagnosiskeys/statistics").code == 404)
    let gateway = try TestGateway { $0.showsStatistics = true }
    _ = try await gateway.upload(batch(3), tag: "a", of: "DE")
    _ = try await gateway.upload(batch(2, of: "DE", "b"), tag: "b", of: "DE")
    _ = try await gateway.upload(batch(4, of: "FR"), tag: "a", of: "FR")
    let answer = try await gateway.app.ask("/diagnosiskeys/statistics")
    #expect(answer.code == 200 && answer["content-type"] == "application/json")
    #expect(
      answer.text
        == #"{"days":[{"country":"DE","day":"2020-12-01","keys":5,"uploads":2},{"country":"FR","day":"2020-12-01","keys":4,"uploads":1}]}"#
    )
  }

  @Test("What is counted is documented")
  func metrics() async throws {
    let gateway = try TestGateway()
    _ = try await gateway.upload(batch(3), tag: "a", of: "DE")
    try await gateway.close()
    _ = try await gateway.download("2020-12-01", for: "FR")
    let root = (0..<4).reduce(URL(filePath: #filePath)) { place, _ in place.deletingLastPathComponent() }
    let page = try String(
      contentsOf: root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc/Metrics.md"), encoding: .utf8)
    let text = gateway.metrics.text
    let helps = text.split(separator: "\n").filter { $0.hasPrefix("# HELP keyferry_federation_") }
    #expect(helps.count == 3)
    for help in helps {
      let words = help.dropFirst("# HELP ".count).split(separator: " ", maxSplits: 1)
      let labels = words[0] == "keyferry_federation_downloads_total" ? "`country`" : "`country`, `outcome`"
      #expect(page.contains("| `\(words[0])` | counter | \(labels) | \(words[1]) |\n"), "\(help)")
    }
    #expect(text.contains(#"keyferry_federation_downloads_total{country="FR"} 1"#))
    #expect(text.contains(#"keyferry_federation_keys_total{country="DE",outcome="held"} 0"#))
    #expect(text.contains("keyferry_http_requests_total{route=\"federation\",method=\"POST\",status=\"201\"} 1"))
  }

  @Test("The schema names every address of the federation, and every member of its answers")
  func schema() throws {
    let root = (0..<4).reduce(URL(filePath: #filePath)) { place, _ in place.deletingLastPathComponent() }
    let bytes = try Data(contentsOf: root.appending(path: "schemas/openapi.json"))
    let document = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
    let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
    let described = paths.filter { $0.value.values.contains { $0["tags"] as? [String] == ["federation"] } }
    #expect(
      described.mapValues { $0.keys.sorted() } == [
        "/diagnosiskeys": ["options"], "/diagnosiskeys/upload": ["post"], "/diagnosiskeys/download/{date}": ["get"],
        "/diagnosiskeys/audit/download/{date}/{batchTag}": ["get"], "/diagnosiskeys/statistics": ["get"],
        "/diagnosiskeys/callback": ["get"], "/diagnosiskeys/callback/{callbackId}": ["delete", "put"],
      ])
    let components = try #require(document["components"] as? [String: [String: [String: Any]]])
    func members(_ name: String) -> Set<String> {
      Set((components["schemas"]?[name]?["properties"] as? [String: Any] ?? [:]).keys)
    }
    let entry = AuditEntry(
      country: "", uploadedTime: "", uploaderCertificate: "", uploaderThumbprint: "", uploaderOperatorSignature: "",
      signingCertificate: "", uploaderSigningThumbprint: "", signingCertificateOperatorSignature: "", amount: 0,
      batchSignature: "")
    let coded = try JSONSerialization.jsonObject(with: JSONEncoder().encode(entry)) as? [String: Any]
    #expect(Set((coded ?? [:]).keys) == members("FederationAuditEntry"))
    #expect(
      members("FederationRefusal") == [
        "message", "code", "key", "step", "stepName", "canonicalSHA256", "canonicalLength", "firstRows",
      ])
  }

  // MARK: In the gateway

  @Test("What a country uploads is a document of a source of its own, with its evidence and a proof of its origin")
  func document() async throws {
    let gateway = try TestGateway()
    let sent = batch(6)
    #expect(try await gateway.upload(sent, tag: "a/b", of: "DE").code == 201)
    try await gateway.ledger.read { state throws in
      let document = try #require(try state.documents(of: "federation/DE", in: [.recorded], limit: 9).first)
      #expect(
        document.name == "2020-12-01/a/b" && document.facts?.new == 6 && document.facts?.format == "efgs-protobuf")
      #expect(try state.content(of: document.id) == (try sent.protobuf))
      let claims = try state.claims(about: sent.keys[0].key).statedClaims
      #expect(claims.map(\.origin) == ["DE"] && claims.map(\.source.name) == ["federation/DE"])
      #expect(claims.map(\.source.provenance) == [.origins])
      #expect(try state.lastEvent()?.event.kind == .federated)
    }
  }
}

extension NationalBatch {
  fileprivate static func one(_ name: String) -> NationalBatch {
    var random = SeededRandom(seed: name.utf8.reduce(3) { $0 &* 31 &+ UInt64($1) })
    return NationalBatch(1, of: "DE", at: TestGateway.noon, &random)
  }
}
