import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyPeers
import KeyReceiving
import KeyStorage
import Testing

/// Each country's server, pulled for fourteen days and then some: pulls are killed in between, requests fail, and our clock is right or
/// an hour off. In the end every key that people uploaded is there once, nothing else is, and no document has lost keys.
///
/// Each takes some seconds, because a fortnight has many files.
@Suite("Pulls from countries") struct CountryPullTests {
  struct Play: Sendable, CustomTestStringConvertible {
    let name: String
    let make: @Sendable () throws -> any CountryServer
    var testDescription: String { name }
  }

  static let plays = [
    Play(name: "Japan") { try Japan() }, Play(name: "Austria") { try Austria() },
    Play(name: "Finland") { try Finland(isVersion2: false) },
    Play(name: "Finland, version 2") { try Finland(isVersion2: true) }, Play(name: "Croatia") { try Croatia() },
    Play(name: "England and Wales") { try EnglandAndWales() }, Play(name: "Canada") { try Canada(isToday: false) },
    Play(name: "Canada with today") { try Canada(isToday: true) }, Play(name: "Denmark") { try Denmark() },
    Play(name: "Ireland") { try Ireland() }, Play(name: "Netherlands") { try Netherlands() },
    Play(name: "Norway, version 1") { try Norway() },
  ]

  /// 2020-12-01.
  private static let begin: Int64 = 18_597 * 86_400
  /// It comes at every time of the day, since no day is a multiple of it.
  private static let step: Int64 = 7800

  /// How far our clock is ahead, for each of the plays: one way each, and every way in the long list.
  private static let cases: [(Play, Int64)] = plays.enumerated().flatMap { index, play in
    let errors: [Int64] = [3600, 0, -3600]
    return (LongList.isRun ? errors : [errors[index % 3]]).map { (play, $0) }
  }

  @Test(arguments: cases)
  func everyKeyOnce(play: Play, clockError: Int64) async throws {
    try await withFolder { folder in
      var random = SeededRandom(seed: UInt64(bitPattern: clockError) &+ 11)
      let server = PlayedServer(try play.make(), at: Self.begin, seed: random.next())
      let store = MemoryStore()
      let receiver = Receiver(store, folder: folder, at: Instant(secondsSince1970: Self.begin + clockError))
      var most: [String: Int] = [:]

      func pass(uploading: Bool) throws {
        try server.pass(seconds: Self.step, uploading: uploading)
        receiver.advance(seconds: Self.step)
      }
      func pull(_ state: any Store) async throws -> PullReceipt {
        let killed = Receiver(state, folder: folder, at: receiver.now)
        return try await killed.pull(server.settings, server)
      }
      func compare() async throws {
        for document in try await receiver.documents([.recorded]) {
          let received = document.facts?.received ?? 0
          #expect(received >= most[document.name, default: 0], "\(document.name) has lost keys")
          most[document.name] = received
        }
      }

      while server.keys.isEmpty || receiver.now.secondsSince1970 < Self.begin + clockError + 14 * 86_400 {
        try pass(uploading: true)
        server.isFailing = random.once(in: 3)
        if random.once(in: 3) {
          let failing = FailingStore(store, failingAt: Int.random(in: 0..<12, using: &random))
          _ = try? await pull(failing)
        } else {
          _ = try await pull(store)
        }
        if random.once(in: 8) { try await compare() }
      }
      server.isFailing = false
      for _ in 0..<2 * 86_400 / Self.step {
        try pass(uploading: false)
        let receipt = try await pull(store)
        #expect(receipt.outcome == .done, "\(receipt.failures)")
        #expect(receipt.refusals.isEmpty)
      }
      try await compare()

      let claims = try await receiver.claims()
      #expect(claims.count == server.keys.count)
      #expect(Set(claims.map(\.subject.key)) == Set(server.keys.map(\.claim.key)))
      let faulty = try await receiver.documents(Set(DocumentState.allCases).subtracting([.recorded, .discovered]))
      #expect(faulty.map { "\($0.name): \($0.fault?.reason ?? "")" } == [])
    }
  }

  /// A server writes the file of a day again: emptied, with fewer keys, with others, and whole.
  @Test func whatIsRecordedIsNotReplacedByLess() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      let signer = try FileSigner(keyID: "234", region: "")
      let settings = signer.settings(
        .calendar, ["preset": "england-and-wales", "hours": "false"], location: "https://keys.example.org")
      let receiver = Receiver(folder: folder)
      let day = usualNoon.day.daysSince1970
      func keys(_ numbers: ClosedRange<UInt64>) -> [UploadedKey] {
        numbers.map { number in
          var claim = ClaimedKey(key: TemporaryExposureKey(high: number &* 0x9e37_79b9_7f4a_7c15, low: ~number))
          claim.rollingStart = Int32(Day(daysSince1970: day - 3).firstInterval.rawValue)
          claim.rollingPeriod = 144
          return UploadedKey(claim: claim, time: 0)
        }
      }
      func pull(_ numbers: ClosedRange<UInt64>?) async throws -> [String: Int] {
        let body = try signer.file(numbers.map(keys) ?? [], from: day * 86_400 - 86_400, to: day * 86_400)
        peer["/distribution/daily/2020120100.zip"] = MemoryPeer.Answer(body: body)
        let receipt = try await receiver.pull(settings, peer)
        #expect(receipt.outcome == .done)
        #expect(receipt.refusals.isEmpty)
        receiver.advance(seconds: 10_800)
        let documents = try await receiver.documents([.recorded])
        return Dictionary(uniqueKeysWithValues: documents.map { ($0.name, $0.facts?.received ?? 0) })
      }
      let name = "daily/2020120100"
      #expect(try await pull(nil) == [name: 0])
      #expect(try await pull(1...9) == [name: 9])
      #expect(try await pull(nil) == [name: 9])
      // At 21:00 the file counts as complete, but not what is recorded of it.
      #expect(try await pull(nil) == [name: 9])
      let beside = try await pull(8...11)
      #expect(beside[name] == 9)
      #expect(beside.values.sorted() == [4, 9])
      #expect(try await receiver.claims().count == 11)
      // The kept bytes are those of the whole file.
      let findings = try await KeptDocumentCheck(of: [settings], ownOrigins: [], retention: Retention()).run(
        in: receiver.ledger)
      #expect(findings.faults == [])
      peer.forget()
      #expect(try await pull(1...12) == beside)
      #expect(!peer.asked.contains("/distribution/daily/2020120100.zip"))
    }
  }

  /// The newest names may not be there yet; what proves the source is told first.
  @Test func aProbeTriesTheNewestFileThatIsThere() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      let signer = try FileSigner(keyID: "234", region: "")
      let settings = signer.settings(
        .calendar, ["preset": "england-and-wales"], location: "https://keys.example.org")
      let end = usualNoon.secondsSince1970
      for hour in ["10", "12"] {
        peer["/distribution/two-hourly/20201201\(hour).zip"] = MemoryPeer.Answer(status: 403)
      }
      peer["/distribution/two-hourly/2020120108.zip"] = MemoryPeer.Answer(
        body: try signer.file([], from: end - 21_600, to: end - 14_400))
      let probe = try await SourceProbe.probe(settings, through: peer, spool: folder + "/probe", now: usualNoon)
      #expect(probe.isUsable)
      #expect(probe.findings.first?.contains("emptied days") == true)
      let tried = ["two-hourly/2020120112", "two-hourly/2020120110", "two-hourly/2020120108"]
      #expect(probe.findings.dropFirst(2).map { String($0.prefix(21)) } == tried)
    }
  }
}
