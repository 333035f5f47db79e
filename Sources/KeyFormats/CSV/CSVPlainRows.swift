internal import ExposureKeys

/// Reads rows of any layout whose cells are plain: key data in its usual spellings, digits, the names that the encoder
/// writes, and regions that have been read before, each by itself or in quotes as a whole.
///
/// It stops at the first row that is anything else, so that the caller cuts that one into
/// cells, and never reads a row otherwise than the caller would.
struct CSVPlainRows {
  /// So many bytes are there where a cell begins, words read ahead included.
  private static let reach = 64

  /// Reads rows from `start` on, as long as they are there before `end` as a whole and `free` has room.
  static func read(
    _ start: UnsafeRawPointer, _ end: UnsafeRawPointer, _ layout: CSVLayout, rowLimit: Int,
    regions: borrowing CSVRegionCache, into free: UnsafeMutableBufferPointer<ClaimedKey>
  ) -> (rows: Int, end: UnsafeRawPointer) {
    if layout.revision != nil { return (0, start) }
    return layout.columns.withUnsafeBufferPointer { columns in
      var row = start
      var count = 0
      while count < free.count {
        var reader = CSVPlainRows(place: row, end: end, separator: layout.separator, quotes: layout.quotes)
        guard let key = reader.row(columns, regions), reader.place - row <= rowLimit else { break }
        free.initializeElement(at: count, to: key)
        count += 1
        row = reader.place
      }
      return (count, row)
    }
  }

  private var place: UnsafeRawPointer
  private let end: UnsafeRawPointer
  private let separator: UInt8
  private let quotes: Bool
  private var fields = KeyFields()

  private init(place: UnsafeRawPointer, end: UnsafeRawPointer, separator: UInt8, quotes: Bool) {
    self.quotes = quotes
    self.place = place
    self.end = end
    self.separator = separator
  }

  @inline(__always)
  private mutating func row(
    _ columns: UnsafeBufferPointer<CSVColumn?>, _ regions: borrowing CSVRegionCache
  ) -> ClaimedKey? {
    guard end - place >= Self.reach, byte() != UInt8(ascii: "#") else { return nil }
    var key = ClaimedKey(key: TemporaryExposureKey(high: 0, low: 0))
    var cells = CSVRegionCells()
    for index in 0..<columns.count {
      guard end - place >= Self.reach else { return nil }
      let isQuoted = quotes && byte() == UInt8(ascii: "\"")
      if isQuoted { place += 1 }
      switch columns[index] {
      case .keyData:
        guard let data = keyData() else { return nil }
        key.key = data
      case .rollingStart:
        guard let number = number(.rollingStart) else { return nil }
        key.rollingStartWord = number
      case .rollingPeriod:
        guard let number = number(.rollingPeriod) else { return nil }
        key.rollingPeriodWord = number
      case .transmissionRisk:
        guard let number = number(.transmissionRisk) else { return nil }
        key.transmissionRiskWord = number
      case .reportType:
        guard let number = reportType() else { return nil }
        key.reportTypeWord = number
      case .daysSinceOnset:
        guard let number = number(.daysSinceOnset) else { return nil }
        key.daysSinceOnsetWord = number
      case .revised: readRevised()
      case .origin:
        guard let text = text(isQuoted) else { return nil }
        cells.origin = .init(text: text, isQuoted: isQuoted)
      case .visitedRegions:
        guard let text = text(isQuoted) else { return nil }
        cells.visited = .init(text: text, isQuoted: isQuoted)
      case .unknownFields: break
      case nil: guard text(isQuoted) != nil else { return nil }
      }
      if isQuoted {
        guard byte() == UInt8(ascii: "\"") else { return nil }
        place += 1
      }
      guard skipEnd(isLast: index == columns.count - 1) else { return nil }
    }
    guard let id = cells.find(in: regions) else { return nil }
    key.regions = id
    key.fields = fields
    return key
  }

  @inline(__always)
  private func byte(_ offset: Int = 0) -> UInt8 { place.load(fromByteOffset: offset, as: UInt8.self) }

  /// The separator, or the line's end.
  @inline(__always)
  private mutating func skipEnd(isLast: Bool) -> Bool {
    if !isLast {
      guard byte() == separator else { return false }
    } else if byte() != UInt8(ascii: "\n") {
      guard byte() == UInt8(ascii: "\r"), byte(1) == UInt8(ascii: "\n") else { return false }
      place += 1
    }
    place += 1
    return true
  }

  /// Hexadecimal, or padded base64. Base64 without padding may be the name of a column, so the caller reads it.
  @inline(__always)
  private mutating func keyData() -> TemporaryExposureKey? {
    // A database's sign before the digits; in COPY the backslash is doubled.
    if byte() == UInt8(ascii: "\\") || (byte() == UInt8(ascii: "0") && byte(1) == UInt8(ascii: "x")) {
      let length = byte() == byte(1) ? 3 : 2
      guard byte(length - 1) == UInt8(ascii: "x") else { return nil }
      place += length
      let text = UnsafeRawBufferPointer(start: place, count: 32)
      place += text.count
      return KeyText.keyFromHexadecimal(text)
    }
    let isBase64 = byte(22) == UInt8(ascii: "=") && byte(23) == UInt8(ascii: "=")
    let text = UnsafeRawBufferPointer(start: place, count: isBase64 ? 24 : 32)
    place += text.count
    return isBase64 ? KeyText.keyFromBase64(text) : KeyText.keyFromHexadecimal(text)
  }

