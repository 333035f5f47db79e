internal import CZlib
public import ExposureKeys

/// A sink whose earlier bytes can be written again: a local header is completed when its entry's length is known.
public protocol PatchableSink: ByteSink {
  func overwrite(at offset: Int, with bytes: [UInt8]) throws
  /// Forgets everything that was written.
  func discard() throws
}

extension MemorySink: PatchableSink {
  public func discard() { replace(0..<bytes.count, with: []) }

  public func overwrite(at offset: Int, with bytes: [UInt8]) {
    replace(offset..<offset + bytes.count, with: bytes)
  }
}

/// Writes a ZIP archive that every client's reader accepts: deflated entries at the root, sizes in the local headers
/// and no data descriptors, a valid date, no extra fields and no comment.
///
/// The bytes depend on nothing but the contents and the date.
public final class ZipWriter {
  private let sink: any PatchableSink
  private let stamp: DOSTime
  private var written = 0
  private var directory: [UInt8] = []
  private var entryCount: UInt16 = 0

  /// - Parameters:
  ///   - sink: takes the archive.
  ///   - date: goes into every entry; before 1980 or after 2107 becomes 1980-01-01.
  public init(_ sink: any PatchableSink, date: Instant) {
    self.sink = sink
    stamp = DOSTime(date)
  }

  /// Writes one entry, whose content `body` sends to the sink it is given.
  public func addEntry(_ name: StaticString, _ body: (any ByteSink) throws -> Void) throws {
    let rawName = Array(name.description.utf8)
    let headerOffset = written
    let placeholder = localHeader(rawName, EntryTotals())
    try write(placeholder)

    let compressor = DeflatingSink { [self] in try write($0) }
    try body(compressor)
    let totals = try compressor.finish()
    guard max(totals.size, totals.compressedSize, written) <= 0xffff_fffe else {
      throw FormatError(
        .cannotExpress, place: name.description,
        "\(totals.size) bytes; devices read archives below 4 GiB, and bundles should stay below 16 MB")
    }
    try sink.overwrite(at: headerOffset, with: localHeader(rawName, totals))
    addToDirectory(rawName, totals, headerOffset: headerOffset)
  }

  /// Writes the directory.
  public func finish() throws {
    let start = written
    try write(directory)
    var end = ZipBytes()
    end.add32(0x0605_4b50)
    end.add16(0, 0, entryCount, entryCount)
    end.add32(UInt32(directory.count), UInt32(start))
    end.add16(0)
    try write(end.bytes)
  }

  private func localHeader(_ name: [UInt8], _ totals: EntryTotals) -> [UInt8] {
    var header = ZipBytes()
    header.add32(0x0403_4b50)
    header.add16(20, 0, 8, stamp.time, stamp.date)
    header.add32(totals.crc32, UInt32(totals.compressedSize), UInt32(totals.size))
    header.add16(UInt16(name.count), 0)
    return header.bytes + name
  }

  private func addToDirectory(_ name: [UInt8], _ totals: EntryTotals, headerOffset: Int) {
    var record = ZipBytes()
    record.add32(0x0201_4b50)
    record.add16(20, 20, 0, 8, stamp.time, stamp.date)
    record.add32(totals.crc32, UInt32(totals.compressedSize), UInt32(totals.size))
    record.add16(UInt16(name.count), 0, 0, 0, 0)
    record.add32(0, UInt32(headerOffset))
    directory += record.bytes + name
    entryCount += 1
  }

  private func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }

  private func write(_ bytes: UnsafeRawBufferPointer) throws {
    written += bytes.count
    try sink.write(bytes)
  }
}

/// What a finished entry amounts to.
struct EntryTotals {
  var crc32: UInt32 = 0
  var compressedSize = 0
  var size = 0
}

/// Date and time in the two words of DOS, in steps of two seconds.
private struct DOSTime {
  let date: UInt16
  let time: UInt16

  init(_ instant: Instant) {
    let parts = instant.description.utf8.split { !($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")) }
      .compactMap { UInt16(String(decoding: $0, as: UTF8.self)) }
    guard parts.count == 6, (1980...2107).contains(parts[0]) else {
      date = 1 << 5 | 1
      time = 0
      return
    }
    date = (parts[0] - 1980) << 9 | parts[1] << 5 | parts[2]
    time = parts[3] << 11 | parts[4] << 5 | parts[5] / 2
  }
}

private struct ZipBytes {
  private(set) var bytes: [UInt8] = []
  mutating func add16(_ words: UInt16...) {
    for word in words { withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) } }
  }
  mutating func add32(_ words: UInt32...) {
    for word in words { withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) } }
  }
}

/// Deflates what it is given, and counts and sums it meanwhile.
private final class DeflatingSink: ByteSink {
  private let deflate: DeflateWriter
  private let deflateBehind: WriteBehindSink
  private var size = 0
  private var sum: UInt = 0

  init(emit: @escaping (UnsafeRawBufferPointer) throws -> Void) {
    deflate = DeflateWriter(emit: emit)
    deflateBehind = WriteBehindSink(deflate)
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    sum = crc32_z(sum, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    size += bytes.count
    try deflateBehind.write(bytes)
  }

  func finish() throws -> EntryTotals {
    try deflateBehind.finish()
    let compressedSize = try deflate.finish()
    return EntryTotals(crc32: UInt32(truncatingIfNeeded: sum), compressedSize: compressedSize, size: size)
  }
}
