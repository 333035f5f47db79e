/// Where a cell stands in its row, without quotes and surrounding blanks.
struct CSVCell {
  var start: Int
  var end: Int
  var isQuoted = false
  /// Whether the text holds quotes, which are doubled in the file.
  var hasDoubledQuotes = false

  var isEmpty: Bool { start == end }

  /// Empty quotes state something that is empty; an empty cell states nothing.
  var isStated: Bool { !isEmpty || isQuoted }

  /// As it stands in the file, within quotes.
  func text(in row: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: row[start..<end])
  }

  /// With doubled quotes made single.
  func content(in row: UnsafeRawBufferPointer) -> [UInt8] {
    guard hasDoubledQuotes else { return Array(text(in: row)) }
    var content: [UInt8] = []
    var isSecond = false
    for byte in text(in: row) {
      isSecond = byte == UInt8(ascii: "\"") && !isSecond
      if !isSecond { content.append(byte) }
    }
    return content
  }
}

/// Cuts rows into cells by RFC 4180, and more leniently: lines end with LF, CR LF or CR, and blanks around a cell do
/// not count.
struct CSVRowScanner {
  let separator: UInt8
  /// Cells beyond this number are counted, not kept.
  let cellLimit: Int
  private(set) var cells: [CSVCell] = []
  private(set) var cellCount = 0

  enum Outcome {
    /// `length` includes the line's end. `hasStrayText` says that something stands behind a closing quote.
    case row(length: Int, lines: Int, hasStrayText: Bool)
    /// The bytes end in the row.
    case incomplete
    /// The document ends in a quoted cell, which begins in this line of the row, counted from 0.
    case unterminatedQuote(line: Int)
  }

  /// Whether quotes around a cell are none of it.
  let quotes: Bool

  init(separator: UInt8, cellLimit: Int, quotes: Bool = true) {
    self.separator = separator
    self.quotes = quotes
    self.cellLimit = cellLimit
  }

  /// Scans the row at the front of `bytes`, which are not empty. `isAtEnd` says that the document ends with them.
  mutating func scan(_ bytes: UnsafeRawBufferPointer, isAtEnd: Bool) -> Outcome {
    cells.removeAll(keepingCapacity: true)
    cellCount = 0
    var lineEnds = 0
    var hasStrayText = false
    var index = 0
    while true {
      while index < bytes.count, isBlank(bytes[index]) { index += 1 }
      var cell = CSVCell(start: index, end: index)
      if quotes, index < bytes.count, bytes[index] == UInt8(ascii: "\"") {
        let firstLine = lineEnds
        guard scanQuoted(bytes, isAtEnd, &index, &cell, &lineEnds) else {
          return isAtEnd ? .unterminatedQuote(line: firstLine) : .incomplete
        }
        while index < bytes.count, isBlank(bytes[index]) { index += 1 }
        while index < bytes.count, !endsCell(bytes[index]) {
          hasStrayText = true
          index += 1
        }
      } else {
        while index < bytes.count, !endsCell(bytes[index]) { index += 1 }
        cell.end = index
        while cell.end > cell.start, isBlank(bytes[cell.end - 1]) { cell.end -= 1 }
      }
      cellCount += 1
      if cellCount <= cellLimit { cells.append(cell) }

      guard index < bytes.count else {
        guard isAtEnd else { return .incomplete }
        return .row(length: index, lines: lineEnds + 1, hasStrayText: hasStrayText)
      }
      if bytes[index] == separator {
        index += 1
        continue
      }
      guard let length = LineEnd.skip(bytes, at: index, isAtEnd: isAtEnd) else { return .incomplete }
      return .row(length: length, lines: lineEnds + 1, hasStrayText: hasStrayText)
    }
  }

  /// Moves behind the closing quote; `false` when there is none in `bytes`.
  private func scanQuoted(
    _ bytes: UnsafeRawBufferPointer, _ isAtEnd: Bool, _ index: inout Int, _ cell: inout CSVCell, _ lineEnds: inout Int
  ) -> Bool {
    index += 1
    cell.isQuoted = true
    cell.start = index
    while index < bytes.count {
      let next = index + 1 < bytes.count ? bytes[index + 1] : nil
      switch bytes[index] {
      case UInt8(ascii: "\""):
        if next == nil, !isAtEnd { return false }
        guard next == UInt8(ascii: "\"") else {
          cell.end = index
          index += 1
          return true
        }
        cell.hasDoubledQuotes = true
        index += 1
      case UInt8(ascii: "\n"): lineEnds += 1
      case UInt8(ascii: "\r") where next != UInt8(ascii: "\n"): lineEnds += 1
      default: break
      }
      index += 1
    }
    return false
  }

  @inline(__always)
  private func endsCell(_ byte: UInt8) -> Bool {
    byte == separator || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
  }

  @inline(__always)
  private func isBlank(_ byte: UInt8) -> Bool {
    (byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")) && byte != separator
  }
}

/// Lines end with LF, CR LF or CR.
enum LineEnd {
  /// The offset behind the line's end that stands at `index`; `nil` when more bytes are needed to know it.
  static func skip(_ bytes: UnsafeRawBufferPointer, at index: Int, isAtEnd: Bool) -> Int? {
    guard bytes[index] == UInt8(ascii: "\r") else { return index + 1 }
    guard index + 1 < bytes.count else { return isAtEnd ? index + 1 : nil }
    return bytes[index + 1] == UInt8(ascii: "\n") ? index + 2 : index + 1
  }

  /// The line at the front of `bytes`: its length without and with its end; `nil` when more bytes are needed.
  static func scan(_ bytes: UnsafeRawBufferPointer, isAtEnd: Bool) -> (text: Int, whole: Int)? {
    guard let index = bytes.firstIndex(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) else {
      return isAtEnd ? (bytes.count, bytes.count) : nil
    }
    return skip(bytes, at: index, isAtEnd: isAtEnd).map { (index, $0) }
  }
}

extension InputWindow {
  /// Hands the unread bytes to `scan` until it finds a whole record at their front, and returns what it found.
  ///
  /// `scan` is told whether the document ends with these bytes, and then may not ask for more by returning `nil`.
  /// - Throws: ``FormatError`` with `limitExceeded` when a record has more than `limit` bytes, or what the source throws.
  func scanRecord<Record>(
    limit: Int, place: @autoclosure () -> String, _ scan: (UnsafeRawBufferPointer, _ isAtEnd: Bool) throws -> Record?
  ) throws -> Record? {
    while true {
      let count = unread.count
      if let record = try scan(unread, isAtEnd) { return record }
      if isAtEnd { return nil }
      guard count < limit else {
        throw FormatError(
          .limitExceeded, place: place(), byteOffset: documentOffset, "more than \(limit) bytes, the most of one record"
        )
      }
      // Twice as much before the next try, so that a source that gives single bytes costs no squared time.
      let wanted = max(count + 1, min(2 * count, limit))
      while unread.count < wanted, try fill() {}
    }
  }
}