  /// 0 and no presence bit when the cell is empty.
  @inline(__always)
  private mutating func number(_ field: KeyFields) -> Int32? {
    var length = 0
    let isNegative = byte() == UInt8(ascii: "-")
    if isNegative { length = 1 }
    let limit = length + 10
    var value: Int64 = 0
    while length <= limit, DecimalCell.isDigit(byte(length)) {
      value = value &* 10 &+ Int64(byte(length) &- UInt8(ascii: "0"))
      length += 1
    }
    guard length > 0 else {
      let word = UInt32(littleEndian: place.loadUnaligned(as: UInt32.self))
      if word == 0x4C4C_554E { place += 4 } else if word & 0xFFFF == 0x4E5C { place += 2 }
      return 0
    }
    guard length <= limit, limit - length < 10, let exact = Int32(exactly: isNegative ? -value : value) else {
      return nil
    }
    place += length
    if byte() == UInt8(ascii: "."), byte(1) == UInt8(ascii: "0") {
      place += 2
      var zeros = 0
      while zeros < 16, byte() == UInt8(ascii: "0") {
        place += 1
        zeros += 1
      }
    }
    fields.insert(field)
    return exact
  }

  @inline(__always)
  private mutating func reportType() -> Int32? {
    guard byte() >= UInt8(ascii: "A"), byte() != UInt8(ascii: "N"), byte() != UInt8(ascii: "\\") else {
      return number(.reportType)
    }
    guard let (type, length) = ReportTypeSpelling.find(place) else { return nil }
    place += length
    fields.insert(.reportType)
    return type.rawValue
  }

  /// What is spelled otherwise stays, and is no cell's end.
  @inline(__always)
  private mutating func readRevised() {
    let word = UInt64(littleEndian: place.loadUnaligned(as: UInt64.self))
    if word & 0xFF_FFFF_FFFF == 0x65_736C_6166 {
      place += 5
    } else if word & 0xFFFF_FFFF == 0x6575_7274 {
      place += 4
      fields.insert(.revised)
    } else if byte() == UInt8(ascii: "0") {
      place += 1
    } else if byte() == UInt8(ascii: "1") {
      place += 1
      fields.insert(.revised)
    }
  }

  /// Text up to the cell's end. `nil` when a blank stands before it, or the bytes come to their end.
  @inline(__always)
  private mutating func text(_ isQuoted: Bool) -> UnsafeRawBufferPointer? {
    let start = place
    let stop = isQuoted ? UInt8(ascii: "\"") : separator
    if !isQuoted, byte() != stop, byte() == UInt8(ascii: " ") || byte() == UInt8(ascii: "\t") { return nil }
    while true {
      let byte = byte()
      if byte == stop || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { break }
      place += 1
      guard end - place >= 8 else { return nil }
    }
    return UnsafeRawBufferPointer(start: start, count: place - start)
  }
}

/// The cells of a row that name regions, which mean the same wherever they are the same.
struct CSVRegionCells {
  struct Cell {
    /// Without the quotes around it.
    var text = UnsafeRawBufferPointer(start: nil, count: 0)
    var isQuoted = false
  }

  var origin = Cell()
  var visited = Cell()

  init() {}

  /// Those of a row that has been cut into cells.
  init(_ row: UnsafeRawBufferPointer, _ cells: [CSVCell], _ layout: CSVLayout) {
    for (column, cell) in zip(layout.columns, cells) where column == .origin || column == .visitedRegions {
      let found = Cell(text: cell.text(in: row), isQuoted: cell.isQuoted)
      if column == .origin { origin = found } else { visited = found }
    }
  }

  /// The regions when these cells have been read before, or when there are none; `nil` otherwise.
  @inline(__always)
  func find(in cache: borrowing CSVRegionCache) -> RegionClaim.ID? {
    if origin.text.isEmpty, visited.text.isEmpty, !origin.isQuoted, !visited.isQuoted { return RegionClaim.ID.none }
    return withCommonText { text in text.flatMap { cache.find($0, length: length) } }
  }

  func keep(in cache: inout CSVRegionCache, as id: RegionClaim.ID) {
    withCommonText { text in
      if let text { cache.keep(UnsafeRawBufferPointer(start: text, count: length), as: id) }
    }
  }

  private var length: Int { origin.text.count + visited.text.count + 2 }

  /// Both cells as one text, which tells where the first ends and what is quoted; `nil` when that is too long.
  @inline(__always)
  private func withCommonText<Result>(_ body: (UnsafeRawPointer?) -> Result) -> Result {
    guard length <= CSVRegionCache.textLimit else { return body(nil) }
    return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 8) { room in
      room[0] = UInt8(truncatingIfNeeded: origin.text.count)
      room[1] = (origin.isQuoted ? 1 : 0) | (visited.isQuoted ? 2 : 0)
      var index = 2
      for byte in origin.text {
        room[index] = byte
        index += 1
      }
      for byte in visited.text {
        room[index] = byte
        index += 1
      }
      return body(UnsafeRawPointer(room.baseAddress))
    }
  }
}
