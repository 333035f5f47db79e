import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import SQLiteDriver
import Testing

@Suite("Stores: claims")
struct ClaimTests {
  @Test("record the same claims as a claim set does, whatever the order and the split", arguments: StoreKind.allCases)
  func recordIsUnion(kind: StoreKind) async throws {
    for round in 0..<5 {
      var arrivals = Arrivals(random: SeededRandom(for: "record \(kind) \(round)"))
      let batches = arrivals.batches(6)
      var expected = ClaimSet()
      let receipts = batches.map { expected.record($0) }

      try await withStore(kind) { store in
        let recorded = try await store.write { transaction in
          try batches.enumerated().map {
            try transaction.record($1, of: try transaction.document("\($0)"), at: Times.now)
          }
        }
        #expect(recorded == receipts)
        let claims = try await store.read { try allClaims($0, limit: 7) }
        #expect(claims == Set(expected.statedClaims))
        #expect(try await store.read { try $0.claimCount() } == expected.count)

        // Again, in another order, changes nothing.
        let again = batches.shuffled(using: &arrivals.random)
        let before = try await store.snapshot().withoutEvents
        let repeated = try await store.write { transaction in
          try again.map { try transaction.record($0, of: try transaction.document("0"), at: Times.days(1)) }
        }
        #expect(repeated.allSatisfy { $0.new == 0 && $0.isBalanced })
        #expect(try await store.snapshot().withoutEvents == before)
      }
      // In another order, a transaction each: the same claims and counts.
      let shuffled = batches.shuffled(using: &arrivals.random)
      try await withStore(kind) { store in
        var total = ImportReceipt()
        for batch in shuffled {
          total += try await store.write { try $0.record(batch, of: try $0.document("all"), at: Times.now) }
        }
        #expect(total == receipts.reduce(ImportReceipt(), +))
        #expect(try await store.read { try allClaims($0, limit: 3) } == Set(expected.statedClaims))
      }
    }
  }

  @Test("keep every value that admission lets through", arguments: StoreKind.allCases)
  func everyValue(kind: StoreKind) async throws {
    var keys: [(key: ClaimedKey, region: RegionClaim)] = []
    func add(_ change: (inout ClaimedKey) -> Void) {
      var key = ClaimedKey(key: TemporaryExposureKey(high: .max - UInt64(keys.count), low: 7))
      (key.rollingStart, key.rollingPeriod) = (2_670_000, 144)
      change(&key)
      keys.append((key, RegionClaim(origin: "DE")))
    }
    for period in 1...144 { add { $0.rollingPeriod = Int32(period) } }
    for risk in 0...8 { add { $0.transmissionRisk = Int32(risk) } }
    for type in ReportType.allCases { add { $0.reportType = type.rawValue } }
    for onset in -14...4014 where SymptomStatus(federationCode: Int32(onset)).isGiven {
      add { $0.daysSinceOnset = Int32(onset) }
    }
    add { $0.isRevised = true }
    let batch = admit(keys, from: Arrivals.sources[0])
    #expect(batch.claims.count == keys.count)
    var expected = ClaimSet()
    expected.record(batch)
    try await withStore(kind) { store in
      _ = try await store.write { try $0.record(batch, of: try $0.document("a"), at: Times.now) }
      #expect(try await store.read { try allClaims($0, limit: 100) } == Set(expected.statedClaims))
    }
  }

