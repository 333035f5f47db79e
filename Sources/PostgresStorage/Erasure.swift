import ExposureKeys
import KeyStorage

// What an erasure removes beside claims and the runs of releases.

extension PostgresTransaction {
  func eraseRows(about key: TemporaryExposureKey) throws -> Int {
    hasErased = true
    try agendaTable().erase(key)
    var count = try database.run("DELETE FROM released WHERE key = $1", key.bytes)
    try database.run(
      "UPDATE pushes SET bytes = NULL WHERE id IN (SELECT push FROM pushed_keys WHERE key = $1)", key.bytes)
    count += try database.run("DELETE FROM pushed_keys WHERE key = $1", key.bytes)
    try eraseFederated(key)
    return count
  }

  func eraseContent(of document: DocumentID) throws -> Bool {
    try database.run("DELETE FROM contents WHERE document = $1", document.rawValue) > 0
  }
}
