import Foundation
import GRDB
import KeyStorage
import SQLiteDriver
import Testing

@Suite("SQLite: tables that somebody has changed")
struct SchemaCheckTests {
  private func change(_ folder: String, _ sql: String) throws {
    let file = try DatabaseQueue(path: folder + "/" + SQLiteStore.fileName)
    try file.inDatabase { try $0.execute(sql: "PRAGMA foreign_keys = OFF; " + sql) }
    try file.close()
  }

  private func made(in folder: String) async throws {
    let store = try SQLiteStore(folder: folder, now: Times.now)
    try await SQLiteTests.fill(store, seed: 3)
    #expect(try await store.damage(limit: 10) == [])
  }

  @Test(
    "each change is named",
    arguments: [
      ("DROP INDEX documents_by_state", ["documents: there is no index documents_by_state (source COLLATE BINARY"]),
      ("DROP TABLE pauses", ["pauses: there is no such table"]),
      ("DROP TABLE totals", ["totals: there is no such table"]),
      ("CREATE TABLE mine (x)", ["mine: no version of Keyferry makes such a table"]),
      ("CREATE VIEW mine AS SELECT 1", ["mine: no version of Keyferry makes such a view"]),
      (
        """
        DROP TRIGGER log_heads_stay;
        CREATE TRIGGER log_heads_stay AFTER INSERT ON log_heads BEGIN DELETE FROM claims; END
        """, ["log_heads: there is no trigger CREATE TRIGGER log_heads_stay BEFORE DELETE"]
      ),
      (
        """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_master SET sql = replace(sql, ' CHECK (length(key) = 16)', '') WHERE name = 'claims';
        PRAGMA writable_schema = OFF
        """, ["claims: its definition is not the one that this version of Keyferry writes"]
      ),
      (
        "UPDATE sqlite_sequence SET seq = 0 WHERE name = 'events'",
        ["sqlite_sequence: the last number of events is 0, and the table has "]
      ),
      ("DROP VIEW keys_v1", ["keys_v1: this view is not the one that this version of Keyferry makes"]),
      (
        "DROP VIEW held_v1; CREATE VIEW held_v1 AS SELECT key FROM held",
        ["held_v1: this view is not the one that this version of Keyferry makes"]
      ),
      ("ALTER TABLE events ADD COLUMN mine TEXT", ["events: no version of Keyferry makes the column mine TEXT"]),
      ("CREATE INDEX mine ON events (kind)", ["events: no version of Keyferry makes the index mine (kind"]),
      (
        "CREATE TRIGGER mine AFTER DELETE ON events BEGIN SELECT 1; END",
        ["events: no version of Keyferry makes the trigger CREATE TRIGGER mine"]
      ),
      (
        """
        ALTER TABLE notes RENAME TO old;
        CREATE TABLE notes (name TEXT PRIMARY KEY, value BLOB);
        INSERT INTO notes SELECT * FROM old;
        DROP TABLE old
        """,
        ["notes: there is no property STRICT", "notes: there is no column value BLOB NOT NULL"]
      ),
    ])
  func changes(sql: String, expected: [String]) async throws {
    try await withFolder { folder in
      try await made(in: folder)
      try change(folder, sql)
      let found = try await SQLiteStore(folder: folder, role: .reader, now: Times.now).damage(limit: 50)
      for words in expected { #expect(found.contains { $0.hasPrefix(words) }, "\(found)") }
    }
  }

  @Test("a copy of a store that somebody has added to is made, and can be restored")
  func foreign() async throws {
    try await withFolder { folder in
      try await made(in: folder)
      try change(folder, "CREATE TABLE mine (x)")
      let store = try SQLiteStore(folder: folder, role: .reader, now: Times.now)
      try await store.copy(to: folder + "/copy.sqlite")
      let other = folder + "/other"
      try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
      #expect(try await SQLiteStore.restore(from: folder + "/copy.sqlite", into: other, now: Times.now) == nil)
      let kept = try await SQLiteStore.restore(from: folder + "/copy.sqlite", into: other, now: Times.now)
      #expect(kept.map { FileManager.default.fileExists(atPath: $0) } == true, "\(kept ?? "")")
    }
  }

  @Test(
    "a copy that lacks something is neither made nor restored",
    arguments: ["DROP TABLE salts", "DROP INDEX documents_by_state"])
  func lacking(sql: String) async throws {
    try await withFolder { folder in
      try await made(in: folder)
      try change(folder, sql)
      let store = try SQLiteStore(folder: folder, role: .reader, now: Times.now)
      let fault = await #expect(throws: StorageFault.self) { try await store.copy(to: folder + "/copy.sqlite") }
      #expect(fault?.code == .corrupt && fault?.reason.contains("there is no ") == true, "\(fault?.reason ?? "")")
      let other = folder + "/other"
      try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
      let refused = await #expect(throws: StorageFault.self) {
        try await SQLiteStore.restore(from: folder + "/" + SQLiteStore.fileName, into: other, now: Times.now)
      }
      #expect(refused?.code == .corrupt, "\(refused?.reason ?? "")")
    }
  }

