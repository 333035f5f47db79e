import ExposureKeys
import Foundation
import GatewayTesting
import KeyNormalization
import SQLite
import SQLiteStorage
import Testing

@testable import KeyStorage

#if PostgreSQL
  import PostgresStorage
#endif

/// A damaged piece costs nothing else than what was in it, and what is known of that otherwise comes back.
@Suite("Stores: repairing")
struct RepairTests {
  static let word = OperatorWord(by: "ada", reason: "a disk")

  // MARK: Runs

  @Test("a damaged block or filter is taken out alone, and what is put back is found", arguments: 0..<8)
  func runs(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let segments = MemorySegments()
    let runs = try ClaimRuns(segments, filters: [:])
    var all: [ClaimRow] = []
    for count in [9000, 300, 20_000, 40] {
      let rows = SegmentTests.distinct(
        (0..<count).map { _ in
          SegmentTests.row(TemporaryExposureKey(high: random.next(), low: random.next()), &random)
        })
      try runs.add(rows)
      all += rows
    }
    #expect(try runs.takeOutDamage().isEmpty)
    let places = segments.blocks.keys.sorted()
    let damaged = (0..<3).map { _ in random.pick(places) }
    for place in Set(damaged) {
      var bytes = segments.blocks[place] ?? []
      bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      segments.put(bytes, at: place)
    }
    let filter = random.pick(segments.kinds.keys.sorted())
    segments.kinds[filter] = ClaimFilter([])
    #expect(throws: StorageFault.self) {
      var rows = try runs.rows()
      while try rows.next() != nil {}
    }
    let again = try ClaimRuns(segments, filters: [:])
    let damage = try again.takeOutDamage()
    #expect(Set(damage.ranges.map { BlockPlace(run: $0.run, prefix: $0.first) }) == Set(damaged))
    #expect(damage.filters.contains(filter.run) || damaged.contains { $0.run == filter.run })
    let left = try Self.rows(of: again)
    let lost = all.filter { row in !left.contains(row) }
    #expect(Int64(lost.count) == damage.lost && lost.allSatisfy { row in damage.ranges.contains { $0.has(row.key) } })
    #expect(damage.standing == Int64(left.count { $0.stands }))
    #expect(try again.damage(limit: 9) == [] && again.takeOutDamage().isEmpty)
    try again.add(lost.sorted(by: <))
    #expect(try Self.rows(of: again) == Set(all))
    #expect(try again.rows(about: lost.sorted(by: <)).count == lost.count)
  }

  private static func rows(of runs: ClaimRuns) throws -> Set<ClaimRow> {
    var rows = try runs.rows()
    var all: Set<ClaimRow> = []
    while let row = try rows.next() { all.insert(row) }
    return all
  }

  // MARK: Stores

  /// What is damaged below a store.
  enum Piece: String, CaseIterable, CustomTestStringConvertible {
    case block = "claim_blocks"
    case filter = "claim_filters"
    case agenda
    case release = "release_blocks"
    case releaseFilter = "release_filters"

    var testDescription: String { rawValue }
    var column: String {
      switch self {
      case .block, .release: "claims"
      case .filter, .releaseFilter: "filter"
      case .agenda: "keys"
      }
    }
  }

  static let document = DocumentID(rawValue: 1)

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

  /// A document in two pieces with many claims, of which a recall between them has withdrawn the first ones; and a series that has released them.
  static func fill(_ ledger: Ledger, clock: ClockStep = .right) async throws -> [AdmittedBatch] {
    let batches = [SQLiteTests.manyClaims(20_000), SQLiteTests.manyClaims(9000, from: 20_000)]
    let times = clock.times.map(Times.after)
    _ = try await ledger.discovered(["a"], of: "DE", at: Times.now)
    _ = try await ledger.recordedPiece(of: document, at: times[0]) { _ in batches[0] }
    _ = try await ledger.recalled(RecallRequest(origin: "DE"), by: word, at: times[1])
    _ = try await ledger.recordedPiece(of: document, at: times[2]) { _ in batches[1] }
    _ = try await ledger.recorded(document, inPieces: .small, evidence: nil, cursor: nil, at: Times.after(120))
    let keys = batches[0].claims.map { NewRelease(key: $0.key.withoutTables, revisions: 0) }
    try await ledger.staged([NewStaging(NewBundle("NL", 0), [1], releasing: keys)], by: "NL", at: Times.days(1)) { _ in
      []
    }
    return batches
  }

  /// A store that is filled, and that nobody has open.
  private static func makeStore(in folder: String) async throws {
    let store = try SQLiteStore(folder: folder, now: Times.now)
    _ = try await fill(Ledger(store))
    try store.letGo()
  }

  @Test(
    "a flipped bit in any piece is taken out, and what was in it is put back",
    arguments: LongList.cases(Piece.allCases, 2))
  func sqlite(piece: Piece) async throws { try await Self.check(piece, .right) }

  @Test(
    "what a recall has withdrawn is put back so, and nothing else, whichever way the clock went",
    arguments: LongList.cases(ClockStep.allCases))
  func clock(step: ClockStep) async throws { try await Self.check(.block, step) }

  private static func check(_ piece: Piece, _ clock: ClockStep) async throws {
    try await withFolder { folder in
      try await check(piece, clock, opening: { try SQLiteStore(folder: folder, now: Times.now) }) { sql in
        let file = try DatabaseQueue(path: folder + "/" + SQLiteStore.fileName)
        try await file.write { database in
          let row = try #require(try Row.fetchOne(database, sql: sql))
          var damaged: [UInt8] = try row["bytes"]
          damaged[100] ^= 1
          try database.execute(
            sql: "UPDATE \(piece.rawValue) SET \(piece.column) = ? WHERE id = ?",
            arguments: [damaged, try row["id"] as Int64])
        }
        try file.close()
      }
    }
  }

  #if PostgreSQL
    @Test(
      "the same in PostgreSQL", .enabled(if: StoreKind.hasPostgres, "PostgresTests says what it needs"),
      arguments: LongList.cases(Piece.allCases))
    func postgres(piece: Piece) async throws {
      let words = try ConnectionWords(try PostgresServer.shared.words)
      let schema = PostgresServer.newSchema()
      let store = try PostgresStore(words, schema: schema)
      try await Self.check(piece, .right, opening: { store }) { sql in
        _ = try PostgresServer.shared.query(
          """
          SET search_path = "\(schema)";
          UPDATE \(piece.rawValue) SET \(piece.column) = set_bit(\(piece.column), 803, 1 - get_bit(\(piece.column), 803))
          WHERE id = (SELECT id FROM (\(sql)) AS one)
          """)
      }
    }
  #endif

  /// - Parameter damage: flips a bit of the piece that a query finds.
  private static func check(
    _ piece: Piece, _ clock: ClockStep, opening open: () throws -> any Store,
    _ damage: (_ sql: String) async throws -> Void
  ) async throws {
    let (batches, before, recorded) = try await {
      let store = try open()
      let batches = try await fill(Ledger(store), clock: clock)
      let known = (batches, try await store.snapshot(), try await records(of: batches, in: store))
      try (store as? SQLiteStore)?.letGo()
      return known
    }()
    let place = [.filter, .releaseFilter].contains(piece) ? 0 : 3
    try await damage("SELECT id, \(piece.column) AS bytes FROM \(piece.rawValue) ORDER BY id LIMIT 1 OFFSET \(place)")
    let damaged = try open()
    let faults = try await damaged.damage(limit: 9)
    #expect(!faults.isEmpty)
    // What is damaged is called what it is.
    switch piece {
    case .block, .filter: #expect(faults.contains { $0.hasPrefix("claims: the ") }, "\(faults)")
    case .release, .releaseFilter:
      #expect(faults.contains { $0.hasPrefix("releases of NL: the ") }, "\(faults)")
      #expect(!faults.contains { $0.contains("claims") }, "\(faults)")
    case .agenda: #expect(!faults.contains { $0.hasPrefix("claims") }, "\(faults)")
    }
    // Who reads what is damaged is told, and what to do.
    if piece == .block {
      let fault = await #expect(throws: StorageFault.self) { try await damaged.snapshot() }
      #expect(fault?.code == .corrupt && fault?.reason.contains("keyferry store repair") == true)
    }
    let ledger = Ledger(damaged)
    // Nothing changes before it is asked for.
    let looked = try await ledger.repaired(isKept: false, by: word, at: Times.days(2)) { _, damage, _ in damage }
    #expect(looked != nil)
    #expect(try await !damaged.damage(limit: 9).isEmpty)

    let found = try await ledger.repaired(by: word, at: Times.days(2)) { state, damage, restorer in
      #expect(try restorer.arrivals(of: document).count == 2)
      let events = try restorer.arrivals(of: document).map(\.id)
      for (event, batch) in zip(events, batches) {
        let claims = batch.claims.map { StatedClaim($0, of: batch) }
          .filter { claim in damage.claims.ranges.contains { $0.has(claim.subject.key) } }
        let (count, others) = try restorer.putBack(claims, of: document, arrivedIn: event)
        #expect(others.isEmpty && count <= claims.count)
      }
      let lost = batches[0].claims.filter { claim in
        damage.releases["NL"]?.ranges.contains { $0.has(claim.subject.key) } ?? false
      }
      try restorer.release(lost.map { ReleasedKey(key: $0.key.withoutTables, bundle: BundleID(rawValue: 1)) }, by: "NL")
      return damage
    }
    #expect(found == looked)
    let all = try #require(found)
    switch piece {
    case .block: #expect(all.claims.ranges.count == 1 && all.lostClaims > 20 && all.releases.isEmpty)
    case .filter: #expect(all.claims.filters.count == 1 && all.claims.ranges.isEmpty && all.lostClaims == 0)
    case .agenda: #expect(all.agendaPieces == 1 && all.claims.isEmpty && all.releases.isEmpty)
    case .release: #expect(all.releases["NL"]?.ranges.count == 1 && all.claims.isEmpty)
    case .releaseFilter: #expect(all.releases["NL"]?.filters.count == 1 && all.claims.isEmpty)
    }
    #expect(try await damaged.damage(limit: 9) == [])
    var after = try await damaged.snapshot()
    #expect(after.events.last?.event.kind == .repaired)
    after.events.removeLast()
    #expect(after == before)
    #expect(try await records(of: batches, in: damaged) == recorded)
    // Each series looks at everything once.
    let last = try #require(before.events.last?.id)
    let noted = try await damaged.read { try $0.agenda(after: last, endingIn: 1_000_000...1_000_001, limit: .max) }
    #expect(noted == nil)
    // A second look finds nothing, and leaves no event.
    #expect(try await ledger.repaired(by: word, at: Times.days(3)) { _, damage, _ in damage } == nil)
    #expect(try await damaged.snapshot().events.count == before.events.count + 1)
  }

  /// Who brought what in which event, and what withdrew it.
  private static func records(of batches: [AdmittedBatch], in store: any Store) async throws -> [KeyRecord] {
    let keys = batches.flatMap(\.claims).enumerated().filter { $0.offset % 101 == 0 }.map(\.element.subject.key)
    return try await store.read { state in try keys.map { try state.record(of: $0) } }
  }

  // MARK: The file

  @Test("a flipped bit anywhere on pages of claims is mended by a file written anew, or refused")
  func pages() async throws {
    try await withFolder { folder in
      let path = folder + "/" + SQLiteStore.fileName
      let (batches, before) = try await {
        let store = try SQLiteStore(folder: folder, now: Times.now)
        let known = (try await Self.fill(Ledger(store)), try await store.snapshot())
        try store.letGo()
        return known
      }()
      let whole = try Data(contentsOf: URL(filePath: path))
      let blocks: Set<Int> = try await {
        let file = try DatabaseQueue(path: path)
        defer { try? file.close() }
        return try await file.read { database in
          Set(
            try Int.fetchAll(
              database, sql: "SELECT pageno FROM dbstat WHERE name = 'claim_blocks' AND pagetype = 'leaf' AND ncell > 0"
            ))
        }
      }()
      #expect(blocks.count > 50)
      #expect(try SQLiteStore.damagedTables(in: folder, now: Times.now) == [])
      var random = SeededRandom(for: "damaged pages")
      var (mended, refused) = (0, 0)
      let rounds = LongList.size(5, long: 12)
      for round in 0..<rounds {
        var bytes = whole
        let page = random.pick(blocks.sorted())
        // The first ones in what holds the page together.
        let place = round < 3 ? Int.random(in: 0..<8, using: &random) : Int.random(in: 60..<4096, using: &random)
        bytes[(page - 1) * 4096 + place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
          try FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        try bytes.write(to: URL(filePath: path))
        do {
          #expect(try SQLiteStore.damagedTables(in: folder, now: Times.now) == ["claim_blocks"])
          let kept = try SQLiteStore.rewrite(in: folder, now: Times.now)
          #expect(try Data(contentsOf: URL(filePath: kept)) == bytes)
        } catch let fault as StorageFault where fault.code == .corrupt {
          #expect(fault.reason.contains("the store is damaged"))
          #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
          refused += 1
          continue
        }
        #expect(throws: StorageFault.self) { try SQLiteStore(folder: folder, now: Times.now) }
        let again = try UnfinishedRepair.$isBeingEnded.withValue(true) {
          try SQLiteStore(folder: folder, now: Times.now)
        }
        let found = try await Ledger(again).repaired(renewingAll: true, by: Self.word, at: Times.days(2)) {
          _, damage, restorer in
          for (event, batch) in zip(try restorer.arrivals(of: Self.document).map(\.id), batches) {
            let claims = batch.claims.map { StatedClaim($0, of: batch) }
              .filter { claim in damage.claims.ranges.contains { $0.has(claim.subject.key) } }
            _ = try restorer.putBack(claims, of: Self.document, arrivedIn: event)
          }
          return damage
        }
        // Where the page itself does not hold together, around each of its blocks.
        #expect(found?.claims.ranges.count ?? 9 <= 4)
        #expect(try await again.damage(limit: 9) == [])
        var after = try await again.snapshot()
        after.events.removeLast()
        #expect(after == before)
        mended += 1
        try again.letGo()
      }
      #expect(mended > (LongList.isRun ? 5 : 0) && mended + refused == rounds)
    }
  }

  // MARK: Pages that are gone

  /// What a page may have become.
  enum PageLoss: String, CaseIterable, CustomTestStringConvertible {
    case zeros, random
    /// As it was before it was written last, with a checksum that holds.
    case older
    /// A page above the leaves.
    case interior
    /// Two leaves beside each other, and one that is another's.
    case several

    var testDescription: String { rawValue }
  }

  /// What documents said, by their numbers, and what was released with bundles, by theirs.
  private struct Said {
    var documents: [DocumentID: [AdmittedBatch]] = [:]
    var released: [BundleID: [NewRelease]] = [:]

    /// Puts back what is lost, as documents and bundles have it.
    func putBack(_ damage: StoreDamage, _ restorer: ClaimRestorer) throws {
      for (document, batches) in documents.sorted(by: { $0.key < $1.key }) {
        for (event, batch) in zip(try restorer.arrivals(of: document).map(\.id), batches) {
          let claims = batch.claims.map { StatedClaim($0, of: batch) }
            .filter { claim in damage.claims.ranges.contains { $0.has(claim.subject.key) } }
          _ = try restorer.putBack(claims, of: document, arrivedIn: event)
        }
      }
      let lost = released.sorted { $0.key < $1.key }.flatMap { bundle, keys in
        keys.filter { key in damage.releases["NL"]?.ranges.contains { $0.has(key.key.key) } ?? false }
          .map { ReleasedKey(key: $0.key, bundle: bundle) }
      }
      try restorer.release(lost, by: "NL")
    }
  }

  /// Records two more documents, one of which is small, and releases what they say.
  private static func add(_ ledger: Ledger, _ said: inout Said, from first: Int, bundle: Int) async throws {
    for (index, count) in [9000, 100].enumerated() {
      let document = DocumentID(rawValue: Int64(said.documents.count + 1))
      let batch = SQLiteTests.manyClaims(count, from: first + index * 10_000)
      let time = Times.after(600 + Int64(first) + Int64(index))
      _ = try await ledger.discovered(["more-\(document.rawValue)"], of: "DE", at: time)
      _ = try await ledger.recordedPiece(of: document, at: time) { _ in batch }
      _ = try await ledger.recorded(document, inPieces: .small, evidence: nil, cursor: nil, at: time)
      said.documents[document] = [batch]
      let keys = batch.claims.map { NewRelease(key: $0.key.withoutTables, revisions: 0) }
      let number = bundle + index
      try await ledger.staged([NewStaging(NewBundle("NL", number), [1], releasing: keys)], by: "NL", at: Times.days(1))
      {
        _ in []
      }
      said.released[BundleID(rawValue: Int64(number + 1))] = keys
    }
  }

  /// The pages of a table by their kind, in the order of the file.
  private static func pages(of table: String, _ kind: String, in path: String) async throws -> [Int] {
    let file = try DatabaseQueue(path: path)
    defer { try? file.close() }
    return try await file.read { database in
      try Int.fetchAll(
        database, sql: "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY path",
        arguments: [table, kind])
    }
  }

  @Test(
    "a page of blocks, filters or agenda that is gone costs what stood on it alone, and what is known otherwise comes back",
    arguments: LongList.pairs(Piece.allCases, PageLoss.allCases, 4))
  func lostPages(piece: Piece, loss: PageLoss) async throws {
    try await withFolder { folder in
      let path = folder + "/" + SQLiteStore.fileName
      var said = Said()
      func opened<Result>(_ body: (Ledger, SQLiteStore, inout Said) async throws -> Result) async throws -> Result {
        let store = try SQLiteStore(folder: folder, now: Times.now)
        let result = try await body(Ledger(store), store, &said)
        try store.letGo()
        return result
      }
      try await opened { ledger, _, said in
        let batches = try await Self.fill(ledger)
        said.documents[Self.document] = batches
        said.released[BundleID(rawValue: 1)] = batches[0].claims.map {
          NewRelease(key: $0.key.withoutTables, revisions: 0)
        }
        try await Self.add(ledger, &said, from: 40_000, bundle: 1)
      }
      let old = try Data(contentsOf: URL(filePath: path))
      let oldLeaves = try await Self.pages(of: piece.rawValue, "leaf", in: path)
      let before = try await opened { ledger, store, said in
        try await Self.add(ledger, &said, from: 70_000, bundle: 3)
        return try await store.snapshot()
      }
      var bytes = try Data(contentsOf: URL(filePath: path))
      func range(_ page: Int) -> Range<Int> { (page - 1) * 4096..<page * 4096 }
      let leaves = try await Self.pages(of: piece.rawValue, "leaf", in: path)
      let interior = try await Self.pages(of: piece.rawValue, "internal", in: path)
      var random = SeededRandom(for: "\(piece) \(loss)")
      let changed: [Int: Data]
      switch loss {
      case .zeros: changed = [random.pick(leaves): Data(count: 4096)]
      case .random: changed = [random.pick(leaves): Data(random.bytes(4096))]
      case .older:
        // Filters of what came later may stand on another leaf.
        guard let page = leaves.last(where: { oldLeaves.contains($0) && old[range($0)] != bytes[range($0)] }) else {
          #expect([.filter, .releaseFilter].contains(piece))
          return
        }
        changed = [page: old[range(page)]]
      case .interior:
        // A table that has one leaf has none.
        changed = [random.pick(interior.isEmpty ? leaves : interior): Data(count: 4096)]
      case .several:
        let place = Int.random(in: 0..<leaves.count, using: &random)
        let contents = [
          (leaves[place], Data(count: 4096)), (leaves[(place + 1) % leaves.count], Data(random.bytes(4096))),
          (leaves[(place + 7) % leaves.count], bytes[range(leaves[(place + 3) % leaves.count])]),
        ]
        // Of a table with one leaf all are the same.
        changed = Dictionary(contents) { first, _ in first }
      }
      for (page, content) in changed { bytes.replaceSubrange(range(page), with: content) }
      try bytes.write(to: URL(filePath: path))

      let tables = try SQLiteStore.damagedTables(in: folder, now: Times.now)
      #expect(loss == .older || tables == [piece.rawValue], "\(tables)")
      if !tables.isEmpty {
        #expect(try !SQLiteStore.isBeyondRepair(in: folder))
        let kept = try SQLiteStore.rewrite(in: folder, now: Times.now)
        #expect(try Data(contentsOf: URL(filePath: kept)) == bytes)
      }
      let again = try UnfinishedRepair.$isBeingEnded.withValue(true) {
        try SQLiteStore(folder: folder, now: Times.now)
      }
      let known = said
      let damage = try await Ledger(again).repaired(
        renewingAll: !tables.isEmpty, by: Self.word, at: Times.days(2)
      ) { _, damage, restorer in
        try known.putBack(damage, restorer)
        return damage
      }
      let found = try #require(damage)
      switch piece {
      case .block: #expect(found.lostClaims > 0 && found.releases.values.allSatisfy { $0.ranges.isEmpty })
      case .release: #expect(found.releases["NL"]?.lost ?? 0 > 0 && found.claims.ranges.isEmpty)
      case .filter, .releaseFilter, .agenda: #expect(found.lostClaims == 0 && found.claims.ranges.isEmpty)
      }
      if loss == .zeros, piece == .block {
        // A leaf has few blocks, and nothing else is lost.
        #expect(found.lostClaims < 1000, "\(found.lostClaims)")
      }
      #expect(try await again.damage(limit: 9) == [])
      var after = try await again.snapshot()
      after.events.removeLast()
      #expect(after == before)
      try again.letGo()
      #expect(try PageCheck.isWhole(path))
    }
  }

  // MARK: Indexes

  /// What an index may have become.
  enum IndexDamage: String, CaseIterable, CustomTestStringConvertible {
    case flipped, header, zeros, missing

    var testDescription: String { rawValue }
  }

  /// Takes an index out of the list of what there is: what is written from now on does not come into it.
  private static func hide(_ index: String, in path: String) async throws -> [DatabaseValue] {
    let file = try DatabaseQueue(path: path)
    defer { try? file.close() }
    return try await file.access { database in
      let row = try #require(
        try Row.fetchOne(
          database, sql: "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name = ?",
          arguments: [index]))
      try database.execute(sql: "PRAGMA writable_schema = ON")
      try database.execute(sql: "DELETE FROM sqlite_master WHERE name = ?", arguments: [index])
      return try (0..<5).map { try row[$0] }
    }
  }

  /// Puts it back as it was.
  private static func show(_ index: [DatabaseValue], in path: String) async throws {
    let file = try DatabaseQueue(path: path)
    defer { try? file.close() }
    try await file.access { database in
      try database.execute(sql: "PRAGMA writable_schema = ON")
      try database.execute(
        sql: "INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, ?, ?)",
        arguments: StatementArguments(index))
    }
  }

  @Test("a damaged index is made anew, and nothing is lost", arguments: LongList.cases(IndexDamage.allCases, 2))
  func indexes(damage: IndexDamage) async throws {
    try await withFolder { folder in
      let path = folder + "/" + SQLiteStore.fileName
      let index = "documents_by_state"
      try await Self.makeStore(in: folder)
      let hidden = damage == .missing ? try await Self.hide(index, in: path) : nil
      let before = try await {
        let store = try SQLiteStore(folder: folder, now: Times.now)
        _ = try await Ledger(store).discovered((0..<200).map { "document \($0)" }, of: "DE", at: Times.now)
        let known = try await store.snapshot()
        try store.letGo()
        return known
      }()
      if let hidden {
        try await Self.show(hidden, in: path)
      } else {
        let page: Int = try await {
          let file = try DatabaseQueue(path: path)
          defer { try? file.close() }
          return try await file.read { database in
            try Int.fetchOne(
              database, sql: "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'", arguments: [index]) ?? 0
          }
        }()
        #expect(page > 1)
        var bytes = try Data(contentsOf: URL(filePath: path))
        let start = (page - 1) * 4096
        switch damage {
        case .flipped: bytes[start + 4000] ^= 1
        case .header: bytes[start] ^= 0xff
        default: bytes.replaceSubrange(start..<start + 4096, with: Data(count: 4096))
        }
        try bytes.write(to: URL(filePath: path))
      }
      let found = try SQLiteStore.damagedTables(in: folder, now: Times.now)
      #expect(found == [[.missing, .zeros].contains(damage) ? "indexes" : "free pages and indexes"])
      let bytes = try Data(contentsOf: URL(filePath: path))
      let kept = try SQLiteStore.rewrite(in: folder, now: Times.now)
      #expect(try Data(contentsOf: URL(filePath: kept)) == bytes)
      let again = try UnfinishedRepair.$isBeingEnded.withValue(true) {
        try SQLiteStore(folder: folder, now: Times.now)
      }
      _ = try await Ledger(again).repaired(renewingAll: true, by: Self.word, at: Times.days(2)) { _, _, _ in }
      #expect(try await again.damage(limit: 9) == [])
      var after = try await again.snapshot()
      after.events.removeLast()
      #expect(after == before)
      // It goes on as a store does, with numbers that nobody had.
      let new = try await Ledger(again).discovered(["another"], of: "DE", at: Times.days(2))
      #expect(new.first.map { $0.id.rawValue > 200 } == true)
      try again.letGo()
      #expect(try PageCheck.isWhole(path))
    }
  }

  @Test("an index that knows more rows than its table says that some are lost, and only a copy brings them back")
  func lostRows() async throws {
    try await withFolder { folder in
      let path = folder + "/" + SQLiteStore.fileName
      do {
        let store = try SQLiteStore(folder: folder, now: Times.now)
        _ = try await Self.fill(Ledger(store))
        _ = try await Ledger(store).discovered((0..<200).map { "document \($0)" }, of: "DE", at: Times.now)
        try store.letGo()
      }
      let hidden = try await Self.hide("documents_by_state", in: path)
      do {
        let file = try DatabaseQueue(path: path)
        defer { try? file.close() }
        try await file.write { database in
          try database.execute(sql: "DELETE FROM documents WHERE id = (SELECT max(id) FROM documents)")
        }
      }
      try await Self.show(hidden, in: path)
      let bytes = try Data(contentsOf: URL(filePath: path))
      let fault = #expect(throws: StorageFault.self) {
        _ = try SQLiteStore.damagedTables(in: folder, now: Times.now)
        try SQLiteStore.rewrite(in: folder, now: Times.now)
      }
      #expect(fault?.code == .corrupt, "\(String(describing: fault))")
      #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
    }
  }

  /// A disk that says it has written a page and has not gives the page as it was before: it is what was written once.
  @Test(
    "a page of a table that was not written last is told by the table's indexes, and only a copy brings back what was on it",
    arguments: [
      ("origins", "INSERT INTO origins (name) VALUES ('ZZ')"),
      ("used_tokens", "INSERT INTO used_tokens (digest, until) VALUES (zeroblob(32), 5)"),
      ("series", "INSERT INTO series (name) VALUES ('another')"),
      ("regions", "UPDATE regions SET names = '[\"ZZ\"]' WHERE id = (SELECT max(id) FROM regions)"),
      ("documents", "UPDATE documents SET state = 'quarantined' WHERE id = (SELECT max(id) FROM documents)"),
    ])
  func lostWrites(table: String, change: String) async throws {
    try await withFolder { folder in
      let path = folder + "/" + SQLiteStore.fileName
      try await Self.makeStore(in: folder)
      let before = try Data(contentsOf: URL(filePath: path))
      var root = 0
      do {
        let file = try DatabaseQueue(path: path)
        defer { try? file.close() }
        root = try await file.write { database in
          try database.execute(sql: change)
          #expect(database.changesCount == 1)
          return try Int.fetchOne(
            database, sql: "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?", arguments: [table])
            ?? 0
        }
      }
      var bytes = try Data(contentsOf: URL(filePath: path))
      let page = (root - 1) * 4096..<root * 4096
      try #require(root > 1 && bytes[page] != before[page])
      bytes.replaceSubrange(page, with: before[page])
      try bytes.write(to: URL(filePath: path))
      let store = try SQLiteStore(folder: folder, role: .reader, now: Times.now)
      #expect(try await store.damage(limit: 9).isEmpty == false)
      try store.letGo()
      let fault = #expect(throws: StorageFault.self) { try SQLiteStore.damagedTables(in: folder, now: Times.now) }
      #expect(fault?.code == .corrupt, "\(String(describing: fault))")
    }
  }

  @Test("claims that refer to names that are not there are told") func lostNames() async throws {
    try await withFolder { folder in
      let path = folder + "/" + SQLiteStore.fileName
      do {
        let store = try SQLiteStore(folder: folder, now: Times.now)
        _ = try await Self.fill(Ledger(store))
        #expect(try await store.damage(limit: 9) == [])
        try store.letGo()
      }
      do {
        let file = try DatabaseQueue(path: path)
        defer { try? file.close() }
        try await file.access { database in
          try database.execute(sql: "PRAGMA foreign_keys = OFF; UPDATE origins SET id = id + 100")
        }
      }
      let store = try SQLiteStore(folder: folder, now: Times.now)
      let found = try await store.damage(limit: 99)
      #expect(found.contains { $0.contains("refer to an origin that is not in the store") }, "\(found)")
    }
  }

  @Test("what an operator is told was kept while a file is written anew, is kept") func wordsMeanwhile() async throws {
    try await withFolder { folder in
      try await Self.makeStore(in: folder)
      var told: Set<String> = []
      for round in 0..<LongList.size(2, long: 6) {
        // An operator's commands, one behind the other, each of which opens the store by itself.
        let commands = Task.detached {
          var kept: Set<String> = []
          var number = 0
          while !Task.isCancelled {
            number += 1
            let name = "source-\(round)-\(number)"
            guard let store = try? SQLiteStore(folder: folder, role: .operator, now: Times.now) else { continue }
            do {
              try await Ledger(store).paused(.source(name), by: LedgerScript.word, at: Times.now)
              kept.insert(name)
            } catch is StorageFault {} catch is CancellationError {}
            try? store.letGo()
          }
          return kept
        }
        try await Task.sleep(for: .milliseconds(20))
        let rewriting = Task.detached {
          try SQLiteStore.rewrite(in: folder, keepingOld: round % 2 == 0, now: Times.now)
        }
        let outcome = await rewriting.result
        commands.cancel()
        told.formUnion(try await commands.value)
        // Others may write all the time; then nothing has changed.
        if case .failure(let fault) = outcome { #expect((fault as? StorageFault)?.code == .held, "\(fault)") }
        try await UnfinishedRepair.$isBeingEnded.withValue(true) {
          let store = try SQLiteStore(folder: folder, now: Times.now)
          try await store.write { try $0.setNote(nil, named: UnfinishedRepair.noteName) }
          let there = Set(try await store.read { try $0.pauses().map(\.subject.text) })
          let missing = told.filter { name in !there.contains { $0.hasSuffix(name) } }
          #expect(missing.isEmpty && !told.isEmpty)
          try store.letGo()
        }
      }
    }
  }

  // MARK: Looking

  /// What the files of a store are, by their endings.
  private static func files(of folder: String) throws -> [String: Data] {
    try ["", "-wal", "-shm"].reduce(into: [:]) { files, ending in
      let path = folder + "/" + SQLiteStore.fileName + ending
      if FileManager.default.fileExists(atPath: path) { files[ending] = try Data(contentsOf: URL(filePath: path)) }
    }
  }

  @Test("a copy to look at has all that was committed, and leaves every byte of the store") func looking() async throws
  {
    try await withFolder { folder in
      let looked = folder + "/store"
      try FileManager.default.createDirectory(atPath: looked, withIntermediateDirectories: false)
      let store = try SQLiteStore(folder: folder, now: Times.now)
      _ = try await Self.fill(Ledger(store))
      // As it lies there when the process is killed.
      let before = try Self.files(of: folder)
      #expect(before["-wal"]?.count ?? 0 > 1_000_000 && before["-shm"] != nil)
      for (ending, bytes) in before {
        try bytes.write(to: URL(filePath: looked + "/" + SQLiteStore.fileName + ending))
      }
      let snapshot = try await store.snapshot()
      let seen = try await SQLiteStore.withCopy(of: looked, now: Times.now) { copy in
        #expect(throws: StorageFault.self) { try SQLiteStore(folder: looked, now: Times.now) }
        #expect(try SQLiteStore.damagedTables(in: copy, now: Times.now) == [])
        let store = try SQLiteStore(folder: copy, now: Times.now)
        let seen = try await store.snapshot()
        _ = try await Ledger(store).discovered(["x"], of: "DE", at: Times.now)
        return seen
      }
      #expect(seen == snapshot)
      #expect(try Self.files(of: looked) == before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: looked).count == 4)

      // Without room for it nothing is begun.
      let full = await #expect(throws: StorageFault.self) {
        try await SQLiteStore.withCopy(of: looked, now: Times.now, room: { _ in 20 << 20 }) { _ in }
      }
      #expect(full?.code == .full && full?.reason.contains("bytes of room in \(looked), and 20971520 are free") == true)
      // What a look has left that was killed goes with the next owner.
      let left = looked + "/" + SQLiteStore.fileName + ".looked-at"
      try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: false)
      try Data([1]).write(to: URL(filePath: left + "/" + SQLiteStore.fileName))
      _ = try SQLiteStore(folder: looked, role: .reader, now: Times.now)
      #expect(FileManager.default.fileExists(atPath: left))
      _ = try SQLiteStore(folder: looked, now: Times.now)
      #expect(!FileManager.default.fileExists(atPath: left))
    }
  }

  @Test("a damaged page of another table is for a copy")
  func otherTables() async throws {
    try await withFolder { folder in
      let path = folder + "/" + SQLiteStore.fileName
      try await Self.makeStore(in: folder)
      let page: Int = try await {
        let file = try DatabaseQueue(path: path)
        defer { try? file.close() }
        return try await file.read { database in
          try Int.fetchOne(database, sql: "SELECT pageno FROM dbstat WHERE name = 'documents' AND pagetype = 'leaf'")
            ?? 0
        }
      }()
      var bytes = try Data(contentsOf: URL(filePath: path))
      bytes[(page - 1) * 4096 + 4000] ^= 1
      try bytes.write(to: URL(filePath: path))
      let fault = #expect(throws: StorageFault.self) { try SQLiteStore.damagedTables(in: folder, now: Times.now) }
      #expect(fault?.code == .corrupt && fault?.reason.contains("documents cannot be read") == true)
      #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
    }
  }
}

extension ClaimedKey {
  fileprivate var withoutTables: ClaimedKey {
    var key = self
    (key.regions, key.unknownFields) = (.none, 0)
    return key
  }
}

/// What SQLite says of a file.
private enum PageCheck {
  static func isWhole(_ path: String) throws -> Bool {
    let file = try DatabaseQueue(path: path)
    defer { try? file.close() }
    return try file.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"]
  }
}
