internal import ArgumentParser
internal import ExposureKeys
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyIntake
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage
internal import S3Publications

extension StoreCommand {
  struct Repair: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "repair", _superCommandName: "keyferry store",
      abstract: "Take damaged claims out of the store and read kept documents again for them.",
      discussion: """
        Stop the gateway before. Without --yes nothing changes: it repairs a copy of the file, which takes twice its room in the \
        state folder for a while, and says what is damaged, and what would come back. With it, damaged \
        pieces of claims, filters, agenda and releases are taken out in one transaction. What was in them comes from the documents \
        whose bytes are kept (retention.evidence) and from the bundles in the publication folder, with the events that brought it. \
        What uploads brought, and documents whose bytes are not kept, does not come back: keyferry store restore brings it back from a \
        copy. Where the file itself is damaged it is written anew beside the old one, which stays as keyferry.sqlite-replaced-…, and \
        its indexes are made anew; pages of claims, releases, filters and agenda of which nothing is left cost what stood on them. Where \
        nothing can be repaired, nothing changes. Without room for a copy, the pages alone are looked at.

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

    func run() async throws {
      do {
        try await UnfinishedRepair.$isBeingEnded.withValue(true) { try await carryOut() }
      } catch let fault as StorageFault where fault.code == .corrupt {
        throw fault.pointingToCopy
      }
    }

    private func carryOut() async throws {
      let plan = try gateway.plan(warnings: false)
      let now = gateway.clock()
      let repair = try await repair(plan, now)
      if !repair.pages.isEmpty {
        let tables = repair.pages.joined(separator: ", ")
        Console.note(
          repair.kept.map {
            "the store's file was written anew; the damaged one is kept as \($0), and holds keys of people"
          }
            ?? "pages of the file are not what was written: \(tables); the file is written anew, and the damaged one is kept"
        )
      }
      if json {
        try Console.document(
          line: try JSONText.render(
            RepairDocument(repair.receipt, isDone: yes, other: repair.other, notLookedAt: repair.gaps)))
      } else {
        let nothing =
          repair.gaps.isEmpty
          ? repair.pages.isEmpty ? ["nothing that can be repaired is damaged"] : []
          : ["all pages of the file are what was written"] + repair.gaps.map { "not looked at: \($0)" }
        for line in repair.receipt?.lines(isDone: yes) ?? nothing { try Console.result(line: line) }
        for line in repair.other {
          try Console.result(line: "still damaged: \(printableText(line, limit: lineLimit))")
        }
      }
      if repair.receipt != nil || !repair.pages.isEmpty, !yes { Console.hint("the same command with --yes does it") }
      if !repair.other.isEmpty {
        let advice =
          plan.store.database == nil
          ? StorageFault.restoreAdvice : "stop the gateway, then restore a copy of the database with its own means"
        throw StorageFault(.corrupt, "\(plan.store): something is damaged that only a copy brings back; \(advice)")
      }
      try exit(repair.receipt?.isWhole ?? true ? .done : .rejected)
    }

    /// A repair, or what it would be.
    private struct Outcome {
      /// What is on damaged pages of the file.
      var pages: [String]
      /// Where the damaged file is kept.
      var kept: String?
      var receipt: RepairReceipt?
      /// What is damaged besides, as far as that was looked for.
      var other: [String]
      /// What was not looked at, since there is no room for a copy.
      var gaps: [String] = []
    }

    /// A file is looked at by repairing a copy of it; a database, by a transaction that is given up. Where nothing comes back, not a byte of
    /// the file and of what lies beside it changes, whatever was asked for.
    private func repair(_ plan: GatewayPlan, _ now: Instant) async throws -> Outcome {
      guard plan.store.database == nil else { return try await repair(plan.store, plan, now, isKept: yes) }
      do {
        var looked = try await Stores.withCopy(of: plan.store.location, now: now) { copy in
          var outcome = try await repair(copy, plan, now, isKept: true)
          outcome.other = outcome.other.map { $0.replacing("\(copy.location)/", with: "\(plan.store.location)/") }
          return outcome
        }
        looked.kept = nil
        if !yes || looked.receipt == nil && looked.pages.isEmpty { return looked }
        try await requirePublications(of: looked.receipt, plan)
      } catch let fault as StorageFault where fault.code == .full {
        if !yes { return try withoutCopy(plan, fault) }
      }
      return try await repair(plan.store, plan, now, isKept: true)
    }

    /// What series have released is read again from what they have published, and given up where that is not there: a folder that is not
    /// mounted would have it published a second time.
    private func requirePublications(of receipt: RepairReceipt?, _ plan: GatewayPlan) async throws {
      guard let gone = receipt?.goneBundles.keys.sorted(), !gone.isEmpty, let place = PublicationPlace(plan) else {
        return
      }
      let shown = try await PublicationStanding.shown(of: gone, in: place.folder).map(\.series)
      guard let series = gone.first(where: { !shown.contains($0) }) else { return }
      let name = plan.publicationBucket?.shown ?? PathText.onOneLine(place.path)
      throw StorageFault(
        .notFound,
        "\(name) has nothing of series \(series), so what that has released cannot be read again, and would be published a second time; "
          + "nothing was changed; mount the folder, or correct publication, and try again")
    }

    /// What bytes alone tell.
    private func withoutCopy(_ plan: GatewayPlan, _ fault: StorageFault) throws -> Outcome {
      let pages = try Stores.damagedPages(in: plan.store.location)
      guard pages.isEmpty else {
        for line in json ? [] : pages { try Console.result(line: printableText(line, limit: lineLimit)) }
        throw fault
      }
      return Outcome(
        pages: [], receipt: nil, other: [],
        gaps: [
          "what stands on the pages, and whether it holds together: \(fault.reason); keyferry store check needs no copy"
        ])
    }

    private func repair(_ store: StoreAddress, _ plan: GatewayPlan, _ now: Instant, isKept: Bool) async throws
      -> Outcome
    {
      let pages = try Stores.damagedTables(of: store, now: now)
      let kept = pages.isEmpty ? nil : try Stores.rewrite(store, keepingOld: store == plan.store, now: now)
      let ledger = try await gateway.ledger(plan, at: store, as: .owner)
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
          in: ledger, releases: releases, renewingAll: renewsAll, isKept: isKept, by: said.word, at: now)
      }
      // What somebody has added is in nobody's way.
      let other =
        isKept || receipt == nil ? try await ledger.damage(limit: 100).filter { !StoreAddition.isTold(by: $0) } : []
      return Outcome(pages: pages, kept: kept, receipt: receipt, other: other)
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
  let notLookedAt: [String]

  enum CodingKeys: String, CodingKey {
    case claims, filters, releases, documents, notLookedAt, reportVersion, agendaPieces, stillDamaged
    case isDone = "done"
  }

  struct Claims: Encodable {
    let blocks: Int
    let lost: Int
    let restored: Int
    /// Of the restored ones.
    let doubtful: Int
    let past: Int
  }

  struct Releases: Encodable {
    let blocks: Int
    let lost: Int
    let restored: Int
    let bundlesGone: [String]
  }

  struct Documents: Encodable {
    let read: Int
    let readOtherwise: Int
    /// By source.
    let notRead: [String: Int]
    let refused: [Refusal]
  }

  struct Refusal: Encodable {
    let document: String
    let code: String
    let reason: String
  }

  init(_ receipt: RepairReceipt?, isDone: Bool, other: [String], notLookedAt: [String]) {
    let damage = receipt?.damage ?? StoreDamage()
    self.isDone = isDone && receipt != nil
    claims = Claims(
      blocks: damage.claims.blockCount, lost: damage.lostClaims, restored: receipt?.restored ?? 0,
      doubtful: receipt?.doubtful ?? 0, past: receipt?.past ?? 0)
    filters = damage.claims.filters.count + damage.releases.values.reduce(0) { $0 + $1.filters.count }
    agendaPieces = damage.agendaPieces
    releases = damage.releases.reduce(into: [:]) { all, series in
      all[series.key] = Releases(
        blocks: series.value.blockCount, lost: max(0, Int(clamping: series.value.lost)),
        restored: receipt?.releases[series.key] ?? 0, bundlesGone: receipt?.goneBundles[series.key] ?? [])
    }
    documents = Documents(
      read: receipt?.documents ?? 0, readOtherwise: receipt?.readOtherwise ?? 0,
      notRead: (receipt?.notRead ?? [:]).merging(receipt?.ofNoSource ?? [:], uniquingKeysWith: +),
      refused: (receipt?.refusals ?? []).map {
        Refusal(document: $0.document, code: "\($0.fault.code)", reason: $0.fault.reason)
      })
    stillDamaged = other
    self.notLookedAt = notLookedAt
  }
}

extension RepairReceipt {
  /// - Parameter isDone: whether it was done, or would be.
  func lines(isDone: Bool) -> [String] {
    var lines: [String] = []
    for range in damage.claims.ranges { lines.append("claims: \(range.words)") }
    if damage.claims.lost != 0 {
      lines.append(
        "claims: \(counted(damage.lostClaims, "claim")) lost, \(restored) \(isDone ? "restored" : "can be restored")")
    }
    if doubtful > 0 {
      lines.append(
        "claims: \(doubtful) of these \(isDone ? "are" : "would be") withdrawn, and may have stood: their documents came in several pieces, "
          + "or a part of them was held and admitted later; a recall meant one of these parts and not another, and nobody knows any "
          + "more which claims were in which")
    }
    if past > 0 { lines.append("claims: \(past) more are past retention.keys, which would have removed them") }
    for (series, found) in damage.releases.sorted(by: { $0.key < $1.key }) {
      for range in found.ranges { lines.append("releases of \(series): \(range.words)") }
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
    for (source, count) in ofNoSource.sorted(by: { $0.key < $1.key }) {
      lines.append(
        "documents: \(count) of \(source) \(isDone ? "were not" : "would not be") read again, since the configuration has no source \(source); "
          + "put it back before you repair")
    }
    for refusal in refusals {
      lines.append("\(printableText(refusal.document)): \(printableText(refusal.fault.reason))")
    }
    if missing > 0 { lines.append("claims: \(missing) do not come back") }
    let lost = [damage.claims] + damage.releases.values
    if lost.allSatisfy({ $0.ranges.isEmpty && $0.lost == 0 }) { lines.append("no claim and no release is lost") }
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
  fileprivate var words: String {
    isAnywhere ? "run \(run) has fewer than it should have" : "the block at \(first) of run \(run) is damaged"
  }
}
