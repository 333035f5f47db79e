internal import ExposureKeys
internal import KeyNormalization

// What an erasure removes beside claims, what is held and the agenda.

extension TableTransaction {
  /// - Returns: how many releases there were.
  func eraseReleases(about key: TemporaryExposureKey) throws -> Int {
    var count = try sql.run("DELETE FROM released WHERE key = $1", key)
    try sql.run(
      "UPDATE pushes SET bytes = NULL WHERE id IN (SELECT push FROM pushed_keys WHERE key = $1)", key)
    count += try sql.run("DELETE FROM pushed_keys WHERE key = $1", key)
    try eraseFederated(key)
    return count
  }

  /// - Returns: whether there was any.
  package func eraseContent(of document: DocumentID) throws -> Bool {
    try sql.run("DELETE FROM contents WHERE document = $1", document.rawValue) > 0
  }
}
