import ExposureKeys
import KeyNormalization
import KeyStorage
import Testing

/// What opens the log's commitment to a document lies beside its evidence, and goes with it.
@Suite("Stores: salts of the log's commitments")
struct SaltTests {
  @Test("a salt is kept where somebody listens, and goes with the evidence", arguments: StoreKind.allCases)
  func salts(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let listener = RecordingListener()
      let ledger = Ledger(store, listeners: [listener])
      let documents = try await ledger.discovered(["a", "b", "c"], of: "DE", at: Times.now).map(\.id)
      for (index, document) in documents.enumerated() {
        _ = try await ledger.recorded(
          document, evidence: index == 2 ? nil : KeptBytes([9], until: Times.days(Int64(index) + 1)), cursor: nil,
          at: Times.now
        ) { _ in .small }
      }
      var marks: [ReceivedMark] = []
      // A store that runs a transaction again is heard twice, and says the same.
      for heard in listener.heard {
        if case .received(_, let mark) = heard.facts, !marks.contains(mark) { marks.append(mark) }
      }
      let salts = marks.compactMap(\.salt)
      #expect(salts.count == 3 && Set(salts).count == 3 && salts.allSatisfy { $0.count == 32 })
      #expect(marks.allSatisfy { $0.source == "DE" })
      let kept = try await ledger.read { state in try documents.map { try state.salt(of: $0) } }
      // Without evidence the salt is forgotten at once.
      #expect(kept == [salts[0], salts[1], nil])
      // How much waits for the log, and since when.
      let standing = try await ledger.read { try $0.queueStanding() }
      let queued = try await ledger.read { try $0.queuedEntries(limit: .max).count }
      #expect(queued == 4 && standing?.count == queued && standing?.since == Times.now)
      _ = try await ledger.expired(keysExpiredBefore: Times.now, at: SoundTime(toldByOperator: Times.days(1)))
      let left = try await ledger.read { state in try documents.map { try state.salt(of: $0) } }
      #expect(left == [nil, salts[1], nil])
      // Nobody listens: nothing is kept.
      let silent = Ledger(store)
      let other = try await silent.discovered(["d"], of: "DE", at: Times.now)[0].id
      _ = try await silent.recorded(
        other, evidence: KeptBytes([9], until: Times.days(3)), cursor: nil, at: Times.now
      ) { _ in .small }
      #expect(try await silent.read { try $0.salt(of: other) } == nil)
    }
  }
}
