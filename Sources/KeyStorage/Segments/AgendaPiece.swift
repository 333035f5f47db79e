package import ExposureKeys

/// Key data of an agenda as a store keeps it: in order, each once, behind a checksum. <doc:Segments> has the layout.
package enum AgendaPiece {
  /// Keys of a large piece at most: what one batch says of one hour is divided into such.
  package static let mostKeys = 4096
  /// Key data that comes in small pieces, such as that of single persons' uploads, is put among others' until there is so
  /// much of it: one by one it would tell which keys came together. It fills a page.
  package static let smallKeys = 240

  /// The number under which something is noted: no mark that was made before has one as high, whatever the claims say of the
  /// event that brought them, and uploads of a day all say the first one. Small pieces have a coarse one: it does not tell which
  /// keys came together. What has too high a number is looked at some times more.
  ///
  /// - Parameters:
  ///   - last: the last event that was written down.
  ///   - isOpen: whether that is an event of the transaction at hand.
  package static func number(of last: EventID, isOpen: Bool, isSmall: Bool) -> EventID {
    let number = isOpen ? last.rawValue : last.rawValue &+ 1
    return EventID(rawValue: isSmall ? number | 255 : number)
  }

  package static func encode(_ keys: ArraySlice<TemporaryExposureKey>) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 8)
    bytes.reserveCapacity(8 + keys.count * TemporaryExposureKey.byteCount)
    for key in keys {
      withUnsafeBytes(of: (key.high.bigEndian, key.low.bigEndian)) { bytes.append(contentsOf: $0) }
    }
    let sum = bytes.withUnsafeBytes { SegmentChecksum.of(UnsafeRawBufferPointer(rebasing: $0[8...])) }
    withUnsafeBytes(of: sum.littleEndian) { sum in
      for index in 0..<8 { bytes[index] = sum[index] }
    }
    return bytes
  }

  /// Adds the key data of a piece to `keys`; nothing where it is not what was written.
  ///
  /// - Returns: whether it is.
  package static func decode(_ bytes: UnsafeRawBufferPointer, into keys: inout [TemporaryExposureKey]) -> Bool {
    let width = TemporaryExposureKey.byteCount
    guard bytes.count > 8, (bytes.count - 8) % width == 0, let start = bytes.baseAddress,
      UInt64(littleEndian: start.loadUnaligned(as: UInt64.self))
        == SegmentChecksum.of(UnsafeRawBufferPointer(rebasing: bytes[8...]))
    else { return false }
    for place in stride(from: 8, to: bytes.count, by: width) {
      keys.append(TemporaryExposureKey(loadingFrom: start + place))
    }
    return true
  }

  /// Puts key data among that of a small piece.
  ///
  /// - Returns: the piece, or two where it has become too large for one: every second key, so that what comes next is never
  ///   alone.
  package static func adding(
    _ keys: [TemporaryExposureKey], to piece: [TemporaryExposureKey]
  ) -> [[TemporaryExposureKey]] {
    let all = Set(piece).union(keys).sorted()
    guard all.count > smallKeys else { return [all] }
    return [0, 1].map { first in stride(from: first, to: all.count, by: 2).map { all[$0] } }
  }
}

extension [ClaimRow] {
  /// The key data of these claims by the hours for which they are noted, each in order and once.
  ///
  /// The claims stand in the order of their key data.
  package var agenda: [Int64: [TemporaryExposureKey]] {
    var noted = NotedHours()
    for row in self {
      let (hour, short) = row.statement.agendaHours(from: row.rollingStart)
      noted.note(row.key, hour)
      if let short { noted.note(row.key, short) }
    }
    return noted.all
  }
}

/// Key data by hours, as it comes: most claims name one of a few hours.
private struct NotedHours {
  private var keys: [[TemporaryExposureKey]] = []
  private var places: [Int64: Int] = [:]
  /// Of the last hours that were asked for, by their lowest bits.
  private var lately: [(hour: Int64, place: Int)] = Array(repeating: (-1, 0), count: 64)

  var all: [Int64: [TemporaryExposureKey]] { places.mapValues { keys[$0] } }

  @inline(__always)
  mutating func note(_ key: TemporaryExposureKey, _ hour: Int64) {
    let slot = Int(truncatingIfNeeded: hour ^ hour >> 6) & 63
    if lately[slot].hour != hour { lately[slot] = (hour, place(of: hour)) }
    keys[lately[slot].place].noteOnce(key)
  }

  private mutating func place(of hour: Int64) -> Int {
    if let place = places[hour] { return place }
    places[hour] = keys.count
    keys.append([])
    return keys.count - 1
  }
}

extension [TemporaryExposureKey] {
  fileprivate mutating func noteOnce(_ key: TemporaryExposureKey) {
    if last != key { append(key) }
  }
}
