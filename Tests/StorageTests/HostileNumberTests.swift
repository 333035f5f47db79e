import Foundation
import KeyStorage
import SQLite
import SQLiteStorage
import Testing

/// A store's file is a file: whoever writes into it may write any number that its columns take.
@Suite("SQLite: numbers that no store writes")
struct HostileNumberTests {
  static let changes = [
    "UPDATE documents SET attempts = 9223372036854775807",
    "UPDATE documents SET rejections = '{\"malformed\":9223372036854775807}' WHERE state = 'recorded'",
    "INSERT INTO origins (id, name) VALUES (4294967296, 'XX')",
    "INSERT INTO regions (id, names) VALUES (9000000000, '[\"XX\"]')",
  ]

  @Test("each is a fault, and ends nothing", arguments: changes)
  func fault(_ change: String) async throws {
    try await withFolder { folder in
      do {
        let store = try SQLiteStore(folder: folder, now: Times.now)
        try await SQLiteTests.fill(store, seed: 3)
      }
      let file = try DatabaseQueue(path: folder + "/" + SQLiteStore.fileName)
      try await file.access { database in
        try database.execute(sql: "PRAGMA ignore_check_constraints = ON; " + change)
      }
      try file.close()
      let error = await #expect(throws: StorageFault.self) {
        let store = try SQLiteStore(folder: folder, now: Times.now)
        _ = try await store.read { state in
          for source in try state.sources() {
            _ = try state.documents(of: source.name, in: Set(DocumentState.allCases), limit: 100)
            _ = try state.summary(of: source.name)
          }
        }
      }
      #expect(error?.code == .corrupt, "\(String(describing: error))")
    }
  }
}
