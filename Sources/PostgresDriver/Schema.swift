import KeyStorage

/// The tables in a schema of a database: those of ``StoreSchema``, and those that replicas need.
enum Schema {
  /// All that is made.
  static let script = own + "\n" + StoreSchema.script(for: .postgresql) + "\n" + storage + "\n" + triggers

  static let tableNames = Set(script.matches(of: #/CREATE TABLE (\w+)/#).map { String($0.output.1) })

  /// The table with the version of the others. It is made last.
  static let versionTable = "keyferry_schema"

  private static let own = """
    -- Which replica does which work. The row of a piece of work is never removed: its number only goes up.
    CREATE TABLE leases (
      duty text COLLATE "C" PRIMARY KEY,
      holder text COLLATE "C" NOT NULL,
      number bigint NOT NULL CHECK (number > 0),
      until timestamptz NOT NULL
    ) WITH (fillfactor = 50);

    -- What was numbered last, and under `writes` how many transactions there were: a writer locks this row.
    CREATE TABLE counters (
      name text COLLATE "C" PRIMARY KEY,
      last bigint NOT NULL
    ) WITH (fillfactor = 50);
    INSERT INTO counters VALUES \((["writes"] + StoreSchema.numbered).map { "('\($0)', 0)" }.joined(separator: ", "));

    -- The last transaction of each process, by which it finds out whether one was kept whose end it did not hear of.
    CREATE TABLE writers (
      id text COLLATE "C" PRIMARY KEY,
      number bigint NOT NULL,
      changed timestamptz NOT NULL
    );
    """

  /// These bytes are compressed already, or never would be.
  private static let storage = [("contents", "bytes"), ("bundle_contents", "bytes")].map {
    "ALTER TABLE \($0) ALTER \($1) SET STORAGE EXTERNAL;"
  }.joined(separator: "\n")

  private static let triggers = """
    CREATE FUNCTION log_heads_go_forward() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
      IF TG_OP = 'UPDATE' THEN
        IF NEW.name = OLD.name AND NEW.key = OLD.key
          AND (NEW.size > OLD.size OR NEW.size = OLD.size AND NEW.root = OLD.root) THEN
          RETURN NEW;
        END IF;
      END IF;
      RAISE EXCEPTION 'a log only goes forward' USING ERRCODE = 'integrity_constraint_violation';
    END
    $body$;
    CREATE TRIGGER log_heads_go_forward BEFORE UPDATE OR DELETE ON log_heads
      FOR EACH ROW EXECUTE FUNCTION log_heads_go_forward();
    CREATE TRIGGER log_heads_stay BEFORE TRUNCATE ON log_heads
      FOR EACH STATEMENT EXECUTE FUNCTION log_heads_go_forward();

    CREATE TABLE \(versionTable) (
      version bigint PRIMARY KEY,
      made timestamptz NOT NULL DEFAULT now()
    );
    INSERT INTO \(versionTable) VALUES (\(StoreSchema.version));
    """
}

/// Looks at what a schema of a database has, and makes the tables where there are none.
struct SchemaMaker {
  let database: PostgresConnection
  let schema: String
  let place: String
  /// How long it waits for a lock; for another process that makes the tables it waits without end.
  let lockSeconds: Int

  enum Standing: Equatable {
    case nothing
    case current
  }

  /// - Throws: ``StorageFault`` `earlier` or `later` where it is of another version, `incompatible` where it is not ours.
  func standing() throws -> Standing {
    let tables: [String] = try database.rows(
      """
      SELECT c.relname::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v')
      """, schema
    ).map { try $0["name"] }
    guard tables.contains(Schema.versionTable) else {
      // What versions had before there was one table for it.
      if tables.contains("keyferry_steps") { throw StorageFault.ofEarlierVersion(place) }
      guard tables.isEmpty else {
        throw StorageFault(
          .incompatible, "\(place): its schema \(schema) has tables, and is not a store of Keyferry")
      }
      return .nothing
    }
    let version: Int64? = try database.value("SELECT max(version) FROM \(quoted(schema)).\(Schema.versionTable)")
    guard let version else { throw StorageFault(.corrupt, "\(place): the table \(Schema.versionTable) is empty") }
    if version < StoreSchema.version { throw StorageFault.ofEarlierVersion(place) }
    guard version == StoreSchema.version else {
      throw StorageFault(.later, "\(place): a later version of Keyferry has written this store")
    }
    return .current
  }

  /// One after the other where several processes start, and all tables or none.
  func run() throws {
    try database.script("BEGIN ISOLATION LEVEL READ COMMITTED")
    do {
      _ = try database.rows("SELECT pg_advisory_xact_lock($1)", quoted(schema).stableHash)
      try database.script("SET LOCAL lock_timeout = \(lockSeconds * 1000)")
      // Another process may have been first.
      if try standing() == .nothing {
        if try database.row("SELECT 1 FROM pg_namespace WHERE nspname = $1", schema) == nil {
          try database.script("CREATE SCHEMA \(quoted(schema))")
        }
        try database.script("SET LOCAL search_path = \(quoted(schema))")
        try database.script(Schema.script)
      }
      guard try database.script("COMMIT").tag == "COMMIT" else {
        throw StorageFault(.inputOutput, "\(place): the tables could not be made")
      }
    } catch {
      _ = try? database.script("ROLLBACK")
      throw error
    }
  }
}

/// A name as SQL has it.
func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }

extension String {
  /// The same number in every process: FNV-1a.
  var stableHash: Int64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in "keyferry \(self)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return Int64(bitPattern: hash)
  }
}
