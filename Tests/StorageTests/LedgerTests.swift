import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import Testing

@Suite("Ledger")
struct LedgerTests {
  @Test("each event is one transaction, numbered and told", arguments: StoreKind.allCases)
  func events(kind: StoreKind) async throws {
    var arrivals = Arrivals(random: SeededRandom(for: "ledger \(kind)"))
    let steps = LedgerScript.steps(arrivals.batch(30), arrivals.batch(30))
    #expect(Set(steps.map(\.kind)).union([.logged]) == Set(EventKind.allCases))
    try await withStore(kind) { store in
      let listener = RecordingListener()
      let ledger = Ledger(store, listeners: [listener])
      var last = EventID(rawValue: 0)
      for step in steps {
        let before = try await store.snapshot()
        // A listener that throws undoes everything.
        listener.setFails(true)
        await #expect(throws: RecordingListener.Failure.self, "\(step.kind)") { try await step.run(ledger) }
        #expect(try await store.snapshot() == before, "\(step.kind)")
        listener.setFails(false)
        try await step.run(ledger)
        let record = try #require(try await ledger.read { try $0.lastEvent() })
        #expect(record.event.kind == step.kind && record.id > last && !record.event.subject.isEmpty)
        #expect((record.event.word == LedgerScript.word) == step.kind.isOfOperator, "\(step.kind)")
        let heard = try #require(listener.heard.last)
        #expect(heard.kind == step.kind)
        #expect(heard.stamp == EventStamp(id: record.id, time: record.event.time))
        let entry = try #require(try await ledger.read { try $0.queuedEntries(limit: .max) }.last)
        #expect(entry.event == record.id && entry.kind == step.kind.rawValue)
        #expect(entry.bytes == Array("\(record.id.rawValue)".utf8))
        last = record.id
      }
      let entries = try await ledger.read { try $0.queuedEntries(limit: .max) }
      #expect(entries.map(\.kind) == steps.map(\.kind.rawValue))
      #expect(entries.map(\.id) == entries.map(\.id).sorted())
      // What the log has is taken off, and the queue goes on.
      try await ledger.logged(entries.prefix(20).map(\.id), at: Times.days(7))
      let left = try await ledger.read { try $0.queuedEntries(limit: .max) }
      #expect(left.dropLast() == entries[20...] && left.last?.kind == "logged")
    }
  }

  /// 264811001: a document said two things about a key that differ in no regions and an empty list of them, and which of the two was
  /// the fifth of a list was another one in each process.
  @Test("stores agree about every event", arguments: [nil, 264_811_001])
  func agreement(seed: UInt64?) async throws {
    var arrivals = Arrivals(random: seed.map { SeededRandom(seed: $0) } ?? SeededRandom(for: "ledger agreement"))
    let steps = LedgerScript.steps(arrivals.batch(30), arrivals.batch(30))
    try await withStore(.memory) { memory in
      try await withStore(.sqlite) { sqlite in
        for step in steps {
          try await step.run(Ledger(memory, listeners: [RecordingListener()]))
          try await step.run(Ledger(sqlite, listeners: [RecordingListener()]))
          #expect(try await memory.snapshot() == sqlite.snapshot(), "\(step.kind)")
        }
      }
    }
  }

  @Test(
    "stores agree about random histories in which starts differ and documents are read again",
    arguments: StoreKind.allCases.filter { $0 == .sqlite || $0 == .postgresql })
  func randomAgreement(kind: StoreKind) async throws {
    for round in 0..<LongList.size(1, long: 3) {
      var arrivals = Arrivals(random: SeededRandom(for: "agreement \(kind) \(round)"))
      try await withStore(.memory) { memory in
        try await withStore(kind) { other in
          for step in 0..<40 {
            let happening = try await RandomHappening(step, after: Ledger(memory), &arrivals)
            try await happening.happen(in: Ledger(memory))
            try await happening.happen(in: Ledger(other))
            #expect(try await memory.snapshot() == other.snapshot(), "step \(step): \(happening.kind)")
            let (mine, others) = (try await Whole(of: Ledger(memory)), try await Whole(of: Ledger(other)))
            #expect(mine == others, "step \(step): \(happening.kind)")
            if mine != others { return }
          }
        }
      }
    }
  }

