internal import KeyNormalization

/// The tables of a store, for both databases.
///
/// The text below has four words that each database spells in its own way: `int`, `text`, `blob`, and `numbered`, the number of a
/// row that is never given twice. A table that ends with `keyed` is found by its primary key alone. Numbers count up in the order
/// in which transactions are kept, and texts are in the order of their bytes.
package enum StoreSchema {
  /// Of the tables. A store of another version is refused: it is begun anew and pulled again.
  package static let version: Int64 = 102

  /// The tables whose rows are numbered.
  package static let numbered: [String] = text.matches(of: #/CREATE TABLE (\w+) \(\n  id numbered/#).map {
    String($0.output.1)
  }

  package static func script(for dialect: SQLDialect) -> String {
    text.replacing(#/\b(numbered|int|text|blob)\b/#) { match in
      switch (dialect, match.output.0) {
      case (.sqlite, "numbered"): "INTEGER PRIMARY KEY AUTOINCREMENT"
      case (.sqlite, "int"): "INTEGER"
      case (.sqlite, "text"): "TEXT"
      case (.sqlite, "blob"): "BLOB"
      case (.postgresql, "numbered"): "bigint PRIMARY KEY"
      case (.postgresql, "int"): "bigint"
      case (.postgresql, "text"): "text COLLATE \"C\""
      case (.postgresql, "blob"): "bytea"
      default: String(match.output.0)
      }
    }.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      switch (dialect, line) {
      case (.sqlite, ");"): ") STRICT;"
      case (.sqlite, ") keyed;"): ") STRICT, WITHOUT ROWID;"
      case (.postgresql, ") keyed;"): ");"
      default: String(line)
      }
    }.joined(separator: "\n") + "\n" + StoreViews.script(for: dialect)
  }

  /// Which integers are the bits of a ``Statement``. The list of report types may grow, so each of its bits is let through.
  ///
  /// Each is a constraint of its own: PostgreSQL writes several in one differently once they have gone through a dump.
  private static let statementChecks =
    "CHECK (said BETWEEN 1 AND \(Statement.highest))"
    + Statement.Field.allCases.map { field in
      let highest = field == .reportType ? field.mask : field.highestNumber
      return " CHECK (said >> \(field.shift) & \(field.mask) BETWEEN \(field.isRequired ? 1 : 0) AND \(highest))"
    }.joined()

  private static let text = """
    CREATE TABLE sources (
      id numbered,
      name text NOT NULL UNIQUE,
      cursor text,
      last_attempt int,
      last_success int,
      failures int NOT NULL DEFAULT 0 CHECK (failures >= 0),
      next_attempt int,
      fault_code text,
      fault_reason text,
      CHECK ((fault_code IS NULL) = (fault_reason IS NULL))
    );

    CREATE TABLE documents (
      id numbered,
      source int NOT NULL REFERENCES sources (id),
      name text NOT NULL,
      state text NOT NULL
        CHECK (state IN ('discovered', 'fetching', 'recorded', 'quarantined', 'given-up')),
      fault_code text,
      fault_reason text,
      attempts int NOT NULL DEFAULT 0 CHECK (attempts >= 0),
      next_attempt int,
      discovered int NOT NULL,
      changed int NOT NULL,
      byte_count int CHECK (byte_count >= 0),
      digest text,
      entity_tag text,
      last_modified text,
      format text,
      vouched_by text,
      received int CHECK (received >= 0),
      new int CHECK (new >= 0),
      known int CHECK (known >= 0),
      held int CHECK (held >= 0),
      -- JSON objects of counts by code.
      rejections text,
      allowances text,
      read_by text,
      read_digest text,
      read_at int CHECK ((read_by IS NULL) = (read_at IS NULL) AND (read_digest IS NULL) = (read_at IS NULL)),
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
      document int PRIMARY KEY REFERENCES documents (id),
      until int NOT NULL,
      bytes blob NOT NULL
    );

    -- Without its salt a commitment of the log says nothing. It goes with the evidence, whichever way that goes.
    CREATE TABLE salts (
      document int PRIMARY KEY REFERENCES contents (document) ON DELETE CASCADE,
      salt blob NOT NULL CHECK (length(salt) = 32)
    );

    CREATE TABLE pauses (
      kind text NOT NULL CHECK (kind IN ('source', 'origin')),
      name text NOT NULL,
      since int NOT NULL,
      reason text,
      who text,
      PRIMARY KEY (kind, name)
    ) keyed;

    CREATE TABLE events (
      id numbered,
      time int NOT NULL,
      kind text NOT NULL,
      subject text NOT NULL,
      who text,
      why text,
      CHECK (why IS NULL OR who IS NOT NULL)
    );

    CREATE TABLE log_queue (
      id numbered,
      event int NOT NULL REFERENCES events (id),
      kind text NOT NULL,
      bytes blob NOT NULL
    );
    CREATE INDEX log_queue_by_event ON log_queue (event);

    CREATE TABLE uploads (
      id numbered,
      event int NOT NULL REFERENCES events (id),
      door int NOT NULL REFERENCES sources (id),
      regions text NOT NULL,
      certificate text
    );
    CREATE INDEX uploads_by_certificate ON uploads (certificate);
    CREATE INDEX uploads_by_event ON uploads (event);

    -- 0 is the origin that was lost.
    CREATE TABLE origins (
      id numbered,
      name text NOT NULL UNIQUE
    );
    CREATE TABLE regions (
      id numbered,
      names text NOT NULL UNIQUE
    );
    CREATE TABLE claim_sources (
      id numbered,
      name text NOT NULL,
      is_relay int NOT NULL CHECK (is_relay IN (0, 1)),
      origin text,
      signed_by text,
      vouched_by text NOT NULL CHECK (vouched_by IN ('signature', 'host', 'origins', 'operator')),
      host text CHECK ((host IS NULL) = (vouched_by <> 'host')),
      carries text CHECK (carries IS NULL OR is_relay = 1),
      upload text CHECK (upload IN ('proven', 'copy'))
    );
    CREATE UNIQUE INDEX claim_sources_by_value ON claim_sources (
      name, is_relay, coalesce(carries, ''), (origin IS NULL), coalesce(origin, ''), vouched_by, coalesce(signed_by, ''),
      coalesce(host, ''), coalesce(upload, ''));

    CREATE TABLE arrivals (
      id numbered,
      document int NOT NULL REFERENCES documents (id),
      event int NOT NULL REFERENCES events (id),
      time int NOT NULL,
      UNIQUE (document, event)
    );
    CREATE INDEX arrivals_by_event ON arrivals (event);

    CREATE TABLE volumes (
      arrival int NOT NULL REFERENCES arrivals (id),
      origin int NOT NULL CHECK (origin >= 0),
      claims int NOT NULL CHECK (claims > 0),
      PRIMARY KEY (arrival, origin)
    ) keyed;

    CREATE TABLE recalls (
      id numbered,
      origin text NOT NULL,
      since int,
      document int,
      event int NOT NULL REFERENCES events (id),
      time int NOT NULL,
      claims int NOT NULL CHECK (claims >= 0),
      who text,
      why text,
      of_source text,
      CHECK (why IS NULL OR who IS NOT NULL)
    );
    CREATE INDEX recalls_by_event ON recalls (event);

    CREATE TABLE held (
      document int NOT NULL,
      key blob NOT NULL CHECK (length(key) = 16),
      rolling_start int NOT NULL CHECK (rolling_start BETWEEN 0 AND 2147483647),
      said int NOT NULL \(statementChecks),
      origin int NOT NULL CHECK (origin >= 0),
      source int NOT NULL CHECK (source >= 0),
      regions int NOT NULL CHECK (regions >= 0),
      event int NOT NULL DEFAULT 0,
      reason text NOT NULL DEFAULT 'flood',
      PRIMARY KEY (document, key, rolling_start, said, origin, source, regions)
    ) keyed;
    CREATE INDEX held_by_key ON held (key);

    CREATE TABLE totals (
      id int PRIMARY KEY CHECK (id = 1),
      claims int NOT NULL CHECK (claims >= 0)
    );
    INSERT INTO totals VALUES (1, 0);

    -- What was said, each once. A claim refers to the arrival that brought it, and to the recall that withdrew it; 0 is none.
    CREATE TABLE claims (
      key blob NOT NULL CHECK (length(key) = 16),
      rolling_start int NOT NULL CHECK (rolling_start BETWEEN 0 AND 2147483647),
      said int NOT NULL \(statementChecks),
      origin int NOT NULL CHECK (origin BETWEEN 0 AND 2147483647),
      source int NOT NULL CHECK (source BETWEEN 0 AND 2147483647),
      regions int NOT NULL CHECK (regions BETWEEN 0 AND 2147483647),
      arrival int NOT NULL CHECK (arrival BETWEEN 1 AND 2147483647),
      recall int NOT NULL DEFAULT 0 CHECK (recall BETWEEN 0 AND 2147483647),
      PRIMARY KEY (key, rolling_start, said, origin, source, regions)
    ) keyed;

    CREATE TABLE series (
      id numbered,
      name text NOT NULL UNIQUE
    );

    CREATE TABLE bundles (
      id numbered,
      series int NOT NULL REFERENCES series (id),
      kind text NOT NULL CHECK (kind <> ''),
      ordinal int NOT NULL CHECK (ordinal >= 0),
      start_time int NOT NULL,
      end_time int NOT NULL,
      path text NOT NULL,
      key_count int NOT NULL CHECK (key_count >= 0),
      revised_key_count int NOT NULL CHECK (revised_key_count >= 0),
      byte_count int NOT NULL CHECK (byte_count >= 0),
      archive_digest text NOT NULL,
      export_digest text NOT NULL,
      key_id text NOT NULL,
      key_version text NOT NULL,
      state text NOT NULL CHECK (state IN ('staged', 'published', 'expired', 'removed')),
      changed int NOT NULL,
      published int,
      UNIQUE (series, kind, ordinal)
    );
    CREATE TABLE bundle_contents (
      bundle int PRIMARY KEY REFERENCES bundles (id),
      bytes blob NOT NULL
    );
    CREATE TABLE stagings (
      event int PRIMARY KEY REFERENCES events (id),
      first_bundle int NOT NULL REFERENCES bundles (id),
      last_bundle int NOT NULL REFERENCES bundles (id),
      recipe blob NOT NULL
    );
    CREATE TABLE recipes (
      bundle int PRIMARY KEY REFERENCES bundles (id),
      staging int NOT NULL REFERENCES stagings (event),
      recipe blob NOT NULL
    );

    CREATE TABLE released (
      series int NOT NULL,
      key blob NOT NULL CHECK (length(key) = 16),
      rolling_start int NOT NULL,
      rolling_period int NOT NULL,
      transmission_risk int NOT NULL,
      report_type int NOT NULL,
      days_since_onset int NOT NULL,
      fields int NOT NULL CHECK (fields BETWEEN 0 AND 63),
      bundle int NOT NULL,
      revisions int NOT NULL CHECK (revisions >= 0),
      origins text,
      first_bundle int,
      revision_bundle int,
      earlier text,
      PRIMARY KEY (series, key, rolling_start)
    ) keyed;

    CREATE TABLE notes (
      name text PRIMARY KEY,
      value blob NOT NULL
    ) keyed;

    CREATE TABLE destinations (
      id numbered,
      name text NOT NULL UNIQUE
    );
    CREATE TABLE pushes (
      id numbered,
      destination int NOT NULL REFERENCES destinations (id),
      tag text NOT NULL,
      signature text NOT NULL,
      media_type text NOT NULL,
      key_count int NOT NULL CHECK (key_count >= 0),
      digest text NOT NULL,
      state text NOT NULL CHECK (state IN ('staged', 'settled', 'withdrawn')),
      staged int NOT NULL,
      changed int NOT NULL,
      bytes blob,
      UNIQUE (destination, tag)
    );
    CREATE INDEX pushes_by_state ON pushes (destination, state);
    CREATE TABLE pushed_keys (
      destination int NOT NULL,
      key blob NOT NULL CHECK (length(key) = 16),
      rolling_start int NOT NULL,
      rolling_period int NOT NULL,
      transmission_risk int NOT NULL,
      report_type int NOT NULL,
      days_since_onset int NOT NULL,
      visited text NOT NULL,
      state text NOT NULL CHECK (state IN ('pending', 'batched', 'stored', 'refused')),
      push int,
      position int NOT NULL CHECK (position >= 0),
      stored_type int,
      failures int NOT NULL CHECK (failures >= 0),
      reason text,
      changed int NOT NULL,
      PRIMARY KEY (destination, key, rolling_start)
    ) keyed;
    CREATE INDEX pushed_keys_in_batches ON pushed_keys (push) WHERE state = 'batched';

    -- Key data that a round has to look at: what was noted of it since the last one, and what has ended since.
    CREATE TABLE agenda (
      -- The hour since 1970 before which its claims end; 0 is at once.
      hour int NOT NULL CHECK (hour >= 0),
      key blob NOT NULL CHECK (length(key) = 16),
      event int NOT NULL CHECK (event >= 0),
      PRIMARY KEY (hour, key)
    ) keyed;
    -- The same of a large batch, a row for each hour.
    CREATE TABLE agenda_lists (
      id numbered,
      hour int NOT NULL CHECK (hour >= 0),
      event int NOT NULL CHECK (event >= 0),
      keys blob NOT NULL CHECK (length(keys) > 0) CHECK (length(keys) % 16 = 0)
    );
    -- What was noted up to this event for hours up to this one is forgotten.
    CREATE TABLE agenda_floor (
      id int PRIMARY KEY CHECK (id = 1),
      event int NOT NULL,
      hour int NOT NULL
    );
    INSERT INTO agenda_floor VALUES (1, 0, -1);

    CREATE TABLE federation_batches (
      id numbered,
      day int NOT NULL,
      number int NOT NULL CHECK (number > 0),
      made int NOT NULL,
      until int NOT NULL,
      UNIQUE (day, number)
    );
    CREATE TABLE federation_uploads (
      id numbered,
      document int NOT NULL REFERENCES documents (id),
      country text NOT NULL,
      tag text NOT NULL,
      signature text NOT NULL,
      canonical text NOT NULL,
      time int NOT NULL,
      until int NOT NULL,
      key_count int NOT NULL CHECK (key_count >= 0),
      batch int REFERENCES federation_batches (id),
      withdrawal text CHECK (withdrawal IN ('recalled', 'discarded', 'erased')),
      audit blob NOT NULL,
      keys blob,
      UNIQUE (tag, country)
    );
    CREATE INDEX federation_uploads_by_batch ON federation_uploads (batch, id);
    CREATE INDEX federation_uploads_by_document ON federation_uploads (document);
    CREATE TABLE federation_rows (
      digest blob PRIMARY KEY CHECK (length(digest) = 32),
      upload int NOT NULL
    ) keyed;
    CREATE INDEX federation_rows_by_upload ON federation_rows (upload);
    CREATE TABLE federation_days (
      day int NOT NULL,
      country text NOT NULL,
      uploads int NOT NULL CHECK (uploads >= 0),
      keys int NOT NULL CHECK (keys >= 0),
      PRIMARY KEY (day, country)
    ) keyed;

    -- What lets in once. Nothing says whose it was.
    CREATE TABLE used_tokens (
      digest blob PRIMARY KEY CHECK (length(digest) = 32),
      until int NOT NULL
    ) keyed;
    CREATE INDEX used_tokens_by_end ON used_tokens (until);

    -- What was signed of a public log only goes forward; each database sees to that with triggers of its own.
    CREATE TABLE log_heads (
      name text PRIMARY KEY,
      size int NOT NULL CHECK (size >= 0),
      root text NOT NULL,
      key text NOT NULL,
      signed blob NOT NULL,
      pending blob
    ) keyed;
    """
}
