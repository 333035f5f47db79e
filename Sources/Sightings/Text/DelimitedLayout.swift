internal import KeyFormats

/// Which column of a table of sightings means what: found out from a line of names.
struct DelimitedLayout: Hashable {
  let format: SightingFormat
  let separator: UInt8
  let columnCount: Int
  let time: Int
  let identifier: Int
  var until: Int?
  var metadata: Int?
  var rssi: Int?
  var previousScan: Int?
  /// A column that says which service's data the row has; rows of other services are passed over.
  var service: Int?

  /// The longest line of names.
  static let longestHeader = 4096

  private static let times = ["time", "timestamp", "starttime", "timestamp_first", "first_seen"]
  private static let ends = ["until", "endtime", "timestamp_last", "last_seen"]
  private static let identifiers = ["rpi", "rpik", "identifier"]
  private static let metadata = ["aem", "metadata", "encrypted_metadata"]
  private static let strengths = ["rssi", "maxrssi"]

  /// `nil` unless the line names a time and an identifier.
  init?(header: ArraySlice<UInt8>) {
    // Every name of an identifier has an r; of what rows are made of, hardly anything has.
    guard header.count <= Self.longestHeader, header.contains(where: { $0 | 0x20 == UInt8(ascii: "r") }) else {
      return nil
    }
    let separators = [UInt8(ascii: ";"), UInt8(ascii: ","), UInt8(ascii: "\t")]
    let counts = separators.map { separator in header.count { $0 == separator } }
    guard let most = counts.max(), most > 0, let place = counts.firstIndex(of: most) else { return nil }
    separator = separators[place]
    let names = Self.cells(header, separator).map { String(decoding: $0, as: UTF8.self).lowercased() }
    func column(_ spellings: [String]) -> Int? {
      // A name that is there twice means neither.
      let places = names.indices.filter { spellings.contains(names[$0]) }
      return places.count == 1 ? places[0] : nil
    }
    guard let time = column(Self.times), let identifier = column(Self.identifiers) else { return nil }
    self.time = time
    self.identifier = identifier
    columnCount = names.count
    until = column(Self.ends)
    metadata = column(Self.metadata)
    rssi = column(Self.strengths)
    previousScan = column(["previous_scan"])
    service = column(["uuid"])
    let has = Set(names)
    format =
      if has.isSuperset(of: ["starttime", "endtime", "rpi"]) {
        .companionExport
      } else if has.isSuperset(of: ["time", "rpi", "bdaddr"]) {
        .companionRaw
      } else if names.first == "#", has.contains("timestamp_first") {
        .espENA
      } else if has.isSuperset(of: ["timestamp", "mac", "uuid", "rpi"]) {
        .raspberryPi
      } else if has.isSuperset(of: ["timestamp", "rpik"]) {
        .cwascan
      } else {
        .csv
      }
  }

  /// The first line of names in a file's front, which other output of a program may precede.
  ///
  /// - Parameter isWhole: whether the front is the whole file, so that its last line is complete.
  static func find(in front: [UInt8], isWhole: Bool) -> DelimitedLayout? {
    var lines = front.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    if !isWhole, lines.count > 1 { lines.removeLast() }
    for line in lines { if let layout = DelimitedLayout(header: withoutMark(line)) { return layout } }
    return nil
  }

  /// The line without the mark of UTF-8 and a carriage return.
  static func withoutMark(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    return line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
  }

  /// A line's cells, without the blanks and the quotes around each. None of these tables has a separator within a cell.
  static func cells(_ line: ArraySlice<UInt8>, _ separator: UInt8) -> [ArraySlice<UInt8>] {
    var cells: [ArraySlice<UInt8>] = []
    var start = line.startIndex
    while true {
      var end = start
      while end < line.endIndex, line[end] != separator { end += 1 }
      let cell = trimmed(line[start..<end])
      let isQuoted = cell.count >= 2 && cell.first == UInt8(ascii: "\"") && cell.last == UInt8(ascii: "\"")
      cells.append(isQuoted ? trimmed(cell.dropFirst().dropLast()) : cell)
      guard end < line.endIndex else { return cells }
      start = end + 1
    }
  }

  static func trimmed(_ cell: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var (start, end) = (cell.startIndex, cell.endIndex)
    while start < end, isBlank(cell[start]) { start += 1 }
    while end > start, isBlank(cell[end - 1]) { end -= 1 }
    return cell[start..<end]
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// Whether a cell says that there is no value.
  static func isAbsent(_ cell: ArraySlice<UInt8>) -> Bool {
    guard cell.count <= 4 else { return false }
    return cell.isEmpty || absences.contains(String(decoding: cell, as: UTF8.self).lowercased())
  }

  private static let absences: Set<String> = ["none", "null", #"\n"#, "nan"]
}