  @Test("pages hold all claims once, in order, and never a part of a key's", arguments: StoreKind.allCases)
  func pages(kind: StoreKind) async throws {
    var arrivals = Arrivals(random: SeededRandom(for: "pages \(kind)"))
    let batches = arrivals.batches(8)
    let limits = (0..<6).map { _ in Int.random(in: 0...60, using: &arrivals.random) } + [1, .max]
    try await withStore(kind) { store in
      try await store.write { transaction in
        for batch in batches { _ = try transaction.record(batch, of: try transaction.document("a"), at: Times.now) }
      }
      try await store.read { state throws in
        for limit in limits {
          var total = 0
          var last: TemporaryExposureKey?
          var start: TemporaryExposureKey? = .first
          while let from = start {
            let page = try state.claims(from: from, limit: limit)
            total += page.claims.count
            let keys = Set(page.claims.statedClaims.map(\.key.key)).sorted()
            if let last, let first = keys.first { #expect(last < first) }
            if let next = page.next, let end = keys.last { #expect(end < next) }
            for key in keys {
              let about = try state.claims(about: key).statedClaims
              #expect(Set(about) == Set(page.claims.statedClaims.filter { $0.key.key == key }))
            }
            // Without the last key it would be less than what was asked for.
            let withoutLast = page.claims.statedClaims.count { $0.key.key != keys.last }
            #expect(withoutLast < max(1, limit) && (page.next == nil || page.claims.count >= limit))
            last = keys.last ?? last
            start = page.next
          }
          #expect(try state.claimCount() == total)
        }
        let middle = TemporaryExposureKey(high: 6 << 60, low: 0)
        let page = try state.claims(from: middle, limit: .max)
        #expect(page.claims.statedClaims.allSatisfy { $0.key.key >= middle })
        #expect(page.next == nil)
      }
    }
  }

  /// The first start stands. Its origin may name others; who else names one waits for the operator.
  @Test("another origin's other start of a key waits for the operator", arguments: StoreKind.allCases)
  func otherStarts(kind: StoreKind) async throws {
    @Sendable func said(_ start: Int32, _ origin: String?) -> (key: ClaimedKey, region: RegionClaim) {
      var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: 9))
      (key.rollingStart, key.rollingPeriod) = (start, 144)
      return (key, RegionClaim(origin: origin))
    }
    try await withStore(kind) { store in
      let document = try await store.write { try $0.document("a") }
      func record(_ said: [(key: ClaimedKey, region: RegionClaim)]) async throws -> ImportReceipt {
        let batch = admit(said, from: Arrivals.sources[0])
        let receipt = try await store.write { try $0.record(batch, of: document, at: Times.now) }
        #expect(receipt.isBalanced)
        return receipt
      }
      #expect(try await record([said(2_670_000, "DE")]).new == 1)
      let attack = try await record([said(2_669_856, "IT"), said(2_670_144, "IT"), said(2_670_144, nil)])
      #expect(attack.heldForOperator == 3 && attack.new == 0)
      // The first one may, and who agrees with him; what is known stays known.
      let honest = try await record([said(2_670_144, "DE"), said(2_670_000, "CH"), said(2_670_000, "DE")])
      #expect(honest.new == 2 && honest.known == 1 && honest.heldForOperator == 0)
      #expect(try await record([said(2_670_144, "CH")]).new == 1)
      #expect(try await record([said(2_670_144, "IT")]).heldForOperator == 1)
      #expect(try await store.read { try $0.holds(of: document) } == ["other-rolling-start": 3])

      #expect(try await store.write { try $0.releaseHeld(of: document, at: Times.now) }.new == 3)
      #expect(try await record([said(2_670_144, "IT")]).known == 1)
      #expect(try await store.read { try $0.claimCount() } == 7)
      // Once nobody stands behind the first start any more, another one is the first.
      for origin in ["DE", "CH"] {
        _ = try await store.write { try $0.recall(RecallRequest(origin: origin), at: Times.now) }
      }
      #expect(try await record([said(2_670_000, "FR")]).heldForOperator == 1)
    }
  }

