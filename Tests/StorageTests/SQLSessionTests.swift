import ExposureKeys
import Foundation
import KeyStorage
import Testing

/// What both drivers promise the tables.
@Suite("SQL: both databases take the same text")
struct SQLSessionTests {
  private static let kinds = StoreKind.allCases.filter { $0 != .memory && $0 != .repeating }

  private func withSession(
    _ kind: StoreKind, _ body: @escaping @Sendable (any SQLSession) throws -> Void
  ) async throws {
    try await withStore(kind) { store in
      try await store.write { try body(try #require($0 as? TableTransaction).sql) }
    }
  }

  @Test("parameters are numbers: they stand twice and in any order, and in texts not at all", arguments: kinds)
  func parameters(kind: StoreKind) async throws {
    try await withSession(kind) { sql in
      #expect(try sql.run("INSERT INTO notes (value, name) VALUES ($2, $1)", "$1", [1, 2] as [UInt8]) == 1)
      #expect(try sql.run("INSERT INTO notes (name, value) VALUES ($2, $1)", [3] as [UInt8], "b") == 1)
      let rows = try sql.rows(
        """
        SELECT name, value, '$1' AS said FROM notes
        WHERE name = $2 OR name = $1 OR name = $2 OR ($3 IS NULL AND name = $3) ORDER BY name
        """, "b", "$1", nil as String?)
      #expect(try rows.map { try $0["name"] as String } == ["$1", "b"])
      #expect(try rows.map { try $0[1] as [UInt8] } == [[1, 2], [3]])
      #expect(try rows.map { try $0["said"] as String } == ["$1", "$1"])
      let both: [UInt8]? = try sql.value("SELECT value FROM notes WHERE name = $2 AND value = $1", [3] as [UInt8], "b")
      #expect(both == [3])
      #expect(try sql.run("DELETE FROM notes WHERE name <> $1", "b") == 1)
    }
  }

  @Test("a list of any length is taken in parts, and each value once", arguments: kinds, [0, 1, 3, 512, 513, 1500])
  func lists(kind: StoreKind, count: Int) async throws {
    try await withSession(kind) { sql in
      let names = (0..<count).map { "n\($0)" }
      try sql.insert(into: "notes", ["name", "value"], names.map { [.text($0), .bytes([7])] })
      var found: [String] = []
      try sql.inParts((names + ["none"]).map(\.sqlValue), behind: 1) { list, part in
        try sql.each("SELECT name FROM notes WHERE value = $1 AND name IN \(list)", with: [.bytes([7])] + part) {
          found.append(try $0[0])
        }
      }
      #expect(found.sorted() == names.sorted())
    }
  }

  @Test("numbers follow each other, and none is given twice", arguments: kinds)
  func numbers(kind: StoreKind) async throws {
    try await withSession(kind) { sql in
      func add(_ name: String) throws -> Int64 {
        let number = try sql.nextNumber(of: "series")
        try sql.run("INSERT INTO series (id, name) VALUES ($1, $2)", number, name)
        return number
      }
      let first = try add("a")
      #expect(try add("b") == first + 1)
      try sql.run("DELETE FROM series WHERE name = $1", "b")
      #expect(try add("c") == first + 2)
    }
  }

  @Test("what a column has and nobody writes is a fault", arguments: kinds)
  func columns(kind: StoreKind) async throws {
    try await withSession(kind) { sql in
      try sql.run("INSERT INTO notes (name, value) VALUES ($1, $2)", "a", [1] as [UInt8])
      for query in ["9223372036854775807", "-9223372036854775807", "9007199254740993"] {
        let row = try #require(try sql.row("SELECT CAST(\(query) AS bigint) AS number FROM notes"))
        #expect(throws: StorageFault.self) { try row["number"] as Int }
        #expect(throws: StorageFault.self) { try row["number"] as Int32 }
        #expect(throws: StorageFault.self) { try row["number"] as Instant? }
        let fault = #expect(throws: StorageFault.self) { try row["number"] as Int64 }
        #expect(
          fault?.code == .corrupt
            && fault?.reason == "the column number of notes has \(query), allowed is a whole number within ±2^53")
      }
      let row = try #require(try sql.row("SELECT name, value FROM notes"))
      #expect(throws: StorageFault.self) { try row["name"] as Int64 }
      #expect(throws: StorageFault.self) { try row["value"] as String }
      #expect(throws: StorageFault.self) { try row["value"] as TemporaryExposureKey }
      #expect(throws: StorageFault.self) { try row["none"] as String? }
      #expect(throws: StorageFault.self) { try row[2] as String? }
    }
  }

  @Test("bytes go in and out in pieces", arguments: kinds, [0, 1, 600_000])
  func pieces(kind: StoreKind, count: Int) async throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try await withStore(kind) { store in
      let found = try await store.write { transaction in
        let sql = try #require(transaction as? TableTransaction).sql
        let document = try transaction.document("a")
        try sql.insert(
          into: "contents", ["document", "until"], [.int(document.rawValue), Times.now.sqlValue],
          bytes: StoredBytes(bytes))
        #expect(try sql.bytes(in: "contents", where: "document", is: document.rawValue + 1) == nil)
        return try sql.bytes(in: "contents", where: "document", is: document.rawValue)
      }
      #expect(found == bytes)
    }
  }
}
