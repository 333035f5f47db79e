import ExposureKeys
import Foundation
import GRDB
import GRDBSQLite
import GatewayTesting
import KeyStorage
import SQLiteDriver
import Testing

/// What a process leaves behind that is killed while it makes a store is taken as nothing.
@Suite("SQLite store: a first start that was killed")
struct FirstStartTests {
  /// The moments of a first start, in their order.
  enum Moment: CaseIterable {
    case lockIsMade, fileIsMade, pageIsHalfWritten, logIsChosen
  }

  /// Makes what is there at a moment.
  private static func leave(_ moment: Moment, in folder: String) throws {
    let file = folder + "/" + SQLiteStore.fileName
    _ = FileManager.default.createFile(atPath: folder + "/" + SQLiteStore.lockName, contents: nil)
    switch moment {
    case .lockIsMade: break
    case .fileIsMade: _ = FileManager.default.createFile(atPath: file, contents: nil)
    case .pageIsHalfWritten:
      try copying(to: folder) { queue in
        try queue.inDatabase { try $0.execute(sql: "PRAGMA journal_mode = DELETE; BEGIN; CREATE TABLE a (b)") }
        // The page is in the file, and the journal still says that it was not there.
        queue.inDatabase { #expect(sqlite3_db_cacheflush($0.sqliteConnection) == SQLITE_OK) }
      }
      #expect(FileManager.default.fileExists(atPath: file + "-journal"))
    case .logIsChosen:
      try copying(to: folder) { try $0.inDatabase { try $0.execute(sql: "PRAGMA journal_mode = WAL") } }
    }
  }

  /// Works on a database and copies its files while it is open: as they are after a kill.
  private static func copying(to folder: String, _ body: (DatabaseQueue) throws -> Void) throws {
    try withTemporaryFolder { workshop in
      var configuration = Configuration()
      configuration.allowsUnsafeTransactions = true
      let queue = try DatabaseQueue(
        path: workshop.appending(path: SQLiteStore.fileName).path, configuration: configuration)
      try body(queue)
      for name in try FileManager.default.contentsOfDirectory(atPath: workshop.path) {
        try FileManager.default.copyItem(atPath: workshop.path + "/" + name, toPath: folder + "/" + name)
      }
      try? queue.inDatabase { try $0.execute(sql: "ROLLBACK") }
      try queue.close()
    }
  }

  private func pause(_ origin: String, in store: SQLiteStore) async throws {
    try await Ledger(store).paused(.origin(origin), by: Attribution(by: "a test"), at: Times.now)
  }

  @Test("the next start makes the store", arguments: Moment.allCases, [false, true])
  func nextStart(moment: Moment, amends: Bool) async throws {
    try await withFolder { folder in
      try Self.leave(moment, in: folder)
      let fault = #expect(throws: StorageFault.self) {
        try SQLiteStore(folder: folder, role: .reader, now: Times.now)
      }
      #expect(fault?.code == .notFound, "\(fault?.reason ?? "")")
      var store: SQLiteStore? = try SQLiteStore(folder: folder, role: amends ? .operator : .owner, now: Times.now)
      if let store { try await pause("a", in: store) }
      store = nil
      let reader = try SQLiteStore(folder: folder, role: .reader, now: Times.now)
      #expect(try await reader.read { try $0.pauses().map(\.subject) } == [.origin("A")])
    }
  }

  @Test("a file that is somebody else's is not")
  func others() async throws {
    let statements = [
      "CREATE TABLE songs (title TEXT)", "PRAGMA application_id = 7",
    ]
    for statement in statements {
      for amends in [false, true] {
        try await withFolder { folder in
          let file = folder + "/" + SQLiteStore.fileName
          let queue = try DatabaseQueue(path: file)
          try await queue.writeWithoutTransaction { try $0.execute(sql: statement) }
          try queue.close()
          let bytes = try Data(contentsOf: URL(filePath: file))
          let fault = #expect(throws: StorageFault.self) {
            try SQLiteStore(folder: folder, role: amends ? .operator : .owner, now: Times.now)
          }
          #expect(fault?.code == .incompatible, "\(statement)")
          #expect(try Data(contentsOf: URL(filePath: file)) == bytes)
        }
      }
    }
  }

  @Test("who amends makes no store while another process does")
  func amendingBesideTheFirstStart() async throws {
    try await withFolder { folder in
      let first = try SQLiteStore(folder: folder, now: Times.now)
      // Complete, so no lock is asked for.
      _ = try SQLiteStore(folder: folder, role: .operator, now: Times.now)
      try await pause("a", in: first)
    }
    try await withFolder { folder in
      let descriptor = open(folder + "/" + SQLiteStore.lockName, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
      defer { close(descriptor) }
      try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
      let fault = #expect(throws: StorageFault.self) {
        try SQLiteStore(folder: folder, role: .operator, now: Times.now)
      }
      #expect(fault?.code == .held)
    }
  }
}
