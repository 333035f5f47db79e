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

  func arrivals(of document: DocumentID) throws -> [EventStamp] {
    try database.rows("SELECT event, time FROM arrivals WHERE document = $1 ORDER BY event", document.rawValue)
      .map { EventStamp(id: EventID(rawValue: try $0["event"]), time: try $0["time"]) }
  }

  func putBack(
    _ claims: [StatedClaim], of document: DocumentID, arrivedIn event: EventID, asReleased: Bool
  ) throws -> (count: Int, otherStarts: [StatedClaim]) {
    let arrival = try database.row(
      "SELECT id, time FROM arrivals WHERE document = $1 AND event = $2", document.rawValue, event.rawValue)
    guard let arrival else {
      throw StorageFault(.notFound, "document \(document.rawValue) brought nothing in event \(event.rawValue)")
    }
    let record = try self.document(document)
    let numbers = try database.rows("SELECT id FROM recalls ORDER BY id").map { row -> Int64 in try row["id"] }
    let recalls = try self.recalls()
    let time: Instant = try arrival["time"]
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
      ClaimRow.sorted(rows), arrival: try arrival["id"], counting: &receipt, holdsOtherStarts: !asReleased,
      isNews: false, recall: { meant[$0.origin] ?? 0 })
    return (receipt.new, try aside.map(stated))
  }
}
