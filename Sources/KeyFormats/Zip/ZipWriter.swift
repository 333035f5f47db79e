internal import CZlib
public import ExposureKeys

/// A sink whose earlier bytes can be written again: a local header is completed when its entry's length is known.
public protocol PatchableSink: ByteSink {
  func overwrite(at offset: Int, with bytes: [UInt8]) throws
}

extension MemorySink: PatchableSink {
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

    let compressor = try DeflatingSink { [self] in try write($0) }
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

/// Deflates (RFC 1951) what it is given by zlib, level 6.
private final class DeflatingSink: ByteSink {
  private var stream = z_stream()
  private var totals = EntryTotals()
  private var sum: UInt = 0
  private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  private let emit: (UnsafeRawBufferPointer) throws -> Void

  init(emit: @escaping (UnsafeRawBufferPointer) throws -> Void) throws {
    self.emit = emit
    let status = deflateInit2_(
      &stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else {
      throw FormatError(.unsupported, "zlib cannot begin to deflate (status \(status))")
    }
  }

  deinit {
    deflateEnd(&stream)
    output.deallocate()
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    sum = crc32_z(sum, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    totals.size += bytes.count
    var rest = bytes
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(1 << 30))
      // zlib does not write through next_in; its type only lacks the const.
      stream.next_in = UnsafeMutablePointer(mutating: piece.baseAddress?.assumingMemoryBound(to: UInt8.self))
      stream.avail_in = UInt32(piece.count)
      try run(Z_NO_FLUSH)
      rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
    }
  }

  func finish() throws -> EntryTotals {
    stream.avail_in = 0
    try run(Z_FINISH)
    totals.crc32 = UInt32(truncatingIfNeeded: sum)
    return totals
  }

  private func run(_ flush: Int32) throws {
    repeat {
      stream.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
      stream.avail_out = UInt32(output.count)
      let status = deflate(&stream, flush)
      guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else {
        throw FormatError(.unsupported, "zlib cannot deflate (status \(status))")
      }
      let count = output.count - Int(stream.avail_out)
      totals.compressedSize += count
      if count > 0 { try emit(UnsafeRawBufferPointer(rebasing: output[..<count])) }
    } while stream.avail_out == 0
  }
}
