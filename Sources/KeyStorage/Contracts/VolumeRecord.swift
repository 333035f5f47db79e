package import ExposureKeys
package import KeyNormalization

/// What is known of the limit of a source's keys a day: up to how many an operator has raised it, and which one held keys last.
package struct VolumeRecord: Hashable, Sendable, Codable {
  package var raised: Raised?
  package var held: Held?

  package init(raised: Raised? = nil, held: Held? = nil) { (self.raised, self.held) = (raised, held) }

  /// Up to so many new keys of each origin may come on a day.
  package struct Raised: Hashable, Sendable, Codable {
    /// Since 1970.
    package var day: Int
    package var keys: Int

    package init(on day: Day, to keys: Int) { (self.day, self.keys) = (Int(day.daysSince1970), keys) }
  }

  /// Beyond so many new keys of an origin on a day, its keys were held.
  package struct Held: Hashable, Sendable, Codable {
    /// Since 1970.
    package var day: Int
    /// By the names of ``OriginVolumes``.
    package var origin: String
    package var limit: Int
  }

  /// Up to how many keys an operator has raised the limit of a day; `nil` if no operator has.
  package func raisedLimit(on day: Day) -> Int? {
    raised.flatMap { $0.day == Int(day.daysSince1970) ? $0.keys : nil }
  }

  /// Which limit held keys on a day; `nil` if none did, or if it held keys on a later day too.
  package func held(on day: Day) -> Held? { held.flatMap { $0.day == Int(day.daysSince1970) ? $0 : nil } }
}

extension StoredState {
  package func volumeRecord(of source: String) throws -> VolumeRecord {
    try decoded(.volumes(source: source)) ?? VolumeRecord()
  }

  /// What a source has sent on a day, and what an operator lets it send.
  package func volumesToday(on day: Day, of source: String) throws -> VolumesToday {
    VolumesToday(
      keys: try volumes(on: day, of: source), raisedLimit: try volumeRecord(of: source).raisedLimit(on: day))
  }
}

extension StoreTransaction {
  /// Notes which limit held claims, so that an operator can be told.
  func note(exceededBy batch: AdmittedBatch, of document: DocumentID, at now: Instant) throws {
    guard let exceeded = batch.exceeded, let source = try self.document(document)?.source else { return }
    var record = try volumeRecord(of: source)
    let held = VolumeRecord.Held(
      day: Int(now.day.daysSince1970), origin: exceeded.origin, limit: exceeded.limit.keys)
    guard record.held != held else { return }
    record.held = held
    try setNote(try encoded(record), named: StoredNote.volumes(source: source).name)
  }
}
