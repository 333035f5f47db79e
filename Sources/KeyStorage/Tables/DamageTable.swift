internal import ExposureKeys

extension ClaimTables {
  /// What of claims and releases is not as it was written, and what their lists and counts lack.
  ///
  /// - Parameter limit: of faults of the blocks, for each list.
  package func claimDamage(limit: Int) throws -> [String] {
    var faults = try listFaults()
    var (numbers, standing): (ClaimNumbers, Int64) = (try claimNumbers(), 0)
    let ofBlocks = try claimRuns().damage(limit: limit) { row in
      numbers.look(at: row)
      if row.stands { standing += 1 }
    }
    faults += ofBlocks + numbers.faults
    let total: Int64? = try sql.value("SELECT claims FROM totals")
    if ofBlocks.isEmpty, total != standing {
      faults.append("totals: \(total.map { "\($0)" } ?? "no") claims are counted, and \(standing) stand")
    }
    let names = try all("release_origins")
    for (series, name) in try numberedSeries() {
      var lacking: Set<Int64> = []
      faults += try releaseRuns(of: series).damage(limit: limit) { row in
        let number = ReleaseRow.names(of: row)
        if number != 0, !names.contains(number) { lacking.insert(number) }
      }
      if !lacking.isEmpty {
        faults.append("release_origins: releases of \(name) refer to \(lacking.count) rows that are not there")
      }
    }
    return Array(faults.prefix(limit))
  }

  private func listFaults() throws -> [String] {
    try ["claim", "release"].flatMap { kind -> [String] in
      let blocks: Int? = try sql.value(
        "SELECT count(*) FROM \(kind)_blocks WHERE (id >> 32) NOT IN (SELECT id FROM \(kind)_runs)")
      let targets: Int? = try sql.value(
        "SELECT count(*) FROM \(kind)_runs WHERE target IS NOT NULL AND target NOT IN (SELECT id FROM \(kind)_runs)")
      return (blocks ?? 0 > 0 ? ["\(kind)_runs: \(blocks ?? 0) blocks are of runs that are not in this table"] : [])
        + (targets ?? 0 > 0 ? ["\(kind)_runs: \(targets ?? 0) rows name a target that is not in this table"] : [])
    }
  }

  /// The numbers that claims may have.
  private func claimNumbers() throws -> ClaimNumbers {
    ClaimNumbers(
      origins: try all("origins"), sources: try all("claim_sources"), regions: try all("regions"),
      arrivals: try all("arrivals"), recalls: try all("recalls"))
  }

  private func all(_ table: String) throws -> Set<Int64> {
    Set(try sql.rows("SELECT id FROM \(table)").map { try $0[0] as Int64 })
  }
}
