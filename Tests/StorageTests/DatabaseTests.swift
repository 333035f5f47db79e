import CSQLite
import Foundation
import Synchronization
import Testing

@testable import SQLite

@Suite("SQLite: connections, statements, rows")
struct DatabaseTests {
  private static func withFile(_ body: @Sendable (DatabaseQueue) async throws -> Void) async throws {
    try await withFolder { folder in
      let file = try DatabaseQueue(path: folder + "/a.sqlite")
      try await body(file)
      try file.close()
    }
  }

  private static func withPool(_ body: @Sendable (DatabasePool) async throws -> Void) async throws {
    try await withFolder { folder in
      let pool = try DatabasePool(path: folder + "/a.sqlite", options: Database.Options())
      try pool.write { try $0.execute(sql: "CREATE TABLE numbers (number INTEGER NOT NULL)") }
      try await body(pool)
      try pool.close()
    }
  }

  /// Takes long, and changes nothing.
  private static let long = """
    WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 2000000000)
    SELECT count(*) FROM numbers
    """

  @Test("what is written is read again")
  func values() async throws {
    try await Self.withFile { file in
      try await file.access { database in
        try database.execute(sql: "CREATE TABLE things (a, b, c, d, e, f, g, h)")
        let (text, bytes) = ("grüße\u{0}🔑", [UInt8](0...255))
        try database.execute(
          sql: "INSERT INTO things VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
          arguments: [-(Int64(1) << 53), true, text, "", bytes, [UInt8](), nil, UInt32.max])
        let row = try #require(try Row.fetchOne(database, sql: "SELECT * FROM things"))
        #expect(try row["a"] == -(Int64(1) << 53))
        #expect(try row["b"] == true)
        #expect(try row["c"] == text)
        #expect(try row["d"] == "")
        #expect(try row["e"] == bytes)
        #expect(try row["f"] == [UInt8]())
        #expect(try row["g"] == String?.none)
        #expect(try row[7] == UInt32.max)
        let kinds = try Row.fetchOne(database, sql: "SELECT typeof(d), typeof(f), typeof(g), length(e) FROM things")
        #expect(try kinds?[0] == "text")
        #expect(try kinds?[1] == "blob")
        #expect(try kinds?[2] == "null")
        #expect(try kinds?[3] == 256)
      }
    }
  }

