internal import ArgumentParser
internal import ExposureKeys
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyIntake
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage

extension StoreCommand {
  struct Repair: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "repair", _superCommandName: "keyferry store",
      abstract: "Take damaged claims out of the store and read kept documents again for them.",
      discussion: """
        Stop the gateway before. Without --yes nothing changes: it says what is damaged, and what would come back (where pages \
        of the file are damaged, their tables alone). With it, damaged \
        pieces of claims, filters, agenda and releases are taken out in one transaction. What was in them comes from the documents \
        whose bytes are kept (retention.evidence) and from the bundles in the publication folder, with the events that brought it. \
        What uploads brought, and documents whose bytes are not kept, does not come back: keyferry store restore brings it back from a \
        copy. Where the file itself is damaged it is written anew beside the old one, which stays as keyferry.sqlite-replaced-…

        The exit code is 1 when something is lost, and 2 when something else is damaged: then only a copy helps.

        Examples:
          keyferry store repair --config gateway.yaml
          keyferry store repair --reason "disk of node 3" --yes --config gateway.yaml
        """)

    @Flag(help: "Do it.")
    var yes = false

    @Flag(help: "Print it as JSON (schemas/store-repair.schema.json).")
    var json = false

    @OptionGroup var said: OperatorOptions

    @OptionGroup var gateway: GatewayOptions

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws { try await UnfinishedRepair.$isBeingEnded.withValue(true) { try await carryOut() } }

    private func carryOut() async throws {
      let plan = try gateway.plan(warnings: false)
      let now = gateway.clock()
      let pages = try Stores.damagedTables(of: plan.store, now: now)
      if !pages.isEmpty, !yes {
        let tables = pages.joined(separator: ", ")
        Console.note(
          "pages of the file are not what was written; what can be read of \(tables) is written anew, and looked at then"
        )
        Console.hint("the same command with --yes does it, and says then what does not come back")
        if json {
          let damaged = pages.map { "\($0): pages of the file are not what was written" }
          try Console.document(line: try JSONText.render(RepairDocument(nil, other: damaged)))
        }
        try exit(.rejected)
      }
      if !pages.isEmpty {
        let kept = try Stores.rewrite(plan.store, now: now)
        Console.note("the store's file was written anew; the damaged one is kept as \(kept), and holds keys of people")
      }
      let ledger = try gateway.ledger(plan, as: .owner)
      let isUnfinished = try await ledger.read { try $0.note(named: UnfinishedRepair.noteName) != nil }
      let renewsAll = !pages.isEmpty || isUnfinished
      let recovery = ClaimRecovery(
        of: plan.sources, ownOrigins: plan.ownOrigins, expiredBefore: plan.retention.keysEnd(at: now))
      // What series have lost is looked for in their bundles before anything changes.
      var receipt = try await recovery.carryOut(
        in: ledger, renewingAll: renewsAll, isKept: false, by: said.word, at: now)
      if let preview = receipt {
        var releases: [String: RecoveredReleases] = [:]
        if let folder = PublicationPlace(plan)?.folder {
          for (series, damage) in preview.damage.releases where !damage.ranges.isEmpty {
            releases[series] = try await ReleaseRecovery.released(by: series, lost: damage, in: folder, ledger)
          }
        }
        receipt = try await recovery.carryOut(
          in: ledger, releases: releases, renewingAll: renewsAll, isKept: yes, by: said.word, at: now)
      }
      let other = yes || receipt == nil ? try await ledger.damage(limit: 100) : []
      if json {
        try Console.document(line: try JSONText.render(RepairDocument(receipt, other: other)))
      } else {
        for line in receipt?.lines ?? ["nothing that can be repaired is damaged"] { try Console.result(line: line) }
        for line in other { try Console.result(line: "still damaged: \(printableText(line))") }
      }
      if receipt != nil, !yes { Console.hint("the same command with --yes does it") }
      if !other.isEmpty {
        throw StorageFault(.corrupt, "\(plan.store): something is damaged that only a copy brings back")
      }
      try exit(receipt?.isWhole ?? true ? .done : .rejected)
    }
  }
}

/// `schemas/store-repair.schema.json`.
struct RepairDocument: Encodable {
  let reportVersion = 1
  let isDone: Bool
  let claims: Claims
  let filters: Int
  let agendaPieces: Int
  let releases: [String: Releases]
  let documents: Documents
  let stillDamaged: [String]

  enum CodingKeys: String, CodingKey {
    case claims, filters, releases, documents
    case reportVersion = "report_version"
    case isDone = "done"
    case agendaPieces = "agenda_pieces"
    case stillDamaged = "still_damaged"
  }

