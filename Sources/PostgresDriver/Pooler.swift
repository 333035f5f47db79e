import KeyStorage

/// Whether a pooler stands between that hands a connection of the server to another client behind each transaction, as pgbouncer does with
/// `pool_mode = transaction`. What belongs to a session is nobody's then: the lock by which one process finds that another one owns
/// the store, and the time-outs of the leases' connection.
struct Pooler {
  let connection: PostgresConnection
  let place: String
  /// Another one, from the same words.
  let connect: () throws -> PostgresConnection

  /// - Throws: ``StorageFault`` `unsupported`, with what to do.
  func refuse() throws {
    // A pooler gives its clients numbers of its own, in which they ask to cancel something.
    guard let mine = try number(of: connection), mine != connection.statedNumber else { return }
    // While this one is connected, its session is nobody else's, unless it is lent out.
    for _ in 0..<Self.looks {
      let other = try connect()
      try other.script("BEGIN")
      let theirs = try number(of: other)
      _ = try? other.script("ROLLBACK")
      guard theirs != mine else {
        throw StorageFault(
          .unsupported,
          "\(place): a pooler in transaction mode stands before the database, in which the lock of who has the store does not hold; "
            + "reach the server itself, or a pooler with pool_mode = session")
      }
    }
  }

  /// The pool takes the connection that was given back last, unless others are faster.
  private static let looks = 3

  private func number(of connection: PostgresConnection) throws -> Int? {
    try connection.value("SELECT pg_backend_pid()")
  }
}
