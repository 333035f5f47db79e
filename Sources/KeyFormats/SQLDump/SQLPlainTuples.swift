internal import ExposureKeys

/// Rewrites rows of `INSERT` statements as rows of a table, many at once, for ``CSVPlainRows`` to read.
///
/// A row is rewritten when it holds numbers, words and texts in quotes without anything odd in them; before the first
/// other one this stops, so that ``SQLTuple`` reads that one. A statement that ends and begins again with the same head,
/// as dumps write it for each row, is no stop.
final class SQLPlainTuples {
  /// Of each row, where it ends among the bytes.
  private(set) var ends: [Int] = []
  /// How many rows are tried next: fewer where the last try was in vain.
  private var wanted = 16

  private static let mostRows = 512
  /// What ``CSVPlainRows`` may read behind the last row.
  private static let margin = 80
  private static let capacity = 96 << 10
  private let text = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity + margin, alignment: 16)

  deinit { text.deallocate() }

  /// Reads plain rows from `bytes`, which begin between two rows, and returns how many, and where the last one ends.
  ///
  /// - Parameters:
  ///   - head: of the statement that these rows belong to, up to and with the word `VALUES`.
  ///   - layout: of rows between commas, in which quotes are none of a cell.
  func read(
    _ bytes: UnsafeRawBufferPointer, head: [UInt8], backslashes: Bool, _ layout: CSVLayout,
    regions: borrowing CSVRegionCache, into free: UnsafeMutableBufferPointer<ClaimedKey>
  ) -> (rows: Int, end: Int) {
    guard layout.revision == nil, let start = UnsafeRawPointer(text.baseAddress) else { return (0, 0) }
    let most = min(wanted, free.count)
    let end = rewrite(bytes, head, backslashes, most: most)
    guard !ends.isEmpty else { return (0, 0) }
    for index in 0..<Self.margin { text[end + index] = UInt8(ascii: "\n") }
    let (rows, _) = CSVPlainRows.read(
      start, start + end + Self.margin, layout, rowLimit: .max, regions: regions,
      into: UnsafeMutableBufferPointer(rebasing: free[..<ends.count]))
    wanted = rows == ends.count ? min(2 * wanted, Self.mostRows) : max(rows, 1)
    return (rows, rows > 0 ? ends[rows - 1] : 0)
  }

  /// Fills ``text`` and ``ends``, and returns the length of the text.
  private func rewrite(_ bytes: UnsafeRawBufferPointer, _ head: [UInt8], _ backslashes: Bool, most: Int) -> Int {
    ends.removeAll(keepingCapacity: true)
    guard var place = bytes.baseAddress, var out = text.baseAddress else { return 0 }
    let (start, end, room) = (place, place + bytes.count, out + Self.capacity)
    var length = 0
    head.withUnsafeBytes { head in
      var rows = 0
      while rows < most, let row = Self.beginRow(place, end, head) {
        guard let (next, written) = Self.row(row, end, backslashes, to: out, room) else { break }
        place = next
        out = written
        rows += 1
        length = out - (room - Self.capacity)
        ends.append(place - start)
      }
    }
    return length
  }

  /// Behind the parenthesis that opens the next row; `nil` when it does not come at once.
  @inline(__always)
  private static func beginRow(
    _ start: UnsafeRawPointer, _ end: UnsafeRawPointer, _ head: UnsafeRawBufferPointer
  ) -> UnsafeRawPointer? {
    var place = start
    var isBehindHead = false
    while place < end {
      switch place.load(as: UInt8.self) {
      case UInt8(ascii: "("): return place + 1
      case UInt8(ascii: ","), 0x20, 0x09...0x0d: place += 1
      case UInt8(ascii: ";"):
        guard !isBehindHead, !head.isEmpty, let next = skipHead(place + 1, end, head) else { return nil }
        isBehindHead = true
        place = next
      default: return nil
      }
    }
    return nil
  }

  @inline(__always)
  private static func skipHead(
    _ start: UnsafeRawPointer, _ end: UnsafeRawPointer, _ head: UnsafeRawBufferPointer
  ) -> UnsafeRawPointer? {
    var place = start
    while place < end, SQLStatement.isBlank(place.load(as: UInt8.self)) { place += 1 }
    guard end - place > head.count, let first = head.baseAddress else { return nil }
    var index = 0
    while index + 8 <= head.count {
      guard
        place.loadUnaligned(fromByteOffset: index, as: UInt64.self)
          == first.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      else { return nil }
      index += 8
    }
    while index < head.count {
      guard place.load(fromByteOffset: index, as: UInt8.self) == head[index] else { return nil }
      index += 1
    }
    place += head.count
    return SQLReader.isOfWord(place.load(as: UInt8.self)) ? nil : place
  }

  /// Writes the cells of a row with commas between them and the end of a line behind, and returns the places behind both;
  /// `nil` when a cell is not plain, or the bytes end.
  @inline(__always)
  private static func row(
    _ start: UnsafeRawPointer, _ end: UnsafeRawPointer, _ backslashes: Bool, to text: UnsafeMutableRawPointer,
    _ room: UnsafeMutableRawPointer
  ) -> (UnsafeRawPointer, UnsafeMutableRawPointer)? {
    var (place, out) = (start, text)
    // What is written is never longer than what was read.
    let end = min(end, start + (room - text))
    while true {
      while place < end, place.load(as: UInt8.self) == 0x20 { place += 1 }
      let word = out
      while place < end, isOfPlainWord(place.load(as: UInt8.self)) {
        out.storeBytes(of: place.load(as: UInt8.self), as: UInt8.self)
        place += 1
        out += 1
      }
      guard place < end else { return nil }
      if place.load(as: UInt8.self) == UInt8(ascii: "'") {
        // Nothing, or the sign of hexadecimal digits.
        guard out == word || (out - word == 1 && word.load(as: UInt8.self) | 0x20 == UInt8(ascii: "x")) else {
          return nil
        }
        let isQuoted = out == word
        out = word
        if isQuoted { put(UInt8(ascii: "\""), &out) }
        place += 1
        while place < end {
          let byte = place.load(as: UInt8.self)
          if byte == UInt8(ascii: "'") { break }
          switch byte {
          case UInt8(ascii: "\""), UInt8(ascii: "\n"), UInt8(ascii: "\r"): return nil
          case UInt8(ascii: "\\") where backslashes: return nil
          case UInt8(ascii: ",") where !isQuoted: return nil
          default: put(byte, &out)
          }
          place += 1
        }
        guard place < end else { return nil }
        place += 1
        if isQuoted { put(UInt8(ascii: "\""), &out) }
      } else if out - word == 4, word.loadUnaligned(as: UInt32.self) & 0xdfdf_dfdf == 0x4C4C_554E {
        out = word
      }
      while place < end, place.load(as: UInt8.self) == 0x20 { place += 1 }
      guard place < end else { return nil }
      switch place.load(as: UInt8.self) {
      case UInt8(ascii: ","): put(UInt8(ascii: ","), &out)
      case UInt8(ascii: ")"):
        put(UInt8(ascii: "\n"), &out)
        return (place + 1, out)
      default: return nil
      }
      place += 1
    }
  }

  @inline(__always)
  private static func put(_ byte: UInt8, _ out: inout UnsafeMutableRawPointer) {
    out.storeBytes(of: byte, as: UInt8.self)
    out += 1
  }

  /// A word of other letters than these is read by ``SQLTuple``.
  @inline(__always)
  private static func isOfPlainWord(_ byte: UInt8) -> Bool {
    (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"))
      || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")) || byte == UInt8(ascii: "_")
      || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") || byte == UInt8(ascii: ".")
  }
}