  /// How long a key is valid is told by claims that count for nothing else: those that were recalled, and those that the
  /// operator has not decided about. Keys that nobody claims are not in a page.
  @Test("pages tell what withdrawn and held claims say about validity", arguments: StoreKind.allCases)
  func embargo(kind: StoreKind) async throws {
    @Sendable func key(_ number: UInt64, period: Int32) -> ClaimedKey {
      var key = ClaimedKey(key: TemporaryExposureKey(high: number, low: 9))
      (key.rollingStart, key.rollingPeriod) = (2_670_000, period)
      return key
    }
    func subject(_ number: UInt64) -> KeySubject {
      KeySubject(key: key(number, period: 1).key, rollingStart: 2_670_000)
    }
    try await withStore(kind) { store in
      try await store.write { transaction in
        let standing = (1...5).map { (key: key($0, period: 6), region: RegionClaim(origin: "DE")) }
        let document = try transaction.document("a")
        _ = try transaction.record(admit(standing, from: Arrivals.sources[0]), of: document, at: Times.now)
        let withdrawn = [1, 9].map { (key: key($0, period: 100), region: RegionClaim(origin: "IT")) }
        _ = try transaction.record(admit(withdrawn, from: Arrivals.sources[0]), of: document, at: Times.now)
        _ = try transaction.recall(RecallRequest(origin: "IT"), at: Times.now)
        // Two are admitted, the others are held.
        let flood = [(6, 144), (7, 144), (2, 144), (8, 144)].map {
          (key: key($0.0, period: $0.1), region: RegionClaim(origin: "CH"))
        }
        let batch = admit(flood, from: Arrivals.sources[0], usual: 1)
        #expect(batch.held.count == 2)
        _ = try transaction.record(batch, of: document, at: Times.now)
      }
      for limit in [1, 2, 100] {
        let periods = try await store.read { state throws in
          var periods: [KeySubject: Int32] = [:]
          var start: TemporaryExposureKey? = .first
          while let from = start {
            let page = try state.claims(from: from, limit: limit)
            for claim in page.claims.statedClaims { periods[claim.subject] = page.embargo.period(of: claim.subject) }
            #expect(kind != .sqlite || page.embargo.count <= page.claims.count)
            start = page.next
          }
          return periods
        }
        #expect(periods[subject(1)] == 100 && periods[subject(2)] == 144, "limit \(limit)")
        #expect([3, 4, 5, 6, 7].allSatisfy { periods[subject($0)] == 0 })
        #expect(periods[subject(8)] == nil && periods[subject(9)] == nil)
      }
    }
  }

