import SQLite

/// The tables, and the steps that lead to them. A migration is never changed once a release has it.
enum Schema {
  /// "KFRY", in the header of the file.
  static let applicationID: Int32 = 0x4b46_5259

  /// Whether there is nothing but, at most, the empty list of the steps that were taken. The migrator makes that list
  /// first and by itself; the first step sets the application's number.
  static func isUnbegun(_ database: Database) throws -> Bool {
    let list = Migrations.list
    let tables = try String.fetchAll(database, sql: "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
    guard tables == [list] else { return tables.isEmpty }
    return try Int.fetchOne(database, sql: "SELECT count(*) FROM \(list)") == 0
  }

  static var migrator: Migrations {
    var migrator = Migrations()
    migrator.registerMigration("claims, documents, bundles", foreignKeyChecks: .immediate) { database in
      try database.execute(sql: receiving + claims + publishing)
      try database.execute(sql: "PRAGMA application_id = \(applicationID)")
    }
    migrator.registerMigration("how sources are vouched for", foreignKeyChecks: .immediate) { database in
      try database.execute(sql: vouching)
    }
    migrator.registerMigration("events") { database in
      try database.execute(sql: events + history + arrivals)
    }
    migrator.registerMigration("whose keys relays carry") { database in
      try database.execute(sql: carrying)
    }
    migrator.registerMigration("archives by key day; uploads without counts", foreignKeyChecks: .deferred) { database in
      try database.execute(sql: bundlesOfAnyKind + uploadsWithoutCounts)
    }
    migrator.registerMigration("by which policy documents were read") { database in
      try database.execute(sql: readingMarks)
    }
    migrator.registerMigration("why claims are held; whose opinions were released") { database in
      try database.execute(sql: holding)
    }
    migrator.registerMigration("volumes of lost origins") { database in
      try database.execute(sql: volumesOfAnyOrigin)
    }
    migrator.registerMigration("recalls of one source") { database in
      try database.execute(sql: "ALTER TABLE recalls ADD COLUMN of_source TEXT")
    }
    migrator.registerMigration("the federation gateway") { database in
      try database.execute(sql: federation)
    }
    migrator.registerMigration("batches pushed to destinations") { database in
      try database.execute(sql: pushing)
    }
    migrator.registerMigration("salts of the log's commitments") { database in
      try database.execute(sql: salts)
    }
    migrator.registerMigration("how bundles were made") { database in
      try database.execute(sql: recipes)
    }
    migrator.registerMigration(runsBegun) { database in
      try database.execute(sql: runs)
    }
    migrator.registerMigration("claims in runs") { database in
      while try moveClaims(in: database) {}
      try database.execute(sql: "DROP TABLE claims")
    }
    migrator.registerMigration("what a round has to look at") { database in
      try database.execute(sql: agenda)
      try noteClaims(in: database)
    }
    migrator.registerMigration("released keys in runs") { database in
      try database.execute(sql: releaseRuns)
    }
    migrator.registerMigration("heads of public logs") { database in
      try database.execute(sql: logHeads)
    }
    migrator.registerMigration("tokens that were used") { database in
      try database.execute(sql: usedTokens)
    }
    migrator.registerMigration("what uploads showed") { database in
      try database.execute(sql: uploadStandings)
    }
    return migrator
  }

  /// What lets in once. Whose it was, nothing says.
  private static let usedTokens = """
    CREATE TABLE used_tokens (
      digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
      until INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX used_tokens_by_end ON used_tokens (until);
    """

  /// What the uploads of a source showed; see ``UploadStanding``.
  private static let uploadStandings = """
    ALTER TABLE claim_sources ADD COLUMN upload TEXT CHECK (upload IN ('proven', 'copy'));
    DROP INDEX claim_sources_by_value;
    CREATE UNIQUE INDEX claim_sources_by_value ON claim_sources (
      name, is_relay, ifnull(carries, ''), origin IS NULL, ifnull(origin, ''), vouched_by, ifnull(signed_by, ''),
      ifnull(host, ''), ifnull(upload, ''));
    """

  /// Claims in runs: `id` of a block is the number of its run, and the first four bytes of key data from which on it has
  /// claims. The page of KeyStorage about segments says what the bytes are.
  private static let runs = """
    CREATE TABLE claim_runs (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      claims INTEGER NOT NULL CHECK (claims >= 0),
      -- The interval before which no claim of it ends.
      first_end INTEGER NOT NULL,
      has_filters INTEGER NOT NULL CHECK (has_filters IN (0, 1)),
      -- The run into which it is being merged.
      target INTEGER,
      -- How far expiry has come in it.
      sweep INTEGER CHECK (sweep BETWEEN 0 AND 4294967295),
      sweep_end INTEGER,
      CHECK (target <> id),
      CHECK ((sweep IS NULL) = (sweep_end IS NULL))
    ) STRICT;

    CREATE TABLE claim_blocks (
      id INTEGER PRIMARY KEY CHECK (id > 0),
      claims BLOB NOT NULL
    ) STRICT;

    CREATE TABLE claim_filters (
      id INTEGER PRIMARY KEY CHECK (id > 0),
      filter BLOB NOT NULL
    ) STRICT;

    """

  /// What was signed of a public log only goes forward: no size of it has two checkpoints, whoever writes.
  private static let logHeads = """
    CREATE TABLE log_heads (
      name TEXT PRIMARY KEY,
      size INTEGER NOT NULL CHECK (size >= 0),
      root TEXT NOT NULL,
      key TEXT NOT NULL,
      signed BLOB NOT NULL,
      pending BLOB
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER log_heads_go_forward BEFORE UPDATE ON log_heads
    WHEN NEW.name <> OLD.name OR NEW.key <> OLD.key OR NEW.size < OLD.size
      OR (NEW.size = OLD.size AND NEW.root <> OLD.root)
    BEGIN
      SELECT RAISE(ABORT, 'a log only goes forward');
    END;
    CREATE TRIGGER log_heads_stay BEFORE DELETE ON log_heads BEGIN
      SELECT RAISE(ABORT, 'a log only goes forward');
    END;
    """

  /// What series release is kept as claims are. What was released before stays in its table until it expires.
  private static let releaseRuns = """
    CREATE TABLE release_runs (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      series INTEGER NOT NULL REFERENCES series (id),
      claims INTEGER NOT NULL CHECK (claims >= 0),
      first_end INTEGER NOT NULL,
      has_filters INTEGER NOT NULL CHECK (has_filters IN (0, 1)),
      target INTEGER,
      sweep INTEGER CHECK (sweep BETWEEN 0 AND 4294967295),
      sweep_end INTEGER,
      CHECK (target <> id),
      CHECK ((sweep IS NULL) = (sweep_end IS NULL))
    ) STRICT;
    CREATE INDEX release_runs_by_series ON release_runs (series);

    CREATE TABLE release_blocks (
      id INTEGER PRIMARY KEY CHECK (id > 0),
      claims BLOB NOT NULL
    ) STRICT;

    CREATE TABLE release_filters (
      id INTEGER PRIMARY KEY CHECK (id > 0),
      filter BLOB NOT NULL
    ) STRICT;

    -- Whose opinions were in first releases, the names with commas between them.
    CREATE TABLE release_origins (
      id INTEGER PRIMARY KEY CHECK (id > 0),
      names TEXT NOT NULL UNIQUE
    ) STRICT;
    """

  // Instants are whole seconds since 1970.

  private static let receiving = """
    CREATE TABLE sources (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      cursor TEXT,
      last_attempt INTEGER,
      last_success INTEGER,
      failures INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
      next_attempt INTEGER,
      fault_code TEXT,
      fault_reason TEXT,
      CHECK ((fault_code IS NULL) = (fault_reason IS NULL))
    ) STRICT;

    CREATE TABLE documents (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      source INTEGER NOT NULL REFERENCES sources (id),
      name TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('discovered', 'fetching', 'recorded', 'quarantined', 'given-up')),
      fault_code TEXT,
      fault_reason TEXT,
      attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
      next_attempt INTEGER,
      discovered INTEGER NOT NULL,
      changed INTEGER NOT NULL,
      -- What it was, once it is recorded; the rejections and allowances are JSON objects of counts by code.
      byte_count INTEGER CHECK (byte_count >= 0),
      digest TEXT,
      entity_tag TEXT,
      last_modified TEXT,
      format TEXT,
      vouched_by TEXT,
      received INTEGER CHECK (received >= 0),
      new INTEGER CHECK (new >= 0),
      known INTEGER CHECK (known >= 0),
      held INTEGER CHECK (held >= 0),
      rejections TEXT CHECK (rejections IS NULL OR json_valid(rejections)),
      allowances TEXT CHECK (allowances IS NULL OR json_valid(allowances)),
      UNIQUE (source, name),
      CHECK ((fault_code IS NULL) = (fault_reason IS NULL)),
      CHECK (fault_code IS NULL OR state IN ('quarantined', 'given-up')),
      CHECK ((digest IS NULL) = (byte_count IS NULL) AND (digest IS NULL) = (format IS NULL)
        AND (digest IS NULL) = (received IS NULL) AND (digest IS NULL) = (new IS NULL)
        AND (digest IS NULL) = (known IS NULL) AND (digest IS NULL) = (held IS NULL)
        AND (digest IS NULL) = (rejections IS NULL) AND (digest IS NULL) = (allowances IS NULL))
    ) STRICT;
    CREATE INDEX documents_by_state ON documents (source, state);

    CREATE TABLE contents (
      document INTEGER PRIMARY KEY REFERENCES documents (id),
      until INTEGER NOT NULL,
      bytes BLOB NOT NULL
    ) STRICT;

    CREATE TABLE pauses (
      kind TEXT NOT NULL CHECK (kind IN ('source', 'origin')),
      name TEXT NOT NULL,
      since INTEGER NOT NULL,
      reason TEXT,
      PRIMARY KEY (kind, name)
    ) STRICT, WITHOUT ROWID;

    """

  private static let events = """
    -- Whatever happened. A number is never given twice, also when the last events are gone.
    CREATE TABLE events (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      time INTEGER NOT NULL,
      kind TEXT NOT NULL,
      subject TEXT NOT NULL,
      who TEXT,
      why TEXT,
      CHECK (why IS NULL OR who IS NOT NULL)
    ) STRICT;

    -- What waits for the transparency log.
    CREATE TABLE log_queue (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      event INTEGER NOT NULL REFERENCES events (id),
      kind TEXT NOT NULL,
      bytes BLOB NOT NULL
    ) STRICT;
    CREATE INDEX log_queue_by_event ON log_queue (event);

    -- That an upload came, and not what was in it. The certificate is the digest of it.
    CREATE TABLE uploads (
      id INTEGER PRIMARY KEY,
      event INTEGER NOT NULL REFERENCES events (id),
      door INTEGER NOT NULL REFERENCES sources (id),
      regions TEXT NOT NULL CHECK (json_valid(regions)),
      certificate TEXT,
      received INTEGER NOT NULL CHECK (received >= 0),
      new INTEGER NOT NULL CHECK (new >= 0)
    ) STRICT;
    CREATE INDEX uploads_by_certificate ON uploads (certificate);
    CREATE INDEX uploads_by_event ON uploads (event);

    """

  /// The events that stores of the first version can still tell: when claims came in, were withdrawn, and who stands
  /// still. They are put in the order of their times, and never before what had a smaller number, whatever the clock did.
  private static let history = """
    CREATE TEMPORARY TABLE history AS
      SELECT row_number() OVER (ORDER BY latest, rank, old) AS event, kind, old, time, subject FROM (
        SELECT max(arrivals.time) OVER (ORDER BY arrivals.id) AS latest, 1 AS rank, 'recorded' AS kind,
          arrivals.id AS old, arrivals.time AS time, sources.name || '/' || documents.name AS subject
        FROM arrivals JOIN documents ON documents.id = arrivals.document JOIN sources ON sources.id = documents.source
        UNION ALL
        SELECT max(time) OVER (ORDER BY id), 2, 'recalled', id, time, 'origin ' || origin FROM recalls
        UNION ALL
        SELECT since, 3, 'paused', NULL, since, kind || ' ' || name FROM pauses);

    INSERT INTO events (id, time, kind, subject) SELECT event, time, kind, subject FROM history ORDER BY event;

    """

  private static let arrivals = """
    CREATE TABLE new_arrivals (
      id INTEGER PRIMARY KEY,
      document INTEGER NOT NULL REFERENCES documents (id),
      event INTEGER NOT NULL REFERENCES events (id),
      time INTEGER NOT NULL,
      UNIQUE (document, event)
    ) STRICT;
    INSERT INTO new_arrivals
      SELECT arrivals.id, arrivals.document, history.event, arrivals.time
      FROM arrivals JOIN history ON history.kind = 'recorded' AND history.old = arrivals.id;
    DROP TABLE arrivals;
    ALTER TABLE new_arrivals RENAME TO arrivals;
    CREATE INDEX arrivals_by_event ON arrivals (event);

    CREATE TABLE new_recalls (
      id INTEGER PRIMARY KEY,
      origin TEXT NOT NULL,
      since INTEGER,
      document INTEGER,
      event INTEGER NOT NULL REFERENCES events (id),
      time INTEGER NOT NULL,
      claims INTEGER NOT NULL CHECK (claims >= 0),
      who TEXT,
      why TEXT,
      CHECK (why IS NULL OR who IS NOT NULL)
    ) STRICT;
    INSERT INTO new_recalls
      SELECT recalls.id, origin, since, document, history.event, recalls.time, claims, NULL, NULL
      FROM recalls JOIN history ON history.kind = 'recalled' AND history.old = recalls.id;
    DROP TABLE recalls;
    ALTER TABLE new_recalls RENAME TO recalls;
    CREATE INDEX recalls_by_event ON recalls (event);

    ALTER TABLE pauses ADD COLUMN who TEXT;
    DROP TABLE history;
    """

  /// `said` packs what a claim states beside its start; see ``ClaimWords``. Origin, source and regions are numbers of
  /// names. The tables of keys declare no foreign keys, because each would cost a search for every key: their numbers
  /// are only ever looked up or given in the transaction that writes them.
  private static let claims = """
    -- 0 is the origin that was lost.
    CREATE TABLE origins (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE
    ) STRICT;

    -- Sets of visited regions, as JSON arrays; 0 stands for none named.
    CREATE TABLE regions (
      id INTEGER PRIMARY KEY CHECK (id > 0),
      names TEXT NOT NULL UNIQUE CHECK (json_valid(names))
    ) STRICT;

    -- The doors through which claims came. Nobody signed where the operator vouches.
    CREATE TABLE claim_sources (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL,
      is_relay INTEGER NOT NULL CHECK (is_relay IN (0, 1)),
      origin TEXT,
      signed_by TEXT
    ) STRICT;
    CREATE UNIQUE INDEX claim_sources_by_value ON claim_sources (
      name, is_relay, origin IS NULL, ifnull(origin, ''), signed_by IS NULL, ifnull(signed_by, ''));

    -- The arrivals of claims: those of one document at one time.
    CREATE TABLE arrivals (
      id INTEGER PRIMARY KEY,
      document INTEGER NOT NULL REFERENCES documents (id),
      time INTEGER NOT NULL,
      UNIQUE (document, time)
    ) STRICT;

    -- How many claims of an origin were new in an arrival.
    CREATE TABLE volumes (
      arrival INTEGER NOT NULL REFERENCES arrivals (id),
      origin INTEGER NOT NULL REFERENCES origins (id),
      claims INTEGER NOT NULL CHECK (claims > 0),
      PRIMARY KEY (arrival, origin)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE recalls (
      id INTEGER PRIMARY KEY,
      origin TEXT NOT NULL,
      since INTEGER,
      document INTEGER,
      time INTEGER NOT NULL,
      claims INTEGER NOT NULL CHECK (claims >= 0)
    ) STRICT;

    -- A claim is its own primary key, so that it is there once whoever brings it how often.
    CREATE TABLE claims (
      key BLOB NOT NULL CHECK (length(key) = 16),
      rolling_start INTEGER NOT NULL CHECK (rolling_start BETWEEN 0 AND 2147483647),
      said INTEGER NOT NULL CHECK (\(ClaimWords.check)),
      origin INTEGER NOT NULL CHECK (origin >= 0),
      source INTEGER NOT NULL CHECK (source >= 0),
      regions INTEGER NOT NULL CHECK (regions >= 0),
      arrival INTEGER NOT NULL,
      -- The recall that withdrew it.
      recall INTEGER,
      PRIMARY KEY (key, rolling_start, said, origin, source, regions)
    ) STRICT, WITHOUT ROWID;

    -- Claims that an operator has to decide about.
    CREATE TABLE held (
      document INTEGER NOT NULL,
      key BLOB NOT NULL CHECK (length(key) = 16),
      rolling_start INTEGER NOT NULL CHECK (rolling_start BETWEEN 0 AND 2147483647),
      said INTEGER NOT NULL CHECK (\(ClaimWords.check)),
      origin INTEGER NOT NULL CHECK (origin >= 0),
      source INTEGER NOT NULL CHECK (source >= 0),
      regions INTEGER NOT NULL CHECK (regions >= 0),
      PRIMARY KEY (document, key, rolling_start, said, origin, source, regions)
    ) STRICT, WITHOUT ROWID;

    -- How many claims there are that no recall withdrew, because counting them takes seconds.
    CREATE TABLE totals (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      claims INTEGER NOT NULL CHECK (claims >= 0)
    ) STRICT;
    INSERT INTO totals VALUES (1, 0);

    """

  /// Who stands behind a source's claims. Before this step nobody but a signer was told apart, so a source without one
  /// is the operator's word.
  private static let vouching = """
    ALTER TABLE claim_sources ADD COLUMN vouched_by TEXT NOT NULL DEFAULT 'operator'
      CHECK (vouched_by IN ('signature', 'host', 'origins', 'operator'));
    ALTER TABLE claim_sources ADD COLUMN host TEXT
      CHECK ((host IS NULL) = (vouched_by <> 'host'));
    UPDATE claim_sources SET vouched_by = 'signature' WHERE signed_by IS NOT NULL;
    DROP INDEX claim_sources_by_value;
    CREATE UNIQUE INDEX claim_sources_by_value ON claim_sources (
      name, is_relay, origin IS NULL, ifnull(origin, ''), vouched_by, ifnull(signed_by, ''), ifnull(host, ''));
    """

  /// Whose keys a relay may carry, as a JSON array; NULL is anybody's. And what is held is found by its key, because it
  /// counts for how long keys are valid.
  private static let carrying = """
    ALTER TABLE claim_sources ADD COLUMN carries TEXT CHECK (carries IS NULL OR (is_relay = 1 AND json_valid(carries)));
    DROP INDEX claim_sources_by_value;
    CREATE UNIQUE INDEX claim_sources_by_value ON claim_sources (
      name, is_relay, ifnull(carries, ''), origin IS NULL, ifnull(origin, ''), vouched_by, ifnull(signed_by, ''),
      ifnull(host, ''));
    CREATE INDEX held_by_key ON held (key);
    """

  /// Why a claim is put aside and since which event; before this step all are of the first one. And whose opinions were in
  /// a key's first release, the names with commas between them; NULL where nobody noted it.
  private static let holding = """
    ALTER TABLE held ADD COLUMN event INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE held ADD COLUMN reason TEXT NOT NULL DEFAULT 'flood';
    ALTER TABLE released ADD COLUMN origins TEXT;
    """

  /// Keys whose origin is lost are counted, too, for the source of their document. What came before counts as usual.
  private static let volumesOfAnyOrigin = """
    CREATE TABLE volumes_of_any_origin (
      arrival INTEGER NOT NULL REFERENCES arrivals (id),
      -- 0 is the origin that was lost.
      origin INTEGER NOT NULL CHECK (origin >= 0),
      claims INTEGER NOT NULL CHECK (claims > 0),
      PRIMARY KEY (arrival, origin)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO volumes_of_any_origin SELECT arrival, origin, claims FROM volumes;
    INSERT INTO volumes_of_any_origin
      SELECT arrival, 0, count(*) FROM claims WHERE origin = 0 AND recall IS NULL GROUP BY arrival;
    DROP TABLE volumes;
    ALTER TABLE volumes_of_any_origin RENAME TO volumes;
    """

  /// Batches of own keys for federation gateways, whole as they are sent while nobody knows whether they were taken; and
  /// what each gateway was told of each key. `visited` is a JSON array.
  private static let pushing = """
    CREATE TABLE destinations (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE
    ) STRICT;

    CREATE TABLE pushes (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      destination INTEGER NOT NULL REFERENCES destinations (id),
      tag TEXT NOT NULL,
      signature TEXT NOT NULL,
      media_type TEXT NOT NULL,
      key_count INTEGER NOT NULL CHECK (key_count >= 0),
      digest TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('staged', 'settled', 'withdrawn')),
      staged INTEGER NOT NULL,
      changed INTEGER NOT NULL,
      bytes BLOB,
      UNIQUE (destination, tag)
    ) STRICT;
    CREATE INDEX pushes_by_state ON pushes (destination, state);

    CREATE TABLE pushed_keys (
      destination INTEGER NOT NULL,
      key BLOB NOT NULL CHECK (length(key) = 16),
      rolling_start INTEGER NOT NULL,
      rolling_period INTEGER NOT NULL,
      transmission_risk INTEGER NOT NULL,
      report_type INTEGER NOT NULL,
      days_since_onset INTEGER NOT NULL,
      visited TEXT NOT NULL CHECK (json_valid(visited)),
      state TEXT NOT NULL CHECK (state IN ('pending', 'batched', 'stored', 'refused')),
      push INTEGER,
      position INTEGER NOT NULL CHECK (position >= 0),
      stored_type INTEGER,
      failures INTEGER NOT NULL CHECK (failures >= 0),
      reason TEXT,
      changed INTEGER NOT NULL,
      PRIMARY KEY (destination, key, rolling_start)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX pushed_keys_in_batches ON pushed_keys (push) WHERE state = 'batched';
    """

  private static let publishing = """
    CREATE TABLE series (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE
    ) STRICT;

    CREATE TABLE bundles (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      series INTEGER NOT NULL REFERENCES series (id),
      kind TEXT NOT NULL CHECK (kind IN ('increment', 'day', 'since')),
      ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
      start_time INTEGER NOT NULL,
      end_time INTEGER NOT NULL,
      path TEXT NOT NULL,
      key_count INTEGER NOT NULL CHECK (key_count >= 0),
      revised_key_count INTEGER NOT NULL CHECK (revised_key_count >= 0),
      byte_count INTEGER NOT NULL CHECK (byte_count >= 0),
      archive_digest TEXT NOT NULL,
      export_digest TEXT NOT NULL,
      key_id TEXT NOT NULL,
      key_version TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('staged', 'published', 'expired', 'removed')),
      changed INTEGER NOT NULL,
      published INTEGER,
      UNIQUE (series, kind, ordinal)
    ) STRICT;

    CREATE TABLE bundle_contents (
      bundle INTEGER PRIMARY KEY REFERENCES bundles (id),
      bytes BLOB NOT NULL
    ) STRICT;

    -- Keys as a series has released them last; `fields` tells which of the words are stated.
    CREATE TABLE released (
      series INTEGER NOT NULL,
      key BLOB NOT NULL CHECK (length(key) = 16),
      rolling_start INTEGER NOT NULL,
      rolling_period INTEGER NOT NULL,
      transmission_risk INTEGER NOT NULL,
      report_type INTEGER NOT NULL,
      days_since_onset INTEGER NOT NULL,
      fields INTEGER NOT NULL CHECK (fields BETWEEN 0 AND 63),
      bundle INTEGER NOT NULL,
      revisions INTEGER NOT NULL CHECK (revisions >= 0),
      PRIMARY KEY (series, key, rolling_start)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE notes (
      name TEXT PRIMARY KEY,
      value BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  /// How many keys an upload had tells who it was.
  private static let uploadsWithoutCounts = """

    ALTER TABLE uploads DROP COLUMN received;
    ALTER TABLE uploads DROP COLUMN new;
    """

  /// Which kinds there are is said by ``BundleKind``, and no table repeats it.
  private static let bundlesOfAnyKind = """
    CREATE TABLE bundles_of_any_kind (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      series INTEGER NOT NULL REFERENCES series (id),
      kind TEXT NOT NULL CHECK (kind <> ''),
      ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
      start_time INTEGER NOT NULL,
      end_time INTEGER NOT NULL,
      path TEXT NOT NULL,
      key_count INTEGER NOT NULL CHECK (key_count >= 0),
      revised_key_count INTEGER NOT NULL CHECK (revised_key_count >= 0),
      byte_count INTEGER NOT NULL CHECK (byte_count >= 0),
      archive_digest TEXT NOT NULL,
      export_digest TEXT NOT NULL,
      key_id TEXT NOT NULL,
      key_version TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('staged', 'published', 'expired', 'removed')),
      changed INTEGER NOT NULL,
      published INTEGER,
      UNIQUE (series, kind, ordinal)
    ) STRICT;
    INSERT INTO bundles_of_any_kind SELECT * FROM bundles;
    DROP TABLE bundles;
    ALTER TABLE bundles_of_any_kind RENAME TO bundles;
    """

  /// Documents that were recorded before do not know.
  private static let readingMarks = """
    ALTER TABLE documents ADD COLUMN read_by TEXT;
    ALTER TABLE documents ADD COLUMN read_digest TEXT;
    ALTER TABLE documents ADD COLUMN read_at INTEGER
      CHECK ((read_by IS NULL) = (read_at IS NULL) AND (read_digest IS NULL) = (read_at IS NULL));
    """

  /// Without its salt a commitment of the log says nothing. It goes with the evidence, whichever way that goes.
  private static let salts = """
    CREATE TABLE salts (
      document INTEGER PRIMARY KEY REFERENCES contents (document) ON DELETE CASCADE,
      salt BLOB NOT NULL CHECK (length(salt) = 32)
    ) STRICT;
    """

  /// What making a bundle again needs beside the claims: what its event had in common, what is its own, and with which
  /// bundle a key was released first. The three columns are NULL of keys about which nothing came later; `earlier` is what
  /// the first release said: period, risk, report type, onset, fields.
  private static let recipes = """
    CREATE TABLE stagings (
      event INTEGER PRIMARY KEY REFERENCES events (id),
      -- The bundles with the lowest and the highest number.
      first_bundle INTEGER NOT NULL REFERENCES bundles (id),
      last_bundle INTEGER NOT NULL REFERENCES bundles (id),
      recipe BLOB NOT NULL
    ) STRICT;

