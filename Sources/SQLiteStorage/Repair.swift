import ExposureKeys
import GRDB
import KeyNormalization
import KeyStorage

// Pieces that are not what was written, and what is known of them otherwise.

extension SQLiteTransaction {
  func takeOutDamage(renewingAll renewsAll: Bool) throws -> StoreDamage {
    var damage = StoreDamage()
    damage.claims = try claimRuns().takeOutDamage(renewingFilters: renewsAll)
    for series in try Row.fetchAll(database, sql: "SELECT id, name FROM series ORDER BY id") {
      let found = try releaseRuns(of: series["id"]).takeOutDamage(renewingFilters: renewsAll)
      if !found.isEmpty { damage.releases[series["name"]] = found }
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

  func arrivals(of document: DocumentID) throws -> [EventStamp] {
    try Row.fetchAll(
      database, sql: "SELECT event, time FROM arrivals WHERE document = ? ORDER BY event",
      arguments: [document.rawValue]
    ).map { EventStamp(id: EventID(rawValue: $0["event"]), time: $0.time("time")) }
  }

  func putBack(
    _ claims: [StatedClaim], of document: DocumentID, arrivedIn event: EventID, asReleased: Bool
  ) throws -> (count: Int, otherStarts: [StatedClaim]) {
    let arrival = try Row.fetchOne(
      database, sql: "SELECT id, time FROM arrivals WHERE document = ? AND event = ?",
      arguments: [document.rawValue, event.rawValue])
    guard let arrival else {
      throw StorageFault(.notFound, "document \(document.rawValue) brought nothing in event \(event.rawValue)")
    }
    let record = try self.document(document)
    let numbers = try Int64.fetchAll(database, sql: "SELECT id FROM recalls ORDER BY id")
    let recalls = try self.recalls()
    let time: Instant = arrival.time("time")
    var meant: [Int32: Int32] = [:]
    let rows = try claims.map { claim in
      let row = try row(of: claim)
      if meant[row.origin] == nil {
        let index = recalls.firstIndex {
          $0.withdraws(claim.origin, of: document, by: record?.source, from: time)
            && ($0.event > event || $0.time > time)
        }
        meant[row.origin] = try index.map { try claimNumber(numbers[$0]) } ?? 0
      }
      return row
    }
    var receipt = ImportReceipt()
    let aside = try insert(
      ClaimRow.sorted(rows), arrival: arrival["id"], counting: &receipt, holdsOtherStarts: !asReleased, isNews: false,
      recall: { meant[$0.origin] ?? 0 })
    return (receipt.new, try aside.map(stated))
  }
}