  /// What a snapshot has not: who brought what, when, and why it waits.
  private struct Whole: Equatable, Sendable {
    var records: [KeyRecord]
    var held: [[StatedClaim]]

    init(of ledger: Ledger) async throws {
      self = try await ledger.read { state in
        let keys = (0..<12).flatMap { high in
          [0, 1, UInt64.max].map { TemporaryExposureKey(high: UInt64(high) << 60, low: $0) }
        }
        let documents = try state.documents(of: nil, in: [.recorded], limit: .max)
        return Self(
          records: try keys.map { try state.record(of: $0) }, held: try documents.map { try state.held(of: $0.id) })
      }
    }

    private init(records: [KeyRecord], held: [[StatedClaim]]) {
      (self.records, self.held) = (records, held)
    }
  }

  @Test("nothing that happened leaves no event", arguments: StoreKind.allCases)
  func nothing(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let word = LedgerScript.word
      try await ledger.discovered(["a"], of: "DE", at: Times.now)
      let before = try await store.snapshot()
      try await ledger.discovered(["a", "a"], of: "DE", at: Times.days(1))
      try await ledger.fetching([], at: Times.now)
      try await ledger.postponed([], at: Times.now)
      try await ledger.interrupted("DE", at: Times.now)
      #expect(try await ledger.uploaded([], at: Times.now) == ImportReceipt())
      #expect(try await !ledger.resumed(.origin("DE"), by: word, at: Times.now))
      try await ledger.published([], by: "NL", at: Times.now)
      try await ledger.removed([], by: "NL", at: SoundTime(toldByOperator: Times.now))
      try await ledger.paddingPlanned(for: ["NL"], at: Times.now) { _ in ((), []) }
      _ = try await ledger.expired(keysExpiredBefore: Times.now, at: SoundTime(toldByOperator: Times.now))
      try await ledger.logged([], at: Times.now)
      #expect(try await store.snapshot() == before)
    }
  }

  @Test(
    "a document that was cut between its pieces is recorded once, with all that it brought",
    arguments: StoreKind.allCases)
  func pieces(kind: StoreKind) async throws {
    var arrivals = Arrivals(random: SeededRandom(for: "pieces \(kind)"))
    let others = arrivals.batch(20)
    let pieces = (0..<4).map { number in
      admit(
        (0..<5).map { place in
          var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(number * 5 + place), low: 99))
          (key.rollingStart, key.rollingPeriod) = (2_670_000, 144)
          return (key, RegionClaim(origin: "PT", visited: ["PT"]))
        }, from: Source(name: "PT", provenance: .assertedByOperator))
    }
    try await withStore(kind) { store in
      let listener = RecordingListener()
      let ledger = Ledger(store, listeners: [listener])
      let documents = try await ledger.discovered(["a", "b"], of: "PT", at: Times.now).map(\.id)
      let (large, small) = (documents[0], documents[1])
      func record(_ piece: AdmittedBatch, at now: Instant) async throws -> ImportReceipt {
        try await ledger.recordedPiece(of: large, at: now) { _ in piece }.receipt
      }
      for piece in pieces[..<2] { #expect(try await record(piece, at: Times.now).new == 5) }
      _ = try await ledger.recorded(small, evidence: nil, cursor: nil, at: Times.after(1)) {
        DocumentFacts(try $0.record(others))
      }
      let (event, known) = try await ledger.read { (try $0.lastEvent()?.id, try allClaims($0, limit: 100)) }
      // The program was killed; now it comes again from its start.
      var counts = DocumentFacts(ImportReceipt())
      for piece in pieces { counts.counts.add(try await record(piece, at: Times.after(60))) }
      #expect(counts.new == 10 && counts.known == 10)
      let nothing = try await ledger.recordedPiece(of: large, at: Times.after(60)) { _ in
        admit([], from: Source(name: "PT", provenance: .assertedByOperator))
      }
      #expect(nothing.receipt == ImportReceipt())
      let cursor = CursorMove(of: "PT", to: "next")
      let facts = try await ledger.recorded(large, inPieces: counts, evidence: nil, cursor: cursor, at: Times.after(61))
      #expect(facts.new == 20 && facts.known == 0 && facts.received == 20)
      try await ledger.read { state throws in
        let document = try state.document(large)
        #expect(document?.facts == facts && document?.state == .recorded)
        #expect(try state.source(named: "PT")?.cursor == "next")
        let events = try state.events(from: EventID(rawValue: 0), limit: 100)
        #expect(events.count { $0.event.kind == .recorded && $0.event.subject == "PT/a" } == 1)
        #expect(events.count { $0.event.kind == .recordedPiece } == 6, "a piece without a claim is no event")
        let entries = try state.queuedEntries(limit: .max).filter { $0.kind == "recorded" }
        #expect(entries.count == 2)
        // A piece that came later was not known before.
        let before = try allClaims(state, limit: 100, asOf: event)
        #expect(before == known && before.count { $0.origin == "PT" } == 10)
      }
    }
  }

  @Test("what changed under its name is put aside once for each content", arguments: StoreKind.allCases)
  func changed(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let id = try #require(try await ledger.discovered(["a"], of: "DE", at: Times.now).first?.id)
      _ = try await ledger.recorded(id, evidence: nil, cursor: nil, at: Times.now) { _ in .small }
      let refusal = RefusedDocument(
        LedgerScript.fault, nextAttempt: nil, content: KeptBytes([4], until: Times.days(9)))
      #expect(try await ledger.changedUnderItsName(id, putAsideAs: "a#1", refusal, at: Times.days(1)))
      #expect(try await !ledger.changedUnderItsName(id, putAsideAs: "a#1", refusal, at: Times.days(2)))
      #expect(try await ledger.changedUnderItsName(id, putAsideAs: "a#2", refusal, at: Times.days(3)))
      try await ledger.read { state throws in
        let recorded = try #require(try state.document(id))
        #expect(recorded.state == .recorded && recorded.changed == Times.days(3) && recorded.facts == .small)
        let aside = try state.documents(of: "DE", in: [.quarantined], limit: 9)
        #expect(aside.map(\.name) == ["a#1", "a#2"] && aside.map(\.attempts) == [1, 1])
        #expect(try aside.map { try state.content(of: $0.id) } == [[4], [4]])
      }
    }
  }

  @Test("uploads share a commit and keep what lets them be counted", arguments: StoreKind.allCases)
  func uploads(kind: StoreKind) async throws {
    var arrivals = Arrivals(random: SeededRandom(for: "uploads \(kind)"))
    let batches = (0..<4).map { _ in
      admit(arrivals.keys(14), from: Source(name: "phones", origin: "NL", provenance: .assertedByOperator))
    }
    var expected = ClaimSet()
    let receipts = batches.map { expected.record($0) }
    let everything = Set(expected.statedClaims)
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      func upload(_ number: Int, door: String = "phones") -> AdmittedUpload {
        AdmittedUpload(
          door: door, batch: batches[number], regions: ["NL", "\(number)"], certificate: "c\(number)", byteCount: 500,
          rejections: ["key-length": 1])
      }
      #expect(try await ledger.uploaded([upload(0), upload(1)], at: Times.now) == receipts[0] + receipts[1])
      #expect(try await ledger.uploaded([upload(2)], at: Times.after(60)) == receipts[2])
      #expect(try await ledger.uploaded([upload(3, door: "other")], at: Times.days(1)) == receipts[3])
      try await ledger.read { state throws in
        #expect(try allClaims(state, limit: 100) == everything)
        let events = try state.events(from: EventID(rawValue: 0), limit: 9)
        #expect(events.map(\.event.kind) == [.uploaded, .uploaded, .uploaded])
        let record = UploadRecord(
          event: events[0].id, door: "phones", regions: ["NL", "2"], certificate: "c2")
        #expect(try state.uploads(certificate: "c2") == [record])
        #expect(try state.uploads(certificate: "c9").isEmpty)
        // Nobody can tell by the claims which of them came together.
        let before = try allClaims(state, limit: 100, asOf: events[0].id)
        #expect(before.count == receipts[0...2].reduce(0) { $0 + $1.new })
        // Nor which came first, so a recall since a moment of the day means the whole day, and never less.
        let recall = RecallRequest(origin: "NL", since: Times.after(7200))
        #expect(try state.preview(recall).claims == everything.count { $0.origin == "NL" })
        // One document a door and day, with the sums of all its uploads and none of their bytes.
        let documents = try state.documents(of: nil, in: Set(DocumentState.allCases), limit: 9)
        #expect(documents.map(\.name) == ["uploads/2020-12-01", "uploads/2020-12-02"])
        #expect(documents.map(\.source) == ["phones", "other"])
        let facts = try #require(documents.first?.facts)
        let sum = receipts[0] + receipts[1] + receipts[2]
        #expect(facts.received == sum.received + 3 && facts.new == sum.new && facts.known == sum.known)
        #expect(facts.rejected == sum.rejected + 3 && facts.held == sum.heldForOperator && facts.byteCount == 1500)
        #expect(facts.received == facts.new + facts.known + facts.held + facts.rejected)
        #expect(try documents.allSatisfy { try state.content(of: $0.id) == nil })
      }
      // One that fails takes the others of its group along.
      let before = try await store.snapshot()
      let failing = Ledger(store, listeners: [RecordingListener().failing])
      await #expect(throws: RecordingListener.Failure.self) {
        try await failing.uploaded([upload(0), upload(3)], at: Times.days(2))
      }
      #expect(try await store.snapshot() == before)
    }
  }

  /// Some of what is uploaded is known; the limit counts what is new.
  @Test(
    "uploads that share a commit say what each alone would, also about what is too much", arguments: StoreKind.allCases)
  func together(kind: StoreKind) async throws {
    var random = SeededRandom(for: "uploads together \(kind)")
    for limit in [Int.max, 60, 28, 5, 0] {
      var arrivals = Arrivals(random: random)
      let keys = (0..<6).map { _ in arrivals.keys(10) }
      // Two doors, two origins; some keys come a second and a third time, in one upload or in several.
      let uploads = [0, 1, 0, 2, 1, 3, 4, 2, 5, 0].enumerated().map { index, number in
        let (door, origin) = index % 3 == 2 ? ("desk", "DE") : ("phones", "NL")
        let batch = admit(
          index == 4 ? keys[number] + keys[0] : keys[number],
          from: Source(name: door, origin: origin, provenance: .assertedByOperator))
        return AdmittedUpload(door: door, batch: batch, regions: [origin], certificate: nil, byteCount: 1)
      }
      _ = random.next()
      var policy = ReadingPolicy()
      policy.floodFactor = nil
      policy.mostKeysADay = limit == .max ? nil : limit
      let bound = policy.volumeLimit(usual: 0)
      var found: [Recorded] = []
      for isAtOnce in [true, false] {
        try await withStore(kind) { store in
          let ledger = Ledger(store)
          var sum = ImportReceipt()
          for group in isAtOnce ? [uploads] : uploads.map({ [$0] }) {
            sum = sum + (try await ledger.uploaded(group, within: bound, at: Times.now))
          }
          let receipt = sum
          found.append(
            try await ledger.read { state throws in
              let documents = try state.documents(of: nil, in: Set(DocumentState.allCases), limit: 9)
              return Recorded(
                claims: Set(try allClaims(state, limit: 1000)), receipt: receipt,
                facts: Dictionary(uniqueKeysWithValues: documents.map { ($0.source, $0.facts) }),
                volumes: try ["desk", "phones"].map { try state.volumes(on: Times.now.day, of: $0) },
                held: Set(try state.held(about: keys.joined().map(\.0.key)).map(\.claim)))
            })
        }
      }
      let isSame = found[0] == found[1]
      #expect(isSame, "limit \(limit): \(found.map(\.receipt))")
      #expect(found[0].receipt.received == 110)
      #expect(limit != 0 || found[0].claims.isEmpty)
      #expect(found[0].held.isEmpty == (found[0].receipt.heldForOperator == 0))
    }
  }

  private struct Recorded: Equatable {
    var claims: Set<StatedClaim>
    var receipt: ImportReceipt
    var facts: [String: DocumentFacts?]
    var volumes: [[String: Int]]
    var held: Set<StatedClaim>
  }

  @Test("expiry drops what was kept of uploads, and routine events", arguments: StoreKind.allCases)
  func expiry(kind: StoreKind) async throws {
    var arrivals = Arrivals(random: SeededRandom(for: "ledger expiry \(kind)"))
    let steps = LedgerScript.steps(arrivals.batch(30), arrivals.batch(30))
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      for step in steps { try await step.run(ledger) }
      try await ledger.attempted(SourceAttempt(time: Times.days(40)), source: "DE")
      let last = try await ledger.read { try $0.lastEvent()?.id }
      _ = try await ledger.expired(keysExpiredBefore: Times.days(30), at: SoundTime(toldByOperator: Times.days(44)))
      try await ledger.read { state throws in
        let kinds = try state.events(from: EventID(rawValue: 0), limit: .max).map(\.event.kind)
        #expect(kinds == steps.map(\.kind).filter { !$0.isRoutine } + [.attempted, .expired])
        #expect(try state.uploads(certificate: "a").isEmpty)
        #expect(try state.lastEvent()?.id.rawValue == last.map { $0.rawValue + 1 })
      }
    }
  }

  @Test("a role bounds what may happen", arguments: EventKind.allCases.filter { $0 != .logged })
  func roles(kind: EventKind) async throws {
    var arrivals = Arrivals(random: SeededRandom(seed: 4))
    let steps = LedgerScript.steps(arrivals.batch(30), arrivals.batch(30))
    let index = try #require(steps.firstIndex { $0.kind == kind })
    try await withStore(.memory) { store in
      for step in steps[..<index] { try await step.run(Ledger(store)) }
      let before = try await store.snapshot()
      let reader = Ledger(RoleStore(store, .reader))
      let refusal = await #expect(throws: StorageFault.self) { try await steps[index].run(reader) }
      #expect(refusal?.code == .held)
      let aside = Ledger(RoleStore(store, .operator))
      if kind.mayHappenBesideOwner {
        try await steps[index].run(aside)
        #expect(try await store.snapshot() != before)
      } else {
        let refusal = await #expect(throws: StorageFault.self) { try await steps[index].run(aside) }
        #expect(refusal?.code == .held && refusal?.reason.contains(kind.rawValue) == true)
        #expect(try await store.snapshot() == before)
      }
    }
  }

  @Test("what is promised asks for a durable commit")
  func durability() async throws {
    var arrivals = Arrivals(random: SeededRandom(seed: 5))
    let steps = LedgerScript.steps(arrivals.batch(30), arrivals.batch(30))
    try await withStore(.memory) { store in
      for step in steps {
        let spy = RoleStore(store, .owner)
        try await step.run(Ledger(spy))
        #expect(spy.durabilities == [step.kind.durability], "\(step.kind)")
      }
    }
    for kind in [EventKind.recorded, .uploaded, .staged, .published, .recalled, .paused] {
      #expect(kind.durability == .promised)
    }
    for kind in [EventKind.attempted, .fetching, .unchanged, .expired] { #expect(kind.durability == .local) }
  }
}

extension RecordingListener {
  /// One that always fails.
  var failing: RecordingListener {
    setFails(true)
    return self
  }
}
