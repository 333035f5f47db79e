import ExposureKeys
import KeyFormats

/// A ZIP archive put together by hand, so that each of its numbers can lie.
struct RawZip {
  struct Entry {
    var name: [UInt8]
    /// As it stands in the archive: deflated or not.
    var stored: [UInt8]
    var method: UInt16
    var flags: UInt16 = 0
    var crc: UInt32
    var compressedSize: UInt32
    var size: UInt32
    var disk: UInt16 = 0
    var localExtra: [UInt8] = []
    var centralExtra: [UInt8] = []
    /// Where the directory says that the local header is, when it lies.
    var offset: UInt32?
    /// What the local header says where it differs.
    var localName: [UInt8]?
    var localMethod: UInt16?
    var localCRC: UInt32?
    var localCompressedSize: UInt32?
    var localSize: UInt32?
    /// Stands behind the content.
    var descriptor: [UInt8] = []

    init(_ name: String, _ content: [UInt8], deflated isDeflated: Bool = true) throws {
      self.name = Array(name.utf8)
      stored = isDeflated ? try RawZip.deflated(content) : content
      method = isDeflated ? 8 : 0
      crc = RawZip.crc32(content)
      compressedSize = UInt32(stored.count)
      size = UInt32(content.count)
    }

    /// Moves sums and sizes behind the content.
    mutating func describeBehind(signed: Bool = true) {
      flags |= 8
      descriptor = signed ? le32(0x0807_4b50) : []
      descriptor += le32(crc, compressedSize, size)
      (localCRC, localCompressedSize, localSize) = (0, 0, 0)
    }

    fileprivate var local: [UInt8] {
      let name = localName ?? name
      var bytes = le32(0x0403_4b50) + le16(20, flags, localMethod ?? method, 0, 0x21)
      bytes += le32(localCRC ?? crc, localCompressedSize ?? compressedSize, localSize ?? size)
      bytes += le16(UInt16(name.count), UInt16(localExtra.count))
      return bytes + name + localExtra + stored + descriptor
    }

    fileprivate func central(at position: Int) -> [UInt8] {
      var bytes = le32(0x0201_4b50) + le16(20, 20, flags, method, 0, 0x21)
      bytes += le32(crc, compressedSize, size)
      bytes += le16(UInt16(name.count), UInt16(centralExtra.count), 0, disk, 0)
      bytes += le32(0, offset ?? UInt32(position))
      return bytes + name + centralExtra
    }
  }

  var entries: [Entry]
  var prefix: [UInt8] = []
  var comment: [UInt8] = []
  var hasZip64End = false
  var disk: UInt16 = 0
  /// What the end of the directory says where it differs.
  var statedEntries: UInt16?
  var statedDirectorySize: UInt32?
  var statedDirectoryOffset: UInt32?

  init(_ entries: Entry...) { self.entries = entries }

  var bytes: [UInt8] {
    var bytes = prefix
    var directory: [UInt8] = []
    for entry in entries {
      directory += entry.central(at: bytes.count)
      bytes += entry.local
    }
    let start = bytes.count
    bytes += directory
    if hasZip64End {
      let record = bytes.count
      bytes += le32(0x0606_4b50) + le64(44) + le16(45, 45) + le32(0, 0)
      bytes += le64(UInt64(entries.count), UInt64(entries.count), UInt64(directory.count), UInt64(start))
      bytes += le32(0x0706_4b50, 0) + le64(UInt64(record)) + le32(1)
    }
    let count = statedEntries ?? (hasZip64End ? .max : UInt16(entries.count))
    bytes += le32(0x0605_4b50) + le16(disk, 0, count, count)
    bytes += le32(statedDirectorySize ?? (hasZip64End ? .max : UInt32(directory.count)))
    bytes += le32(statedDirectoryOffset ?? (hasZip64End ? .max : UInt32(start)))
    return bytes + le16(UInt16(truncatingIfNeeded: comment.count)) + comment
  }

  /// A raw DEFLATE stream, cut out of an archive of ours.
  static func deflated(_ content: [UInt8]) throws -> [UInt8] {
    let sink = MemorySink()
    let writer = ZipWriter(sink, date: Instant(secondsSince1970: 0))
    try writer.addEntry("x") { try $0.write(content) }
    let length = sink.bytes[18..<22].reversed().reduce(0) { $0 << 8 | Int($1) }
    return Array(sink.bytes[31..<31 + length])
  }

  static func crc32(_ bytes: [UInt8]) -> UInt32 {
    var sum = UInt32.max
    for byte in bytes { sum = sum >> 8 ^ crcTable[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] }
    return ~sum
  }

  private static let crcTable: [UInt32] = (0..<256).map { index in
    var word = UInt32(index)
    for _ in 0..<8 { word = word & 1 == 1 ? word >> 1 ^ 0xedb8_8320 : word >> 1 }
    return word
  }
}

func le16(_ values: UInt16...) -> [UInt8] { littleEndian(values) }
func le32(_ values: UInt32...) -> [UInt8] { littleEndian(values) }
func le64(_ values: UInt64...) -> [UInt8] { littleEndian(values) }

private func littleEndian<Word: FixedWidthInteger>(_ values: [Word]) -> [UInt8] {
  values.flatMap { value in withUnsafeBytes(of: value.littleEndian) { Array($0) } }
}
