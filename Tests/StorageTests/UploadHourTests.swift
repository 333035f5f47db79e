import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import Testing

/// Of the uploads of an hour the log has one entry a door, whatever happens.
@Suite("Stores: hours of upload doors")
struct UploadHourTests {
  private static func at(_ minutes: Int64) -> Instant {
    Instant(secondsSince1970: Times.now.secondsSince1970 / 3600 * 3600 + minutes * 60)
  }

  private static func close(_ ledger: Ledger, at minutes: Int64, doors: [String] = ["phones"]) async throws {
    try await ledger.uploadsCounted(at: doors, keptFor: 14, at: SoundTime(toldByOperator: at(minutes)))
  }

  private static func upload(
    _ ledger: Ledger, _ arrivals: inout Arrivals, count: Int = 1, at minutes: Int64
  ) async throws {
    let uploads = (0..<count).map { _ in
      AdmittedUpload(door: "phones", batch: arrivals.batch(2), regions: ["NL"], certificate: nil, byteCount: 1)
    }
    _ = try await ledger.uploaded(uploads, at: at(minutes))
  }

  private static func heard(_ listener: RecordingListener) -> [UploadHour] {
    var hours: [UploadHour] = []
    for case .uploadsCounted(let counted) in listener.heard.map(\.facts) where !counted.allSatisfy(hours.contains) {
      hours += counted
    }
    return hours
  }

  @Test("each hour of a door is closed once, with what came in it", arguments: [StoreKind.memory, .sqlite])
  func hours(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let listener = RecordingListener()
      let ledger = Ledger(store, listeners: [listener])
      var arrivals = Arrivals(random: SeededRandom(seed: 7))
      try await Self.close(ledger, at: 10)
      try await Self.upload(ledger, &arrivals, count: 2, at: 20)
      try await Self.upload(ledger, &arrivals, at: 40)
      // The hour goes on.
      try await Self.close(ledger, at: 59)
      try await Self.upload(ledger, &arrivals, at: 65)
      try await Self.close(ledger, at: 70, doors: ["phones", "practice"])
      // As after a start of the program, and once more.
      try await Self.close(Ledger(store, listeners: [listener]), at: 75)
      // A clock that went back: the hour has its entry already.
      try await Self.upload(ledger, &arrivals, at: 50)
      try await Self.close(ledger, at: 55)
      // Hours without uploads, too.
      try await Self.close(ledger, at: 245)
      let phones = Self.heard(listener).filter { $0.door == "phones" }
      #expect(phones.map { ($0.start.secondsSince1970 - Self.at(0).secondsSince1970) / 3600 } == [-1, 0, 1, 2, 3])
      #expect(phones.map(\.count) == [0, 3, 2, 0, 0])
      #expect(phones[1].first != phones[1].last && phones[0].first == nil)
      let practice = Self.heard(listener).filter { $0.door == "practice" }
      #expect(practice.map(\.count) == [0] && Set(Self.heard(listener).map(\.salt)).count == 6)
      #expect(try await ledger.read { try $0.uploadHours(of: "phones") } == phones)
      // What opens them goes with the evidence.
      let end = Instant(secondsSince1970: Self.at(245).secondsSince1970 + 14 * 86_400)
      _ = try await ledger.expired(keysExpiredBefore: Times.now, at: SoundTime(toldByOperator: end))
      #expect(try await ledger.read { try $0.uploadHours(of: "phones") }.isEmpty)
    }
  }

  @Test("nothing is lost or told twice around a clock that was ahead, and a long standstill")
  func clocks() async throws {
    try await withStore(.memory) { store in
      let listener = RecordingListener()
      let ledger = Ledger(store, listeners: [listener])
      var arrivals = Arrivals(random: SeededRandom(seed: 8))
      try await Self.close(ledger, at: 0)
      try await Self.upload(ledger, &arrivals, at: 60 * 24 * 3650)
      try await Self.upload(ledger, &arrivals, at: 5)
      try await Self.close(ledger, at: 60)
      try await Self.close(ledger, at: 120)
      #expect(Self.heard(listener).map(\.count) == [0, 1, 1])
      try await Self.upload(ledger, &arrivals, at: 130)
      try await Self.close(ledger, at: 60 * 24 * 100)
      let hours = Self.heard(listener)
      #expect(hours.count == 3 + 14 * 24 && hours[3].count == 1 && hours.map(\.count).reduce(0, +) == 3)
      #expect(Set(hours.map(\.start)).count == hours.count)
    }
  }
}
