import ExposureKeys
import KeyNormalization
import KeyStorage
import SQLite

// Pieces that are not what was written, and what is known of them otherwise.

extension SQLiteTransaction {
  func takeOutDamage(renewingAll renewsAll: Bool) throws -> StoreDamage {
    var damage = StoreDamage()
    damage.claims = try claimRuns().takeOutDamage(renewingFilters: renewsAll)
    for series in try Row.fetchAll(database, sql: "SELECT id, name FROM series ORDER BY id") {
      let found = try releaseRuns(of: series["id"]).takeOutDamage(renewingFilters: renewsAll)
      if !found.isEmpty { try damage.releases[series["name"]] = found }
    }
    if damage.claims.lost != 0 {
      try database.execute(sql: "UPDATE totals SET claims = ?", arguments: [damage.claims.standing])
    }
    let agenda = SQLiteAgenda(database)
    damage.agendaPieces = try agenda.wrongPieces()
    let floor = try agenda.floor()
    if renewsAll || damage.agendaPieces > 0 {
      try database.execute(sql: "DELETE FROM agenda")
      try Schema.noteClaims(in: database, isOpening: false)
      try agenda.sweep(to: floor)
    } else if !damage.isEmpty {
      try agenda.sweep(to: AgendaFloor(event: try agenda.lastEvent(), hour: floor.hour))
    }
    return damage
  }
}
