import CPartialFiles
package import ExposureKeys
import Foundation
import GRDB
internal import KeyStorage

// A file of which pages are not what was written, where nothing but the pieces of claims, releases and agenda stands on them: these
// have checksums of their own, so they can be read as they are and looked at then.

extension SQLiteStore {
  /// What can be written anew, as it is read, because it is looked at afterwards.
  private static let checkedTables: Set<String> = [
    "agenda", "claim_blocks", "claim_filters", "release_blocks", "release_filters",
  ]

  /// The tables on whose damaged pages something can be saved, and `free pages and indexes` where no table is on them; empty where no
  /// page of the file is damaged. Nobody else owns the store meanwhile.
  ///
  /// - Throws: ``StorageFault`` `corrupt` where another table is damaged, which only a copy brings back.
  package static func damagedTables(in folder: String, now: Instant, command: String = SQLiteStore.currentCommand)
    throws -> [String]
  {
    let path = folder + "/" + fileName
    let nothing = StorageFault(.notFound, "\(path): there is no store")
    guard FileManager.default.fileExists(atPath: folder) else { throw nothing }
    let lock = try StoreLock(path: folder + "/" + lockName, command: command, now: now)
    defer { withExtendedLifetime(lock) {} }
    do {
      try finishReplacing(path)
      let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
      guard size > 0 else { throw nothing }
      try PageChecksums.install()
      try LogOfChanges.check(path)
      guard let first = try PageChecksums.damage(of: path, limit: 1).first else { return [] }
      let queue = try DatabaseQueue(path: path, configuration: .store(isReadOnly: false, pageLimit: nil))
      defer { try? queue.close() }
      let application = try queue.unsafeRead { try Int32.fetchOne($0, sql: "PRAGMA application_id") }
      guard application == Schema.applicationID else {
        throw StorageFault(
          .incompatible, "\(path): an SQLite file, but not a store of Keyferry, or its first page is damaged")
      }
      if try queue.unsafeRead({ try Schema.migrator.hasBeenSuperseded($0) }) {
        throw StorageFault(.later, "\(path): a later version of Keyferry has written this store")
      }
      let tables = try queue.unsafeRead { try unreadableTableNames(in: $0) }
      let others = tables.filter { !checkedTables.contains($0) }
      guard others.isEmpty else {
        throw StorageFault.damaged(
          path, "\(first), and \(others.joined(separator: ", ")) cannot be read, which nothing but a copy brings back")
      }
      return tables.isEmpty ? ["free pages and indexes"] : tables
    } catch {
      throw StorageFault(error, path: path)
    }
  }

  /// Writes the file anew, with what stands on damaged pages as it is, and keeps the old one beside it.
  ///
  /// - Returns: under which name the old one is kept.
  /// - Throws: ``StorageFault`` `corrupt` where the damage is in what holds the file together.
  package static func rewrite(in folder: String, now: Instant, command: String = SQLiteStore.currentCommand) throws
    -> String
  {
    let path = folder + "/" + fileName
    let lock = try StoreLock(path: folder + "/" + lockName, command: command, now: now)
    defer { withExtendedLifetime(lock) {} }
    let partial = path + ".partial"
    let noted = keyferry_partial_note(partial)
    defer { keyferry_partial_forget(noted) }
    do {
      try finishReplacing(path)
      removePartial(partial)
      try PageChecksums.install()
      let queue = try DatabaseQueue(path: path, configuration: .store(isReadOnly: false, pageLimit: nil))
      do {
        defer { try? queue.close() }
        guard FileManager.default.createFile(atPath: partial, contents: nil, attributes: [.posixPermissions: 0o600])
        else { throw StorageFault(.inputOutput, "\(partial): it cannot be made") }
        try queue.writeWithoutTransaction { try PageChecksums.readDamage(in: $0) }
        try backUp(queue, as: partial)
      }
      if let first = try structuralDamage(of: partial) { throw StorageFault.damaged(path, first) }
      return try putInPlace(partial, of: path, now)
    } catch {
      removePartial(partial)
      throw StorageFault(error, path: path)
    }
  }

  /// Makes all indexes anew, looks at what holds the file together, and notes that its content is still to be looked at.
  private static func structuralDamage(of path: String) throws -> String? {
    let queue = try DatabaseQueue(path: path, configuration: .store(isReadOnly: false, pageLimit: nil))
    defer { try? queue.close() }
    return try queue.writeWithoutTransaction { database in
      do {
        try database.execute(sql: "REINDEX")
        let found = try String.fetchAll(database, sql: "PRAGMA integrity_check(1)").filter { $0 != "ok" }
        let orphans = try Row.fetchAll(database, sql: "PRAGMA foreign_key_check")
        try database.execute(
          sql: "INSERT OR REPLACE INTO notes (name, value) VALUES (?, ?)",
          arguments: [UnfinishedRepair.noteName, Data([1])])
        return found.first ?? (orphans.isEmpty ? nil : "rows refer to others that are not there")
      } catch let error as DatabaseError
        where [.SQLITE_CORRUPT, .SQLITE_CONSTRAINT, .SQLITE_NOTADB].contains(error.resultCode)
      {
        return error.message ?? "its pages do not hold together"
      }
    }
  }
}
