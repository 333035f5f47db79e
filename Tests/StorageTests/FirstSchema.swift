/// What a store of the first version looks like, word for word.
enum FirstSchema {
  static let tables = """
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
      said INTEGER NOT NULL CHECK (said BETWEEN 1 AND 268435455 AND said & 255 BETWEEN 1 AND 144 AND (said >> 8) & 15 <= 9
        AND (said >> 12) & 7 <= 6 AND (said >> 15) & 4095 <= 4029),
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
      said INTEGER NOT NULL CHECK (said BETWEEN 1 AND 268435455 AND said & 255 BETWEEN 1 AND 144 AND (said >> 8) & 15 <= 9
        AND (said >> 12) & 7 <= 6 AND (said >> 15) & 4095 <= 4029),
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

  /// Two batches of DE and IT; a recall that withdrew what DE said in the first; a claim that is held; a pause; a bundle.
  ///
  /// `said` is a rolling period of 144 with a transmission risk of 3 or 5.
  static let content = """
    PRAGMA application_id = 1262899801;
    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
    INSERT INTO grdb_migrations VALUES ('claims, documents, bundles');

    INSERT INTO sources (id, name, cursor, last_attempt, last_success) VALUES (1, 'efgs', 'tag-3', 5000, 5000);
    INSERT INTO documents (id, source, name, state, discovered, changed, byte_count, digest, format, vouched_by, received,
      new, known, held, rejections, allowances)
      VALUES (1, 1, 'batch-1', 'recorded', 1000, 2000, 10, 'aa', 'efgs-batch', 'operator', 3, 2, 0, 1, '{}', '{}'),
        (2, 1, 'batch-2', 'recorded', 3000, 4000, 10, 'bb', 'efgs-batch', 'operator', 2, 2, 0, 0, '{}', '{}');
    INSERT INTO contents VALUES (1, 9000000000, x'0102');
    INSERT INTO pauses VALUES ('origin', 'ES', 4500, 'poisoned');

    INSERT INTO origins VALUES (1, 'DE'), (2, 'IT');
    INSERT INTO regions VALUES (1, '["DE","NL"]');
    INSERT INTO claim_sources VALUES (0, 'efgs', 0, NULL, 'efgs');
    INSERT INTO arrivals VALUES (1, 1, 2000), (2, 2, 4000);
    INSERT INTO volumes VALUES (1, 2, 1), (2, 1, 1), (2, 2, 1);
    INSERT INTO recalls VALUES (1, 'DE', NULL, 1, 3500, 1);
    INSERT INTO claims VALUES (x'00000000000000010000000000000001', 2670000, 144 | (4 << 8), 1, 0, 1, 1, 1),
      (x'00000000000000010000000000000002', 2670000, 144 | (4 << 8), 2, 0, 0, 1, NULL),
      (x'00000000000000010000000000000003', 2670000, 144 | (6 << 8), 1, 0, 0, 2, NULL),
      (x'00000000000000010000000000000004', 2670000, 144 | (6 << 8), 2, 0, 1, 2, NULL);
    INSERT INTO held VALUES (1, x'00000000000000010000000000000005', 2670000, 144, 2, 0, 0);
    UPDATE totals SET claims = 3;

    INSERT INTO series VALUES (1, 'NL');
    INSERT INTO bundles VALUES (1, 1, 'increment', 0, 0, 7200, 'NL/0.zip', 1, 0, 3, 'cc', 'dd', '204', 'v1', 'staged', 4000,
      NULL);
    INSERT INTO bundle_contents VALUES (1, x'070809');
    INSERT INTO released VALUES (1, x'00000000000000010000000000000002', 2670000, 144, 3, 0, 0, 7, 1, 0);
    INSERT INTO notes VALUES ('publishing/series/NL', x'7b7d');
    """
}