    CREATE TABLE recipes (
      bundle INTEGER PRIMARY KEY REFERENCES bundles (id),
      staging INTEGER NOT NULL REFERENCES stagings (event),
      recipe BLOB NOT NULL
    ) STRICT;

    ALTER TABLE released ADD COLUMN first_bundle INTEGER;
    ALTER TABLE released ADD COLUMN revision_bundle INTEGER;
    ALTER TABLE released ADD COLUMN earlier TEXT;
    """

  private static let federation = """
    -- What others download; closed from the moment on at which it is made.
    CREATE TABLE federation_batches (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      -- Days since 1970.
      day INTEGER NOT NULL,
      number INTEGER NOT NULL CHECK (number > 0),
      made INTEGER NOT NULL,
      until INTEGER NOT NULL,
      UNIQUE (day, number)
    ) STRICT;

    -- What national back ends uploaded, with the audit entry. The keys are those of a protobuf batch, as they are passed
    -- on; NULL where one of them was erased.
    CREATE TABLE federation_uploads (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      document INTEGER NOT NULL REFERENCES documents (id),
      country TEXT NOT NULL,
      tag TEXT NOT NULL,
      signature TEXT NOT NULL,
      canonical TEXT NOT NULL,
      time INTEGER NOT NULL,
      until INTEGER NOT NULL,
      key_count INTEGER NOT NULL CHECK (key_count >= 0),
      batch INTEGER REFERENCES federation_batches (id),
      withdrawal TEXT CHECK (withdrawal IN ('recalled', 'discarded', 'erased')),
      audit BLOB NOT NULL,
      keys BLOB,
      UNIQUE (tag, country)
    ) STRICT;
    CREATE INDEX federation_uploads_by_batch ON federation_uploads (batch, id);
    CREATE INDEX federation_uploads_by_document ON federation_uploads (document);

    -- The digests of all keys' rows, by which a key is known that comes a second time.
    CREATE TABLE federation_rows (
      digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
      upload INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX federation_rows_by_upload ON federation_rows (upload);

    -- How much came, when nothing else of it is kept any more.
    CREATE TABLE federation_days (
      day INTEGER NOT NULL,
      country TEXT NOT NULL,
      uploads INTEGER NOT NULL CHECK (uploads >= 0),
      keys INTEGER NOT NULL CHECK (keys >= 0),
      PRIMARY KEY (day, country)
    ) STRICT, WITHOUT ROWID;
    """
}
