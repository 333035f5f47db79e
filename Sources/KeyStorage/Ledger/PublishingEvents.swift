package import ExposureKeys

/// A bundle that is to be staged, with its bytes and the keys that it releases.
package struct NewStaging: Sendable {
  package var bundle: NewBundle
  package var content: StoredBytes
  package var released: [NewRelease]

  package init(_ bundle: NewBundle, _ content: StoredBytes, releasing released: [NewRelease] = []) {
    self.bundle = bundle
    self.content = content
    self.released = released
  }
}

/// A key as a bundle releases it.
package struct NewRelease: Hashable, Sendable {
  package var key: ClaimedKey
  package var revisions: Int32
  /// Whose opinions publish it, where it is its first release.
  package var origins: ReleasingOrigins?

  package init(key: ClaimedKey, revisions: Int32, origins: ReleasingOrigins? = nil) {
    self.key = key
    self.revisions = revisions
    self.origins = origins
  }
}

/// Hands over keys that bundles release, one by one, each with the place of its bundle among those that are staged. Best in
/// the order of key data, which is that of the store. It may be run again from the start.
package typealias ReleaseReading =
  @Sendable (
    _ release: (_ bundle: Int, NewRelease) throws -> Void
  ) throws -> Void

extension Ledger {
  /// Look-alikes were decided about, for all series at once and before anything is staged.
  ///
  /// - Parameter plan: what was decided, and what has to be kept. It may be run again.
  package func paddingPlanned<Plan: Sendable>(
    for series: [String], at now: Instant,
    _ plan: @escaping @Sendable (any PublishingState) throws -> (plan: Plan, notes: [NoteChange])
  ) async throws -> Plan {
    try await transact(.paddingPlanned, at: now) { page in
      let (plan, notes) = try plan(page.transaction)
      if !notes.isEmpty {
        try page.change(notes)
        try page.enter(.paddingPlanned, about: series.joined(separator: ", "))
      }
      return plan
    }
  }

  /// A series has new bundles: their bytes, the keys that they release, and where the series stands behind them. From
  /// now on they will be published under these names, whatever happens.
  ///
  /// - Parameters:
  ///   - releases: keys that they release besides those that stand in `stagings`: for millions, which are in memory some
  ///     thousand at a time.
  ///   - resigned: bundles in whose place others were signed by another key; they leave when their numbers do.
  ///   - policy: SHA-256 of the publishing policy's file, for listeners; `nil` where it is none.
  ///   - recipe: how they are made.
  ///   - again: key data that the next round has to look at again.
  ///   - noting: what has to be kept with them. It may be run again, and what it throws undoes everything.
  ///   - sweeping: what nobody needs of the agenda any more, once that is kept.
  @discardableResult
  package func staged(
    _ stagings: [NewStaging], by series: String, replacing old: [BundleID] = [], resigned: [BundleRecord] = [],
    policy: String? = nil, recipe: NewRecipe? = nil, at now: Instant,
    lookingAgainAt again: [TemporaryExposureKey] = [], releasing releases: @escaping ReleaseReading = { _ in },
    noting: @escaping @Sendable (any PublishingState) throws -> [NoteChange],
    sweeping: @escaping @Sendable (any PublishingState) throws -> AgendaFloor? = { _ in nil }
  ) async throws -> [BundleRecord] {
    try await transact(old.isEmpty ? [.staged] : [.staged, .unlisted], at: now) { page in
      let transaction = page.transaction
      let notes = try noting(transaction)
      let records = try stagings.map { try transaction.stage($0.bundle, $0.content, at: now) }
      var piece: [ReleasedKey] = []
      func release(_ key: NewRelease, with bundle: Int) throws {
        piece.append(
          ReleasedKey(key: key.key, bundle: records[bundle].id, revisions: key.revisions, origins: key.origins))
        guard piece.count == Self.releasePiece else { return }
        try transaction.release(piece, by: series)
        piece.removeAll(keepingCapacity: true)
      }
      for (index, staging) in stagings.enumerated() {
        for key in staging.released { try release(key, with: index) }
      }
      try releases { try release($1, with: $0) }
      try transaction.release(piece, by: series)
      try page.change(notes)
      let policy = try page.policyMark(policy, of: series)
      let leaving = Set(old)
      let lost =
        try old.isEmpty ? [] : transaction.bundles(of: series, in: [.published]).filter { leaving.contains($0.id) }
      let replaced = lost + resigned
      let cause = replaced.isEmpty ? StagingCause.new(policy: policy) : .replacing(replaced, policy: policy)
      let stamp = try page.open(.staged, about: series)
      if let recipe, !records.isEmpty { try transaction.keep(recipe, of: records.map(\.id), stagedIn: stamp) }
      try transaction.lookAgain(at: again)
      if let floor = try sweeping(transaction) { try transaction.sweepAgenda(to: floor) }
      try page.close(stamp, .staged, .staged(records, series: series, cause))
      if !old.isEmpty {
        for bundle in old { try transaction.move(bundle, to: .expired, at: now) }
        try page.enter(.unlisted, about: series)
      }
      return records
    }
  }