  @Test("copies of one name at once get in nobody's way, and a file beside stays")
  func atOnce() async throws {
    try await withFolder { folder in
      try await made(in: folder)
      let store = try SQLiteStore(folder: folder, role: .reader, now: Times.now)
      let (copy, foreign) = (folder + "/copy.sqlite", folder + "/copy.sqlite.partial")
      try Data("mine".utf8).write(to: URL(filePath: foreign))
      try await store.copy(to: copy)
      #expect(try String(contentsOfFile: foreign, encoding: .utf8) == "mine")
      let fault = await #expect(throws: StorageFault.self) { try await store.copy(to: copy) }
      #expect(fault?.code == .conflict)
      try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "nowhere")
      let link = await #expect(throws: StorageFault.self) { try await store.copy(to: folder + "/link") }
      #expect(link?.reason.hasSuffix(": there is a file already") == true)
      let none = await #expect(throws: StorageFault.self) { try await store.copy(to: folder + "/none/copy.sqlite") }
      #expect(none?.reason.contains("there is no folder ") == true)
      let files = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(
        !files.contains { $0.hasSuffix(".partial") && $0 != "copy.sqlite.partial" || $0.contains("journal") },
        "\(files)")
    }
  }

  @Test("a note with a number that no store writes is a fault, whoever reads it")
  func notes() async throws {
    try await withFolder { folder in
      try await made(in: folder)
      let name = StoredNote.seriesState("NL")
      func set(_ text: String) async throws -> SQLiteStore {
        let store = try SQLiteStore(folder: folder, now: Times.now)
        try await store.write { try $0.setNote(Array(text.utf8), named: name.name) }
        return store
      }
      for text in ["{\"a\":9223372036854775807}", "{\"a\":-9223372036854775808}", "{\"a\":{\"b\":[1,1e18]}}"] {
        let store = try await set(text)
        #expect(try await store.damage(limit: 5).first?.contains("has a number that no store writes") == true)
        await #expect(throws: StorageFault.self) { try await store.read { try $0.note(name) } }
      }
      let text = "{\"a\":\"9223372036854775807 \\\" 1e9\",\"b\":160000000000000}"
      let store = try await set(text)
      #expect(try await store.damage(limit: 5) == [])
      #expect(try await store.read { try $0.note(name) } == Array(text.utf8))
    }
  }

  @Test(
    "a row that its table does not allow is found", arguments: ["agenda SET event = -5", "documents SET attempts = -1"])
  func rows(change words: String) async throws {
    try await withFolder { folder in
      try await made(in: folder)
      try change(folder, "PRAGMA ignore_check_constraints = ON; UPDATE " + words)
      let found = try await SQLiteStore(folder: folder, role: .reader, now: Times.now).damage(limit: 5)
      #expect(found.contains { $0.contains(" against (") }, "\(found)")
    }
  }

  @Test("of a damaged store no copy is made, and nothing is left")
  func damaged() async throws {
    try await withFolder { folder in
      try await made(in: folder)
      try change(folder, "DELETE FROM claims")
      let store = try SQLiteStore(folder: folder, role: .reader, now: Times.now)
      let fault = await #expect(throws: StorageFault.self) { try await store.copy(to: folder + "/copy.sqlite") }
      #expect(fault?.code == .corrupt && fault?.reason.contains("run keyferry store restore COPY") == true)
      #expect(fault?.reason.contains("copy.sqlite") == false, "\(fault?.reason ?? "")")
      let files = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(!files.contains { $0.hasPrefix("copy") }, "\(files)")
    }
  }
}
