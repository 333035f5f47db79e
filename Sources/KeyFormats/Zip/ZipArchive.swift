internal import CZlib
internal import ExposureKeys

/// Reads a ZIP archive: the central directory is the authority, and each local header must agree with it.
///
/// Source: PKWARE's APPNOTE.TXT 6.3. Supported are stored and deflated entries and ZIP64; refused are encryption,
/// several disks, and whatever does not fit together. Reading an entry is streaming, checks the sum, and never yields
/// more bytes than the directory announced.
public struct ZipArchive {
  public let entries: [ZipEntry]
  /// Bytes in front of the first local header: none in an honest archive.
  public let prefixLength: Int
  /// Bytes of the archive's comment.
  public let commentLength: Int

  private let source: any SeekableSource
  private let limits: ReadLimits

  /// More entries than any bundle has.
  public static let maximumEntries = 1024

  /// The first bytes of an archive.
  @inlinable
  public static func begins(_ bytes: some Collection<UInt8>) -> Bool {
    var front = bytes.makeIterator()
    guard front.next() == 0x50, front.next() == 0x4b else { return false }
    switch (front.next(), front.next()) {
    case (0x03, 0x04), (0x05, 0x06): return true
    default: return false
    }
  }

  /// Reads the directory.
  ///
  /// - Throws: ``FormatError`` that says what does not fit, or what the source throws.
  public init(_ source: any SeekableSource, limits: ReadLimits = ReadLimits()) throws {
    try self.init(source, limits: limits, maximumEntries: Self.maximumEntries)
  }

  /// Reads the directory of an archive of many documents.
  ///
  /// - Parameter maximumEntries: takes the place of ``maximumEntries``.
  package init(_ source: any SeekableSource, limits: ReadLimits, maximumEntries: Int) throws {
    self.source = source
    self.limits = limits
    let end = try EndOfDirectory(source)
    guard end.entryCount <= maximumEntries else {
      throw FormatError(
        .limitExceeded, "the archive has \(end.entryCount) entries, at most \(maximumEntries) are read")
    }
    guard end.directoryOffset >= 0, end.directorySize >= 0, end.directoryOffset <= end.position,
      end.directorySize <= end.position - end.directoryOffset
    else {
      throw FormatError(
        .malformed, byteOffset: end.position,
        "the archive's directory (\(end.directorySize) bytes at \(end.directoryOffset)) lies outside the file")
    }
    // Four thousand bytes an entry, and never more than memory has room for.
    let directoryLimit = min(max(1 << 22, maximumEntries << 12), 1 << 28)
    guard end.directorySize <= directoryLimit else {
      throw FormatError(
        .limitExceeded, "the archive's directory has \(end.directorySize) bytes, at most \(directoryLimit) are read")
    }
    let directory = try source.bytes(at: end.directoryOffset, count: end.directorySize, what: "the archive's directory")
    var entries: [ZipEntry] = []
    var position = 0
    for index in 0..<end.entryCount {
      let (entry, length) = try ZipEntry.read(directory, at: position, number: index, base: end.directoryOffset)
      entries.append(entry)
      position += length
    }
    guard position == directory.count else {
      throw FormatError(
        .malformed, byteOffset: end.directoryOffset + position,
        "the archive's directory goes on behind the \(end.entryCount) entries that it is said to have")
    }
    self.entries = entries
    commentLength = end.commentLength
    prefixLength = entries.map(\.headerOffset).min() ?? 0
    try checkLayout(before: end.directoryOffset)
  }

  public subscript(name: String) -> ZipEntry? { entries.first { $0.name == name } }

  /// ``open(_:)`` for an entry that is read to its end: a large one is inflated on a thread of its own.
  func openReadingAhead(_ entry: ZipEntry) throws -> any ByteSource {
    let content = try open(entry)
    return entry.size < Self.largeEntry ? content : ReadAheadSource(content)
  }

  /// With fewer bytes there is nothing to gain from a second thread.
  private static let largeEntry = 1 << 20

