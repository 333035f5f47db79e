internal import BundleTrust
package import ExposureKeys
package import Federation
package import GatewaySettings
package import KeyNormalization
package import KeyPublishing
package import KeyReceiving
package import KeyStorage

/// Everything that a gateway knows about one key: what was said and what became of it, in its tables and in the bytes that
/// it has kept, what it has released, and what each series makes of it now.
package struct KeyAccount: Sendable {
  package let key: TemporaryExposureKey
  package let now: Instant
  package let record: KeyRecord
  /// Those that the record refers to.
  package let documents: [DocumentID: DocumentRecord]
  package let evidence: EvidenceSearch.Result
  /// In the order of the record.
  package let bundles: [BundleID: BundleRecord]
  package let pauses: [Pause]
  package let recalls: [EventID: Recall]
  package let answers: [SeriesAnswer]
  /// What the mirrors show of it, in the order of the configuration, and then series that are served and not configured any
  /// more, of which the store has released nothing.
  package let shown: [ShownArchives]
  /// What becomes of it at the destinations, in the order of the configuration.
  package let destinations: [DestinationAnswer]
  /// What national back ends have uploaded of it: whether others could download it.
  package let passages: [FederationPassage]
  /// Series that the configuration does not name any more, and whose folders are still there.
  package let leftSeries: [String]
  /// Those that are configured.
  package let series: [SeriesSettings]
  package let mirrors: [MirrorSettings]

  /// How many bytes of evidence an explanation reads; a disclosure reads all.
  package static let explainedBytes = 256 << 20

  /// The SHA-256 of the key data, in lower-case hexadecimal: what an event has of it.
  package static func digest(of key: TemporaryExposureKey) -> String { ExportDigests(of: key.bytes).hexadecimal }

  /// Gathers it from one state of the store.
  ///
  /// - Parameter policies: those that may have read documents before they were replaced in the configuration.
  package static func gather(
    about key: TemporaryExposureKey, _ plan: GatewayPlan, from ledger: Ledger, _ scope: EvidenceSearch.Scope,
    policies: [Policy] = [], now: Instant
  ) async throws -> KeyAccount {
    let search = EvidenceSearch(for: key, of: plan.readSources, ownOrigins: plan.ownOrigins, policies: policies)
    return try await ledger.read { try KeyAccount(about: key, plan, from: $0, search, scope, now: now) }
  }

  private init(
    about key: TemporaryExposureKey, _ plan: GatewayPlan, from state: any StoredState, _ search: EvidenceSearch,
    _ scope: EvidenceSearch.Scope, now: Instant
  ) throws {
    self.key = key
    self.now = now
    let record = try state.record(of: key)
    self.record = record
    let named = Set(record.claims.map(\.document) + record.held.map(\.document))
    documents = Dictionary(uniqueKeysWithValues: try named.compactMap { id in try state.document(id).map { (id, $0) } })
    evidence = try search.run(in: state, scope, of: record)
    bundles = try SeriesAnswer.bundles(of: record, from: state)
    pauses = try state.pauses()
    recalls = Dictionary(try state.recalls().map { ($0.event, $0) }, uniquingKeysWith: { first, _ in first })
    answers = try SeriesAnswer.all(of: key, in: plan.series, from: state, record, bundles: bundles, now: now)
    destinations = try plan.destinations.map { try DestinationAnswer(of: key, to: $0, in: state, record, now: now) }
    passages = try named.union(evidence.found.map(\.document.id)).sorted().compactMap {
      try FederationPassage(of: $0, in: state)
    }
    (leftSeries, series, mirrors) = (plan.leftSeries, plan.series, plan.mirrors)
    guard let folder = plan.publicationFolder else {
      shown = []
      return
    }
    var room = if case .unexplained(let limit) = scope { limit } else { Int.max }
    let holding = documents.values.sorted { $0.id < $1.id } + evidence.found.map(\.document)
    let released = Set(record.released.map(\.series))
    var shown: [ShownArchives] = []
    for mirror in plan.mirrors {
      shown.append(try ShownArchives(of: key, in: mirror, holding, folder: folder, from: state, room: &room))
    }
    for name in leftSeries where !released.contains(name) {
      shown.append(try ShownArchives(of: key, left: name, folder: folder, room: &room))
    }
    self.shown = shown
  }

  /// Released keys of series that the configuration does not name any more.
  package var releasedByOthers: [SeriesRelease] {
    record.released.filter { entry in !series.contains { $0.name == entry.series } }
  }

  /// Whether an archive that is shown holds it.
  package var isShown: Bool { shown.contains { !$0.archives.isEmpty } }

  /// Whether the store knows anything of it.
  package var isEmpty: Bool { record.isEmpty && evidence.found.isEmpty }

  /// Removes everything about the key, but for what is published. The bytes of documents that hold it go as a whole, since
  /// what is signed cannot be changed.
  ///
  /// - Returns: what was removed, and the documents whose bytes cannot be read, so that nobody can tell.
  package static func erase(
    _ key: TemporaryExposureKey, _ plan: GatewayPlan, from ledger: Ledger, by word: Attribution, now: Instant
  ) async throws -> (receipt: ErasureReceipt, unreadable: [DocumentRecord]) {
    let search = EvidenceSearch(for: key, of: plan.readSources, ownOrigins: plan.ownOrigins)
    // Most of it is searched beside whoever writes.
    let before = try await ledger.read { try search.run(in: $0, .everything, of: KeyRecord()) }
    let receipt = try await ledger.erased(key, digest: digest(of: key), by: word, at: now) { state in
      let since = try search.run(in: state, .everything, of: KeyRecord(), except: before.searched)
      return (before.found + since.found).map(\.document.id)
    }
    return (receipt, before.unreadable)
  }
}
