import ExposureKeys
import KeyNormalization
import KeyStorage

// Pieces that are not what was written, and what is known of them otherwise.

extension PostgresTransaction {
  func takeOutDamage(renewingAll renewsAll: Bool) throws -> StoreDamage {
    var damage = StoreDamage()
    damage.claims = try claimRuns().takeOutDamage(renewingFilters: renewsAll)
    for series in try database.rows("SELECT id, name FROM series ORDER BY id") {
      let found = try releaseRuns(of: try series["id"]).takeOutDamage(renewingFilters: renewsAll)
      if !found.isEmpty { damage.releases[try series["name"]] = found }
    }
    if damage.claims.lost != 0 { try database.run("UPDATE totals SET claims = $1", damage.claims.standing) }
    let agenda = try agendaTable()
    damage.agendaPieces = try agenda.wrongPieces()
    let (floor, last) = (try agenda.floor(), EventID(rawValue: try counting().last("events")))
    if renewsAll || damage.agendaPieces > 0 {
      try agenda.removeAll()
      try noteAll(in: last)
    }
    if renewsAll || !damage.isEmpty { try agenda.sweep(to: AgendaFloor(event: last, hour: floor.hour)) }
    return damage
  }

  /// Notes all claims, and what is put aside.
  private func noteAll(in event: EventID) throws {
    let agenda = try agendaTable()
    var rows = try claimRuns().rows()
    var piece: [ClaimRow] = []
    while let row = try rows.next() {
      piece.append(row)
      guard piece.count == Self.notedAtOnce else { continue }
      try agenda.note(piece.agenda, in: event, isSmall: false)
      piece.removeAll(keepingCapacity: true)
    }
    try agenda.note(piece.agenda, in: event, isSmall: false)
    let held = try database.rows("SELECT \(ClaimRow.columns) FROM held ORDER BY key").map { try ClaimRow($0) }
    try agenda.note(held.agenda, in: event, isSmall: false)
  }

  private static let notedAtOnce = 500_000
}
