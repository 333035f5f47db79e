internal import KeyNormalization

/// What operators and analysts read of a store with `sqlite3` or `psql`.
///
/// Tables change with versions, and these views do not: another meaning or another column is a view of its own with the next number.
/// None shows the key data of a claim that is held or withdrawn.
package enum StoreViews {
  package static let names = ["keys_v1", "released_v1", "bundles_v1", "documents_v1", "held_v1"]

  static func script(for dialect: SQLDialect) -> String {
    func time(_ seconds: String) -> String {
      switch dialect {
      case .sqlite: "strftime('%Y-%m-%dT%H:%M:%SZ', \(seconds), 'unixepoch')"
      case .postgresql: "to_char(to_timestamp(\(seconds)) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
      }
    }
    func day(ofInterval interval: String) -> String {
      switch dialect {
      case .sqlite: "date(\(interval) * 600, 'unixepoch')"
      case .postgresql: "to_char(to_timestamp(\(interval) * 600) AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
      }
    }
    func said(_ field: Statement.Field) -> String {
      "nullif((claims.said >> \(field.shift)) & \(field.mask), 0) + (\(field.lowest - 1))"
    }
    func released(_ column: String, _ field: Int) -> String {
      "CASE WHEN released.fields & \(field) <> 0 THEN released.\(column) END AS \(column)"
    }
    return """
      CREATE VIEW keys_v1 AS SELECT
        claims.key, claims.rolling_start, \(said(.rollingPeriod)) AS rolling_period,
        \(said(.transmissionRisk)) AS transmission_risk, \(said(.reportType)) AS report_type,
        \(said(.daysSinceOnset)) AS days_since_onset, \(day(ofInterval: "claims.rolling_start")) AS day,
        origins.name AS origin, regions.names AS regions, claim_sources.name AS source, claim_sources.vouched_by,
        documents.name AS document, \(time("arrivals.time")) AS arrived
      FROM claims JOIN claim_sources ON claim_sources.id = claims.source JOIN arrivals ON arrivals.id = claims.arrival
        JOIN documents ON documents.id = arrivals.document LEFT JOIN origins ON origins.id = claims.origin
        LEFT JOIN regions ON regions.id = claims.regions
      WHERE claims.recall = 0;

      CREATE VIEW released_v1 AS SELECT
        series.name AS series, released.key, released.rolling_start, \(released("rolling_period", 2)),
        \(released("transmission_risk", 4)), \(released("report_type", 8)), \(released("days_since_onset", 16)),
        \(day(ofInterval: "released.rolling_start")) AS day, released.revisions, first.path AS first_bundle,
        last.path AS last_bundle
      FROM released JOIN series ON series.id = released.series JOIN bundles AS last ON last.id = released.bundle
        JOIN bundles AS first ON first.id = coalesce(released.first_bundle, released.bundle)
      WHERE NOT EXISTS (SELECT 1 FROM claims WHERE claims.key = released.key AND claims.recall <> 0)
        OR EXISTS (SELECT 1 FROM claims WHERE claims.key = released.key AND claims.recall = 0);

      CREATE VIEW bundles_v1 AS SELECT
        series.name AS series, bundles.kind, bundles.path, \(time("bundles.start_time")) AS starts,
        \(time("bundles.end_time")) AS ends, bundles.key_count AS keys, bundles.revised_key_count AS revised_keys,
        bundles.byte_count AS bytes, bundles.archive_digest AS sha256, bundles.export_digest AS export_sha256, bundles.state,
        \(time("bundles.published")) AS published
      FROM bundles JOIN series ON series.id = bundles.series;

      CREATE VIEW documents_v1 AS SELECT
        sources.name AS source, documents.name AS document, documents.state, documents.fault_code AS fault, documents.format,
        documents.byte_count AS bytes, documents.digest AS sha256, documents.received, documents.new, documents.known,
        documents.held, documents.rejections, \(time("documents.discovered")) AS discovered,
        CASE WHEN coalesce(documents.format, '') <> 'uploads' THEN \(time("documents.changed")) END AS changed
      FROM documents JOIN sources ON sources.id = documents.source;

      CREATE VIEW held_v1 AS SELECT
        sources.name AS source, documents.name AS document, held.reason, origins.name AS origin, count(*) AS claims
      FROM held JOIN documents ON documents.id = held.document JOIN sources ON sources.id = documents.source
        LEFT JOIN origins ON origins.id = held.origin
      GROUP BY sources.name, documents.name, held.reason, origins.name;
      """
  }
}
