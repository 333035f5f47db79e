package import ExposureKeys
internal import KeyIntake
internal import KeyNormalization
package import KeyStorage

/// Keys of a source that were held since more came on a day than its limit, and what an operator can do.
package struct HeldFlood: Hashable, Sendable {
  package let source: String
  package let document: DocumentID
  /// How many are held.
  package let keys: Int
  /// Which limit held them; `nil` if another flood of the source came since.
  package let exceeded: VolumeRecord.Held?
  /// Whether the limit is still today's.
  fileprivate let isTodays: Bool

  /// The command that lets more come today; `nil` if the limit is no longer in force.
  package var raising: String? {
    guard isTodays, let limit = exceeded?.limit else { return nil }
    let doubled = limit.multipliedReportingOverflow(by: 2)
    let enough = max(
      doubled.overflow ? Int.max : doubled.partialValue, limit.addingReportingOverflow(keys).partialValue)
    guard enough <= Self.limits.upperBound else { return nil }
    return "keyferry quarantine raise \(source) --keys \(enough)"
  }

  /// To how many keys a limit may be raised.
  package static let limits = 1...1_000_000_000

  package var text: String {
    var text = "\(counted(keys, "key")) of \(source) held"
    if let exceeded {
      let origin = exceeded.origin == OriginVolumes.lostOrigin(of: source) ? "" : " of \(exceeded.origin)"
      let day = Day(daysSince1970: numericCast(exceeded.day))
      text += ": more than \(counted(exceeded.limit, "new key"))\(origin) came on \(day)"
    } else {
      text += " as a flood"
    }
    if let raising { text += "; \(raising) lets more come today" }
    return text + "; keyferry quarantine retry \(document.rawValue) admits those held"
  }
}

extension StoredState {
  /// What held keys of a document as a flood; `nil` if nothing did.
  ///
  /// - Parameter today: on which the limit can be raised.
  package func heldFlood(of document: WaitingDocument, today: Day) throws -> HeldFlood? {
    let keys = FloodReasons.codes.reduce(0) { $0 + (document.holds[$1] ?? 0) }
    guard keys > 0 else { return nil }
    let record = try volumeRecord(of: document.source)
    // A document of uploads is of one day, and others were recorded when they changed last.
    let exceeded = record.held(on: document.changed.day)
    let isTodays = exceeded.map {
      $0.day == Int(today.daysSince1970) && (record.raisedLimit(on: today) ?? 0) <= $0.limit
    }
    return HeldFlood(
      source: document.source, document: document.id, keys: keys, exceeded: exceeded, isTodays: isTodays ?? false)
  }
}

private enum FloodReasons {
  static let codes = [AdmissionReason.flood, .tooManyKeysADay].map(\.rawValue)
}
