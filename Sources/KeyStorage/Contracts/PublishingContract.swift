package import ExposureKeys

/// What publishing asks: what went out, and what it has to remember from round to round.
package protocol PublishingState: AnyObject {
  /// Bundles of a series in the order in which they were staged; `nil` is all series.
  func bundles(of series: String?, in states: Set<BundleState>) throws -> [BundleRecord]
  /// The bytes of a staged bundle; `nil` once it was published.
  func content(of bundle: BundleID) throws -> [UInt8]?
  /// What a series has released, in the order of key data and rolling start, from `start` on, at most `limit`.
  ///
  /// - Parameter bundle: as it was before this bundle was staged: keys whose first release came later are left out, and a
  ///   later revision is undone. `nil` is now. It reaches back as far as bundles have recipes.
  func released(
    by series: String, from start: TemporaryExposureKey, limit: Int, before bundle: BundleID?
  ) throws -> [ReleasedKey]
  /// What a series has released of these key data, in the order of key data and rolling start.
  ///
  /// - Parameter keys: in order, each once.
  func released(by series: String, about keys: [TemporaryExposureKey]) throws -> [ReleasedKey]
  /// How a bundle was made; `nil` for a bundle that was found in the folder after the store was lost.
  func recipe(of bundle: BundleID) throws -> StagedRecipe?
  /// A value that the gateway keeps under a name; see ``StoredNote``.
  func note(named name: String) throws -> [UInt8]?
  /// What is known of a public log; `nil` where it is kept elsewhere, or was not begun. See ``LogHead``.
  func logHead(named name: String) throws -> LogHead?
}

extension PublishingState {
  /// What a series has released now.
  package func released(by series: String, from start: TemporaryExposureKey, limit: Int) throws -> [ReleasedKey] {
    try released(by: series, from: start, limit: limit, before: nil)
  }

  /// - Throws: ``StorageFault`` `corrupt` where it has numbers that no store writes.
  package func note(_ note: StoredNote) throws -> [UInt8]? {
    guard let value = try self.note(named: note.name) else { return nil }
    guard StoredNote.hasPlainNumbers(value, named: note.name) else {
      throw StorageFault(.corrupt, "the note \(note.name) has a number that no store writes")
    }
    return value
  }
}

/// What publishing changes.
package protocol PublishingChanges: AnyObject {
  /// Adds a bundle as `staged`, with its bytes.
  func stage(_ bundle: NewBundle, _ content: StoredBytes, at now: Instant) throws -> BundleRecord
  /// The keys that a series releases with a bundle; a key released earlier is replaced.
  func release(_ keys: [ReleasedKey], by series: String) throws
  /// Keeps how bundles were made that one event staged, in the order of their numbers.
  func keep(_ recipe: NewRecipe, of bundles: [BundleID], stagedIn event: EventStamp) throws
  /// Moves a bundle to another state; `published` drops the bytes.
  func move(_ bundle: BundleID, to state: BundleState, at now: Instant) throws
  func setNote(_ value: [UInt8]?, named name: String) throws
  /// Moves a public log forward from the tree that was seen; `nil` begins one.
  ///
  /// - Throws: ``StorageFault`` `conflict` where something else is there, or it would not go forward.
  func moveLog(named name: String, from seen: LogHead.Tree?, to head: LogHead) throws
}
