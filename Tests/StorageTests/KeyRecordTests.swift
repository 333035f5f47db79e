import ExposureKeys
import Foundation
import GatewayTesting
import KeyNormalization
import KeyStorage
import SQLiteDriver
import Testing

@Suite("Stores: everything about one key")
struct KeyRecordTests {
  static let word = Attribution(by: "ada", reason: "a court")

  static func key(_ number: UInt64, risk: Int32? = 3, period: Int32 = 144) -> ClaimedKey {
    var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: number))
    (key.rollingStart, key.rollingPeriod, key.transmissionRisk) = (2_670_000, period, risk)
    return key
  }

  static func claims(
    _ keys: [ClaimedKey], from name: String = "DE", origin: String = "DE", usual: Int? = nil
  ) -> AdmittedBatch {
    admit(
      keys.map { ($0, RegionClaim(origin: origin, visited: ["IT"])) },
      from: Source(name: name, origin: origin, provenance: .signed(by: "\(origin) v1")), usual: usual)
  }

  /// Two documents, a recall of one of them, a flood and a release.
  static func fill(_ ledger: Ledger) async throws -> [DocumentID] {
    let documents = try await ledger.discovered(["a", "b", "c"], of: "DE", at: Times.now).map(\.id)
    let batches = [
      Self.claims([Self.key(1), Self.key(2)]), Self.claims([Self.key(1, risk: 8)], from: "IT", origin: "IT"),
      Self.claims((0..<9).map { Self.key($0) }, from: "flood", usual: 1),
    ]
    for (index, batch) in batches.enumerated() {
      let evidence = KeptBytes([UInt8(index)], until: Times.days(9))
      _ = try await ledger.recorded(
        documents[index], evidence: evidence, cursor: nil, at: Times.after(Int64(index) * 60)
      ) { DocumentFacts(try $0.record(batch)) }
    }
    _ = try await ledger.recalled(RecallRequest(origin: "IT"), by: Self.word, at: Times.days(1))
    try await ledger.staged(
      [NewStaging(NewBundle("NL", 0), [1], releasing: [NewRelease(key: Self.key(1), revisions: 0)])], by: "NL",
      at: Times.days(1)
    ) { _ in [] }
    return documents
  }

  @Test("all that is known is told, what is withdrawn and held included", arguments: StoreKind.allCases)
  func record(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let documents = try await Self.fill(ledger)
      let record = try await ledger.read { try $0.record(of: Self.key(1).key) }
      let recall = try #require(try await ledger.read { try $0.recalls() }.first?.event)
      #expect(record.claims.filter { $0.document == documents[0] }.map(\.recall) == [nil])
      #expect(record.claims.filter { $0.document == documents[1] }.map(\.recall) == [recall])
      #expect(record.claims.filter { $0.document == documents[1] }.map(\.arrived) == [Times.after(60)])
      #expect(record.claims.map(\.event) == record.claims.map(\.event).sorted())
      #expect(record.held.map(\.document) + record.claims.map(\.document).dropFirst(2) == [documents[2]])
      #expect(record.released.map(\.series) == ["NL"] && record.released.map(\.key.key.key) == [Self.key(1).key])
      #expect(try await ledger.read { try $0.record(of: Self.key(99).key) }.isEmpty)
      #expect(try await ledger.read { try $0.keptContents().map(\.document) } == documents)
    }
  }

  @Test("an erased key is nowhere, and all others are as they were", arguments: StoreKind.allCases)
  func erase(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let documents = try await Self.fill(ledger)
      let before = try await store.snapshot()
      let record = try await ledger.read { try $0.record(of: Self.key(1).key) }
      let receipt = try await ledger.erased(
        Self.key(1).key, digest: "cafe", by: Self.word, at: Times.days(2)
      ) { _ in [documents[1]] }
      #expect(receipt.claims == record.claims.count && receipt.held == record.held.count && receipt.released == 1)
      #expect(receipt.contents == [documents[1]])
      #expect(try await ledger.read { try $0.record(of: Self.key(1).key) }.isEmpty)
      let after = try await store.snapshot()
      #expect(after.claims == before.claims.filter { $0.subject.key != Self.key(1).key })
      #expect(after.claimCount == after.claims.count)
      #expect(after.contents == [before.contents[0], nil, before.contents[2]])
      let event = try #require(after.events.last?.event)
      #expect(event.kind == .erased && event.subject == "key with SHA-256 cafe" && event.word == Self.word)
      // A second time nothing is there, and nothing happened.
      let again = try await ledger.erased(Self.key(1).key, digest: "cafe", by: Self.word, at: Times.days(3)) { _ in [] }
      #expect(again.isEmpty)
      #expect(try await store.snapshot().events == after.events)
    }
  }

  @Test("an erased key is not in the file of the store either")
  func eraseFromDisk() async throws {
    try await withFolder { folder in
      let key = TemporaryExposureKey(high: 0x5ca1_ab1e_0ddb_a115, low: 0xfeed_face_cafe_beef)
      let bytes = Data(key.bytes)
      func isOnDisk() throws -> Bool {
        ["", "-wal"].contains { suffix in
          let file = try? Data(contentsOf: URL(filePath: folder + "/" + SQLiteStore.fileName + suffix))
          return file?.range(of: bytes) != nil
        }
      }
      let store = try SQLiteStore(folder: folder, now: Times.now)
      let ledger = Ledger(store)
      let document = try await ledger.discovered(["a"], of: "DE", at: Times.now)[0].id
      var said = Self.key(1)
      said.key = key
      let batch = Self.claims([said, Self.key(2)])
      _ = try await ledger.recorded(
        document, evidence: KeptBytes(Array(bytes), until: Times.days(1)), cursor: nil, at: Times.now
      ) { DocumentFacts(try $0.record(batch)) }
      #expect(try isOnDisk())
      _ = try await ledger.erased(key, digest: "d", by: Self.word, at: Times.now) { _ in [document] }
      #expect(try !isOnDisk())
      _ = store
    }
  }

  // MARK: Reading again

  @Test("another reading replaces what a document said, and nothing else", arguments: StoreKind.allCases)
  func reread(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let documents = try await Self.fill(ledger)
      let before = try await store.snapshot()
      let keys = Set((0..<9).map { Self.key($0).key })
      let old = try await ledger.read { try $0.claims(broughtBy: documents[0], about: keys) }
      let batch = Self.claims([Self.key(1, risk: 7), Self.key(5, risk: 2)])
      let new = batch.claims.map { StatedClaim($0, of: batch) }
      let change = {
        var change = ReadingChange()
        (change.removed, change.added) = (old.map(\.claim), new)
        return change
      }()
      let facts = {
        var facts = DocumentFacts.small
        facts.reading = ReadingMark(policy: "new", digest: "ff", time: Times.now)
        return facts
      }()
      try await ledger.reread("DE", by: Self.word, at: Times.days(2)) { state, replacer in
        let record = try #require(try state.document(documents[0]))
        try replacer.replace(record, change, from: Times.now) { new in
          #expect(new == 2)
          return facts
        }
      }
      let after = try await store.snapshot()
      #expect(after.claims == before.claims.subtracting(old.map(\.claim)).union(new))
      #expect(after.claimCount == after.claims.count)
      #expect(after.documents[0].facts?.reading == facts.reading)
      #expect(after.documents[0].changed == before.documents[0].changed)
      let now = try await ledger.read { try $0.claims(broughtBy: documents[0], about: keys) }
      #expect(Set(now.map(\.claim)) == Set(new))
      // What replaces a claim has its arrival, so that what was known at an event is what is read now.
      let replaced = try #require(now.first { $0.claim.subject.key == Self.key(1).key })
      #expect(replaced.event == old.first?.event && replaced.arrived == Times.now)
      #expect(after.events.last?.event.kind == .reread && after.events.last?.event.subject == "source DE")

      // And back again.
      let back = {
        var change = ReadingChange()
        (change.removed, change.added) = (new, old.map(\.claim))
        return change
      }()
      try await ledger.reread("DE", by: Self.word, at: Times.days(3)) { state, replacer in
        let record = try #require(try state.document(documents[0]))
        try replacer.replace(record, back, from: Times.now) { _ in .small }
      }
      let end = try await store.snapshot()
      #expect(end.claims == before.claims && end.volumes == before.volumes)
    }
  }

  @Test("what is read again of a recalled origin stays withdrawn", arguments: StoreKind.allCases)
  func rereadRecalled(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let documents = try await Self.fill(ledger)
      let before = try await store.snapshot()
      let batch = Self.claims([Self.key(1, risk: 1), Self.key(6, risk: 1)], from: "IT", origin: "IT")
      let change = {
        var change = ReadingChange()
        change.added = batch.claims.map { StatedClaim($0, of: batch) }
        return change
      }()
      try await ledger.reread("IT", by: Self.word, at: Times.days(2)) { state, replacer in
        let record = try #require(try state.document(documents[1]))
        try replacer.replace(record, change, from: Times.after(60)) { _ in .small }
      }
      let after = try await store.snapshot()
      #expect(after.claims == before.claims && after.claimCount == before.claimCount && after.volumes == before.volumes)
      let record = try await ledger.read { try $0.record(of: Self.key(6).key) }
      #expect(record.claims.filter { $0.document == documents[1] }.allSatisfy { $0.recall != nil })
    }
  }

  /// How the clock went while a store was filled.
  enum ClockStep: String, CaseIterable, CustomTestStringConvertible {
    case right
    /// Back behind the recall: what comes then seems to have come before it.
    case back
    /// Ahead, until the recall: what it withdraws seems to have come behind it.
    case ahead

    var testDescription: String { rawValue }
    /// Seconds at the first piece, the recall and the second piece.
    var times: [Int64] {
      switch self {
      case .right: [0, 60, 120]
      case .back: [0, 60, 30]
      case .ahead: [600, 60, 120]
      }
    }
  }

  @Test(
    "another reading withdraws what was withdrawn, and nothing else, whichever way the clock went",
    arguments: StoreKind.allCases, ClockStep.allCases)
  func rereadAgainstTheClock(kind: StoreKind, step: ClockStep) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let documents = try await ledger.discovered(["a", "b"], of: "DE", at: Times.now).map(\.id)
      let times = step.times.map(Times.after)
      func record(_ index: Int, _ number: UInt64, at time: Instant) async throws {
        _ = try await ledger.recorded(documents[index], evidence: nil, cursor: nil, at: time) {
          DocumentFacts(try $0.record(Self.claims([Self.key(number)])))
        }
      }
      try await record(0, 1, at: times[0])
      _ = try await ledger.recalled(RecallRequest(origin: "DE"), by: Self.word, at: times[1])
      try await record(1, 2, at: times[2])
      for (index, number) in [UInt64(1), 2].enumerated() {
        let (old, new) = (Self.claims([Self.key(number)]), Self.claims([Self.key(number, risk: 7)]))
        let change = {
          var change = ReadingChange()
          change.removed = old.claims.map { StatedClaim($0, of: old) }
          change.added = new.claims.map { StatedClaim($0, of: new) }
          return change
        }()
        try await ledger.reread("DE", by: Self.word, at: Times.days(2)) { state, replacer in
          let record = try #require(try state.document(documents[index]))
          try replacer.replace(record, change, from: times[index * 2]) { _ in .small }
        }
        let claims = try await ledger.read { try $0.record(of: Self.key(number).key) }.claims
        #expect(claims.map(\.claim.statement) == [change.added[0].statement])
        #expect(claims.map { $0.recall != nil } == [number == 1])
      }
    }
  }
}