  struct Pieces: Encodable {
    let blocks: Int
    let lost: Int
    let restored: Int
  }

  typealias Claims = Pieces

  struct Releases: Encodable {
    let blocks: Int
    let lost: Int
    let restored: Int
    let bundlesGone: [String]

    enum CodingKeys: String, CodingKey {
      case blocks, lost, restored
      case bundlesGone = "bundles_gone"
    }
  }

  struct Documents: Encodable {
    let read: Int
    let readOtherwise: Int
    /// By source.
    let notRead: [String: Int]
    let refused: [Refusal]

    enum CodingKeys: String, CodingKey {
      case read, refused
      case readOtherwise = "read_otherwise"
      case notRead = "not_read"
    }
  }

  struct Refusal: Encodable {
    let document: String
    let code: String
    let reason: String
  }

  init(_ receipt: RepairReceipt?, other: [String]) {
    let damage = receipt?.damage ?? StoreDamage()
    isDone = receipt?.isDone ?? false
    claims = Pieces(
      blocks: damage.claims.ranges.count, lost: damage.lostClaims, restored: receipt?.restored ?? 0)
    filters = damage.claims.filters.count + damage.releases.values.reduce(0) { $0 + $1.filters.count }
    agendaPieces = damage.agendaPieces
    releases = damage.releases.reduce(into: [:]) { all, series in
      all[series.key] = Releases(
        blocks: series.value.ranges.count, lost: max(0, Int(clamping: series.value.lost)),
        restored: receipt?.releases[series.key] ?? 0, bundlesGone: receipt?.goneBundles[series.key] ?? [])
    }
    documents = Documents(
      read: receipt?.documents ?? 0, readOtherwise: receipt?.readOtherwise ?? 0, notRead: receipt?.notRead ?? [:],
      refused: (receipt?.refusals ?? []).map {
        Refusal(document: $0.document, code: "\($0.fault.code)", reason: $0.fault.reason)
      })
    stillDamaged = other
  }
}

extension RepairReceipt {
  var lines: [String] {
    var lines: [String] = []
    for range in damage.claims.ranges { lines.append("claims: the block \(range.place) is damaged") }
    if damage.claims.lost != 0 {
      lines.append(
        "claims: \(counted(damage.lostClaims, "claim")) lost, \(restored) \(isDone ? "restored" : "can be restored")")
    }
    for (series, found) in damage.releases.sorted(by: { $0.key < $1.key }) {
      for range in found.ranges { lines.append("releases of \(series): the block \(range.place) is damaged") }
      if found.lost != 0 {
        lines.append(
          "releases of \(series): \(max(0, found.lost)) lost, \(releases[series] ?? 0) \(isDone ? "restored" : "can be restored")"
        )
      }
    }
    let filters = damage.claims.filters.count + damage.releases.values.reduce(0) { $0 + $1.filters.count }
    if filters > 0 { lines.append("filters: those of \(counted(filters, "run")) are made anew") }
    if damage.agendaPieces > 0 {
      lines.append("agenda: \(counted(damage.agendaPieces, "piece")) damaged; it is made anew")
    }
    if documents > 0 { lines.append("documents: \(documents) read again") }
    if readOtherwise > 0 {
      lines.append(
        "documents: \(readOtherwise) had been read by another policy; keyferry reread reads all they say by this one")
    }
    if missing > 0 {
      for (source, count) in notRead.sorted(by: { $0.key < $1.key }) {
        lines.append("documents: \(count) of \(source) cannot be read again, since their bytes are not kept")
      }
    }
    for refusal in refusals {
      lines.append("\(printableText(refusal.document)): \(printableText(refusal.fault.reason))")
    }
    if missing > 0 { lines.append("claims: \(missing) do not come back") }
    for (series, paths) in goneBundles.sorted(by: { $0.key < $1.key }) {
      let paths = paths.count > 5 ? "\(paths[0]) and \(paths.count - 1) more bundles" : paths.joined(separator: ", ")
      lines.append(
        "releases of \(series): what was released with \(printableText(paths)) cannot be read again: these files are not there, or not what was published"
      )
    }
    for (series, count) in missingReleases.sorted(by: { $0.key < $1.key }) {
      lines.append("releases of \(series): \(count) do not come back; what was in them may be published once more")
    }
    return lines
  }
}

extension LostRange {
  /// As `store check` names it.
  fileprivate var place: String { "at \(first) of run \(run)" }
}
