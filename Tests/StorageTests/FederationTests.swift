import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import Testing

@Suite("What a federation gateway keeps")
struct FederationTests {
  private static let facts = DocumentFacts(byteCount: 1, digest: "d", format: "efgs-protobuf", vouchedBy: "origins")

  private func send(
    _ upload: NewFederationUpload, to ledger: Ledger, once scope: FederationTagScope = .country,
    at now: Instant = Times.now, holding batch: AdmittedBatch? = nil
  ) async throws -> FederationReceipt {
    try await ledger.federated(
      upload, by: "federation/\(upload.country)", tagsOf: scope, evidence: nil, at: now
    ) { recorder in
      if let batch { return DocumentFacts(try recorder.record(batch)) }
      return Self.facts
    }
  }

  @Test("A tag is a country's, and the same upload is told again", arguments: StoreKind.allCases)
  func tags(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let first = NewFederationUpload.example("17", keys: 3, from: "DE")
      guard case .recorded(let recorded, Self.facts) = try await send(first, to: ledger) else {
        Issue.record("it is not recorded")
        return
      }
      #expect(recorded.keyCount == 3 && recorded.tag == "17" && recorded.batch == nil)
      let before = try await store.snapshot()
      #expect(try await send(first, to: ledger, at: Times.days(1)) == .repeated(recorded))
      var other = NewFederationUpload.example("17", keys: 1, from: "DE", seed: 9)
      #expect(try await send(other, to: ledger) == .tagTaken(by: "DE"))
      // The same keys, signed anew.
      var again = first
      again.signatureDigest = other.signatureDigest
      #expect(try await send(again, to: ledger) == .repeated(recorded))
      // The same signature over other keys is another upload.
      other.signatureDigest = first.signatureDigest
      #expect(try await send(other, to: ledger) == .tagTaken(by: "DE"))
      let foreign = NewFederationUpload.example("17", keys: 1, from: "FR")
      #expect(try await send(foreign, to: ledger, once: .gateway) == .tagTaken(by: "DE"))
      #expect(try await store.snapshot() == before)
      guard case .recorded = try await send(foreign, to: ledger) else {
        Issue.record("another country has tags of its own")
        return
      }
    }
  }

  @Test("A known row stops all of an upload", arguments: StoreKind.allCases)
  func duplicates(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let first = NewFederationUpload.example("a", keys: 3, from: "DE")
      _ = try await send(first, to: ledger)
      let before = try await store.snapshot()
      var second = NewFederationUpload.example("b", keys: 4, from: "DE", seed: 5)
      second.rows[1] = first.rows[2]
      second.rows[3] = second.rows[0]
      #expect(try await send(second, to: ledger) == .duplicates([1, 3]))
      #expect(try await store.snapshot() == before)
      #expect(try await ledger.read { try $0.federationUpload(tagged: "b", of: "DE") } == nil)
    }
  }

  @Test("Batches are of whole uploads, numbered by their day", arguments: StoreKind.allCases)
  func batches(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      func batch(_ now: Instant) async throws -> FederationBatch? {
        try await ledger.batched(within: 5, keptFor: 2, at: now)
      }
      #expect(try await batch(Times.now) == nil)
      for (tag, keys) in [("a", 2), ("b", 3), ("empty", 0), ("c", 4), ("d", 9), ("e", 1)] {
        _ = try await send(.example(tag, keys: keys, from: "DE"), to: ledger)
      }
      var tags: [[String]] = []
      var batches: [FederationBatch] = []
      for now in [Times.now, Times.after(5), Times.days(1), Times.now] {
        let made = try #require(try await batch(now))
        batches.append(made)
        tags.append(try await ledger.read { try $0.federationUploads(in: made.id) }.map(\.tag))
      }
      #expect(tags == [["a", "b"], ["c"], ["d"], ["e"]])
      // The clock went back, and the batches do not.
      #expect(batches.map(\.tag) == ["20201201-1", "20201201-2", "20201202-1", "20201202-2"])
      #expect(try await batch(Times.now) == nil)
      try await ledger.read { [batches] state throws in
        #expect(try state.lastFederationBatch() == batches[3])
        #expect(try state.firstFederationBatch(since: Times.now.day) == batches[0])
        #expect(try state.firstFederationBatch(since: Times.days(1).day) == batches[2])
        #expect(try state.firstFederationBatch(since: Times.days(2).day) == nil)
        #expect(try state.federationBatch(behind: batches[1].id) == batches[2])
        #expect(try state.federationBatch(behind: batches[3].id) == nil)
        #expect(try state.federationBatch(of: Times.now.day, number: 2) == batches[1])
        #expect(try state.federationBatch(of: Times.now.day, number: 3) == nil)
        #expect(try state.federationBatch(batches[2].id) == batches[2])
        let upload = try #require(try state.federationUploads(in: batches[1].id).first)
        #expect(try state.federationUpload(of: upload.document) == upload)
        #expect(try state.federationUpload(of: DocumentID(rawValue: 999)) == nil)
        #expect(
          try state.federationDays(since: Times.now.day) == [
            FederationDay(day: Times.now.day, country: "DE", uploads: 6, keys: 19)
          ])
      }
    }
  }

  @Test("Who is paused waits, and the others do not", arguments: StoreKind.allCases)
  func pauses(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let word = LedgerScript.word
      for country in ["DE", "FR", "IT"] { _ = try await send(.example("a", keys: 1, from: country), to: ledger) }
      try await ledger.paused(.origin("de"), by: word, at: Times.now)
      try await ledger.paused(.source("federation/FR"), by: word, at: Times.now)
      try await ledger.read { state throws in
        let (uploads, keys) = try state.unbatchedFederationUploads()
        #expect((uploads, keys) == (3, 3), "those of paused countries are kept back, and counted")
      }
      func countries(in batch: FederationBatch?) async throws -> [String] {
        guard let batch else { return [] }
        return try await ledger.read { try $0.federationUploads(in: batch.id) }.map(\.country)
      }
      #expect(try await countries(in: ledger.batched(within: 9, keptFor: 2, at: Times.now)) == ["IT"])
      #expect(try await ledger.batched(within: 9, keptFor: 2, at: Times.now) == nil)
      _ = try await ledger.resumed(.origin("DE"), by: word, at: Times.now)
      _ = try await ledger.resumed(.source("federation/FR"), by: word, at: Times.now)
      #expect(try await ledger.batched(within: 9, keptFor: 2, except: ["DE", "FR"], at: Times.now) == nil)
      #expect(
        try await countries(in: ledger.batched(within: 9, keptFor: 2, except: ["DE"], at: Times.now)) == ["FR"])
      #expect(try await countries(in: ledger.batched(within: 9, keptFor: 2, at: Times.now)) == ["DE"])
      #expect(try await ledger.read { try $0.unbatchedFederationUploads().uploads } == 0)
    }
  }

  @Test("A flood waits for the operator, and goes when he drops it", arguments: StoreKind.allCases, [true, false])
  func floods(kind: StoreKind, isReleased: Bool) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let receipt = try await send(.example("a", keys: 9, from: "IT"), to: ledger, holding: LedgerScript.flood())
      guard case .recorded(let upload, _) = receipt else {
        Issue.record("\(receipt)")
        return
      }
      #expect(try await ledger.batched(within: 9, keptFor: 2, at: Times.now) == nil)
      if isReleased {
        _ = try await ledger.heldReleased(upload.document, by: LedgerScript.word, at: Times.now)
      } else {
        _ = try await ledger.heldDiscarded(upload.document, by: LedgerScript.word, at: Times.now)
      }
      #expect(try await (ledger.batched(within: 9, keptFor: 2, at: Times.now) != nil) == isReleased)
      let withdrawal = try await ledger.read { try $0.federationUpload(tagged: "a", of: "IT")?.withdrawal }
      #expect(withdrawal == (isReleased ? nil : .discarded))
    }
  }

  @Test("What is recalled or erased is withdrawn as a whole, and nothing else is", arguments: StoreKind.allCases)
  func withdrawals(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let word = LedgerScript.word
      for (tag, country, day) in [("a", "DE", 0), ("b", "DE", 1), ("c", "DE", 2), ("a", "FR", 2), ("d", "FR", 2)] {
        _ = try await send(
          .example(tag, keys: 2, from: country, seed: day), to: ledger, at: Times.days(Int64(day)))
      }
      let batch = try #require(try await ledger.batched(within: 100, keptFor: 2, at: Times.days(2)))
      func withdrawals() async throws -> [FederationUpload.Withdrawal?] {
        try await ledger.read { try $0.federationUploads(in: batch.id) }.map(\.withdrawal)
      }
      _ = try await ledger.recalled(RecallRequest(origin: "DE", source: "other"), by: word, at: Times.days(2))
      #expect(try await withdrawals() == [nil, nil, nil, nil, nil])
      _ = try await ledger.recalled(RecallRequest(origin: "de", since: Times.days(1)), by: word, at: Times.days(2))
      #expect(try await withdrawals() == [nil, .recalled, .recalled, nil, nil])
      let last = try #require(try await ledger.read { try $0.federationUploads(in: batch.id) }.last)
      _ = try await ledger.recalled(
        RecallRequest(origin: "FR", document: last.document), by: word, at: Times.days(2))
      #expect(try await withdrawals() == [nil, .recalled, .recalled, nil, .recalled])
      // The key stands in the bytes of the first upload alone.
      let key = NewFederationUpload.key(1, of: "DE", tag: "a", seed: 0)
      _ = try await ledger.erased(key, digest: "ab", by: word, at: Times.days(2)) { _ in [] }
      #expect(try await withdrawals() == [.erased, .recalled, .recalled, nil, .recalled])
      // The others of its keys may come again.
      var rest = NewFederationUpload.example("a", keys: 2, from: "DE", seed: 0)
      rest.tag = "e"
      guard case .recorded = try await send(rest, to: ledger, at: Times.days(2)) else {
        Issue.record("keys of an erased upload cannot come again")
        return
      }
      try await ledger.read { state throws in
        let uploads = try state.federationUploads(in: batch.id)
        #expect(try uploads.map { try state.federationKeys(of: $0.id) == nil } == [true, false, false, false, false])
      }
    }
  }

  @Test("What is in a batch goes with it; what waits is kept as long as it says", arguments: StoreKind.allCases)
  func retention(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      func expire(_ day: Int64) async throws {
        _ = try await ledger.expired(
          keysExpiredBefore: Times.days(-100), at: SoundTime(toldByOperator: Times.days(day)))
      }
      let first = NewFederationUpload.example("a", keys: 1, from: "DE")
      _ = try await send(first, to: ledger)
      let batch = try #require(try await ledger.batched(within: 9, keptFor: 2, at: Times.now))
      let second = NewFederationUpload.example("b", keys: 1, from: "DE", until: Times.days(14))
      _ = try await send(second, to: ledger)
      try await expire(2)
      #expect(try await ledger.read { try $0.federationUploads(in: batch.id) }.count == 1)
      try await expire(3)
      try await ledger.read { state throws in
        #expect(try state.federationUploads(in: batch.id).isEmpty)
        #expect(try state.federationBatch(of: batch.day, number: 1) == nil)
        #expect(try state.knownFederationRows(first.rows + second.rows) == [1])
      }
      // Its tag and its rows are free again.
      guard case .recorded = try await send(first, to: ledger, at: Times.days(3)) else {
        Issue.record("it should be taken")
        return
      }
      try await expire(14)
      #expect(try await ledger.read { try $0.federationUpload(tagged: "b", of: "DE") } == nil)
      #expect(try await ledger.read { try $0.federationDays(since: Times.now.day) }.count == 2)
      try await expire(402)
      #expect(try await ledger.read { try $0.federationDays(since: Times.now.day) }.count == 1)
    }
  }

  @Test(
    "A batch's tag is its day and number",
    arguments: [
      ("20201201-1", 1), ("20201201-12", 12), ("20201201-0", nil), ("20201201-01", nil), ("20201301-1", nil),
      ("2020121-1", nil), ("20201201", nil), ("20201201-", nil), ("20201201-1-1", nil), ("20201201-1234567890", nil),
      ("+0201201-1", nil), ("", nil),
    ])
  func batchTags(tag: String, number: Int?) {
    let place = FederationBatch.place(of: tag)
    #expect(place?.number == number)
    if let place {
      let batch = FederationBatch(
        id: FederationBatchID(rawValue: 1), day: place.day, number: place.number, made: Times.now)
      #expect(batch.tag == tag)
    }
  }
}

