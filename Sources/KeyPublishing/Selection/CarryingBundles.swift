package import ExposureKeys
package import KeyStorage

/// A published bundle that carries keys which a recall leaves without any claim, and for how long it does.
package struct CarryingBundle: Hashable, Sendable {
  package enum State: String, Hashable, Sendable, CaseIterable, Codable {
    /// Signed, and not published yet.
    case staged
    /// An index names it.
    case listed
    /// No index names it any more, and its file is still there.
    case unlisted
  }

  package let series: String
  /// In the publication folder.
  package let path: String
  package let state: State
  /// How many of the keys it carries; `nil` for an archive of a mirror, whose keys are not listed by bundle.
  package let keys: Int?
  /// When the index stops naming it, at the latest; `nil` where that is somebody else's to decide, or past.
  package let listedUntil: Instant?
  /// When its file is removed, at the earliest; `nil` where that is somebody else's to decide.
  package let servedUntil: Instant?

  /// The increments that have released the keys, and the roll-ups, editions and copies that were made of these; then the archives
  /// of mirrors that brought withdrawn claims.
  ///
  /// - Parameters:
  ///   - recall: what it withdraws, or has withdrawn.
  ///   - series: those that are configured. Bundles of others are served until an operator moves their folder away.
  package static func all(
    of recall: RecallPreview, in series: [SeriesSettings], mirrors: [MirrorSettings], from state: any StoredState,
    now: Instant
  ) throws -> [CarryingBundle] {
    let settings = Dictionary(series.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    var all: [CarryingBundle] = []
    for (name, releases) in Dictionary(grouping: recall.releases, by: \.key.series).sorted(by: { $0.key < $1.key }) {
      all += try bundles(of: name, settings[name], carrying: releases.map { ($0.key, $0.value) }, from: state, now: now)
    }
    if mirrors.isEmpty { return all }
    let documents = try recall.documents.compactMap { try state.document($0) }
    for mirror in mirrors {
      let names = Set(documents.filter { $0.source == mirror.source }.map(\.name))
      all += try archives(of: mirror, from: names, in: state)
    }
    return all
  }

  private static func bundles(
    of name: String, _ settings: SeriesSettings?, carrying releases: [(RecallPreview.KeyRelease, Int)],
    from state: any StoredState, now: Instant
  ) throws -> [CarryingBundle] {
    let records = try state.bundles(of: name, in: Set(BundleState.allCases))
    let known = try SeriesState(of: name, from: state)
    let listing = settings.map { SeriesListing(of: $0, records, known, now: now) }
    var contents = BundleContents(records)
    return try records.compactMap { record -> CarryingBundle? in
      if record.state == .removed { return nil }
      let held = try contents.releasing(of: record, from: state)
      let count = releases.reduce(0) { sum, release in
        let isHeld =
          !held.isDisjoint(with: release.0.bundles)
          && (record.bundle.kind != .keyDay || record.bundle.start == release.0.day.start.secondsSince1970)
        return isHeld ? sum + release.1 : sum
      }
      return count > 0 ? CarryingBundle(record, keys: count, settings, listing, now: now) : nil
    }
  }

  private init(
    _ record: BundleRecord, keys: Int, _ settings: SeriesSettings?, _ listing: SeriesListing?, now: Instant
  ) {
    (series, path, self.keys) = (record.bundle.series, record.bundle.path, keys)
    let isListed = record.state != .expired && listing?.isListed(record) ?? true
    state = !isListed ? .unlisted : record.state == .staged ? .staged : .listed
    guard let settings else {
      (listedUntil, servedUntil) = (nil, nil)
      return
    }
    let listed = isListed ? record.bundle.listingEnd(in: settings) : nil
    listedUntil = listed.map(Instant.init(secondsSince1970:))
    // One that the next round takes out of the index is counted from now.
    let left = record.state == .expired ? record.changed.secondsSince1970 : now.secondsSince1970
    servedUntil = Instant(secondsSince1970: (listed ?? left) + settings.graceSeconds)
  }

  private static func archives(
    of mirror: MirrorSettings, from names: Set<String>, in state: any StoredState
  ) throws -> [CarryingBundle] {
    let entries = try state.note(.mirror(mirror.name)).flatMap(MirrorState.init(note:))?.entries ?? []
    return entries.filter { !$0.isRemoved && names.contains($0.name) }.map { entry in
      CarryingBundle(
        series: mirror.name, path: "\(mirror.name)/\(entry.file)", state: entry.unlisted == nil ? .listed : .unlisted,
        keys: nil, listedUntil: nil,
        servedUntil: entry.unlisted.map { Instant(secondsSince1970: $0 + mirror.graceSeconds) })
    }
  }

  private init(
    series: String, path: String, state: State, keys: Int?, listedUntil: Instant?, servedUntil: Instant?
  ) {
    (self.series, self.path, self.state, self.keys) = (series, path, state, keys)
    (self.listedUntil, self.servedUntil) = (listedUntil, servedUntil)
  }
}

extension CarryingBundle: Encodable {
  private enum CodingKeys: String, CodingKey {
    case series, path, state, keys, listedUntil, servedUntil
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(series, forKey: .series)
    try members.encode(path, forKey: .path)
    try members.encode(state, forKey: .state)
    try members.encodeIfPresent(keys, forKey: .keys)
    try members.encodeIfPresent(listedUntil?.description, forKey: .listedUntil)
    try members.encodeIfPresent(servedUntil?.description, forKey: .servedUntil)
  }
}

extension NewBundle {
  /// From then on ``SeriesListing`` leaves it out; a newer version of a roll-up takes its place before.
  fileprivate func listingEnd(in settings: SeriesSettings) -> Int64 {
    switch kind {
    case .increment, .edition, .day: end + settings.listedDays * 86_400
    case .since, .keyDay: start + settings.listedDays * 86_400
    }
  }
}

/// Which released keys bundles of a series hold, by the bundles that have released them.
private struct BundleContents {
  private struct Place: Hashable {
    var kind: BundleKind
    var ordinal: Int
  }

  private let records: [Place: BundleRecord]
  private let increments: [BundleRecord]
  private var known: [BundleID: Set<BundleID>] = [:]

  init(_ records: [BundleRecord]) {
    self.records = Dictionary(
      records.map { (Place(kind: $0.bundle.kind, ordinal: $0.bundle.ordinal), $0) },
      uniquingKeysWith: { _, last in last })
    increments = records.filter { $0.bundle.kind == .increment }
  }

  mutating func releasing(of record: BundleRecord, from state: any StoredState) throws -> Set<BundleID> {
    if let known = known[record.id] { return known }
    known[record.id] = [record.id]
    var held: Set = [record.id]
    for part in try parts(of: record, from: state) { held.formUnion(try releasing(of: part, from: state)) }
    known[record.id] = held
    return held
  }

  /// The bundles that it was made of.
  private func parts(of record: BundleRecord, from state: any StoredState) throws -> [BundleRecord] {
    let bundle = record.bundle
    guard let recipe = try? state.recipe(of: record.id)?.read().bundle else {
      // Nobody noted it, or it cannot be read: it holds what bundles of its kind hold.
      let days: Range<Int64> =
        switch bundle.kind {
        case .increment: 0..<0
        case .day, .edition: bundle.start..<max(bundle.start, bundle.end)
        case .since: bundle.start..<Int64.max
        case .keyDay: Int64.min..<Int64.max
        }
      return increments.filter { $0.id < record.id && days.contains($0.bundle.start) }
    }
    switch recipe.source {
    case .claims, .nothing, .replacement: return []
    case .copy:
      return recipe.copied.flatMap { records[Place(kind: bundle.kind, ordinal: $0)] }.map { [$0] } ?? []
    case .bundles:
      let numbers = Set((recipe.increments ?? []).compactMap(NumberList.numbers).joined())
      return numbers.compactMap { records[Place(kind: .increment, ordinal: $0)] }
    }
  }
}
