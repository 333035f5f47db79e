internal import KeyDevice
internal import KeyFormats

/// The rows of a table in text, one sighting a line.
///
/// Every line of names begins a table of its own, as the serial output of esp-ena has several. Of those that are no sightings, such
/// as the owner's keys, no row is read.
final class DelimitedRecords: SightingRecords {
  private let window: InputWindow
  private let format: SightingFormat
  /// `nil` before the first line of names, and in a table that is none of sightings.
  private var layout: DelimitedLayout?
  private var lineNumber = 0

  init(_ window: InputWindow, _ layout: DelimitedLayout, _ limits: ReadLimits) {
    self.window = window
    format = layout.format
  }

  func advance(into chunk: inout [Sighting], _ tally: inout SightingTally) throws -> Bool {
    guard let line = try nextLine() else { return false }
    let text = DelimitedLayout.withoutMark(line[...])
    guard !DelimitedLayout.trimmed(text).isEmpty else { return true }
    if let next = DelimitedLayout(header: text) {
      layout = next
    } else if text.first == UInt8(ascii: "#") {
      layout = nil
    } else if let layout {
      read(text, layout, into: &chunk, &tally)
    }
    return true
  }

  private func nextLine() throws -> [UInt8]? {
    var searched = 0
    while true {
      let unread = window.unread
      if let end = unread[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = [UInt8](unread[..<end])
        window.skip(end + 1)
        lineNumber += 1
        return line
      }
      searched = unread.count
      guard try window.fill() else {
        guard searched > 0 else { return nil }
        let line = [UInt8](window.unread)
        window.skip(searched)
        lineNumber += 1
        return line
      }
    }
  }

  private func read(
    _ line: ArraySlice<UInt8>, _ layout: DelimitedLayout, into chunk: inout [Sighting], _ tally: inout SightingTally
  ) {
    let cells = DelimitedLayout.cells(line, layout.separator)
    if layout.format == .espENA, SightingFields.number(cells[0]) == nil {
      // Other output of the program between the rows.
      return
    }
    let number = lineNumber
    func reject(_ reason: SightingRejection.Reason, _ detail: String) {
      tally.reject(reason, "line \(number)", detail)
    }
    tally.records += 1
    guard cells.count == layout.columnCount else {
      return reject(.malformedRow, "\(cells.count) cells; expected as many as columns: \(layout.columnCount)")
    }
    func cell(_ column: Int?) -> ArraySlice<UInt8>? {
      column.map { cells[$0] }.flatMap { DelimitedLayout.isAbsent($0) ? nil : $0 }
    }
    if let service = cell(layout.service), !Self.isExposureNotification(service) { return }
    guard let stated = cell(layout.identifier), let bytes = SightingFields.bytes(stated) else {
      return reject(
        .identifier,
        cell(layout.identifier) == nil
          ? "no identifier; expected 32 hexadecimal digits"
          : "the identifier is not hexadecimal; expected 32 digits")
    }
    guard let identifier = SightingFields.identifier(bytes) else {
      return reject(.identifier, "the identifier has \(bytes.count) bytes; expected 16")
    }
    guard let time = cell(layout.time).flatMap({ SightingFields.time($0) }) else {
      return reject(
        .time, "\(cell(layout.time) == nil ? "no time" : "no possible time"); \(SightingFields.expectedTime)")
    }
    var metadata: UInt32?
    if let stated = cell(layout.metadata) {
      metadata = SightingFields.bytes(stated).flatMap(SightingFields.metadata)
      guard metadata != nil else {
        return reject(
          .metadata, "the metadata has \(stated.count) characters; expected 8 hexadecimal digits, or nothing")
      }
    }
    let rssi = SightingFields.strength(cell(layout.rssi).map { SightingFields.number($0) ?? .min }, &tally)
    let until = cell(layout.until).flatMap { SightingFields.time($0) }
    let previous = cell(layout.previousScan).flatMap { SightingFields.time($0) }
    chunk.append(
      Sighting(
        identifier: identifier, milliseconds: time,
        durationMilliseconds: SightingFields.duration(from: time, until: until), encryptedMetadata: metadata,
        rssi: rssi,
        secondsSincePreviousScan: SightingFields.scan(before: time, at: previous)))
  }

  /// `fd6f`, `0xFD6F`, or the long form of it.
  private static func isExposureNotification(_ service: ArraySlice<UInt8>) -> Bool {
    let text = String(decoding: service.prefix(64), as: UTF8.self).lowercased()
    return text == "fd6f" || text == "0xfd6f" || text.hasPrefix("0000fd6f-")
  }
}