extension NewFederationUpload {
  /// Its keys are bytes alone: what stands in them is nobody's business here.
  static func example(
    _ tag: String, keys count: Int, from country: String, seed: Int = 0, until end: Instant = Times.days(14)
  ) -> NewFederationUpload {
    let name = "\(country)/\(tag)/\(seed)"
    return NewFederationUpload(
      country: country, tag: tag, signatureDigest: "signature \(name)", canonicalDigest: "canonical \(name)",
      audit: Array("{\"country\":\"\(country)\"}".utf8),
      keys: (0..<count).flatMap { [0x0a, 0x12] + Array(key($0, of: country, tag: tag, seed: seed).bytes) },
      rows: (0..<count).map { number in
        let text = Array("\(name)/\(number)".utf8)
        return text + [UInt8](repeating: 0, count: 32 - text.count)
      }, until: end)
  }

  static func key(_ number: Int, of country: String, tag: String, seed: Int) -> TemporaryExposureKey {
    let name = "\(country)/\(tag)/\(seed)/\(number)"
    var random = SeededRandom(seed: name.utf8.reduce(7) { $0 &* 1_000_003 &+ UInt64($1) })
    return TemporaryExposureKey(
      high: .random(in: 0...(.max), using: &random), low: .random(in: 0...(.max), using: &random))
  }
}
