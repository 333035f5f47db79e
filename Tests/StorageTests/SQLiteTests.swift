import Dispatch
import ExposureKeys
import Foundation
import GRDB
import GatewayTesting
import KeyNormalization
import KeyStorage
import SQLiteDriver
import Testing

@Suite("SQLite store")
struct SQLiteTests {
  /// A store with something of everything.
  static func fill(_ store: any Store, seed: UInt64) async throws {
    var arrivals = Arrivals(random: SeededRandom(seed: seed))
    let operations = TransactionTests.operations([arrivals.batch(30), arrivals.batch(30)])
    try await store.write { for operation in operations { try operation($0) } }
    try await store.write { _ = try $0.stage(NewBundle("travel", 4), [8], at: Times.now) }
  }

  @Test("opened again, it is the same")
  func reopen() async throws {
    try await withFolder { folder in
      var store: SQLiteStore? = try SQLiteStore(folder: folder, now: Times.now)
      if let store { try await Self.fill(store, seed: 1) }
      let before = try await store?.snapshot()
      store = nil
      let again = try SQLiteStore(folder: folder, now: Times.days(1))
      #expect(try await again.snapshot() == before)
      // Names keep their numbers.
      var arrivals = Arrivals(random: SeededRandom(seed: 1))
      let batch = arrivals.batch(30)
      let receipt = try await again.write { try $0.record(batch, of: DocumentID(rawValue: 1), at: Times.days(1)) }
      let expired = batch.claims.count { $0.key.rollingStartWord < 18_590 * 144 }
      #expect(receipt.isBalanced && receipt.new <= expired)
    }
  }

  @Test("a second writer is told who has it, a reader is let in")
  func secondWriter() async throws {
    try await withFolder { folder in
      #expect(throws: StorageFault(.notFound, "\(folder)/keyferry.sqlite: there is no store")) {
        try SQLiteStore(folder: folder, role: .reader, now: Times.now)
      }
      var writer: SQLiteStore? = try SQLiteStore(folder: folder, now: Times.now, command: "keyferry pull")
      let fault = #expect(throws: StorageFault.self) { try SQLiteStore(folder: folder, now: Times.days(1)) }
      #expect(fault?.code == .held)
      let reason = fault?.reason ?? ""
      #expect(reason.contains("is held by process \(ProcessInfo.processInfo.processIdentifier) on "))
      #expect(reason.hasSuffix(", keyferry pull, since 2020-12-01T00:00:00Z"))

      let reader = try SQLiteStore(folder: folder, role: .reader, now: Times.now)
      if let writer { try await Self.fill(writer, seed: 2) }
      #expect(try await reader.snapshot() == writer?.snapshot())
      let refusal = await #expect(throws: StorageFault.self) {
        try await reader.write { try $0.setNote([1], named: "a") }
      }
      #expect(refusal?.code == .held)

