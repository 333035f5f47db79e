import KeyStorage

/// What the server or its client library said. It never has what the DETAIL line says: that may be key data.
struct PostgresError: Error {
  /// `nil` where the connection failed.
  var state: String?
  var message: String
  /// Whether the connection is of no use any more.
  var isLost: Bool

  /// Whether the body is to be run again from the start: nothing of it was kept.
  var isWorthRepeating: Bool { isLost || state == "40001" || state == "40P01" }
}

extension StorageFault {
  /// What an error of PostgreSQL means for the gateway.
  ///
  /// - Parameter place: the store's address, without any secret.
  init(_ error: any Error, at place: String) {
    guard let error = error as? PostgresError else {
      self = (error as? StorageFault)?.advising(Self.databaseAdvice) ?? StorageFault(.inputOutput, "\(place): \(error)")
      return
    }
    let reason = "\(place): \(error.message)"
    switch error.state {
    case "23505", "23503", "23514", "23502": self.init(.conflict, reason)
    case "55P03": self.init(.held, "\(place): somebody else keeps the store busy: \(error.message)")
    case "40001", "40P01":
      self.init(.held, "\(place): others changed the same at the same time, again and again: \(error.message)")
    case "53100": self.init(.full, "\(place): no room to write: \(error.message)")
    case "53200", "53400", "54000": self.init(.full, reason)
    case "XX001", "XX002":
      self.init(.corrupt, "\(place): the database is damaged: \(error.message); \(Self.databaseAdvice)")
    case "25006":
      self.init(
        .inputOutput, "\(place): the server is read only, a standby perhaps: say target_session_attrs=read-write")
    case "42P01", "42703", "3F000":
      self.init(.incompatible, "\(place): not a store of this version of Keyferry: \(error.message)")
    case "42501":
      self.init(.inputOutput, "\(reason); keyferry check says what the role lacks, and the SQL that gives it")
    case "57014":
      self.init(.inputOutput, "\(place): a statement took longer than its time-out: \(error.message)")
    default: self.init(.inputOutput, reason)
    }
  }
}
