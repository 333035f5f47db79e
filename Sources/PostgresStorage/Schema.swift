import KeyNormalization
import KeyStorage

/// The tables, and the steps that lead to them. A step is never changed once a release has it.
///
/// They have the names and the columns of the embedded store, so that rows can be copied from one to the other. What counts up
/// is no identity column: the numbers that a transaction gave are gone with it, and go up in the order in which transactions
/// are kept. Texts are in the order of their bytes, whatever the database's collation is.
enum Schema {
  static let steps: [(name: String, sql: String)] = [
    ("tables", tables), ("leases", leases), ("log heads", logHeads), ("used tokens", usedTokens),
  ]

  static var version: Int { steps.count }

  /// All that the steps make, and their own list.
  static let tableNames: Set<String> = {
    let names = steps.flatMap { $0.sql.matches(of: #/CREATE TABLE (\w+)/#).map { String($0.output.1) } }
    return Set(names + [Migration.listName])
  }()

  /// Large: a block of claims fills half a page, and stays in its row.
  private static let inline = "WITH (toast_tuple_target = 8160)"

  /// Who does what of the replicas. The row of a piece of work is never removed: its number only goes up.
  private static let leases = """
    CREATE TABLE leases (
      duty text COLLATE "C" PRIMARY KEY,
      holder text COLLATE "C" NOT NULL,
      number bigint NOT NULL CHECK (number > 0),
      until timestamptz NOT NULL
    ) WITH (fillfactor = 50);
    """

  /// What was signed of a public log only goes forward: no size of it has two checkpoints, whoever writes, and whatever it
  /// believes.
  private static let logHeads = """
    CREATE TABLE log_heads (
      name text COLLATE "C" PRIMARY KEY,
      size bigint NOT NULL CHECK (size >= 0),
      root text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      signed bytea NOT NULL,
      pending bytea
    );
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
    """

  /// What lets in once. Whose it was, nothing says.
  private static let usedTokens = """
    CREATE TABLE used_tokens (
      digest bytea PRIMARY KEY CHECK (length(digest) = 32),
      until bigint NOT NULL
    );
    CREATE INDEX used_tokens_by_end ON used_tokens (until);
    """

  private static let tables = """
    -- What was numbered last, and under `writes` how many transactions there were: who writes has this row.
    CREATE TABLE counters (
      name text COLLATE "C" PRIMARY KEY,
      last bigint NOT NULL
    ) WITH (fillfactor = 50);
    INSERT INTO counters SELECT name, 0 FROM unnest(ARRAY[
      'writes', 'sources', 'documents', 'events', 'log_queue', 'uploads', 'origins', 'regions', 'claim_sources', 'arrivals',
      'recalls', 'claim_runs', 'release_runs', 'release_origins', 'series', 'bundles', 'destinations', 'pushes', 'agenda',
      'federation_uploads', 'federation_batches']) AS name;

    -- The last transaction of each process, by which it finds out whether one was kept whose end it did not hear of.
    CREATE TABLE writers (
      id text COLLATE "C" PRIMARY KEY,
      number bigint NOT NULL,
      changed timestamptz NOT NULL
    );

    CREATE TABLE sources (
      id bigint PRIMARY KEY,
      name text COLLATE "C" NOT NULL UNIQUE,
      cursor text COLLATE "C",
      last_attempt bigint,
      last_success bigint,
      failures bigint NOT NULL DEFAULT 0 CHECK (failures >= 0),
      next_attempt bigint,
      fault_code text COLLATE "C",
      fault_reason text COLLATE "C",
      CHECK ((fault_code IS NULL) = (fault_reason IS NULL))
    );

    CREATE TABLE documents (
      id bigint PRIMARY KEY,
      source bigint NOT NULL REFERENCES sources (id),
      name text COLLATE "C" NOT NULL,
      state text COLLATE "C" NOT NULL
        CHECK (state IN ('discovered', 'fetching', 'recorded', 'quarantined', 'given-up')),
      fault_code text COLLATE "C",
      fault_reason text COLLATE "C",
      attempts bigint NOT NULL DEFAULT 0 CHECK (attempts >= 0),
      next_attempt bigint,
      discovered bigint NOT NULL,
      changed bigint NOT NULL,
      byte_count bigint CHECK (byte_count >= 0),
      digest text COLLATE "C",
      entity_tag text COLLATE "C",
      last_modified text COLLATE "C",
      format text COLLATE "C",
      vouched_by text COLLATE "C",
      received bigint CHECK (received >= 0),
      new bigint CHECK (new >= 0),
      known bigint CHECK (known >= 0),
      held bigint CHECK (held >= 0),
      rejections text COLLATE "C",
      allowances text COLLATE "C",
      read_by text COLLATE "C",
      read_digest text COLLATE "C",
      read_at bigint CHECK ((read_by IS NULL) = (read_at IS NULL) AND (read_digest IS NULL) = (read_at IS NULL)),
      UNIQUE (source, name),
      CHECK ((fault_code IS NULL) = (fault_reason IS NULL)),
      CHECK (fault_code IS NULL OR state IN ('quarantined', 'given-up')),
      CHECK ((digest IS NULL) = (byte_count IS NULL) AND (digest IS NULL) = (format IS NULL)
        AND (digest IS NULL) = (received IS NULL) AND (digest IS NULL) = (new IS NULL)
        AND (digest IS NULL) = (known IS NULL) AND (digest IS NULL) = (held IS NULL)
        AND (digest IS NULL) = (rejections IS NULL) AND (digest IS NULL) = (allowances IS NULL))
    );
    CREATE INDEX documents_by_state ON documents (source, state);

    CREATE TABLE contents (
      document bigint PRIMARY KEY REFERENCES documents (id),
      until bigint NOT NULL,
      bytes bytea NOT NULL
    );
    ALTER TABLE contents ALTER bytes SET STORAGE EXTERNAL;

    -- Without its salt a commitment of the log says nothing. It goes with the evidence, whichever way that goes.
    CREATE TABLE salts (
      document bigint PRIMARY KEY REFERENCES contents (document) ON DELETE CASCADE,
      salt bytea NOT NULL CHECK (length(salt) = 32)
    );

    CREATE TABLE pauses (
      kind text COLLATE "C" NOT NULL CHECK (kind IN ('source', 'origin')),
      name text COLLATE "C" NOT NULL,
      since bigint NOT NULL,
      reason text COLLATE "C",
      who text COLLATE "C",
      PRIMARY KEY (kind, name)
    );

    CREATE TABLE events (
      id bigint PRIMARY KEY,
      time bigint NOT NULL,
      kind text COLLATE "C" NOT NULL,
      subject text COLLATE "C" NOT NULL,
      who text COLLATE "C",
      why text COLLATE "C",
      CHECK (why IS NULL OR who IS NOT NULL)
    );

    CREATE TABLE log_queue (
      id bigint PRIMARY KEY,
      event bigint NOT NULL REFERENCES events (id),
      kind text COLLATE "C" NOT NULL,
      bytes bytea NOT NULL
    );
    CREATE INDEX log_queue_by_event ON log_queue (event);

    CREATE TABLE uploads (
      id bigint PRIMARY KEY,
      event bigint NOT NULL REFERENCES events (id),
      door bigint NOT NULL REFERENCES sources (id),
      regions text COLLATE "C" NOT NULL,
      certificate text COLLATE "C"
    );
    CREATE INDEX uploads_by_certificate ON uploads (certificate);
    CREATE INDEX uploads_by_event ON uploads (event);

    -- 0 is the origin that was lost.
    CREATE TABLE origins (
      id bigint PRIMARY KEY,
      name text COLLATE "C" NOT NULL UNIQUE
    );
    CREATE TABLE regions (
      id bigint PRIMARY KEY CHECK (id > 0),
      names text COLLATE "C" NOT NULL UNIQUE
    );
    CREATE TABLE claim_sources (
      id bigint PRIMARY KEY,
      name text COLLATE "C" NOT NULL,
      is_relay bigint NOT NULL CHECK (is_relay IN (0, 1)),
      origin text COLLATE "C",
      signed_by text COLLATE "C",
      vouched_by text COLLATE "C" NOT NULL CHECK (vouched_by IN ('signature', 'host', 'origins', 'operator')),
      host text COLLATE "C" CHECK ((host IS NULL) = (vouched_by <> 'host')),
      carries text COLLATE "C" CHECK (carries IS NULL OR is_relay = 1),
      upload text COLLATE "C" CHECK (upload IN ('proven', 'copy'))
    );
    CREATE UNIQUE INDEX claim_sources_by_value ON claim_sources (
      name, is_relay, coalesce(carries, ''), (origin IS NULL), coalesce(origin, ''), vouched_by, coalesce(signed_by, ''),
      coalesce(host, ''), coalesce(upload, ''));

    CREATE TABLE arrivals (
      id bigint PRIMARY KEY,
      document bigint NOT NULL REFERENCES documents (id),
      event bigint NOT NULL REFERENCES events (id),
      time bigint NOT NULL,
      UNIQUE (document, event)
    );
    CREATE INDEX arrivals_by_event ON arrivals (event);

    CREATE TABLE volumes (
      arrival bigint NOT NULL REFERENCES arrivals (id),
      origin bigint NOT NULL CHECK (origin >= 0),
      claims bigint NOT NULL CHECK (claims > 0),
      PRIMARY KEY (arrival, origin)
    );

    CREATE TABLE recalls (
      id bigint PRIMARY KEY,
      origin text COLLATE "C" NOT NULL,
      since bigint,
      document bigint,
      event bigint NOT NULL REFERENCES events (id),
      time bigint NOT NULL,
      claims bigint NOT NULL CHECK (claims >= 0),
      who text COLLATE "C",
      why text COLLATE "C",
      of_source text COLLATE "C",
      CHECK (why IS NULL OR who IS NOT NULL)
    );
    CREATE INDEX recalls_by_event ON recalls (event);

    CREATE TABLE held (
      document bigint NOT NULL,
      key bytea NOT NULL CHECK (length(key) = 16),
      rolling_start bigint NOT NULL CHECK (rolling_start BETWEEN 0 AND 2147483647),
      said bigint NOT NULL CHECK (said BETWEEN 1 AND \(Statement.highest)),
      origin bigint NOT NULL CHECK (origin >= 0),
      source bigint NOT NULL CHECK (source >= 0),
      regions bigint NOT NULL CHECK (regions >= 0),
      event bigint NOT NULL DEFAULT 0,
      reason text COLLATE "C" NOT NULL DEFAULT 'flood',
      PRIMARY KEY (document, key, rolling_start, said, origin, source, regions)
    );
    CREATE INDEX held_by_key ON held (key);

    CREATE TABLE totals (
      id bigint PRIMARY KEY CHECK (id = 1),
      claims bigint NOT NULL CHECK (claims >= 0)
    );
    INSERT INTO totals VALUES (1, 0);

    CREATE TABLE claim_runs (
      id bigint PRIMARY KEY,
      claims bigint NOT NULL CHECK (claims >= 0),
      first_end bigint NOT NULL,
      has_filters bigint NOT NULL CHECK (has_filters IN (0, 1)),
      target bigint,
      sweep bigint CHECK (sweep BETWEEN 0 AND 4294967295),
      sweep_end bigint,
      CHECK (target <> id),
      CHECK ((sweep IS NULL) = (sweep_end IS NULL))
    );
    CREATE TABLE claim_blocks (
      id bigint PRIMARY KEY CHECK (id > 0),
      claims bytea NOT NULL
    ) \(inline);
    CREATE TABLE claim_filters (
      id bigint PRIMARY KEY CHECK (id > 0),
      filter bytea NOT NULL
    );
    ALTER TABLE claim_filters ALTER filter SET STORAGE EXTERNAL;

    CREATE TABLE series (
      id bigint PRIMARY KEY,
      name text COLLATE "C" NOT NULL UNIQUE
    );

    CREATE TABLE release_runs (
      id bigint PRIMARY KEY,
      series bigint NOT NULL REFERENCES series (id),
      claims bigint NOT NULL CHECK (claims >= 0),
      first_end bigint NOT NULL,
      has_filters bigint NOT NULL CHECK (has_filters IN (0, 1)),
      target bigint,
      sweep bigint CHECK (sweep BETWEEN 0 AND 4294967295),
      sweep_end bigint,
      CHECK (target <> id),
      CHECK ((sweep IS NULL) = (sweep_end IS NULL))
    );
    CREATE INDEX release_runs_by_series ON release_runs (series);
    CREATE TABLE release_blocks (
      id bigint PRIMARY KEY CHECK (id > 0),
      claims bytea NOT NULL
    ) \(inline);
    CREATE TABLE release_filters (
      id bigint PRIMARY KEY CHECK (id > 0),
      filter bytea NOT NULL
    );
    ALTER TABLE release_filters ALTER filter SET STORAGE EXTERNAL;
    CREATE TABLE release_origins (
      id bigint PRIMARY KEY CHECK (id > 0),
      names text COLLATE "C" NOT NULL UNIQUE
    );

    CREATE TABLE bundles (
      id bigint PRIMARY KEY,
      series bigint NOT NULL REFERENCES series (id),
      kind text COLLATE "C" NOT NULL CHECK (kind <> ''),
      ordinal bigint NOT NULL CHECK (ordinal >= 0),
      start_time bigint NOT NULL,
      end_time bigint NOT NULL,
      path text COLLATE "C" NOT NULL,
      key_count bigint NOT NULL CHECK (key_count >= 0),
      revised_key_count bigint NOT NULL CHECK (revised_key_count >= 0),
      byte_count bigint NOT NULL CHECK (byte_count >= 0),
      archive_digest text COLLATE "C" NOT NULL,
      export_digest text COLLATE "C" NOT NULL,
      key_id text COLLATE "C" NOT NULL,
      key_version text COLLATE "C" NOT NULL,
      state text COLLATE "C" NOT NULL CHECK (state IN ('staged', 'published', 'expired', 'removed')),
      changed bigint NOT NULL,
      published bigint,
      UNIQUE (series, kind, ordinal)
    );
    CREATE TABLE bundle_contents (
      bundle bigint PRIMARY KEY REFERENCES bundles (id),
      bytes bytea NOT NULL
    );
    ALTER TABLE bundle_contents ALTER bytes SET STORAGE EXTERNAL;
    CREATE TABLE stagings (
      event bigint PRIMARY KEY REFERENCES events (id),
      first_bundle bigint NOT NULL REFERENCES bundles (id),
      last_bundle bigint NOT NULL REFERENCES bundles (id),
      recipe bytea NOT NULL
    );
    CREATE TABLE recipes (
      bundle bigint PRIMARY KEY REFERENCES bundles (id),
      staging bigint NOT NULL REFERENCES stagings (event),
      recipe bytea NOT NULL
    );

    CREATE TABLE released (
      series bigint NOT NULL,
      key bytea NOT NULL CHECK (length(key) = 16),
      rolling_start bigint NOT NULL,
      rolling_period bigint NOT NULL,
      transmission_risk bigint NOT NULL,
      report_type bigint NOT NULL,
      days_since_onset bigint NOT NULL,
      fields bigint NOT NULL CHECK (fields BETWEEN 0 AND 63),
      bundle bigint NOT NULL,
      revisions bigint NOT NULL CHECK (revisions >= 0),
      origins text COLLATE "C",
      first_bundle bigint,
      revision_bundle bigint,
      earlier text COLLATE "C",
      PRIMARY KEY (series, key, rolling_start)
    );

    CREATE TABLE notes (
      name text COLLATE "C" PRIMARY KEY,
      value bytea NOT NULL
    );

    CREATE TABLE destinations (
      id bigint PRIMARY KEY,
      name text COLLATE "C" NOT NULL UNIQUE
    );
    CREATE TABLE pushes (
      id bigint PRIMARY KEY,
      destination bigint NOT NULL REFERENCES destinations (id),
      tag text COLLATE "C" NOT NULL,
      signature text COLLATE "C" NOT NULL,
      media_type text COLLATE "C" NOT NULL,
      key_count bigint NOT NULL CHECK (key_count >= 0),
      digest text COLLATE "C" NOT NULL,
      state text COLLATE "C" NOT NULL CHECK (state IN ('staged', 'settled', 'withdrawn')),
      staged bigint NOT NULL,
      changed bigint NOT NULL,
      bytes bytea,
      UNIQUE (destination, tag)
    );
    CREATE INDEX pushes_by_state ON pushes (destination, state);
    CREATE TABLE pushed_keys (
      destination bigint NOT NULL,
      key bytea NOT NULL CHECK (length(key) = 16),
      rolling_start bigint NOT NULL,
      rolling_period bigint NOT NULL,
      transmission_risk bigint NOT NULL,
      report_type bigint NOT NULL,
      days_since_onset bigint NOT NULL,
      visited text COLLATE "C" NOT NULL,
      state text COLLATE "C" NOT NULL CHECK (state IN ('pending', 'batched', 'stored', 'refused')),
      push bigint,
      position bigint NOT NULL CHECK (position >= 0),
      stored_type bigint,
      failures bigint NOT NULL CHECK (failures >= 0),
      reason text COLLATE "C",
      changed bigint NOT NULL,
      PRIMARY KEY (destination, key, rolling_start)
    );
    CREATE INDEX pushed_keys_in_batches ON pushed_keys (push) WHERE state = 'batched';

    CREATE TABLE agenda (
      id bigint PRIMARY KEY,
      hour bigint NOT NULL CHECK (hour >= 0),
      event bigint NOT NULL,
      count bigint NOT NULL CHECK (count > 0),
      is_small bigint NOT NULL CHECK (is_small IN (0, 1)),
      keys bytea NOT NULL
    );
    ALTER TABLE agenda ALTER keys SET STORAGE EXTERNAL;
    CREATE INDEX agenda_by_hour ON agenda (hour, is_small, count);
    CREATE INDEX agenda_by_event ON agenda (event);
    CREATE TABLE agenda_floor (
      id bigint PRIMARY KEY CHECK (id = 1),
      event bigint NOT NULL,
      hour bigint NOT NULL
    );
    INSERT INTO agenda_floor VALUES (1, 0, -1);

    CREATE TABLE federation_batches (
      id bigint PRIMARY KEY,
      day bigint NOT NULL,
      number bigint NOT NULL CHECK (number > 0),
      made bigint NOT NULL,
      until bigint NOT NULL,
      UNIQUE (day, number)
    );
    CREATE TABLE federation_uploads (
      id bigint PRIMARY KEY,
      document bigint NOT NULL REFERENCES documents (id),
      country text COLLATE "C" NOT NULL,
      tag text COLLATE "C" NOT NULL,
      signature text COLLATE "C" NOT NULL,
      canonical text COLLATE "C" NOT NULL,
      time bigint NOT NULL,
      until bigint NOT NULL,
      key_count bigint NOT NULL CHECK (key_count >= 0),
      batch bigint REFERENCES federation_batches (id),
      withdrawal text COLLATE "C" CHECK (withdrawal IN ('recalled', 'discarded', 'erased')),
      audit bytea NOT NULL,
      keys bytea,
      UNIQUE (tag, country)
    );
    CREATE INDEX federation_uploads_by_batch ON federation_uploads (batch, id);
    CREATE INDEX federation_uploads_by_document ON federation_uploads (document);
    CREATE TABLE federation_rows (
      digest bytea PRIMARY KEY CHECK (length(digest) = 32),
      upload bigint NOT NULL
    );
    CREATE INDEX federation_rows_by_upload ON federation_rows (upload);
    CREATE TABLE federation_days (
      day bigint NOT NULL,
      country text COLLATE "C" NOT NULL,
      uploads bigint NOT NULL CHECK (uploads >= 0),
      keys bigint NOT NULL CHECK (keys >= 0),
      PRIMARY KEY (day, country)
    );
    """
}

/// Looks at what a schema of a database has, and makes it what this version needs.
struct Migration {
  let database: PostgresConnection
  let schema: String
  let place: String
  /// How long a step waits for who uses the tables; who makes them at the same time is waited for without end.
  let lockSeconds: Int

  enum Standing: Equatable {
    case nothing
    case steps(Int)
  }

  /// The table of the steps that were taken.
  static let listName = "keyferry_steps"
  static let list = """
    CREATE TABLE IF NOT EXISTS \(listName) (
      number bigint PRIMARY KEY,
      name text NOT NULL,
      taken timestamptz NOT NULL DEFAULT now()
    );
    """

  /// - Throws: ``StorageFault`` `later` where it is of a later version, `incompatible` where it is not ours.
  func standing() throws -> Standing {
    let tables: [String] = try database.rows(
      """
      SELECT c.relname::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v')
      """, schema
    ).map { try $0["name"] }
    guard tables.contains(Self.listName) else {
      guard tables.isEmpty else {
        throw StorageFault(
          .incompatible, "\(place): its schema \(schema) has tables, and is not a store of Keyferry")
      }
      return .nothing
    }
    let steps: Int? = try database.value("SELECT count(*) FROM \(quoted(schema)).\(Self.listName)")
    guard let steps, steps <= Schema.version else {
      throw StorageFault(.later, "\(place): a later version of Keyferry has written this store")
    }
    return .steps(steps)
  }

  /// One after the other where several processes start, and all steps or none.
  func run() throws {
    try database.script("BEGIN ISOLATION LEVEL READ COMMITTED")
    do {
      _ = try database.rows("SELECT pg_advisory_xact_lock($1)", quoted(schema).stableHash)
      try database.script("SET LOCAL lock_timeout = \(lockSeconds * 1000)")
      // Somebody else may have been first.
      var begun = 0
      if case .steps(let count) = try standing() { begun = count }
      if try database.row("SELECT 1 FROM pg_namespace WHERE nspname = $1", schema) == nil {
        try database.script("CREATE SCHEMA \(quoted(schema))")
      }
      try database.script("SET LOCAL search_path = \(quoted(schema))")
      if begun == 0 { try database.script(Self.list) }
      for (index, step) in Schema.steps.enumerated().dropFirst(begun) {
        try database.script(step.sql)
        try database.run("INSERT INTO \(Self.listName) (number, name) VALUES ($1, $2)", index + 1, step.name)
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
