import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import Testing

@Suite("Stores: batches for destinations")
struct PushStoreTests {
  @Test(
    "stage, settle and withdraw batches; bytes are kept while one may have to be sent again",
    arguments: StoreKind.allCases)
  func batches(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let (first, second) = try await store.write { transaction in
        (
          try transaction.stage(.sample, [1, 2], at: Times.now),
          try transaction.stage(.sample.tagged("b"), [3], at: Times.days(1))
        )
      }
      #expect(first == PushRecord(id: first.id, push: .sample, state: .staged, staged: Times.now, changed: Times.now))
      await #expect(throws: StorageFault.tagTaken(.sample)) {
        try await store.write { try $0.stage(.sample, [9], at: Times.now) }
      }
      // Another destination has tags of its own.
      var other = NewPush.sample
      other.destination = "chgs"
      let third = try await store.write { [other] in try $0.stage(other, [4], at: Times.now) }
      try await store.write { try $0.move(second.id, to: .withdrawn, at: Times.days(2)) }
      try await store.read { state throws in
        #expect(try state.pushes(to: "efgs", in: [.staged]) == [first])
        #expect(try state.pushes(to: nil, in: Set(PushState.allCases)).map(\.id) == [first.id, second.id, third.id])
        #expect(try state.content(of: first.id) == [1, 2])
        #expect(try state.content(of: second.id) == nil)
        #expect(try state.pushCount(to: "efgs", since: Times.now) == 2)
        #expect(try state.pushCount(to: "efgs", since: Times.days(1)) == 1)
        #expect(try state.pushCount(to: "none", since: Times.now) == 0)
      }
      let missing = PushID(rawValue: 50)
      await #expect(throws: StorageFault.noPush(missing)) {
        try await store.write { try $0.move(missing, to: .settled, at: Times.now) }
      }
    }
  }

  @Test(
    "keys are noted for each destination, in their order, and found by batch and by key", arguments: StoreKind.allCases)
  func keys(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let push = try await ledger.pushStaged(.sample, [1], keys: PushedKey.samples.reversed(), at: Times.now)
      let batched = try await ledger.read { try $0.keys(of: push.id) }
      #expect(batched.map(\.subject) == PushedKey.samples.reversed().map(\.subject))
      #expect(batched.allSatisfy { $0.state == .batched && $0.push == push.id && $0.changed == Times.now })
      #expect(batched.map(\.position) == Array(batched.indices))
      #expect(Set(batched.map(\.row)) == Set(PushedKey.samples.map(\.row)))
      var settled = batched
      for place in settled.indices {
        (settled[place].state, settled[place].storedType) = (place == 0 ? .refused : .stored, 5)
        settled[place].reason = "\(place)"
      }
      let outcome = PushSettlement(.settled, settled)
      try await ledger.pushSettled(push, outcome, at: Times.days(1))
      let sorted = settled.sorted { $0.subject < $1.subject }
      try await store.read { state throws in
        #expect(try state.keys(of: push.id).isEmpty)
        #expect(try state.pushedKeys(to: "efgs", from: .first, before: nil) == sorted)
        let middle = sorted[1].subject.key
        #expect(
          try state.pushedKeys(to: "efgs", from: middle, before: nil) == sorted.filter { $0.subject.key >= middle })
        #expect(
          try state.pushedKeys(to: "efgs", from: .first, before: middle) == sorted.filter { $0.subject.key < middle })
        #expect(try state.pushedKeys(to: "chgs", from: .first, before: nil).isEmpty)
        #expect(try state.pushedKeyCounts(to: "efgs") == [.refused: 1, .stored: PushedKey.samples.count - 1])
        #expect(
          try state.pushes(of: middle)
            == sorted.filter { $0.subject.key == middle }.map { KeyPush(destination: "efgs", key: $0) })
      }
      let word = Attribution(by: "ada")
      #expect(try await ledger.pushRetryAsked("efgs", by: word, at: Times.days(2)) == 1)
      #expect(try await store.read { try $0.pushedKeyCounts(to: "efgs") }[.pending] == 1)
      // What it has is offered anew, and stays known as what it was told.
      #expect(try await ledger.pushRepeatAsked("efgs", by: word, at: Times.days(2)) == PushedKey.samples.count - 1)
      #expect(
        try await store.read { try $0.pushedKeyCounts(to: "efgs") } == [.pending: PushedKey.samples.count])
      #expect(
        try await store.read { try $0.pushedKeys(to: "efgs", from: .first, before: nil) }.allSatisfy {
          $0.storedType == 5
        })
    }
  }

  @Test("an erased key leaves neither a note nor the bytes of a batch that it is in", arguments: StoreKind.allCases)
  func erasure(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let push = try await ledger.pushStaged(.sample, [1], keys: PushedKey.samples, at: Times.now)
      let key = PushedKey.samples[0].subject.key
      let receipt = try await ledger.erased(key, digest: "ab", by: Attribution(by: "ada"), at: Times.now) { _ in [] }
      #expect(receipt.released == PushedKey.samples.count { $0.subject.key == key })
      try await store.read { state throws in
        #expect(try state.content(of: push.id) == nil)
        #expect(try state.pushes(of: key).isEmpty)
        #expect(try state.keys(of: push.id).count == PushedKey.samples.count { $0.subject.key != key })
      }
    }
  }

  @Test("what is kept goes with the keys' time", arguments: StoreKind.allCases)
  func expiry(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      _ = try await ledger.pushStaged(.sample, [1], keys: PushedKey.samples, at: Times.now)
      let end = PushedKey.samples.map {
        IntervalNumber(Int64($0.subject.rollingStart) + Int64($0.row.rollingPeriod)).start
      }
      let last = try #require(end.max())
      let time = SoundTime(toldByOperator: last)
      _ = try await ledger.expired(keysExpiredBefore: Instant(secondsSince1970: last.secondsSince1970 - 1), at: time)
      #expect(
        try await store.read { try $0.pushedKeys(to: "efgs", from: .first, before: nil) }.count
          == end.count { $0 == last })
      _ = try await ledger.expired(keysExpiredBefore: last, at: time)
      #expect(try await store.read { try $0.pushedKeys(to: "efgs", from: .first, before: nil) }.isEmpty)
    }
  }
}

extension NewPush {
  static let sample = NewPush(
    destination: "efgs", tag: "NL-20201204-1-abcdef", signature: "MIIB", mediaType: "application/protobuf; version=1.0",
    keyCount: 4, digest: "ab12")

  func tagged(_ tag: String) -> NewPush {
    var push = self
    push.tag = tag
    return push
  }
}

extension PushedKey {
  /// One key data stands under two starts.
  static let samples: [PushedKey] = [(1, 2_670_000), (1, 2_670_144), (2, 2_670_000), (.max, 2_669_856)].map {
    low, start in
    PushedKey(
      subject: KeySubject(key: TemporaryExposureKey(high: low, low: 7), rollingStart: start),
      row: Row(
        rollingPeriod: 144, transmissionRisk: .max, reportType: 1, daysSinceOnset: -3,
        visited: start == 2_670_000 ? ["DE", "IT"] : []), changed: Times.now)
  }
}
