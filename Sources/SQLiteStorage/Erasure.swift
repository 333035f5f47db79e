import ExposureKeys
import KeyStorage
import SQLite

// What an erasure removes beside claims and the runs of releases.

extension SQLiteTransaction {
  func eraseRows(about key: TemporaryExposureKey) throws -> Int {
    hasErased = true
    try SQLiteAgenda(database).erase(key)
    var count = 0
    for (number, _) in try numberedSeries() {
      count += try deleteRows("released WHERE series = \(number) AND key = ?", key)
    }
    try run("UPDATE pushes SET bytes = NULL WHERE id IN (SELECT push FROM pushed_keys WHERE key = ?)", key)
    count += try deleteRows("pushed_keys WHERE key = ?", key)
    try eraseFederated(key)
    return count
  }

  func eraseContent(of document: DocumentID) throws -> Bool {
    try database.execute(sql: "DELETE FROM contents WHERE document = ?", arguments: [document.rawValue])
    return database.changesCount > 0
  }

  func deleteRows(_ condition: String, _ key: TemporaryExposureKey) throws -> Int {
    try run("DELETE FROM \(condition)", key)
    return database.changesCount
  }

  /// Runs a statement whose only argument is a key.
  private func run(_ sql: String, _ key: TemporaryExposureKey) throws {
    let statement = try RawStatement(database, sql)
    _ = try withBytes(of: key) { bytes in
      statement.bind(key: bytes, at: 1)
      return try statement.run()
    }
  }
}