  private static let releasePiece = 1 << 14

  /// The folder had bundles that the store does not know: it was lost, or is older than the folder. What apps have seen
  /// is taken as released, under the numbers that they know.
  ///
  /// - Parameters:
  ///   - listed: bundles that an index names, whose files are there; their bytes are not kept.
  ///   - unlisted: bundles that no index names any more.
  package func adopted(
    _ listed: [NewStaging], unlisted: [NewBundle], by series: String, at now: Instant,
    noting: @escaping @Sendable (any PublishingState) throws -> [NoteChange]
  ) async throws {
    try await transact([.staged, .published, .unlisted], at: now) { page in
      let transaction = page.transaction
      let notes = try noting(transaction)
      var (records, gone): ([BundleRecord], [BundleRecord]) = ([], [])
      for staging in listed {
        let record = try transaction.stage(staging.bundle, [], at: now)
        try transaction.release(
          staging.released.map { ReleasedKey(key: $0.key, bundle: record.id, revisions: $0.revisions) }, by: series)
        records.append(record)
      }
      for bundle in unlisted { gone.append(try transaction.stage(bundle, [], at: now)) }
      for record in records + gone { try transaction.move(record.id, to: .published, at: now) }
      for record in gone { try transaction.move(record.id, to: .expired, at: now) }
      try page.change(notes)
      try page.enter(
        .staged, about: "\(series), from its folder", saying: .staged(records + gone, series: series, .adopted))
      try page.enter(.published, about: series)
      if !gone.isEmpty { try page.enter(.unlisted, about: series) }
    }
  }

  /// Staged bundles are there and an index names them.
  package func published(_ bundles: [BundleID], by series: String, at now: Instant) async throws {
    try await move(bundles, to: .published, as: .published, by: series, at: now)
  }

  /// Bundles are in no index any more.
  package func unlisted(_ bundles: [BundleID], by series: String, at time: SoundTime) async throws {
    try await move(bundles, to: .expired, as: .unlisted, by: series, at: time.instant)
  }

  /// The files of bundles that no index names are gone.
  package func removed(_ bundles: [BundleID], by series: String, at time: SoundTime) async throws {
    try await move(bundles, to: .removed, as: .removed, by: series, at: time.instant)
  }

  /// An index in the folder was not what was written there, and was written anew.
  package func indexRestored(of series: String, at now: Instant) async throws {
    try await transact(.indexRestored, at: now) { page in
      try page.enter(.indexRestored, about: series)
    }
  }

  /// A mirror shows other archives than before.
  ///
  /// - Parameters:
  ///   - note: what it has shown.
  ///   - listed: how many are new, and `unlisted` how many left.
  package func mirrored(
    _ note: [UInt8], by mirror: String, listed: Int, unlisted: Int, at now: Instant
  ) async throws {
    try await transact(.mirrored, at: now) { page in
      try page.transaction.setNote(note, named: StoredNote.mirror(mirror).name)
      try page.enter(.mirrored, about: mirror)
    }
  }

  private func move(
    _ bundles: [BundleID], to state: BundleState, as kind: EventKind, by series: String, at now: Instant
  ) async throws {
    if bundles.isEmpty { return }
    try await transact(kind, at: now) { page in
      for bundle in bundles { try page.transaction.move(bundle, to: state, at: now) }
      try page.enter(kind, about: series)
    }
  }
}

extension LedgerPage {
  /// Remembers by which policy a series was published last, where somebody listens.
  fileprivate func policyMark(_ digest: String?, of series: String) throws -> PolicyMark? {
    guard let digest else { return nil }
    guard hasListeners else { return PolicyMark(digest: digest, isNew: false) }
    let (note, value) = (StoredNote.loggedPolicy(series: series), Array(digest.utf8))
    guard try transaction.note(note) != value else { return PolicyMark(digest: digest, isNew: false) }
    try change([NoteChange(note, value)])
    return PolicyMark(digest: digest, isNew: true)
  }

  func change(_ notes: [NoteChange]) throws {
    for change in notes { try transaction.setNote(change.value, named: change.note.name) }
  }
}