  /// A source of the entry's content, inflated. Its last read throws when the check sum or the length is wrong.
  public func open(_ entry: ZipEntry) throws -> any ByteSource {
    let place = entry.name
    guard entry.flags & 1 == 0 else {
      throw FormatError(.unsupported, place: place, "the entry is encrypted")
    }
    guard entry.size <= limits.documentBytes else {
      throw FormatError(
        .limitExceeded, place: place,
        "the entry inflates to \(entry.size) bytes, at most \(limits.documentBytes) are read")
    }
    let start = try contentStart(of: entry)
    let content = SequentialSource(source, range: start..<start + entry.compressedSize)
    switch entry.method {
    case 0:
      guard entry.size == entry.compressedSize else {
        throw FormatError(
          .malformed, place: place, "a stored entry of \(entry.size) bytes that takes \(entry.compressedSize) bytes")
      }
      return CheckedSource(content, entry: entry)
    case 8:
      return CheckedSource(Inflater(content), entry: entry)
    default:
      throw FormatError(
        .unsupported, place: place, "compression method \(entry.method), supported are 0 (stored) and 8 (deflated)")
    }
  }

  /// Where the content begins: behind the local header, which must agree with the directory.
  private func contentStart(of entry: ZipEntry) throws -> Int {
    let header = try source.bytes(at: entry.headerOffset, count: 30, what: "the local header of \(entry.name)")
    guard header.word32(0) == 0x0403_4b50 else {
      throw FormatError(.malformed, place: entry.name, byteOffset: entry.headerOffset, "no local header stands here")
    }
    let nameLength = Int(header.word16(26))
    let name = try source.bytes(
      at: entry.headerOffset + 30, count: nameLength, what: "the local header of \(entry.name)")
    guard name == entry.rawName else {
      throw FormatError(
        .malformed, place: entry.name, byteOffset: entry.headerOffset,
        "the local header names the entry \(printable(name)), the directory \(printable(entry.rawName))")
    }
    guard header.word16(8) == entry.method, header.word16(6) & 1 == entry.flags & 1 else {
      throw FormatError(
        .malformed, place: entry.name, byteOffset: entry.headerOffset,
        "local header and directory disagree about compression or encryption")
    }
    // Readers that stream believe the local header; with a data descriptor its numbers stand behind the content.
    if header.word16(6) & 8 == 0 {
      let stated = [header.word32(14), header.word32(18), header.word32(22)]
      let known = [entry.crc32, UInt32(clamping: entry.compressedSize), UInt32(clamping: entry.size)]
      let agree = zip(stated, known).enumerated().allSatisfy { index, pair in
        pair.0 == pair.1 || (index > 0 && pair.0 == .max)
      }
      guard agree else {
        throw FormatError(
          .malformed, place: entry.name, byteOffset: entry.headerOffset,
          "local header and directory disagree about check sum or size")
      }
    }
    let start = entry.headerOffset + 30 + nameLength + Int(header.word16(28))
    guard entry.compressedSize <= source.byteCount - start else {
      throw FormatError(
        .truncated, place: entry.name, byteOffset: start,
        "the entry's \(entry.compressedSize) bytes reach beyond the end of the file")
    }
    return start
  }

  /// Entries that share bytes are the trick of the most effective archive bombs.
  private func checkLayout(before directory: Int) throws {
    var end = 0
    for entry in entries.sorted(by: { $0.headerOffset < $1.headerOffset }) {
      guard entry.headerOffset >= end else {
        throw FormatError(
          .malformed, place: entry.name, byteOffset: entry.headerOffset, "the entry overlaps the one before it")
      }
      // No sum can overflow: both are at most the file's size here.
      guard entry.headerOffset <= directory, entry.compressedSize <= directory - entry.headerOffset else {
        throw FormatError(
          .truncated, place: entry.name, byteOffset: entry.headerOffset,
          "the entry's \(entry.compressedSize) bytes reach into the archive's directory")
      }
      end = entry.headerOffset + 30 + entry.rawName.count + entry.compressedSize
    }
  }
}

/// One entry, as the directory describes it.
public struct ZipEntry: Hashable, Sendable {
  /// The name with its folders; control characters and bytes that are not UTF-8 are shown as `?`.
  public let name: String
  let rawName: [UInt8]
  /// 0 stored, 8 deflated.
  public let method: UInt16
  public let flags: UInt16
  public let crc32: UInt32
  public let compressedSize: Int
  /// The size of the content.
  public let size: Int
  public let headerOffset: Int
  /// Date and time in the format of DOS; 0 when none was set, which reads as the 0th of month 0, 1980.
  public let date: UInt16
  public let time: UInt16

