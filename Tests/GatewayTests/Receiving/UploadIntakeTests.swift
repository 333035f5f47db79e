import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyIntake
import KeyNormalization
import KeyReceiving
import KeyStorage
import PolicyFiles
import Testing

/// What phones send goes the one way in: admitted as its door's policy reads it, durable before it is answered, and
/// nothing else of it is kept.
@Suite("Uploads are recorded directly")
struct UploadIntakeTests {
  private let now = Instant(secondsSince1970: 1_606_651_200)  // 2020-11-29T12:00Z
  private let start: Int32 = 2_677_680  // 2020-11-29

  private func intake(
    _ ledger: Ledger, regions: [String] = [], reading: Policy = Policy(name: "default")
  ) -> UploadIntake {
    UploadIntake(
      UploadSource(name: "door", origin: "NL", reading: reading, regions: regions), ledger: ledger
    ) { [now] in now }
  }

  /// One person's keys of some days, all different.
  private func upload(_ number: Int, days: Int = 2) -> DecodedDocument {
    DecodedDocument(
      keys: (0..<days).map { day in
        var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(number) + 1 << 40, low: UInt64(day)))
        key.rollingStart = start - Int32(144 * day)
        key.rollingPeriod = 144
        return key
      })
  }

  private func claims(_ ledger: Ledger) async throws -> [StatedClaim] {
    try await ledger.read {
      try $0.claims(from: TemporaryExposureKey(high: 0, low: 0), limit: 10_000).claims.statedClaims
    }
  }

  private func events(_ ledger: Ledger) async throws -> [EventRecord] {
    try await ledger.read { try $0.events(from: EventID(rawValue: 0), limit: 10_000) }
  }

  @Test("Uploads of the same moment share a commit, and each is told what became of its own keys")
  func groups() async throws {
    let ledger = Ledger(MemoryStore())
    let door = intake(ledger)
    let accepted = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<300 {
        let keys = upload(number, days: number % 3 + 1)
        group.addTask { try await door.accept(keys, certificate: nil, byteCount: 100).accepted - number % 3 }
      }
      return try await group.reduce(into: [Int]()) { $0.append($1) }
    }
    #expect(accepted == Array(repeating: 1, count: 300))
    #expect(try await claims(ledger).count == 600)
    let commits = try await events(ledger).filter { $0.event.kind == .uploaded }.count
    // How many depends on how busy the machine is.
    #expect((2...150).contains(commits), "\(commits) commits; at most 256 uploads share one")
    let documents = try await ledger.read {
      try $0.documents(of: "door", in: Set(DocumentState.allCases), limit: .max)
    }
    #expect(documents.count == 1, "the uploads of a day are not told apart")
    #expect(documents.first?.facts?.counts.new == 600 && documents.first?.facts?.counts.isBalanced == true)
  }

  @Test("Regions and the digest of the certificate are kept, the body is not")
  func kept() async throws {
    let ledger = Ledger(MemoryStore())
    let receipt = try await intake(ledger, regions: ["DE", "NL"]).accept(upload(1), certificate: "ab12", byteCount: 321)
    #expect(receipt.accepted == 2 && receipt.dropped.isEmpty)
    let claims = try await claims(ledger)
    #expect(claims.count == 2)
    for claim in claims {
      #expect(claim.origin == "NL" && claim.visited == ["DE", "NL"])
      #expect(claim.source.name == "door" && claim.source.provenance == .assertedByOperator)
    }
    let (records, contents) = try await ledger.read { state in
      (
        try state.uploads(certificate: "ab12"),
        try state.documents(of: nil, in: Set(DocumentState.allCases), limit: .max).map { try state.content(of: $0.id) }
      )
    }
    #expect(records.map(\.regions) == [["DE", "NL"]])
    #expect(contents == [nil])
    // The same keys again: known, and one more record that they came.
    #expect(
      try await intake(ledger, regions: ["DE", "NL"]).accept(upload(1), certificate: "ab12", byteCount: 3).accepted == 2
    )
    #expect(try await self.claims(ledger).count == 2)
  }

  @Test(
    "Only a certificate with a revision token proves a key; an upload that shows less is a copy, and blocks no revision"
  )
  func proofs() async throws {
    let ledger = Ledger(MemoryStore())
    let door = intake(ledger)
    let keys = upload(1, days: 1)
    let subject = keys.keys[0]
    func say(
      _ type: ReportType?, period: Int32 = 144, proof: RevisionProof?, certificate: String?
    ) async throws -> UploadIntake.Receipt {
      var said = keys
      (said.keys[0].reportType, said.keys[0].rollingPeriod) = (type?.rawValue, period)
      return try await door.accept(said, proof: proof, certificate: certificate, byteCount: 1)
    }
    func standings() async throws -> [String?] {
      try await claims(ledger).map { $0.source.upload?.rawValue }.sorted { ($0 ?? "") < ($1 ?? "") }
    }
    // A code leaves no certificate, and without a revision key there is no token.
    for (proof, certificate) in [(.missing, nil), (.notIssued, "ab12"), (nil, "ab12")] as [(RevisionProof?, String?)] {
      let ledger = Ledger(MemoryStore())
      _ = try await intake(ledger).accept(keys, proof: proof, certificate: certificate, byteCount: 1)
      #expect(try await claims(ledger).map(\.source.upload) == [nil])
    }
    let first = try await say(.confirmedClinicalDiagnosis, proof: .missing, certificate: "ab12")
    #expect(first.recorded.map(\.key) == [subject.key])
    // With a bearer token, of another length, and then as it was.
    _ = try await say(.confirmedTest, period: 60, proof: nil, certificate: nil)
    _ = try await say(nil, proof: nil, certificate: nil)
    #expect(try await standings() == ["copy", "copy", "proven"])
    let second = try await say(.revoked, proof: .keys(first.recorded), certificate: "cd34")
    #expect(second.accepted == 1)
    #expect(try await standings() == ["copy", "copy", "proven", "proven"])
  }

  @Test("A key that every series would call too old is dropped and told, and one that some series publishes is not")
  func tooOldForAll() async throws {
    func policy(_ days: Int) -> Policy {
      var policy = Policy(name: "p\(days)")
      policy.publishing.maximumAgeDays = days
      return policy
    }
    // Now is noon; keys expire at midnight: 5.5 days ago, 6.5 days ago, and so on.
    for (outlets, accepted) in [
      ([], 9), ([(7, 7200)], 8), ([(6, 7200)], 7), ([(6, 7200), (3, 86_400)], 7), ([(3, 7200)], 4),
      // At the end of a day's window all are half a day older.
      ([(3, 86_400)], 4), ([(2, 86_400)], 3),
    ] as [([(Int, Int64)], Int)] {
      let ledger = Ledger(MemoryStore())
      var source = UploadSource(name: "door", origin: "NL", reading: Policy(name: "default"))
      source.outlets = outlets.map { UploadSource.Outlet(publishing: policy($0.0), period: $0.1) }
      let receipt = try await UploadIntake(source, ledger: ledger) { now }
        .accept(upload(1, days: 9), certificate: nil, byteCount: 1)
      #expect(receipt.accepted == accepted, "\(outlets)")
      #expect(receipt.dropped.allSatisfy { $0.reason == "key-too-old" } && receipt.dropped.count == 9 - accepted)
      #expect(try await claims(ledger).count == accepted)
    }
  }

  @Test("A key that an admission rule refuses is dropped by its place, whoever sent it")
  func rules() async throws {
    let ledger = Ledger(MemoryStore())
    var keys = upload(1, days: 6)
    keys.keys[1].rollingPeriod = 145
    keys.keys[2].rollingStart = start + 144
    keys.keys[3].rollingStart = start - 144 * 17
    keys.keys[4].transmissionRisk = 9
    keys.keys[5].key = TemporaryExposureKey(high: 0x0707_0707_0707_0707, low: 0x0707_0707_0707_0707)
    keys.rejections = [
      Rejection(position: KeyPosition(index: 0, byteOffset: 1), reason: .keyDataLength, detail: "15 bytes")
    ]
    let receipt = try await intake(ledger).accept(keys, certificate: nil, byteCount: 1)
    #expect(receipt.accepted == 1)
    #expect(receipt.dropped.map(\.position) == [0, 2, 3, 4, 5, 6], "the rejected one before them counts")
    #expect(
      receipt.dropped.map(\.reason) == [
        "key-data-length", "rolling-period-out-of-range", "rolling-start-in-future", "key-too-old", "risk-out-of-range",
        "key-data-uniform",
      ])
  }

  @Test("Keys that are not one person's are refused as a whole, and so is an upload of nothing")
  func persons() async throws {
    let ledger = Ledger(MemoryStore())
    var overlapping = upload(1)
    overlapping.keys[1].rollingStart = start - 100
    var sharing = upload(2, days: 4)
    for index in sharing.keys.indices { sharing.keys[index].rollingStart = start }
    var old = upload(3, days: 1)
    old.keys[0].rollingStart = start - 144 * 40
    for (keys, words) in [
      (overlapping, "keys overlap at rolling start"), (sharing, "more than 3 keys have the rolling start"),
      (old, "no key can be taken: key 0: rolling start"),
    ] {
      let refusal = await #expect(throws: UploadIntake.Refusal.self) {
        try await intake(ledger).accept(keys, certificate: nil, byteCount: 1)
      }
      switch refusal {
      case .fault(let reason), .noKeys(let reason): #expect(reason.hasPrefix(words), "\(reason)")
      default: Issue.record("\(words): \(String(describing: refusal))")
      }
    }
    #expect(try await claims(ledger).isEmpty)
    #expect(try await events(ledger).isEmpty)
  }

  @Test("What only looks like an upload waits for a commit, and leaves no event and no claim")
  func pass() async throws {
    let store = CountingStore(MemoryStore())
    let ledger = Ledger(store)
    try await intake(ledger).pass()
    #expect(store.writes == [.promised], "as durable as an upload")
    #expect(try await events(ledger).isEmpty)
    #expect(try await claims(ledger).isEmpty)
    let door = intake(ledger)
    try await withThrowingTaskGroup { group in
      for number in 0..<40 {
        let keys = upload(number)
        group.addTask {
          if number % 2 == 0 {
            try await door.pass()
          } else {
            _ = try await door.accept(keys, certificate: nil, byteCount: 1)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(store.writes.count < 40, "they wait for the same commits")
    #expect(try await claims(ledger).count == 40)
  }

  @Test("An upload that cannot be kept is told so, and those behind it are taken")
  func fault() async throws {
    let store = CountingStore(MemoryStore())
    let door = intake(Ledger(store))
    store.fault = StorageFault(.full, "no room")
    await #expect(throws: StorageFault.self) { try await door.accept(upload(1), certificate: nil, byteCount: 1) }
    store.fault = nil
    #expect(try await door.accept(upload(1), certificate: nil, byteCount: 1).accepted == 2)
  }
}
