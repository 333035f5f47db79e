internal import ExposureKeys
internal import KeyNormalization

/// The bytes of some claims that stand next to each other in a run: the smallest piece that is read, written and checked.
/// <doc:Segments> has the layout.
package enum ClaimBlock {
  /// What a block has before its columns: checksum, version, number of rows, and of each column its width and base.
  static let headerBytes = 8 + 1 + 4 + columnCount * 5
  private static let version: UInt8 = 1
  private static let columnCount = 7
  /// Bytes of a row whose columns are as wide as they can be.
  static let widestRow = 16 + columnCount * 4

  /// Why bytes are not a block.
  package enum Fault: Error, Hashable, CustomStringConvertible {
    case cut(byteCount: Int)
    case checksum
    case version(UInt8)
    case length(byteCount: Int, expected: Int)
    /// A row that no store writes; by its place in the block.
    case row(Int)

    package var description: String {
      switch self {
      case .cut(let count): "\(count) bytes, at least \(ClaimBlock.headerBytes + 16) are allowed"
      case .checksum: "it is not what was written"
      case .version(let version): "version \(version), allowed 1"
      case .length(let count, let expected): "\(count) bytes, by its header \(expected)"
      case .row(let place): "row \(place) is out of order or has a number that is not allowed"
      }
    }
  }

  // MARK: Decoding

  /// Adds the rows of a block to `rows`. Nothing is added where it throws.
  ///
  /// - Throws: ``Fault``.
  package static func decode(_ bytes: UnsafeRawBufferPointer, into rows: inout [ClaimRow]) throws(Fault) {
    guard bytes.count >= headerBytes + 16, let start = bytes.baseAddress else { throw .cut(byteCount: bytes.count) }
    let sum = UInt64(littleEndian: start.loadUnaligned(as: UInt64.self))
    guard SegmentChecksum.of(UnsafeRawBufferPointer(rebasing: bytes[8...])) == sum else { throw .checksum }
    guard bytes[8] == version else { throw .version(bytes[8]) }
    let count = Int(UInt32(littleEndian: start.loadUnaligned(fromByteOffset: 9, as: UInt32.self)))
    var widths: (Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0)
    var bases: (Int64, Int64, Int64, Int64, Int64, Int64, Int64) = (0, 0, 0, 0, 0, 0, 0)
    var total = 0
    var isAllowed = true
    func column(_ index: Int) -> (Int, Int64) {
      let width = Int(bytes[13 + 5 * index])
      let base = Int64(
        Int32(littleEndian: start.loadUnaligned(fromByteOffset: 14 + 5 * index, as: Int32.self)))
      if width > 4 || base < 0 { isAllowed = false }
      total += width
      return (width, base)
    }
    (widths.0, bases.0) = column(0)
    (widths.1, bases.1) = column(1)
    (widths.2, bases.2) = column(2)
    (widths.3, bases.3) = column(3)
    (widths.4, bases.4) = column(4)
    (widths.5, bases.5) = column(5)
    (widths.6, bases.6) = column(6)
    guard isAllowed, count > 0 else { throw .row(0) }
    let (expected, overflow) = count.multipliedReportingOverflow(by: 16 + total)
    guard !overflow, expected == bytes.count - headerBytes else {
      throw .length(byteCount: bytes.count, expected: overflow ? .max : headerBytes + expected)
    }
    let first = rows.count
    let keys = start + headerBytes
    var place = headerBytes + 16 * count
    rows.reserveCapacity(first + count)
    for index in 0..<count {
      rows.append(
        ClaimRow(
          key: TemporaryExposureKey(loadingFrom: keys + 16 * index), rollingStart: 0, said: 0, origin: 0, source: 0,
          regions: 0))
    }
    rows.withUnsafeMutableBufferPointer { all in
      let rows = UnsafeMutableBufferPointer(rebasing: all[first...])
      var excess: Int64 = 0
      func read(_ width: Int, _ base: Int64, _ member: WritableKeyPath<ClaimRow, Int32>, offset: Int) {
        guard let target = rows.baseAddress.map({ UnsafeMutableRawPointer($0) + offset }) else { return }
        let column = start + place
        let stride = MemoryLayout<ClaimRow>.stride
        @inline(__always) func fill(_ delta: (Int) -> Int64) {
          for index in 0..<count {
            let value = base &+ delta(index)
            excess |= value >> 31
            (target + index * stride).storeBytes(of: Int32(truncatingIfNeeded: value), as: Int32.self)
          }
        }
        switch width {
        case 0: fill { _ in 0 }
        case 1: fill { Int64(column.load(fromByteOffset: $0, as: UInt8.self)) }
        case 2: fill { Int64(UInt16(littleEndian: column.loadUnaligned(fromByteOffset: 2 * $0, as: UInt16.self))) }
        case 3:
          fill {
            Int64(UInt16(littleEndian: column.loadUnaligned(fromByteOffset: 3 * $0, as: UInt16.self)))
              | Int64(column.load(fromByteOffset: 3 * $0 + 2, as: UInt8.self)) << 16
          }
        default: fill { Int64(UInt32(littleEndian: column.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self))) }
        }
        place += width * count
      }
      read(widths.0, bases.0, \.rollingStart, offset: Self.offsets.0)
      read(widths.1, bases.1, \.said, offset: Self.offsets.1)
      read(widths.2, bases.2, \.origin, offset: Self.offsets.2)
      read(widths.3, bases.3, \.source, offset: Self.offsets.3)
      read(widths.4, bases.4, \.regions, offset: Self.offsets.4)
      read(widths.5, bases.5, \.arrival, offset: Self.offsets.5)
      read(widths.6, bases.6, \.recall, offset: Self.offsets.6)
      if excess != 0 { isAllowed = false }
    }
    if let wrong = isAllowed ? firstWrong(rows[first...]) : 0 {
      rows.removeLast(count)
      throw .row(wrong)
    }
  }

  /// The first row that does not follow the one before it, or says what no claim says.
  static func firstWrong(_ rows: ArraySlice<ClaimRow>) -> Int? {
    let limits = SaidLimits()
    return rows.withUnsafeBufferPointer { rows in
      for index in 0..<rows.count {
        if index > 0, !(rows[index - 1] < rows[index]) { return index }
        if !limits.allow(rows[index].said) || rows[index].isNegative { return index }
      }
      return nil
    }
  }

  private static let offsets = (
    offset(\.rollingStart), offset(\.said), offset(\.origin), offset(\.source), offset(\.regions), offset(\.arrival),
    offset(\.recall)
  )

  private static func offset(_ member: KeyPath<ClaimRow, Int32>) -> Int {
    guard let offset = MemoryLayout<ClaimRow>.offset(of: member) else { fatalError("a stored member has a place") }
    return offset
  }

  // MARK: Encoding

  /// - Parameter rows: in their order, each once, and at least one.
  package static func encode(_ rows: ArraySlice<ClaimRow>) -> [UInt8] {
    var size = BlockSize()
    for row in rows { size.add(row) }
    return encode(rows, size)
  }

  static func encode(_ rows: ArraySlice<ClaimRow>, _ size: BlockSize) -> [UInt8] {
    let count = rows.count
    return [UInt8](unsafeUninitializedCapacity: size.byteCount) { room, filled in
      guard let start = UnsafeMutableRawPointer(room.baseAddress) else { return }
      (start + 8).storeBytes(of: version, as: UInt8.self)
      (start + 9).storeBytes(of: UInt32(count).littleEndian, as: UInt32.self)
      rows.withUnsafeBufferPointer { rows in
        for index in 0..<count { rows[index].key.store(to: start + headerBytes + 16 * index) }
        var place = headerBytes + 16 * count
        var number = 0
        func write(_ column: BlockSize.Column, offset: Int) {
          guard let source = rows.baseAddress.map({ UnsafeRawPointer($0) + offset }) else { return }
          (start + 13 + 5 * number).storeBytes(of: UInt8(column.width), as: UInt8.self)
          (start + 14 + 5 * number).storeBytes(of: column.lowest.littleEndian, as: Int32.self)
          let target = start + place
          let stride = MemoryLayout<ClaimRow>.stride
          @inline(__always) func delta(_ index: Int) -> UInt32 {
            UInt32(truncatingIfNeeded: (source + index * stride).load(as: Int32.self) &- column.lowest)
          }
          switch column.width {
          case 0: break
          case 1:
            for index in 0..<count {
              (target + index).storeBytes(of: UInt8(truncatingIfNeeded: delta(index)), as: UInt8.self)
            }
          case 2:
            for index in 0..<count {
              (target + 2 * index).storeBytes(
                of: UInt16(truncatingIfNeeded: delta(index)).littleEndian, as: UInt16.self)
            }
          case 3:
            for index in 0..<count {
              let value = delta(index)
              (target + 3 * index).storeBytes(of: UInt16(truncatingIfNeeded: value).littleEndian, as: UInt16.self)
              (target + 3 * index + 2).storeBytes(of: UInt8(truncatingIfNeeded: value >> 16), as: UInt8.self)
            }
          default:
            for index in 0..<count { (target + 4 * index).storeBytes(of: delta(index).littleEndian, as: UInt32.self) }
          }
          place += column.width * count
          number += 1
        }
        write(size.rollingStart, offset: offsets.0)
        write(size.said, offset: offsets.1)
        write(size.origin, offset: offsets.2)
        write(size.source, offset: offsets.3)
        write(size.regions, offset: offsets.4)
        write(size.arrival, offset: offsets.5)
        write(size.recall, offset: offsets.6)
      }
      let sum = SegmentChecksum.of(UnsafeRawBufferPointer(start: start + 8, count: size.byteCount - 8))
      start.storeBytes(of: sum.littleEndian, as: UInt64.self)
      filled = size.byteCount
    }
  }
}