  /// Sizes and check sum stand behind the content. A streaming reader cannot handle that in a stored entry.
  public var hasDataDescriptor: Bool { flags & 8 != 0 }
  public var isFolder: Bool { name.hasSuffix("/") }
  /// The part of the name behind the last slash.
  public var baseName: Substring { name.split(separator: "/", omittingEmptySubsequences: false).last ?? "" }

  fileprivate static func read(_ directory: [UInt8], at start: Int, number: Int, base: Int) throws -> (ZipEntry, Int) {
    func fault(_ reason: String) -> FormatError {
      FormatError(.malformed, byteOffset: base + start, "entry \(number) of the archive's directory: \(reason)")
    }
    guard directory.count - start >= 46 else { throw fault("the directory ends in the middle of it") }
    guard directory.word32(start) == 0x0201_4b50 else { throw fault("it does not begin with its signature") }
    let nameLength = Int(directory.word16(start + 28))
    let extraLength = Int(directory.word16(start + 30))
    let length = 46 + nameLength + extraLength + Int(directory.word16(start + 32))
    guard length <= directory.count - start else { throw fault("the directory ends in the middle of it") }
    let rawName = Array(directory[start + 46..<start + 46 + nameLength])
    guard !rawName.isEmpty else { throw fault("it has no name") }
    var sizes: [UInt64] = [
      UInt64(directory.word32(start + 24)), UInt64(directory.word32(start + 20)), UInt64(directory.word32(start + 42)),
    ]
    let extra = start + 46 + nameLength
    try replaceByZip64(&sizes, Array(directory[extra..<extra + extraLength]), fault)
    guard sizes.allSatisfy({ $0 <= UInt64(Int64.max) / 4 }) else { throw fault("a size of \(sizes.max() ?? 0) bytes") }
    let disk = directory.word16(start + 34)
    guard disk == 0 || disk == 0xffff else {
      throw FormatError(.unsupported, byteOffset: base + start, "entry \(number) is on disk \(disk) of a split archive")
    }
    let entry = ZipEntry(
      name: printable(rawName), rawName: rawName, method: directory.word16(start + 10),
      flags: directory.word16(start + 8), crc32: directory.word32(start + 16), compressedSize: Int(sizes[1]),
      size: Int(sizes[0]), headerOffset: Int(sizes[2]), date: directory.word16(start + 14),
      time: directory.word16(start + 12))
    return (entry, length)
  }

  /// Sizes that do not fit 32 bits stand in an extra field, in a fixed order, only those that are needed.
  private static func replaceByZip64(
    _ sizes: inout [UInt64], _ extra: [UInt8], _ fault: (String) -> FormatError
  ) throws {
    guard sizes.contains(0xffff_ffff) else { return }
    var position = 0
    while extra.count - position >= 4 {
      let length = Int(extra.word16(position + 2))
      guard length <= extra.count - position - 4 else { break }
      if extra.word16(position) == 1 {
        var value = position + 4
        for index in sizes.indices where sizes[index] == 0xffff_ffff {
          guard value + 8 <= position + 4 + length else { throw fault("its ZIP64 field is too short") }
          sizes[index] = extra.word64(value)
          value += 8
        }
        return
      }
      position += 4 + length
    }
  }
}

/// The record at an archive's end, which says where its directory is.
private struct EndOfDirectory {
  let position: Int
  let entryCount: Int
  let directorySize: Int
  let directoryOffset: Int
  let commentLength: Int