      let before = try await writer?.snapshot()
      writer = nil
      #expect(try await reader.snapshot() == before)
      writer = try SQLiteStore(folder: folder, now: Times.days(1))
      #expect(try await writer?.snapshot() == before)
    }
  }

  @Test("a long read sees one state and keeps nobody from writing")
  func longRead() async throws {
    try await withFolder { folder in
      let store = try SQLiteStore(folder: folder, now: Times.now)
      let (begun, written) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      try await store.write { try $0.setNote([1], named: "round") }
      async let seen = store.read { state throws in
        let first = try state.note(named: "round")
        begun.signal()
        guard written.wait(timeout: .now() + 20) == .success else { throw TransactionTests.Stop() }
        return [first, try state.note(named: "round")]
      }
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          begun.wait()
          continuation.resume()
        }
      }
      try await store.write { try $0.setNote([2], named: "round") }
      written.signal()
      #expect(try await seen == [[1], [1]])
      #expect(try await store.read { try $0.note(named: "round") } == [2])
    }
  }

  @Test("what is no store of this version is refused and left alone")
  func incompatible() async throws {
    func fault(_ folder: String, isReadOnly: Bool) -> StorageFault? {
      #expect(throws: StorageFault.self) {
        try SQLiteStore(folder: folder, role: isReadOnly ? .reader : .owner, now: Times.now)
      }
    }
    for isReadOnly in [false, true] {
      try await withFolder { folder in
        let file = folder + "/" + SQLiteStore.fileName
        let text = Data(String(repeating: "not a database\n", count: 300).utf8)
        try text.write(to: URL(filePath: file))
        #expect(fault(folder, isReadOnly: isReadOnly)?.code == .incompatible)
        #expect(try Data(contentsOf: URL(filePath: file)) == text)
      }
      try await withFolder { folder in
        let other = try DatabaseQueue(path: folder + "/" + SQLiteStore.fileName)
        try await other.write { try $0.execute(sql: "CREATE TABLE songs (title TEXT)") }
        try other.close()
        let bytes = try Data(contentsOf: URL(filePath: folder + "/" + SQLiteStore.fileName))
        let refusal = fault(folder, isReadOnly: isReadOnly)
        #expect(refusal?.code == .incompatible)
        #expect(refusal?.reason.contains("not a store of Keyferry") == true)
        #expect(try Data(contentsOf: URL(filePath: folder + "/" + SQLiteStore.fileName)) == bytes)
      }
      try await withFolder { folder in
        try await Self.fill(try SQLiteStore(folder: folder, now: Times.now), seed: 3)
        let later = try DatabaseQueue(path: folder + "/" + SQLiteStore.fileName)
        for (version, code, words) in [
          (StoreSchema.version + 1, StorageFault.Code.later, "a later version of Keyferry has written this store"),
          (0, .earlier, "move it away, begin anew with keyferry store begin, and pull again"),
        ] {
          try await later.write { try $0.execute(sql: "PRAGMA user_version = \(version)") }
          let refusal = fault(folder, isReadOnly: isReadOnly)
          #expect(refusal?.code == code && refusal?.reason.contains(words) == true, "\(refusal?.reason ?? "")")
        }
        try later.close()
      }
    }
    let refusal = fault("/nowhere/at/all", isReadOnly: false)
    #expect(refusal?.code == .inputOutput && refusal?.reason.contains("/nowhere/at/all/keyferry.lock") == true)
  }

  @Test("a damaged file is reported with what to do about it")
  func corrupt() async throws {
    try await withFolder { folder in
      let file = URL(filePath: folder + "/" + SQLiteStore.fileName)
      var store: SQLiteStore? = try SQLiteStore(folder: folder, now: Times.now)
      let batch = Self.manyClaims(20_000)
      _ = try await store?.write { try $0.record(batch, of: try $0.document("a"), at: Times.now) }
      store = nil
      let raw = try DatabaseQueue(path: file.path)
      try await raw.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
      try raw.close()
      var bytes = try Data(contentsOf: file)
      // Everything behind the schema and the small tables.
      let start = bytes.count / 2
      bytes.replaceSubrange(start..<bytes.count, with: Data(repeating: 0x5a, count: bytes.count - start))
      try bytes.write(to: file)
      let damaged = try SQLiteStore(folder: folder, now: Times.now)
      let fault = await #expect(throws: StorageFault.self) { try await damaged.read { try allClaims($0, limit: 100) } }
      #expect(fault?.code == .corrupt)
      #expect(try await !damaged.damage(limit: 10).isEmpty)
      #expect(fault?.reason.contains("run keyferry store restore COPY") == true, "\(fault?.reason ?? "")")
    }
  }

  @Test("a file that was removed or replaced under it is no store: nobody is told that anything was recorded")
  func gone() async throws {
    for isReplaced in [false, true] {
      try await withFolder { folder in
        let file = folder + "/" + SQLiteStore.fileName
        let store = try SQLiteStore(folder: folder, now: Times.now)
        _ = try await store.write { try $0.record(Self.manyClaims(5), of: try $0.document("a"), at: Times.now) }
        try FileManager.default.moveItem(atPath: file, toPath: file + ".away")
        if isReplaced { try FileManager.default.copyItem(atPath: file + ".away", toPath: file) }
        let fault = await #expect(throws: StorageFault.self) {
          _ = try await store.write { try $0.record(Self.manyClaims(7), of: try $0.document("b"), at: Times.now) }
        }
        #expect(fault?.code == .gone)
      }
    }
  }

  @Test("a copy is one state of the store, and overwrites nothing")
  func copy() async throws {
    try await withFolder { folder in
      let store = try SQLiteStore(folder: folder, now: Times.now)
      try await Self.fill(store, seed: 3)
      let other = folder + "/copy"
      try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
      try await store.copy(to: other + "/" + SQLiteStore.fileName)
      let fault = await #expect(throws: StorageFault.self) {
        try await store.copy(to: other + "/" + SQLiteStore.fileName)
      }
      #expect(fault?.code == .conflict)
      let copied = try SQLiteStore(folder: other, now: Times.now)
      #expect(try await copied.snapshot() == store.snapshot())
      #expect(try await copied.damage(limit: 10) == [])
      #expect(try FileManager.default.contentsOfDirectory(atPath: other).allSatisfy { !$0.hasSuffix(".partial") })
    }
  }

  @Test("a full disk leaves the store as it was")
  func full() async throws {
    try await withFolder { folder in
      var store: SQLiteStore? = try SQLiteStore(folder: folder, now: Times.now, pageLimit: 100)
      let small = Self.manyClaims(50)
      let large = Self.manyClaims(20_000)
      _ = try await store?.write { try $0.record(small, of: try $0.document("a"), at: Times.now) }
      let before = try await store?.snapshot()
      let fault = await #expect(throws: StorageFault.self) {
        try await store?.write { transaction in
          try transaction.setCursor("b", of: "DE")
          _ = try transaction.record(large, of: try transaction.document("b"), at: Times.now)
        }
      }
      #expect(fault?.code == .full)
      #expect(fault?.reason.contains(folder) == true)
      #expect(try await store?.snapshot() == before)
      // With room again, the same is recorded.
      store = nil
      let roomy = try SQLiteStore(folder: folder, now: Times.now)
      #expect(try await roomy.snapshot() == before)
      let receipt = try await roomy.write { try $0.record(large, of: try $0.document("b"), at: Times.now) }
      #expect(receipt.new == 19_950 && receipt.known == 50)
    }
  }

  @Test("expired keys make room for new ones")
  func room() async throws {
    try await withFolder { folder in
      let store = try SQLiteStore(folder: folder, now: Times.now)
      func pages() async throws -> Int? {
        let other = try DatabaseQueue(path: folder + "/" + SQLiteStore.fileName)
        return try await other.read { try Int.fetchOne($0, sql: "PRAGMA page_count") }
      }
      var counts: [Int] = []
      for round in 0..<5 {
        let batch = Self.manyClaims(4000, from: round * 4000)
        _ = try await store.write { try $0.record(batch, of: try $0.document("a"), at: Times.now) }
        counts.append(try await pages() ?? 0)
        let receipt = try await store.write { try $0.expire(keysExpiredBefore: Times.days(30), at: Times.now) }
        #expect(receipt.claims == 4000)
      }
      #expect(counts[0] > 40)
      #expect(counts[4] <= counts[0] + 2, "\(counts)")
    }
  }

  @Test("an erased key is in no byte of the file, whatever was merged before")
  func erasing() async throws {
    try await withFolder { folder in
      let path = folder + "/" + SQLiteStore.fileName
      let store = try SQLiteStore(folder: folder, now: Times.now)
      let batches = (0..<14).map { Self.manyClaims(700, from: 700 * $0) }
      for batch in batches {
        _ = try await store.write { try $0.record(batch, of: try $0.document("a"), at: Times.now) }
      }
      let small = Self.manyClaims(20, from: 100_000)
      _ = try await store.write { try $0.record(small, of: try $0.document("a"), at: Times.now) }
      let keys = ([0, 3, 13].map { batches[$0].claims[5] } + [small.claims[7]]).map(\.subject.key)
      func places(_ key: TemporaryExposureKey) throws -> Int {
        let bytes = try Data(contentsOf: URL(filePath: path))
        return ["", "-wal"].count { ending in
          ((try? Data(contentsOf: URL(filePath: path + ending))) ?? bytes).range(of: Data(key.bytes)) != nil
        }
      }
      for key in keys { #expect(try places(key) > 0) }
      for key in keys {
        let receipt = try await store.write { try $0.erase(key, contents: []) }
        #expect(receipt.claims == 1)
        #expect(try await store.read { try $0.record(of: key) }.isEmpty)
        #expect(try places(key) == 0)
      }
      #expect(try await store.read { try $0.claimCount() } == 14 * 700 + 20 - 4)
      #expect(try await store.damage(limit: 9) == [])
    }
  }

  @Test("two writers in turn know each other's claims")
  func twoWriters() async throws {
    try await withFolder { folder in
      let writers = [
        try SQLiteStore(folder: folder, now: Times.now),
        try SQLiteStore(folder: folder, role: .operator, now: Times.now),
      ]
      for turn in 0..<LongList.size(10, long: 22) {
        // Of the large batches, those of one writer overlap those of the other.
        let batch = Self.manyClaims(turn % 5 == 4 ? 9000 : 500, from: 300 * turn)
        let known = try await writers[turn % 2].read { state in
          try batch.claims.count { try !state.claims(about: $0.subject.key).isEmpty }
        }
        let receipt = try await writers[turn % 2].write {
          try $0.record(batch, of: try $0.document("a"), at: Times.now)
        }
        #expect(receipt.known == known && receipt.new == batch.claims.count - known, "turn \(turn)")
      }
      let all = try await writers[0].read { try allClaims($0, limit: 5000).count }
      #expect(try await writers[1].read { try $0.claimCount() } == all)
      #expect(try await writers[0].damage(limit: 9) == [])
    }
  }

  @Test("the schema refuses wrong rows")
  func schema() async throws {
    try await withFolder { folder in
      try await Self.fill(try SQLiteStore(folder: folder, now: Times.now), seed: 4)
      let raw = try DatabaseQueue(path: folder + "/" + SQLiteStore.fileName)
      func isAccepted(_ sql: String) async throws -> Bool {
        do {
          try await raw.writeWithoutTransaction { database in
            try database.inTransaction(.immediate) {
              try database.execute(sql: sql)
              return .rollback
            }
          }
          return true
        } catch let error as DatabaseError {
          #expect(error.resultCode == .SQLITE_CONSTRAINT, "\(sql): \(error)")
          return false
        }
      }
      func claim(_ values: String) -> String { "INSERT INTO claims VALUES (\(values))" }
      let key = "x'000102030405060708090a0b0c0d0e0f'"
      #expect(try await isAccepted(claim("\(key), 2670000, 144, 1, 1, 0, 1, 0")))
      for values in [
        "x'00', 2670000, 144, 1, 1, 0, 1, 0", "NULL, 2670000, 144, 1, 1, 0, 1, 0", "\(key), -1, 144, 1, 1, 0, 1, 0",
        "\(key), 2670000, 0, 1, 1, 0, 1, 0", "\(key), 2670000, 144, 4294967296, 1, 0, 1, 0",
        "\(key), 2670000, 144, 1, 1, 0, 0, 0", "\(key), 2670000, 144, 1, 1, 0, 1, -1",
      ] { #expect(try await !isAccepted(claim(values)), "\(values)") }

      let document = "INSERT INTO documents (source, name, state, discovered, changed) VALUES "
      #expect(try await isAccepted(document + "(1, 'new', 'discovered', 0, 0)"))
      #expect(try await !isAccepted(document + "(1, 'new', 'done', 0, 0)"))
      #expect(try await !isAccepted(document + "(1, 'a', 'discovered', 0, 0)"))
      #expect(try await !isAccepted(document + "(99, 'new', 'discovered', 0, 0)"))
      for sql in [
        "UPDATE documents SET digest = NULL WHERE name = 'a'",
        "UPDATE documents SET fault_code = 'x', fault_reason = 'y' WHERE name = 'a'",
        "UPDATE documents SET new = -1 WHERE name = 'a'",
        "DELETE FROM sources", "DELETE FROM documents",
        "INSERT INTO contents VALUES (99, 0, x'00')",
        "INSERT INTO pauses VALUES ('person', 'x', 0, NULL, NULL)",
        "UPDATE bundles SET state = 'lost'", "UPDATE bundles SET kind = ''", "UPDATE bundles SET ordinal = -1",
        "UPDATE released SET key = x'00'", "UPDATE released SET fields = 64",
        "INSERT INTO arrivals VALUES (99, 1, 99, 0)", "INSERT INTO log_queue VALUES (1, 99, 'x', x'00')",
        "UPDATE recalls SET why = 'because'", "DELETE FROM events",
        "INSERT INTO totals VALUES (2, 0)", "UPDATE totals SET claims = -1",
      ] {
        #expect(try await !isAccepted(sql), "\(sql)")
      }
    }
  }

  /// Distinct claims of 2020-11-20, and none of them of small words.
  static func manyClaims(_ count: Int, from first: Int = 0) -> AdmittedBatch {
    admit(
      (first..<first + count).map { number in
        var random = SeededRandom(seed: UInt64(number))
        var key = ClaimedKey(key: TemporaryExposureKey(high: random.next(), low: random.next()))
        (key.rollingStart, key.rollingPeriod, key.transmissionRisk) = (18_586 * 144, 144, Int32(number % 9))
        return (key, RegionClaim(origin: "DE", visited: ["DE", "IT"]))
      }, from: Arrivals.sources[0])
  }
}