  @Test("a value of another kind is a fault with its column, and ends nothing")
  func mismatch() async throws {
    try await Self.withFile { file in
      try await file.access { database in
        let row = try #require(
          try Row.fetchOne(
            database, sql: "SELECT 'abc' AS text, 5000000000 AS large, NULL AS absence, 1.5 AS half, 2.0 AS two"))
        func fault<Value: ColumnValue>(_ name: String, as type: Value.Type) -> String? {
          do {
            _ = try row[name] as Value
            return nil
          } catch {
            return (error as? DatabaseError)?.message
          }
        }
        #expect(
          fault("text", as: Int64.self)?.hasPrefix("the column text has a text, allowed a whole number of ") == true)
        #expect(
          fault("large", as: Int32.self)
            == "the column large has 5000000000, allowed a whole number of -2147483648...2147483647")
        #expect(fault("absence", as: String.self) == "the column absence has nothing, allowed a text")
        #expect(fault("absence", as: [UInt8].self) == "the column absence has nothing, allowed bytes")
        #expect(fault("half", as: Int.self) != nil)
        #expect(try row["two"] == 2)
        #expect(fault("absent", as: Int.self) == "a row has no column absent")
        let beyond = #expect(throws: DatabaseError.self) { try row[5] as Int }
        #expect(beyond?.resultCode == .range)
        #expect(try Int.fetchOne(database, sql: "SELECT NULL") == nil)
        #expect(try Int.fetchOne(database, sql: "SELECT 1 WHERE 0") == nil)
      }
    }
  }

  @Test("as many values as places, by order or by name")
  func arguments() async throws {
    try await Self.withFile { file in
      try await file.access { database in
        for (sql, arguments) in [
          ("SELECT ?", []), ("SELECT ?", [1, 2]), ("SELECT 1", [1]), ("SELECT :a + :b", ["a": 1]),
        ] as [(String, StatementArguments)] {
          #expect(throws: DatabaseError.self, "\(sql)") { try Row.fetchOne(database, sql: sql, arguments: arguments) }
          #expect(throws: DatabaseError.self, "\(sql)") { try database.execute(sql: sql, arguments: arguments) }
        }
        let sum = "SELECT :a + :a * :b"
        let named = try Int.fetchOne(database, sql: sum, arguments: ["a": 2, "b": 5])
        #expect(named == 12)
        let numbered = try Int.fetchOne(database, sql: "SELECT ?2 - ?1", arguments: [1, 3])
        #expect(numbered == 2)
        // Nothing of a run before is left.
        let empty = try Int.fetchOne(database, sql: sum, arguments: ["a": nil, "b": 5])
        #expect(empty == nil)
      }
    }
  }

  @Test("a text of many statements runs all of them, each time")
  func scripts() async throws {
    try await Self.withFile { file in
      try await file.access { database in
        try database.execute(sql: "CREATE TABLE a (n); CREATE TABLE b (n); -- the end")
        for number in 1...3 {
          try database.execute(
            sql: "INSERT INTO a VALUES (?); INSERT INTO b VALUES (?);\n", arguments: [number, number * 10])
        }
        #expect(try Int.fetchAll(database, sql: "SELECT n FROM a ORDER BY n") == [1, 2, 3])
        #expect(try Int.fetchAll(database, sql: "SELECT n FROM b ORDER BY n") == [10, 20, 30])
        #expect(database.changesCount == 1)
        // Where one fails, those before it have happened, and the fault is SQLite's own.
        let error = #expect(throws: DatabaseError.self) {
          try database.execute(sql: "INSERT INTO a VALUES (4); INSERT INTO c VALUES (4)")
        }
        #expect(error?.message == "no such table: c")
        #expect(try Int.fetchOne(database, sql: "SELECT count(*) FROM a") == 4)
        #expect(throws: DatabaseError.self) { try Row.fetchAll(database, sql: "-- nothing") }
        #expect(throws: DatabaseError.self, "a text in double quotes is a column's name") {
          try Row.fetchAll(database, sql: "SELECT \"nobody\" FROM a")
        }
      }
    }
  }

  @Test("a statement may be asked within itself, and knows of tables that have changed")
  func sameStatement() async throws {
    try await Self.withFile { file in
      try await file.access { database in
        try database.execute(sql: "CREATE TABLE a (n); INSERT INTO a VALUES (1), (2)")
        let all = "SELECT * FROM a"
        var pairs = 0
        try Row.forEach(database, sql: all) { _ in try Row.forEach(database, sql: all) { _ in pairs += 1 } }
        #expect(pairs == 4)
        try database.execute(sql: "ALTER TABLE a ADD COLUMN m DEFAULT 7")
        #expect(try Row.fetchOne(database, sql: all)?["m"] == 7)
      }
    }
  }

  @Test("a transaction is kept as a whole or not at all, also where its body caught what ended it")
  func transactions() async throws {
    struct Refused: Error {}
    try await Self.withFile { file in
      try await file.access { database in
        try database.execute(sql: "CREATE TABLE a (n INTEGER PRIMARY KEY, m UNIQUE ON CONFLICT ROLLBACK)")
        #expect(throws: Refused.self) {
          try database.inTransaction(.immediate) {
            try database.execute(sql: "INSERT INTO a VALUES (1, 1)")
            throw Refused()
          }
        }
        #expect(throws: DatabaseError.self) {
          try database.inTransaction(.immediate) {
            try database.execute(sql: "INSERT INTO a VALUES (2, 1)")
            // The first of them ends the transaction, and nothing that comes behind it stands alone.
            for sql in ["INSERT INTO a VALUES (3, 1)", "INSERT INTO a VALUES (4, 4)", "SELECT 1"] {
              do {
                try database.execute(sql: sql)
                Issue.record("\(sql) was done")
              } catch is DatabaseError {}
            }
          }
        }
        #expect(!database.isInsideTransaction)
        #expect(try Int.fetchOne(database, sql: "SELECT count(*) FROM a") == 0)
        try database.inTransaction(.immediate) { try database.execute(sql: "INSERT INTO a VALUES (5, 5)") }
        #expect(try Int.fetchOne(database, sql: "SELECT count(*) FROM a") == 1)
      }
    }
  }

  @Test("what is no file of SQLite's is refused when it is opened; one that is only read is not made")
  func foreignFiles() async throws {
    try await withFolder { folder in
      try Data("not a database, and longer than a header of one is".utf8).write(to: URL(filePath: folder + "/text"))
      let foreign = #expect(throws: DatabaseError.self) { try DatabaseQueue(path: folder + "/text") }
      #expect(foreign?.resultCode == .notADatabase)
      let absent = folder + "/absent"
      let error = #expect(throws: DatabaseError.self) {
        try DatabaseQueue(path: absent, options: Database.Options(isReadOnly: true))
      }
      #expect(error?.resultCode == .cannotOpen)
      #expect(!FileManager.default.fileExists(atPath: absent))
      #expect(error.map { "\($0)" } == "unable to open database file")
    }
  }

  // MARK: Tasks that are cancelled

  @Test(
    "a task that is cancelled gets what it asked for interrupted, and the next one does not notice",
    .timeLimit(.minutes(1)))
  func cancelledReading() async throws {
    try await Self.withPool { pool in
      for delay in [0, 1, 20] {
        let task = Task { try await pool.read { try Int.fetchOne($0, sql: Self.long) } }
        try await Task.sleep(for: .milliseconds(delay))
        task.cancel()
        await #expect(throws: CancellationError.self, "after \(delay) ms") { try await task.value }
        #expect(try await pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM numbers") } == 0)
      }
    }
  }

  @Test("of a cancelled write nothing is kept, and the next one goes through", .timeLimit(.minutes(1)))
  func cancelledWriting() async throws {
    try await Self.withPool { pool in
      for round in 0..<20 {
        let hasBegun = Mutex(false)
        let task = Task {
          try await pool.writeWithoutTransaction { database in
            try database.inTransaction(.immediate) {
              try database.execute(sql: "INSERT INTO numbers VALUES (1)")
              hasBegun.withLock { $0 = true }
              _ = try Int.fetchOne(database, sql: Self.long)
            }
          }
        }
        while !hasBegun.withLock({ $0 }) { await Task.yield() }
        if round % 2 == 0 { try await Task.sleep(for: .milliseconds(2)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM numbers") } == round)
        try await pool.writeWithoutTransaction { database in
          #expect(!database.isInsideTransaction)
          try database.execute(sql: "INSERT INTO numbers VALUES (2)")
        }
      }
    }
  }

  @Test(
    "a write that is cancelled at any moment is kept as a whole where its task says so, and not at all otherwise",
    .timeLimit(.minutes(1)))
  func cancelledAnywhere() async throws {
    try await Self.withPool { pool in
      var kept = 0
      for round in 0..<300 {
        let task = Task {
          try await pool.writeWithoutTransaction { database in
            try database.inTransaction(.immediate) {
              for number in 0..<4 { try database.execute(sql: "INSERT INTO numbers VALUES (?)", arguments: [number]) }
            }
          }
        }
        for _ in 0..<round % 60 { await Task.yield() }
        task.cancel()
        do {
          try await task.value
          kept += 1
        } catch is CancellationError {}
        #expect(
          try await pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM numbers") } == 4 * kept,
          "round \(round)")
      }
    }
  }

  // MARK: One writes, others read

  @Test(
    "who reads sees one state of the file, while another writes and others wait for their turn", .timeLimit(.minutes(1))
  )
  func readers() async throws {
    try await Self.withPool { pool in
      let before = try await pool.read { database in
        let first = try Int.fetchOne(database, sql: "SELECT count(*) FROM numbers")
        try pool.write { try $0.execute(sql: "INSERT INTO numbers VALUES (1)") }
        #expect(try Int.fetchOne(database, sql: "SELECT count(*) FROM numbers") == first)
        #expect(throws: DatabaseError.self) { try database.execute(sql: "INSERT INTO numbers VALUES (2)") }
        return first
      }
      #expect(before == 0)
      let counts = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<40 {
          group.addTask {
            try await pool.read { database in
              usleep(2000)
              return try Int.fetchOne(database, sql: "SELECT count(*) FROM numbers") ?? -1
            }
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(counts == Array(repeating: 1, count: 40))
      // No state is kept by who has read: the log can be emptied.
      try await pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    }
  }

  @Test("a file that was never written can be read beside who has it open")
  func freshFile() async throws {
    try await withFolder { folder in
      let pool = try DatabasePool(path: folder + "/a.sqlite", options: Database.Options())
      #expect(try await pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_master") } == 0)
      let reader = try DatabasePool(path: folder + "/a.sqlite", options: Database.Options(isReadOnly: true))
      #expect(try await reader.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_master") } == 0)
      try reader.close()
      try pool.close()
      await #expect(throws: DatabaseError.self) {
        try await pool.writeWithoutTransaction { try $0.execute(sql: "SELECT 1") }
      }
    }
  }

  @Test("everything goes into a copy, what stands in the log as well")
  func copies() async throws {
    try await withFolder { folder in
      let pool = try DatabasePool(path: folder + "/a.sqlite", options: Database.Options())
      try pool.write { try $0.execute(sql: "CREATE TABLE a (n); INSERT INTO a VALUES (1), (2)") }
      let copy = try DatabaseQueue(path: folder + "/b.sqlite")
      try pool.backUp(to: copy)
      #expect(try copy.read { try Int.fetchAll($0, sql: "SELECT n FROM a") } == [1, 2])
      try copy.close()
      try pool.close()
    }
  }
}