  /// What a document says before its fault delays its keys, and does nothing else.
  @Test("what a refused document says counts for validity alone", arguments: StoreKind.allCases)
  func refused(kind: StoreKind) async throws {
    @Sendable func batch(_ origin: String, period: Int32, start: Int32? = nil) -> AdmittedBatch {
      var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: 9))
      (key.rollingStart, key.rollingPeriod) = (start ?? Int32(Times.now.day.firstInterval.rawValue), period)
      return admit([(key: key, region: RegionClaim(origin: origin))], from: Arrivals.sources[0])
    }
    let fault = DocumentFault(code: FaultCode(rawValue: "cut-off"), reason: "a test")
    let refusal = RefusedDocument(fault, nextAttempt: nil, content: nil)
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      func period() async throws -> Int32? {
        try await ledger.read { state in
          let page = try state.claims(from: .first, limit: 10)
          return page.claims.statedClaims.first.map { page.embargo.period(of: $0.subject) }
        }
      }
      let documents = try await ledger.discovered(["good", "bad"], of: "DE", at: Times.now)
      _ = try await ledger.recorded(documents[0].id, evidence: nil, cursor: nil, at: Times.now) { recorder in
        DocumentFacts(try recorder.record(batch("DE", period: 6)))
      }
      #expect(try await period() == 0)
      let before = try await ledger.read { try $0.claimCount() }
      try await ledger.quarantined(documents[1].id, refusal, cursor: nil, at: Times.now) { recorder in
        _ = try recorder.record(batch("IT", period: 100))
        // No policy waits any more for what this says.
        _ = try recorder.record(batch("IT", period: 144, start: 2_600_000))
      }
      #expect(try await period() == 100)
      let record = try await ledger.read { try $0.record(of: TemporaryExposureKey(high: 1, low: 9)) }
      #expect(record.held.map(\.reason) == [.documentRefused] && record.claims.count == 1)
      let document = try await ledger.read { try $0.document(documents[1].id) }
      #expect(document?.state == .quarantined)
      #expect(try await ledger.read { try $0.holds(of: documents[1].id) } == [:])
      #expect(try await ledger.read { try $0.claimCount() } == before)
      // Nobody admits it by releasing what is held.
      let released = try await ledger.heldReleased(documents[1].id, by: Attribution(by: "ada"), at: Times.now)
      #expect(released.received == 0)
      #expect(try await period() == 100)
      // Another attempt replaces what the last one said.
      try await ledger.quarantined(documents[1].id, refusal, cursor: nil, at: Times.now) { recorder in
        _ = try recorder.record(batch("IT", period: 90))
      }
      #expect(try await period() == 90)
      // Once it is read whole, its claims count by themselves; once it is given up, by nothing.
      let copy = try await ledger.discovered(["other"], of: "DE", at: Times.now)[0]
      try await ledger.quarantined(copy.id, refusal, cursor: nil, at: Times.now) { recorder in
        _ = try recorder.record(batch("IT", period: 120))
      }
      _ = try await ledger.recorded(documents[1].id, evidence: nil, cursor: nil, at: Times.now) { recorder in
        DocumentFacts(try recorder.record(batch("IT", period: 20)))
      }
      #expect(try await period() == 120)
      try await ledger.discarded(copy.id, by: Attribution(by: "ada"), at: Times.now)
      #expect(try await period() == 0)
    }
  }

  @Test("put held claims aside until the operator admits or drops them", arguments: StoreKind.allCases)
  func held(kind: StoreKind) async throws {
    let keys = (0..<20).map { number in
      var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(number), low: 9))
      (key.rollingStart, key.rollingPeriod) = (2_670_000, 144)
      return (key: key, region: RegionClaim(origin: "DE"))
    }
    let batch = admit(keys, from: Arrivals.sources[0], usual: 3)
    #expect(batch.claims.count == 6)
    try await withStore(kind) { store in
      let (released, dropped) = try await store.write { transaction in
        let documents = (try transaction.document("released"), try transaction.document("dropped"))
        for document in [documents.0, documents.1] {
          let receipt = try transaction.record(batch, of: document, at: Times.now)
          #expect(receipt.heldForOperator == 14 && receipt.isBalanced)
          try transaction.complete(document, DocumentFacts(receipt), at: Times.now)
          // The same again puts nothing more aside.
          _ = try transaction.record(batch, of: document, at: Times.now)
          #expect(try transaction.holds(of: document) == ["flood": 14])
        }
        return documents
      }
      #expect(try await store.read { try $0.claimCount() } == 6)
      // One more was refused, between them; others wait for nobody.
      let refused = try await store.write { transaction in
        let document = try transaction.document("refused")
        let fault = DocumentFault(code: "too-large", reason: "no")
        try transaction.move(document, to: .quarantined, fault: fault, nextAttempt: nil, at: Times.days(1))
        try transaction.move(
          try transaction.document("given up"), to: .givenUp, fault: fault, nextAttempt: nil, at: Times.days(2))
        return document
      }
      try await store.read { state throws in
        let waiting = try state.waitingDocuments(limit: 9)
        #expect(waiting.newest.map(\.id) == [refused, dropped, released] && waiting.count == 3)
        #expect(waiting.newest.map(\.held) == [0, 14, 14] && waiting.newest[2].holds == ["flood": 14])
        #expect(try state.waitingDocuments(limit: 2) == .init(newest: Array(waiting.newest.prefix(2)), count: 3))
        #expect(try state.waitingDocuments(limit: 0) == .init(newest: [], count: 3))
      }

      #expect(try await store.write { try $0.discardHeld(of: dropped) } == 14)
      let facts = try await store.read { try $0.document(dropped)?.facts }
      #expect(facts?.held == 0 && facts?.rejections == ["flood": 14])
      #expect(try await store.read { try $0.holds(of: dropped) } == [:])
      #expect(try await store.read { try $0.waitingDocuments(limit: 9).newest.map(\.id) } == [refused, released])
      #expect(try await store.read { try $0.claimCount() } == 6)

      let receipt = try await store.write { try $0.releaseHeld(of: released, at: Times.days(1)) }
      #expect(receipt.received == 14 && receipt.new == 14 && receipt.isBalanced)
      let claims = try await store.read { try allClaims($0, limit: 100) }
      var expected = ClaimSet()
      expected.record(admit(keys, from: Arrivals.sources[0]))
      #expect(claims == Set(expected.statedClaims))
      let document = try await store.read { try $0.document(released) }
      #expect(try await store.read { try $0.holds(of: released) } == [:])
      #expect(document?.facts?.held == 0 && document?.facts?.new == 20)
      #expect(try await store.write { try $0.releaseHeld(of: released, at: Times.days(1)) } == ImportReceipt())
      let missing = DocumentID(rawValue: 99)
      await #expect(throws: StorageFault.noDocument(missing)) {
        try await store.write { try $0.releaseHeld(of: missing, at: Times.now) }
      }
      await #expect(throws: StorageFault.noDocument(missing)) {
        try await store.write { try $0.record(batch, of: missing, at: Times.now) }
      }
    }
  }

  @Test("a recall withdraws what its preview says, and what it withdrew stays known", arguments: StoreKind.allCases)
  func recall(kind: StoreKind) async throws {
    for round in 0..<4 {
      var arrivals = Arrivals(random: SeededRandom(for: "recall \(kind) \(round)"))
      let batches = arrivals.batches(6)
      let request = RecallRequest(
        origin: arrivals.random.pick(["DE", "it", "XX"]), since: arrivals.random.pick([nil, Times.days(2)]),
        document: arrivals.random.pick([nil, DocumentID(rawValue: 3)]), source: arrivals.random.pick([nil, "b"]))
      try await withStore(kind) { store in
        let carriers = try await store.write { transaction in
          var carriers: [KeySubject: Set<BundleID>] = [:]
          for (number, batch) in batches.enumerated() {
            let document = try transaction.document("\(number)", of: number % 2 == 0 ? "a" : "b")
            _ = try transaction.record(batch, of: document, at: Times.days(Int64(number)))
          }
          let keys = batches.flatMap(\.claims).prefix(40).map(\.key)
          let bundles = try (0..<3).map { try transaction.stage(NewBundle("NL", $0), [1], at: Times.now).id }
          // Every seventh fits into no row of a run.
          let first = keys.enumerated().map { index, key in
            var key = key
            if index % 7 == 0 { (key.rollingPeriod, key.transmissionRisk) = (.min, .max) }
            return ReleasedKey(key: key, bundle: bundles[0])
          }
          try transaction.release(first, by: "NL")
          let revised = first.prefix(20).map { ReleasedKey(key: $0.key, bundle: bundles[1], revisions: 1) }
          try transaction.release(revised, by: "NL")
          try transaction.release(
            revised.prefix(10).map { ReleasedKey(key: $0.key, bundle: bundles[2], revisions: 1) }, by: "NL")
          for (index, key) in first.enumerated() {
            let number = index < 10 ? 3 : index < 20 ? 2 : 1
            carriers[KeySubject(key: key.key.key, rollingStart: key.key.rollingStartWord), default: []]
              .formUnion(bundles.prefix(number))
          }
          return carriers
        }
        let before = try await store.snapshot()
        let preview = try await store.read { try $0.preview(request) }
        #expect(try await store.snapshot() == before)
        let effect = try await store.write { try $0.recall(request, at: Times.days(9)) }
        #expect(effect == preview)

        let after = try await store.snapshot()
        let withdrawn = before.claims.subtracting(after.claims)
        #expect(after.claims.isSubset(of: before.claims))
        #expect(withdrawn.count == preview.claims)
        #expect(withdrawn.allSatisfy { $0.origin == request.origin.uppercased() })
        #expect(after.claimCount == before.claimCount - preview.claims)
        #expect(after.recalls.map(\.request) == [request])
        #expect(after.recalls.map(\.claims) == [preview.claims])
        #expect(after.recalls.map(\.event) == [after.events.last?.id])
        if request.since == nil, request.document == nil, request.source == nil {
          #expect(!after.claims.contains { $0.origin == request.origin.uppercased() })
          #expect(after.volumes.allSatisfy { $0[request.origin.uppercased()] == nil })
        }
        func subjects(_ claims: Set<StatedClaim>) -> Set<KeySubject> {
          Set(claims.map { KeySubject(key: $0.key.key, rollingStart: $0.key.rollingStartWord) })
        }
        let left = subjects(before.claims).subtracting(subjects(after.claims))
        #expect(preview.keysLeftWithoutClaims == left.count)
        let released = Set(
          before.released[0].map { KeySubject(key: $0.key.key, rollingStart: $0.key.rollingStartWord) })
        #expect(preview.released["NL", default: 0] == left.intersection(released).count)
        var releases: [RecallPreview.KeyRelease: Int] = [:]
        for subject in left {
          guard let bundles = carriers[subject] else { continue }
          releases[.init(of: subject, by: "NL", with: bundles), default: 0] += 1
        }
        #expect(preview.releases == releases)
        let gone = subjects(withdrawn)
        let (all, last) = (subjects(before.claims), before.events.last?.id)
        try await store.read { state in
          for subject in all {
            let now = try state.isWithdrawn(subject, asOf: nil)
            #expect(now == gone.contains(subject))
            guard let last else { continue }
            let before = try state.isWithdrawn(subject, asOf: last)
            #expect(!before)
          }
        }

        // Twice withdraws nothing, and the same claims coming in again change nothing.
        #expect(try await store.write { try $0.recall(request, at: Times.days(9)) }.claims == 0)
        let receipts = try await store.write { transaction in
          try batches.map { try transaction.record($0, of: DocumentID(rawValue: 1), at: Times.days(10)) }
        }
        #expect(receipts.allSatisfy { $0.new == 0 })
        #expect(try await store.snapshot().claims == after.claims)
      }
    }
  }

  @Test("the usual volume is a source's mean of the days with new claims", arguments: StoreKind.allCases)
  func usualVolumes(kind: StoreKind) async throws {
    @Sendable func keys(_ range: Range<Int>) -> AdmittedBatch {
      admit(
        range.map { number in
          var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(number), low: 9))
          (key.rollingStart, key.rollingPeriod) = (2_670_000, 144)
          return (key, RegionClaim(origin: number % 10 == 0 ? "IT" : "de"))
        }, from: Arrivals.sources[0])
    }
    // Keys whose origin is lost count for the source of their document.
    @Sendable func lost(_ range: Range<Int>) -> AdmittedBatch {
      admit(
        range.map { number in
          var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(number), low: 10))
          (key.rollingStart, key.rollingPeriod) = (2_670_000, 144)
          return (key, RegionClaim(origin: "DE"))
        }, from: Arrivals.sources[2])
    }
    try await withStore(kind) { store in
      try await store.write { transaction in
        let documents = (try transaction.document("a"), try transaction.document("b"))
        _ = try transaction.record(keys(0..<50), of: documents.0, at: Times.now)
        _ = try transaction.record(keys(50..<100), of: documents.1, at: Times.after(60))
        let other = try transaction.document("e", of: "other")
        _ = try transaction.record(keys(0..<130), of: other, at: Times.days(3))
        let relays = (try transaction.document("c", of: "hub"), try transaction.document("d", of: "mirror"))
        _ = try transaction.record(lost(0..<9), of: relays.0, at: Times.days(3))
        _ = try transaction.record(lost(5..<13), of: relays.1, at: Times.days(3))
      }
      let sources = ["DE", "other", "hub", "mirror"]
      let (usual, first, second) = try await store.read { state in
        (
          try sources.map { try state.usualVolumes(before: Times.days(4).day, of: $0) },
          try sources.map { try state.usualVolumes(before: Times.days(3).day, of: $0) },
          try sources.map { try state.volumes(on: Times.days(3).day, of: $0) }
        )
      }
      let hub = OriginVolumes.lostOrigin(of: "hub")
      let mirror = OriginVolumes.lostOrigin(of: "mirror")
      #expect(usual == [["DE": 90, "IT": 10], ["DE": 27, "IT": 3], [hub: 9], [mirror: 4]])
      #expect(first == [["DE": 90, "IT": 10], [:], [:], [:]])
      #expect(second == [[:], ["DE": 27, "IT": 3], [hub: 9], [mirror: 4]])
    }
  }

  @Test("expiry removes keys that are over, and keeps what was counted", arguments: StoreKind.allCases)
  func expiry(kind: StoreKind) async throws {
    var arrivals = Arrivals(random: SeededRandom(for: "expiry \(kind)"))
    let batches = arrivals.batches(6)
    // The end of a key that lasts one interval from an odd start, to the second.
    let end = IntervalNumber(Day(daysSince1970: 18_594).firstInterval.rawValue + 18).start
    try await withStore(kind) { store in
      try await store.write { transaction in
        for (number, batch) in batches.enumerated() {
          let document = try transaction.document("\(number)")
          let receipt = try transaction.record(batch, of: document, at: Times.now)
          try transaction.complete(document, DocumentFacts(receipt), at: Times.now)
          try transaction.keep([1, 2], of: document, until: Times.days(Int64(number)))
        }
        let bundle = try transaction.stage(NewBundle("NL", 0), [1], at: Times.now)
        let keys = batches.flatMap(\.claims).map(\.key)
        try transaction.release(keys.map { ReleasedKey(key: $0, bundle: bundle.id) }, by: "NL")
        _ = try transaction.recall(RecallRequest(origin: "CH"), at: Times.now)
      }
      let before = try await store.snapshot()
      // Whatever its period, so that no claim outlives one about the same key.
      func isOver(_ key: ClaimedKey) -> Bool { IntervalNumber(Int64(key.rollingStartWord) + 144).start <= end }
      let receipt = try await store.write { try $0.expire(keysExpiredBefore: end, at: Times.days(2)) }
      let after = try await store.snapshot()
      #expect(after.claims == before.claims.filter { !isOver($0.key) })
      #expect(after.claimCount == after.claims.count)
      #expect(after.released[0] == before.released[0].filter { !isOver($0.key) })
      #expect(after.claims.count < before.claims.count && !after.claims.isEmpty)
      var everything = ClaimSet()
      for batch in batches { everything.record(batch) }
      #expect(receipt.claims == everything.statedClaims.count { isOver($0.key) })
      #expect(receipt.released == before.released[0].count - after.released[0].count)
      #expect(receipt.contents == 3)
      #expect(after.contents == [nil, nil, nil, [1, 2], [1, 2], [1, 2]])
      #expect(after.documents == before.documents && after.summaries == before.summaries)
      #expect(after.volumes == before.volumes)
      let again = try await store.write { try $0.expire(keysExpiredBefore: end, at: Times.days(2)) }
      #expect(again == ExpiryReceipt(claims: 0, released: 0, contents: 0))
    }
  }
}