/// How many bytes a block of rows takes, as they come.
struct BlockSize {
  struct Column {
    var lowest = Int32.max
    var highest: Int32 = 0

    @inline(__always)
    mutating func add(_ value: Int32) {
      lowest = min(lowest, value)
      highest = max(highest, value)
    }

    /// Bytes a row.
    @inline(__always)
    var width: Int {
      let span = UInt32(truncatingIfNeeded: highest &- lowest)
      return (32 - span.leadingZeroBitCount + 7) / 8
    }
  }

  private(set) var count = 0
  private(set) var rollingStart = Column()
  private(set) var said = Column()
  private(set) var origin = Column()
  private(set) var source = Column()
  private(set) var regions = Column()
  private(set) var arrival = Column()
  private(set) var recall = Column()

  @inline(__always)
  mutating func add(_ row: ClaimRow) {
    count += 1
    rollingStart.add(row.rollingStart)
    said.add(row.said)
    origin.add(row.origin)
    source.add(row.source)
    regions.add(row.regions)
    arrival.add(row.arrival)
    recall.add(row.recall)
  }

  @inline(__always)
  var byteCount: Int {
    let widths =
      rollingStart.width + said.width + origin.width + source.width + regions.width + arrival.width + recall.width
    return ClaimBlock.headerBytes + count * (16 + widths)
  }
}

