internal import ExposureKeys
package import KeyDevice
package import KeyFormats

/// Reads the sightings of one log, whatever form it has.
///
/// The form is recognised by content alone. A log is the most personal file that this program opens, so it is read and never
/// written: a database is opened without locks, journals or shared memory beside it, and no text of this target, whether error
/// or example, names an identifier. A log is streamed: memory is bounded by one row or packet, however large the file is.
///
///     let reader = try SightingReader(source, name: "exposure.db", path: path)
///     var chunk: [Sighting] = []
///     while try reader.read(into: &chunk) { table.add(chunk) }
///     print(reader.tally.sightings)
package final class SightingReader {
  package let format: SightingFormat
  /// What was read so far.
  package private(set) var tally = SightingTally()

  private let name: String
  private let records: any SightingRecords
  private static let chunkCapacity = 4096

  /// - Parameters:
  ///   - name: how messages call the file.
  ///   - path: the bytes of the file's path, which a database needs; `nil` for what is no file.
  ///   - limits: how large a row or packet, and how large the whole may be.
  /// - Throws: ``FormatError``: `unrecognizedFormat` if no form of sightings is recognised, and what the form's reader throws.
  package init(
    _ source: any SeekableSource, name: String, path: [UInt8]? = nil, limits: ReadLimits = ReadLimits()
  ) throws {
    self.name = name
    do {
      (format, records) = try SightingRecognition.open(source, path: path, limits: limits)
    } catch let error as FormatError {
      throw error.within(name)
    }
  }

  /// Replaces the content of `chunk` by the next sightings, in the order of the log.
  ///
  /// - Returns: whether there are any; `false` at the end of the log.
  /// - Throws: ``FormatError`` if the rest of the log cannot be read. What was read before stays true.
  package func read(into chunk: inout [Sighting]) throws -> Bool {
    chunk.removeAll(keepingCapacity: true)
    do {
      while chunk.count < Self.chunkCapacity, try records.advance(into: &chunk, &tally) {}
    } catch let error as FormatError {
      throw error.within(name)
    }
    tally.sightings += chunk.count
    for sighting in chunk {
      if sighting.rssi == nil { tally.withoutRSSI += 1 }
      if sighting.encryptedMetadata == nil { tally.withoutMetadata += 1 }
    }
    return !chunk.isEmpty
  }
}

/// The rows or packets of a log.
protocol SightingRecords: AnyObject {
  /// Reads one row or packet, and appends the sightings that are in it; what is wrong with it is counted.
  ///
  /// - Returns: whether there was one; `false` at the end.
  func advance(into chunk: inout [Sighting], _ tally: inout SightingTally) throws -> Bool
}

/// Which form is it? The first bytes decide, and for databases the tables.
enum SightingRecognition {
  private static let frontBytes = 64 << 10

  static func open(
    _ source: any SeekableSource, path: [UInt8]?, limits: ReadLimits
  ) throws -> (SightingFormat, any SightingRecords) {
    guard source.byteCount <= limits.documentBytes else {
      throw FormatError(
        .limitExceeded, "the file has \(source.byteCount) bytes, at most \(limits.documentBytes) are read")
    }
    let front = try SequentialSource(source, range: 0..<min(frontBytes, source.byteCount)).readAll(limit: frontBytes)
    guard !front.isEmpty else { throw FormatError(.unrecognizedFormat, "the file is empty; expected \(known)") }
    if front.starts(with: "SQLite format 3\0".utf8) {
      guard let path else {
        throw FormatError(
          .unsupported, "this is an SQLite database, which is read from a file alone; save it as a file")
      }
      return try SightingDatabase.open(path: path, byteCount: source.byteCount)
    }
    let window = InputWindow(SequentialSource(source), limits: limits, capacity: 256 << 10)
    if PcapRecords.recognises(front) { return (.pcap, try PcapRecords(window, limits)) }
    if PcapNGRecords.recognises(front) { return (.pcapng, try PcapNGRecords(window, limits)) }
    if BtsnoopRecords.recognises(front) { return (.btsnoop, try BtsnoopRecords(window, limits)) }
    if let layout = DelimitedLayout.find(in: front, isWhole: front.count == source.byteCount) {
      return (layout.format, DelimitedRecords(window, layout, limits))
    }
    if let order = PacketLoggerRecords.byteOrder(of: front, byteCount: source.byteCount) {
      return (.packetLogger, PacketLoggerRecords(window, order, limits))
    }
    throw FormatError(.unrecognizedFormat, "\(refusal(of: front)); expected \(known)")
  }

  private static let known =
    "a database of RaMBLE or microG, CSV with columns such as time and rpi, or a Bluetooth capture (pcap, pcapng, btsnoop)"

  /// What a file is that comes close to a log of sightings.
  private static func refusal(of front: [UInt8]) -> String {
    let start = front.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
    if start.starts(with: "EK Export v1".utf8) { return "this is a key file, and holds no sightings" }
    if start.first == UInt8(ascii: "{") || start.first == UInt8(ascii: "[") {
      let text = String(decoding: front, as: UTF8.self)
      if text.contains("\"rpi\"") { return "this is JSON of sightings without times, which is not read" }
      if text.contains("canInstances") {
        return "this is JSON of exposure windows, which have no identifiers; keyferry device score reads it"
      }
      return "this is JSON without sightings"
    }
    return "no sightings are recognised in the file"
  }
}
