import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import Testing

@Suite("Stores: sources and documents")
struct DocumentTests {
  @Test("discover documents once, in order", arguments: StoreKind.allCases)
  func discover(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let first = try await store.write { try $0.discover(["c", "a", "c"], of: "DE", at: Times.now) }
      #expect(first.map(\.name) == ["c", "a", "c"])
      #expect(first[0] == first[2] && first[0].id < first[1].id)
      #expect(first[1].state == .discovered && first[1].discovered == Times.now && first[1].attempts == 0)
      let second = try await store.write { try $0.discover(["b", "a"], of: "DE", at: Times.days(1)) }
      #expect(second[1] == first[1])
      _ = try await store.write { try $0.discover(["a"], of: "IT", at: Times.days(1)) }
      try await store.read { state throws in
        let all = Set(DocumentState.allCases)
        #expect(try state.documents(of: "DE", in: all, limit: 9).map(\.name) == ["c", "a", "b"])
        #expect(try state.documents(of: "DE", in: all, limit: 2).map(\.name) == ["a", "b"])
        #expect(try state.documents(of: nil, in: all, limit: 9).map(\.source) == ["DE", "DE", "DE", "IT"])
        #expect(try state.documents(of: nil, in: [.recorded], limit: 9).isEmpty)
        #expect(try state.documents(of: nil, in: [], limit: 9).isEmpty)
        #expect(try state.documents(of: "FR", in: all, limit: 9).isEmpty)
        #expect(try state.document(named: "a", of: "DE") == first[1])
        #expect(try state.document(named: "a", of: "FR") == nil)
        #expect(try state.document(DocumentID(rawValue: 0)) == nil)
        #expect(try state.sources().map(\.name) == ["DE", "IT"])
      }
    }
  }

  @Test("move documents from state to state", arguments: StoreKind.allCases)
  func move(kind: StoreKind) async throws {
    let fault = DocumentFault(code: "signature-invalid", reason: "the signature is of another key")
    try await withStore(kind) { store in
      let id = try await store.write { try $0.document("a") }
      func moved(_ state: DocumentState, _ next: Instant? = nil, at now: Instant) async throws -> DocumentRecord? {
        try await store.write {
          try $0.move(id, to: state, fault: fault, nextAttempt: next, at: now)
          return try $0.document(id)
        }
      }
      var record = try await moved(.fetching, at: Times.after(1))
      #expect(record?.state == .fetching && record?.fault == nil && record?.attempts == 0)
      record = try await moved(.quarantined, Times.days(1), at: Times.after(2))
      #expect(record?.fault == fault && record?.nextAttempt == Times.days(1) && record?.changed == Times.after(2))
      record = try await moved(.fetching, at: Times.days(1))
      #expect(record?.fault == nil && record?.attempts == 1 && record?.nextAttempt == nil)
      record = try await moved(.givenUp, at: Times.days(2))
      #expect(record?.fault == fault && record?.state == .givenUp && record?.facts == nil)
      record = try await moved(.discovered, at: Times.days(3))
      #expect(record?.fault == nil && record?.discovered == Times.now)

      var facts = DocumentFacts.small
      facts.entityTag = "\"x\""
      facts.lastModified = "Tue, 01 Dec 2020 00:00:00 GMT"
      facts.vouchedBy = "262 v1"
      (facts.received, facts.new, facts.known, facts.held) = (10, 4, 1, 2)
      facts.rejections = ["rolling-period-zero": 3]
      facts.allowances = ["origin-assumed": 7]
      let known = facts
      _ = try await moved(.quarantined, at: Times.days(3))
      try await store.write { try $0.complete(id, known, at: Times.days(4)) }
      record = try await store.read { try $0.document(id) }
      #expect(record?.facts == facts && record?.state == .recorded && record?.fault == nil)
      #expect(record?.changed == Times.days(4))

      let other = try await store.write { transaction in
        let other = try transaction.document("b")
        try transaction.complete(other, known, at: Times.days(4))
        _ = try transaction.document("c")
        return other
      }
      let summary = try await store.read { try $0.summary(of: "DE") }
      #expect(summary.documents == [.recorded: 2, .discovered: 1])
      #expect(
        summary.counts.received == 20 && summary.counts.new == 8 && summary.counts.known == 2
          && summary.counts.held == 4)
      #expect(summary.counts.rejections == ["rolling-period-zero": 6])
      #expect(try await store.read { try $0.summary(of: "FR") } == SourceSummary())

      // A document that is fetched again does not count meanwhile, and keeps its facts.
      try await store.write { try $0.move(other, to: .fetching, fault: nil, nextAttempt: nil, at: Times.days(5)) }
      #expect(try await store.read { try $0.document(other)?.facts } == facts)
      #expect(try await store.read { try $0.summary(of: "DE").counts.received } == 10)

      let missing = DocumentID(rawValue: 77)
      await #expect(throws: StorageFault.noDocument(missing)) {
        try await store.write { try $0.move(missing, to: .fetching, fault: nil, nextAttempt: nil, at: Times.now) }
      }
      await #expect(throws: StorageFault.noDocument(missing)) {
        try await store.write { try $0.complete(missing, .small, at: Times.now) }
      }
      await #expect(throws: StorageFault.noDocument(missing)) {
        try await store.write { try $0.keep([1], of: missing, until: Times.now) }
      }
    }
  }

  @Test("keep bytes until their time is over", arguments: StoreKind.allCases)
  func content(kind: StoreKind) async throws {
    let bytes = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try await withStore(kind) { store in
      let id = try await store.write { transaction in
        let id = try transaction.document("a")
        #expect(try transaction.content(of: id) == nil)
        try transaction.keep([], of: id, until: Times.days(1))
        #expect(try transaction.content(of: id) == [])
        try transaction.keep(StoredBytes(bytes), of: id, until: Times.days(5))
        return id
      }
      func expire(_ now: Instant) async throws -> Int {
        try await store.write { try $0.expire(keysExpiredBefore: Times.now, at: now).contents }
      }
      #expect(try await expire(Times.days(4)) == 0)
      #expect(try await store.read { try $0.content(of: id) } == bytes)
      #expect(try await expire(Times.days(5)) == 1)
      #expect(try await store.read { try $0.content(of: id) } == nil)
      #expect(try await store.read { try $0.document(id) != nil })
    }
  }

  @Test("bytes that leave no room go: recorded documents' first, and the oldest", arguments: StoreKind.allCases)
  func room(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ids = try await store.write { transaction in
        let fault = DocumentFault(code: "cut-off", reason: "a test")
        return try (0..<5).map { number in
          let id = try transaction.document("\(number)")
          // The second one is refused.
          try number == 1
            ? transaction.move(id, to: .quarantined, fault: fault, nextAttempt: nil, at: Times.now)
            : transaction.complete(id, .small, at: Times.now)
          try transaction.keep(StoredBytes([UInt8](repeating: 7, count: 100)), of: id, until: Times.days(5))
          return id
        }
      }
      func kept(within bytes: Int) async throws -> (dropped: Int, kept: [DocumentID]) {
        let receipt = try await store.write {
          try $0.expire(keysExpiredBefore: Times.now, contentBytes: bytes, at: Times.now)
        }
        #expect(receipt.contents == 0)
        return (receipt.crowdedOut, try await store.read { try $0.keptContents().map(\.document) })
      }
      #expect(try await kept(within: 500) == (0, ids))
      #expect(try await kept(within: 399) == (2, [ids[1], ids[3], ids[4]]))
      #expect(try await kept(within: 100) == (2, [ids[1]]))
      #expect(try await kept(within: 99) == (1, []))
    }
  }

  @Test("remember cursors and attempts", arguments: StoreKind.allCases)
  func attempts(kind: StoreKind) async throws {
    let fault = DocumentFault(code: "time-out", reason: "no answer in 30 s")
    try await withStore(kind) { store in
      #expect(try await store.read { try $0.source(named: "DE") } == nil)
      try await store.write { transaction in
        try transaction.setCursor("tag-1", of: "DE")
        try transaction.setAttempt(SourceAttempt(time: Times.now), of: "DE")
        try transaction.setAttempt(
          SourceAttempt(time: Times.after(5), fault: fault, nextAttempt: Times.after(9)), of: "DE")
        try transaction.setAttempt(SourceAttempt(time: Times.after(6), fault: fault), of: "DE")
      }
      #expect(
        try await store.read { try $0.source(named: "DE") }
          == SourceRecord(
            name: "DE", cursor: "tag-1", lastAttempt: Times.after(6), lastSuccess: Times.now, failures: 2,
            lastFault: fault))
      try await store.write { transaction in
        try transaction.setCursor(nil, of: "DE")
        try transaction.setAttempt(SourceAttempt(time: Times.after(8), nextAttempt: Times.days(1)), of: "DE")
      }
      #expect(
        try await store.read { try $0.sources() } == [
          SourceRecord(
            name: "DE", lastAttempt: Times.after(8), lastSuccess: Times.after(8), nextAttempt: Times.days(1))
        ])
    }
  }

  @Test("pause and resume", arguments: StoreKind.allCases)
  func pauses(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      try await store.write { transaction in
        try transaction.pause(Pause(.origin("de"), since: Times.now))
        try transaction.pause(Pause(.source("peer"), since: Times.now))
        try transaction.pause(Pause(.origin("DE"), since: Times.days(1), reason: "poisoned"))
      }
      #expect(
        try await store.read { try $0.pauses() } == [
          Pause(.source("peer"), since: Times.now), Pause(.origin("DE"), since: Times.days(1), reason: "poisoned"),
        ])
      #expect(try await store.read { try $0.sources().map(\.name) } == ["peer"])
      #expect(try await store.write { try $0.resume(.origin("De")) })
      #expect(try await store.write { try !$0.resume(.origin("DE")) })
      #expect(try await store.write { try !$0.resume(.source("DE")) })
      #expect(try await store.read { try $0.pauses().map(\.subject) } == [.source("peer")])
    }
  }
}