/// Which bits a claim's statement can have.
private struct SaidLimits {
  private let risk = Int32(Statement.Field.transmissionRisk.highestNumber)
  private let onset = Int32(Statement.Field.daysSinceOnset.highestNumber)
  private let period = Int32(Statement.Field.rollingPeriod.highestNumber)
  private let highest = Int32(Statement.highest)

  /// The list of report types may grow, so every one that has bits is let through.
  @inline(__always)
  func allow(_ said: Int32) -> Bool {
    said > 0 && said <= highest && said & 255 >= 1 && said & 255 <= period && said >> 8 & 15 <= risk
      && said >> 15 & 4095 <= onset
  }
}

/// A sum over bytes that a single changed word always changes: each step can be undone, so a difference stays one.
package enum SegmentChecksum {
  package static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var sum = UInt64(bytes.count) &* 0x9E37_79B9_7F4A_7C15
    guard let start = bytes.baseAddress else { return sum }
    let words = bytes.count / 8
    for index in 0..<words {
      sum = step(sum, UInt64(littleEndian: start.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self)))
    }
    var rest: UInt64 = 0
    for index in 8 * words..<bytes.count {
      rest = rest << 8 | UInt64(start.load(fromByteOffset: index, as: UInt8.self))
    }
    sum = step(sum, rest)
    return sum ^ sum >> 32
  }

  @inline(__always)
  private static func step(_ sum: UInt64, _ word: UInt64) -> UInt64 {
    let mixed = (sum ^ word) &* 0xBF58_476D_1CE4_E5B9
    return mixed << 29 | mixed >> 35
  }
}
