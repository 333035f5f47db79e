/// What became of a log's rows: how many are sightings, and which are not and why.
///
/// A row that cannot be used is data, not an error: the others go on. Nothing in here names an identifier, its metadata or a
/// Bluetooth address, whatever the log had in their place.
package struct SightingTally: Hashable, Sendable {
  /// Rows or packets that were looked at.
  package internal(set) var records = 0
  package internal(set) var sightings = 0
  /// Sightings without signal strength: they answer whether people met, and not how near.
  package internal(set) var withoutRSSI = 0
  /// Sightings without encrypted metadata, so that the sender's transmit power is not known.
  package internal(set) var withoutMetadata = 0
  /// Sightings whose row states a signal strength that no receiver measures; it is left out.
  package internal(set) var impossibleRSSI = 0
  package internal(set) var rejected: [SightingRejection.Reason: Int] = [:]
  /// The first rejected rows.
  package internal(set) var examples: [SightingRejection] = []

  static let exampleLimit = 20

  package init() {}

  package var rejectedCount: Int { rejected.values.reduce(0, +) }

  /// - Parameter rejection: made only if it is kept as an example.
  mutating func reject(_ reason: SightingRejection.Reason, _ place: @autoclosure () -> String, _ detail: String) {
    rejected[reason, default: 0] += 1
    if examples.count < Self.exampleLimit {
      examples.append(SightingRejection(place: place(), reason: reason, detail: detail))
    }
  }
}

/// A row that is no sighting.
package struct SightingRejection: Hashable, Sendable {
  /// `line 17`, `advertisements: row 3`, `packet 12: byte 3456`.
  package let place: String
  package let reason: Reason
  /// What was found and what is expected. Never an identifier.
  package let detail: String

  /// The raw value is the stable code for programs.
  package enum Reason: String, Sendable, Hashable, CaseIterable {
    /// The row states no identifier, or not sixteen bytes.
    case identifier
    /// The encrypted metadata is not four bytes.
    case metadata
    /// The time is absent, no number or date, or not between 1970 and 2106.
    case time
    /// The row has too few cells.
    case malformedRow = "malformed-row"
    /// The service data is neither 16 nor 20 bytes: phones do not take such a broadcast.
    case serviceDataLength = "service-data-length"
    /// The receiver's radio reports that the packet's check sum is wrong.
    case checksum
    /// The file or a packet ends in the middle of something.
    case cutOff = "cut-off"
    /// The broadcast may belong to an identifier that its log has replaced by a later one.
    case replacedIdentifier = "replaced-identifier"
    /// The packet's link type is not one that is read.
    case linkType = "link-type"
  }
}
