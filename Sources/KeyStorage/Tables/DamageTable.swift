internal import ExposureKeys

extension TableTransaction {
  /// What of claims refers to what is not there, and counts that do not agree with the rows.
  package func claimDamage() throws -> [String] {
    var faults: [String] = []
    for (column, table, what, orNone) in Self.references {
      let condition = orNone ? "\(column) <> 0 AND " : ""
      let count: Int? = try sql.value(
        "SELECT count(*) FROM claims WHERE \(condition)\(column) NOT IN (SELECT id FROM \(table))")
      if let count, count > 0 { faults.append("claims: \(count) refer to \(what) that is not in the store") }
    }
    let total: Int64? = try sql.value("SELECT claims FROM totals")
    let standing: Int64? = try sql.value("SELECT count(*) FROM claims WHERE recall = 0")
    if total != standing {
      faults.append("totals: \(total.map { "\($0)" } ?? "no") claims are counted, and \(standing ?? 0) stand")
    }
    let odd: Int? = try sql.value(
      "SELECT count(*) FROM agenda WHERE hour < 0 OR event < 0 OR length(key) <> 16")
    if let odd, odd > 0 { faults.append("agenda: \(odd) rows that no store writes") }
    _ = try agendaFloor()
    return faults
  }

  private static let references = [
    ("origin", "origins", "an origin", true), ("source", "claim_sources", "a source", false),
    ("regions", "regions", "regions", true), ("arrival", "arrivals", "an arrival", false),
    ("recall", "recalls", "a recall", true),
  ]
}
