import ExposureKeys
import KeyStorage

/// Leases as rows of a store in PostgreSQL. Times are the server's.
///
/// A duty is taken under the lock of who writes, so that no transaction under its lease is under way then. Renewing waits for
/// nobody who writes; it has a connection of its own.
final class PostgresLeases: LeaseStore {
  private let words: ConnectionWords
  private let name: String
  private let counters: String
  private let notes: String
  private let application: String
  private let thread = ConnectionThread(name: "keyferry leases")
  /// Milliseconds: who waits longer for a row asks again at the next look.
  private static let patience = 2000
  private static let limits = """
    SET statement_timeout = \(2 * patience); SET lock_timeout = \(patience);
    SET idle_in_transaction_session_timeout = \(2 * patience)
    """

  private let haste: Haste

  init(_ words: ConnectionWords, schema: String, application: String, haste: Haste) {
    self.words = words
    self.haste = haste
    name = "\(quoted(schema)).leases"
    notes = "\(quoted(schema)).notes"
    counters = "\(quoted(schema)).counters"
    self.application = application
  }

  func table() async throws -> LeaseTable {
    try await ask { [rows = name, notes] database in
      let rows = try database.rows(
        """
        SELECT duty, holder, number,
          (extract(epoch FROM least(until, clock_timestamp() + interval '1 day') - clock_timestamp()) * 1000)::bigint AS remaining
        FROM \(rows) ORDER BY duty
        """)
      let time: Int64? = try database.value("SELECT extract(epoch FROM clock_timestamp())::bigint")
      let standing = try rows.map { row in
        let remaining: Int64 = try row["remaining"]
        return LeaseStanding(
          Duty(name: try row["duty"]), holder: try ReplicaName(row["holder"] as String) ?? .unnamed,
          number: try row["number"], remaining: .milliseconds(remaining))
      }
      let note: [UInt8]? = try database.value(
        "SELECT value FROM \(notes) WHERE name = $1", StoredNote.drainedReplicas.name)
      return LeaseTable(
        standing, at: time.map { Instant(secondsSince1970: $0) },
        drained: try note.map { try DrainedReplica.all(in: $0) } ?? [])
    }
  }

  func take(_ duties: [Duty], as holder: ReplicaName, for time: Duration) async throws -> [Lease] {
    let deadline = Lease.deadline(askedAt: .now, for: time)
    return try await ask { [name, counters] database in
      try database.script("BEGIN; SELECT last FROM \(counters) WHERE name = 'writes' FOR UPDATE")
      let rows = try database.rows(
        """
        INSERT INTO \(name) AS held (duty, holder, number, until)
        SELECT duty, $2, 1, clock_timestamp() + $3 * interval '1 millisecond' FROM unnest($1::text[]) AS duty ORDER BY duty COLLATE "C"
        ON CONFLICT (duty) DO UPDATE
        SET holder = excluded.holder, number = held.number + 1, until = clock_timestamp() + $3 * interval '1 millisecond'
        WHERE held.until <= clock_timestamp() AND held.number < 9223372036854775807
        RETURNING duty, number
        """, PostgresValue.texts(duties.map(\.name)), holder.description, time.milliseconds)
      guard try database.script("COMMIT").tag == "COMMIT" else { return [] }
      return try rows.map {
        Lease(Duty(name: try $0["duty"]), holder: holder, number: try $0["number"], deadline: deadline)
      }
    }
  }

  /// Several rows are locked in one order, whoever does it, so that no two wait for each other.
  private static let inOrder = "ORDER BY held.duty FOR UPDATE OF held"

  /// The rows of leases that were given, while they are the holder's.
  private static func locking(_ rows: String) -> String {
    """
    SELECT held.duty FROM \(rows) AS held JOIN unnest($1::text[], $2::bigint[]) AS asked(duty, number)
    ON held.duty = asked.duty AND held.number = asked.number WHERE held.holder = $3
    """
  }

  func renew(_ leases: [Lease], for time: Duration) async throws -> [Lease] {
    guard let holder = leases.first?.holder else { return [] }
    let deadline = Lease.deadline(askedAt: .now, for: time)
    return try await ask { [name] database in
      let rows = try database.rows(
        """
        WITH mine AS MATERIALIZED (\(Self.locking(name)) AND held.until > clock_timestamp() \(Self.inOrder))
        UPDATE \(name) AS held SET until = clock_timestamp() + $4 * interval '1 millisecond'
        FROM mine WHERE held.duty = mine.duty
        RETURNING held.duty, held.number
        """, PostgresValue.texts(leases.map(\.duty.name)), PostgresValue.ints(leases.map(\.number)), holder.description,
        time.milliseconds)
      return try rows.map {
        Lease(Duty(name: try $0["duty"]), holder: holder, number: try $0["number"], deadline: deadline)
      }
    }
  }

  func release(_ leases: [Lease]) async throws {
    guard let holder = leases.first?.holder else { return }
    try await ask { [name] database in
      _ = try database.run(
        """
        WITH mine AS MATERIALIZED (\(Self.locking(name)) \(Self.inOrder))
        UPDATE \(name) AS held SET until = least(held.until, clock_timestamp()) FROM mine WHERE held.duty = mine.duty
        """, PostgresValue.texts(leases.map(\.duty.name)), PostgresValue.ints(leases.map(\.number)), holder.description)
    }
  }

  /// Whether nobody has taken one of these since, asked in the transaction that they are for.
  ///
  /// - Throws: ``StorageFault``: `fenced`.
  static func check(_ leases: [Lease], in database: PostgresConnection) throws {
    guard !leases.isEmpty else { return }
    let rows = try database.rows(
      "SELECT duty, number, holder FROM leases WHERE duty = ANY($1::text[])",
      PostgresValue.texts(leases.map(\.duty.name)))
    for lease in leases {
      let isHeld = try rows.contains { row in
        let (duty, number, holder): (String, Int64, String) = (try row["duty"], try row["number"], try row["holder"])
        return duty == lease.duty.name && number == lease.number && holder == lease.holder.description
      }
      guard isHeld else { throw StorageFault.fenced(lease) }
    }
  }

  /// A connection that fails is thrown away, and the next question has another one.
  private func ask<Result: Sendable>(
    _ body: @escaping @Sendable (PostgresConnection) throws -> Result
  ) async throws -> Result {
    do {
      return try await thread.run { [words, application, haste] connection in
        do {
          let database = try connection ?? PostgresStore.connect(words, application: application, haste: haste)
          if connection == nil {
            database.patience = 5 * Self.patience / 1000
            try database.script(Self.limits)
          }
          connection = database
          let result = try body(database)
          if !database.isIdle { connection = nil }
          return result
        } catch {
          connection = nil
          throw error
        }
      }
    } catch {
      throw StorageFault(error, at: words.place)
    }
  }
}

extension Duration {
  fileprivate var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
