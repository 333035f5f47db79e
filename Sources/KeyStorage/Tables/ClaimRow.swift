package import ExposureKeys
package import KeyNormalization

/// A claim as a store keeps it: numbers in place of names, the arrival that brought it, and the recall that withdrew it.
///
/// Six members are its identity: a claim is in a store once, whoever brings it how often. No number is negative.
package struct ClaimRow: Hashable, Sendable, BitwiseCopyable {
  package var key: TemporaryExposureKey
  package var rollingStart: Int32
  /// The bits of its ``Statement``.
  package var said: Int32
  package var origin: Int32
  package var source: Int32
  package var regions: Int32
  /// The number of its arrival in the store.
  package var arrival: Int32
  /// The number of the recall that withdrew it; 0 where it stands.
  package var recall: Int32

  package init(
    key: TemporaryExposureKey, rollingStart: Int32, said: Int32, origin: Int32, source: Int32, regions: Int32,
    arrival: Int32 = 0, recall: Int32 = 0
  ) {
    self.key = key
    self.rollingStart = rollingStart
    self.said = said
    self.origin = origin
    self.source = source
    self.regions = regions
    self.arrival = arrival
    self.recall = recall
  }

  package var statement: Statement { Statement(bits: UInt32(bitPattern: said)) }
  /// Whether one of the numbers is; none may be.
  @inline(__always)
  var isNegative: Bool { (rollingStart | origin | source | regions | arrival | recall) < 0 }
  package var subject: KeySubject { KeySubject(key: key, rollingStart: rollingStart) }
  package var stands: Bool { recall == 0 }

  /// Whether it is the same claim, whatever brought or withdrew it.
  @inline(__always)
  package func isSame(as other: ClaimRow) -> Bool {
    key == other.key && rollingStart == other.rollingStart && said == other.said && origin == other.origin
      && source == other.source && regions == other.regions
  }

  /// By key data, rolling start, and what else is its identity.
  @inline(__always)
  package static func < (left: ClaimRow, right: ClaimRow) -> Bool {
    if left.key != right.key { return left.key < right.key }
    if left.rollingStart != right.rollingStart { return left.rollingStart < right.rollingStart }
    if left.said != right.said { return left.said < right.said }
    if left.origin != right.origin { return left.origin < right.origin }
    if left.source != right.source { return left.source < right.source }
    return left.regions < right.regions
  }
}

extension ClaimRow: CustomStringConvertible {
  /// Never the key data.
  package var description: String { "ClaimRow(arrival: \(arrival), recall: \(recall))" }
}

extension [ClaimRow] {
  /// The key data of rows in its order, each once.
  var keyData: [TemporaryExposureKey] {
    var keys: [TemporaryExposureKey] = []
    for row in self where row.key != keys.last { keys.append(row.key) }
    return keys
  }
}
