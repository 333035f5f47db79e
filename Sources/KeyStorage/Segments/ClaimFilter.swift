package import ExposureKeys

/// Tells of key data that it is surely not in a part of a run, without reading that; of one in some hundred it says so in
/// vain. Sixteen bits a row, in lines of 64 bytes, of which a question reads one.
package struct ClaimFilter: Sendable {
  private var words: [UInt64]
  private let lines: UInt64

  private static let bitsPerKey = 16
  private static let version: UInt64 = 1

  /// - Parameter keys: those that it knows.
  package init(_ keys: [TemporaryExposureKey]) {
    lines = UInt64(max(1, (keys.count * Self.bitsPerKey + 511) / 512))
    words = Array(repeating: 0, count: Int(lines) * 8)
    for key in keys { add(key) }
  }

  private mutating func add(_ key: TemporaryExposureKey) {
    let (line, bits) = place(of: key)
    for step in 0..<7 {
      let bit = bits >> UInt64(9 * step) & 511
      words[line + Int(bit >> 6)] |= 1 << (bit & 63)
    }
  }

  package func mayHave(_ key: TemporaryExposureKey) -> Bool {
    words.withUnsafeBufferPointer { mayHave(key, $0) }
  }

  @inline(__always)
  private func mayHave(_ key: TemporaryExposureKey, _ words: UnsafeBufferPointer<UInt64>) -> Bool {
    let (line, bits) = place(of: key)
    for step in 0..<7 {
      let bit = bits >> UInt64(9 * step) & 511
      if words[line + Int(bit >> 6)] >> (bit & 63) & 1 == 0 { return false }
    }
    return true
  }

  /// Adds the places of the rows whose key data it may have.
  func find(_ rows: UnsafeBufferPointer<ClaimRow>, in places: Range<Int>, into found: inout [Int]) {
    words.withUnsafeBufferPointer { words in
      for place in places where mayHave(rows[place].key, words) { found.append(place) }
    }
  }

  @inline(__always)
  private func place(of key: TemporaryExposureKey) -> (line: Int, bits: UInt64) {
    var hash = (key.high ^ key.low &* 0x9E37_79B9_7F4A_7C15) &* 0xBF58_476D_1CE4_E5B9
    hash ^= hash >> 31
    let line = ((hash >> 32) &* lines) >> 32
    var bits = hash &* 0x94D0_49BB_1331_11EB
    bits ^= bits >> 29
    return (Int(line) * 8, bits)
  }

  // MARK: As bytes

  /// The checksum, the version, and the lines.
  package var bytes: [UInt8] {
    let count = 16 + words.count * 8
    return [UInt8](unsafeUninitializedCapacity: count) { room, filled in
      let raw = UnsafeMutableRawBufferPointer(room)
      raw.storeBytes(of: Self.version.littleEndian, toByteOffset: 8, as: UInt64.self)
      for (index, word) in words.enumerated() {
        raw.storeBytes(of: word.littleEndian, toByteOffset: 16 + 8 * index, as: UInt64.self)
      }
      let sum = SegmentChecksum.of(UnsafeRawBufferPointer(rebasing: raw[8..<count]))
      raw.storeBytes(of: sum.littleEndian, toByteOffset: 0, as: UInt64.self)
      filled = count
    }
  }

  /// `nil` where the bytes are not those of a filter.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 80, (bytes.count - 16) % 64 == 0,
      UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        == SegmentChecksum.of(UnsafeRawBufferPointer(rebasing: bytes[8...])),
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)) == Self.version
    else { return nil }
    lines = UInt64((bytes.count - 16) / 64)
    words = (0..<(bytes.count - 16) / 8).map {
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16 + 8 * $0, as: UInt64.self))
    }
  }
}
