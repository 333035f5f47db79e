import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import Testing

/// The limit of a day counts each source by itself, and an operator can raise it for one.
@Suite struct VolumeLimitTests {
  private static func upload(_ range: Range<Int>, at door: String) -> AdmittedUpload {
    let keys = range.map { number in
      var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(number) + 1, low: UInt64(door.utf8.count)))
      (key.rollingStart, key.rollingPeriod) = (2_670_000, 144)
      return (key, RegionClaim(origin: "NL"))
    }
    return AdmittedUpload(
      door: door, batch: admit(keys, from: Source(name: door, origin: "NL", provenance: .assertedByOperator)),
      regions: ["NL"], certificate: nil, byteCount: 1)
  }

  @Test(
    "a limit that one upload endpoint exceeds holds no upload of another, and is raised for a day",
    arguments: StoreKind.allCases)
  func raised(kind: StoreKind) async throws {
    let word = Attribution(by: "ada")
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      var policy = ReadingPolicy()
      policy.floodFloor = 10
      let limit = policy.volumeLimit(usual: 0)
      func held(_ range: Range<Int>, at door: String, on now: Instant = Times.now) async throws -> Int {
        try await ledger.uploaded([Self.upload(range, at: door)], within: limit, at: now).heldForOperator
      }
      // Both in one commit: the first exceeds its limit, and the second keeps to it.
      let uploads = [Self.upload(0..<11, at: "a"), Self.upload(0..<10, at: "bb"), Self.upload(11..<15, at: "a")]
      let receipt = try await ledger.uploaded(uploads, within: limit, at: Times.now)
      #expect(receipt.new == 14 && receipt.heldForOperator == 11)
      #expect(try await held(20..<30, at: "a") == 10)
      let record = try await ledger.read { try $0.volumeRecord(of: "a") }
      #expect(record.held(on: Times.now.day)?.limit == 10 && record.held(on: Times.now.day)?.origin == "NL")
      #expect(try await ledger.read { try $0.volumeRecord(of: "bb") } == VolumeRecord())

      await #expect(throws: StorageFault.self) {
        try await ledger.limitRaised(of: "a", to: 10, by: word, at: Times.now)
      }
      try await ledger.limitRaised(of: "a", to: 40, by: word, at: Times.now)
      let document = try await ledger.read { try $0.documents(of: "a", in: [.recorded], limit: 1).first?.id }
      #expect(try await ledger.heldReleased(try #require(document), by: word, at: Times.now).new == 21)
      #expect(
        try await ledger.read { try $0.volumesToday(on: Times.now.day, of: "a") }
          == VolumesToday(keys: ["NL": 25], raisedLimit: 40))
      #expect(try await held(40..<55, at: "a") == 0)
      #expect(try await held(60..<61, at: "a") == 1)
      #expect(try await held(60..<61, at: "bb") == 1)
      // The next day nothing is raised any more.
      #expect(try await held(70..<81, at: "a", on: Times.days(1)) == 11)
      let event = try await ledger.read { try $0.events(from: EventID(rawValue: 0), limit: 99) }
        .first { $0.event.kind == .limitRaised }
      #expect(event?.event.kind.isOfOperator == true)
    }
  }
}