  init(_ source: any SeekableSource) throws {
    let size = source.byteCount
    let tailLength = min(size, 22 + 0xffff)
    let tail = try source.bytes(at: size - tailLength, count: tailLength, what: "the end of the archive")
    // The last record whose comment reaches exactly to the end of the file.
    guard
      let start = stride(from: tailLength - 22, through: 0, by: -1).first(where: {
        tail.word32($0) == 0x0605_4b50 && $0 + 22 + Int(tail.word16($0 + 20)) == tailLength
      })
    else {
      throw FormatError(
        .truncated, byteOffset: size, "the file begins like a ZIP archive but has no directory at its end")
    }
    position = size - tailLength + start
    commentLength = Int(tail.word16(start + 20))
    let disks = (tail.word16(start + 4), tail.word16(start + 6))
    var count = UInt64(tail.word16(start + 10))
    var length = UInt64(tail.word32(start + 12))
    var offset = UInt64(tail.word32(start + 16))
    if count == 0xffff || length == 0xffff_ffff || offset == 0xffff_ffff, position >= 20 {
      let locator = try source.bytes(at: position - 20, count: 20, what: "the ZIP64 locator")
      if locator.word32(0) == 0x0706_4b50 {
        let place = locator.word64(8)
        guard place <= UInt64(max(0, position - 56)) else {
          throw FormatError(.malformed, byteOffset: position - 20, "the ZIP64 locator points outside the file")
        }
        let record = try source.bytes(at: Int(place), count: 56, what: "the ZIP64 end of directory")
        guard record.word32(0) == 0x0606_4b50 else {
          throw FormatError(.malformed, byteOffset: Int(place), "no ZIP64 end of directory stands here")
        }
        count = record.word64(32)
        length = record.word64(40)
        offset = record.word64(48)
      }
    } else if disks != (0, 0) {
      throw FormatError(.unsupported, byteOffset: position, "an archive split over several disks")
    }
    guard count <= 1 << 32, length <= UInt64(Int64.max), offset <= UInt64(Int64.max) else {
      throw FormatError(.malformed, byteOffset: position, "the archive's directory is said to lie beyond any file")
    }
    entryCount = Int(count)
    directorySize = Int(length)
    directoryOffset = Int(offset)
  }
}

/// Checks length and sum of an entry's content while it passes.
private final class CheckedSource: ByteSource {
  private let content: any ByteSource
  private let entry: ZipEntry
  private var count = 0
  private var sum: UInt = 0

  init(_ content: any ByteSource, entry: ZipEntry) {
    self.content = content
    self.entry = entry
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard !buffer.isEmpty else { return 0 }
    let read: Int
    do {
      read = try content.read(into: buffer)
    } catch var error as FormatError {
      error.place = entry.name
      throw error
    }
    if read == 0 {
      guard count == entry.size else {
        throw FormatError(
          .truncated, place: entry.name, byteOffset: count,
          "the entry has \(count) bytes, the archive's directory says \(entry.size)")
      }
      guard UInt32(truncatingIfNeeded: sum) == entry.crc32 else {
        throw FormatError(
          .checksumMismatch, place: entry.name,
          "CRC-32 of the content is \(Hexadecimal.encode(number: UInt64(sum) & 0xFFFF_FFFF, width: 8)), "
            + "the archive's directory says \(Hexadecimal.encode(number: UInt64(entry.crc32), width: 8))")
      }
      return 0
    }
    count += read
    guard count <= entry.size else {
      throw FormatError(
        .malformed, place: entry.name, byteOffset: entry.size,
        "the entry inflates to more than the \(entry.size) bytes that the archive's directory announces")
    }
    sum = crc32_z(sum, buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), read)
    return read
  }
}

extension SeekableSource {
  package func bytes(at offset: Int, count: Int, what: String) throws -> [UInt8] {
    guard offset >= 0, count >= 0, offset <= byteCount, count <= byteCount - offset else {
      throw FormatError(.truncated, byteOffset: byteCount, "\(what) would end behind the file's end")
    }
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let step = try bytes.withUnsafeMutableBytes {
        try read(at: offset + filled, into: UnsafeMutableRawBufferPointer(rebasing: $0[filled...]))
      }
      guard step > 0 else {
        throw FormatError(.truncated, byteOffset: offset + filled, "\(what): the file became shorter")
      }
      filled += step
    }
    return bytes
  }
}

extension [UInt8] {
  fileprivate func word16(_ offset: Int) -> UInt16 { UInt16(self[offset]) | UInt16(self[offset + 1]) << 8 }
  fileprivate func word32(_ offset: Int) -> UInt32 { UInt32(word16(offset)) | UInt32(word16(offset + 2)) << 16 }
  fileprivate func word64(_ offset: Int) -> UInt64 { UInt64(word32(offset)) | UInt64(word32(offset + 4)) << 32 }
}

/// A name that is safe to print: hostile ones hold control characters.
private func printable(_ name: [UInt8]) -> String {
  let text =
    String(validating: name, as: UTF8.self) ?? String(name.map { $0 < 0x80 ? Character(Unicode.Scalar($0)) : "?" })
  return String(
    text.unicodeScalars.prefix(256).map { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: "?"
      default: Character(scalar)
      }
    })
}
