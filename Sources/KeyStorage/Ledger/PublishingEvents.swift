package import ExposureKeys

/// A bundle that is to be staged, with its bytes and the keys that it releases.
package struct NewStaging: Sendable {
  package var bundle: NewBundle
  package var content: [UInt8]
  package var released: [NewRelease]

  package init(_ bundle: NewBundle, _ content: [UInt8], releasing released: [NewRelease]) {
    self.bundle = bundle
    self.content = content
    self.released = released
  }
}

/// A key as a bundle releases it.
package struct NewRelease: Hashable, Sendable, BitwiseCopyable {
  package var key: ClaimedKey
  package var revisions: Int32

  package init(key: ClaimedKey, revisions: Int32) {
    self.key = key
    self.revisions = revisions
  }
}

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
        try page.enter(.paddingPlanned(series: series), about: series.joined(separator: ", "))
      }
      return plan
    }
  }

  /// A series has new bundles: their bytes, the keys that they release, and where the series stands behind them. From
  /// now on they will be published under these names, whatever happens.
  ///
  /// - Parameter noting: what has to be kept with them. It may be run again, and what it throws undoes everything.
  @discardableResult
  package func staged(
    _ stagings: [NewStaging], by series: String, at now: Instant,
    noting: @escaping @Sendable (any PublishingState) throws -> [NoteChange]
  ) async throws -> [BundleRecord] {
    try await transact(.staged, at: now) { page in
      let transaction = page.transaction
      let notes = try noting(transaction)
      let records = try stagings.map { staging in
        let record = try transaction.stage(staging.bundle, staging.content, at: now)
        if !staging.released.isEmpty {
          try transaction.release(
            staging.released.map { ReleasedKey(key: $0.key, bundle: record.id, revisions: $0.revisions) }, by: series)
        }
        return record
      }
      try page.change(notes)
      try page.enter(.staged(records, series: series), about: series)
      return records
    }
  }

  /// Staged bundles are there and an index names them; others are in no index any more.
  package func published(
    _ bundles: [BundleID], unlisting unlisted: [BundleID], by series: String, at now: Instant
  ) async throws {
    let kinds: [EventKind] = (bundles.isEmpty ? [] : [.published]) + (unlisted.isEmpty ? [] : [.unlisted])
    if kinds.isEmpty { return }
    try await transact(kinds, at: now) { page in
      if !bundles.isEmpty {
        for bundle in bundles { try page.transaction.move(bundle, to: .published, at: now) }
        try page.enter(.published(bundles), about: series)
      }
      if !unlisted.isEmpty {
        for bundle in unlisted { try page.transaction.move(bundle, to: .expired, at: now) }
        try page.enter(.unlisted(unlisted), about: series)
      }
    }
  }

  /// The files of bundles that no index names are gone.
  package func removed(_ bundles: [BundleID], by series: String, at now: Instant) async throws {
    if bundles.isEmpty { return }
    try await transact(.removed, at: now) { page in
      for bundle in bundles { try page.transaction.move(bundle, to: .removed, at: now) }
      try page.enter(.removed(bundles), about: series)
    }
  }
}

extension LedgerPage {
  fileprivate func change(_ notes: [NoteChange]) throws {
    for change in notes { try transaction.setNote(change.value, named: change.note.name) }
  }
}
