/// A ZIP archive put together field by field, so that each of them can lie.
struct Archive {
  struct Entry {
    var name: [UInt8]
    /// As it stands in the archive.
    var stored: [UInt8]
    var method: UInt64 = 0
    var flags: UInt64 = 0
    var date: UInt64 = 0x5172
    var crc: UInt32
    var compressedSize: UInt64
    var size: UInt64
    /// What the local header says where it differs from the directory.
    var localName: [UInt8]?
    var localCRC: UInt32?
    var localSizes: (compressed: UInt64, content: UInt64)?
    var localExtra: [UInt8] = []
    var centralExtra: [UInt8] = []
    /// Stands behind the content.
    var descriptor: [UInt8] = []
    /// Whether the directory lists the entry.
    var isListed = true
    /// Where the directory says that the local header is, when it lies.
    var offset: UInt64?

    init(_ name: String, _ content: [UInt8]) {
      self.name = Array(name.utf8)
      stored = content
      crc = crc32(content)
      (compressedSize, size) = (UInt64(content.count), UInt64(content.count))
    }

    /// - Parameter stream: what DEFLATE makes of the content.
    init(_ name: String, deflated stream: [UInt8], crc: UInt32, size: UInt64) {
      self.name = Array(name.utf8)
      stored = stream
      method = 8
      self.crc = crc
      (compressedSize, self.size) = (UInt64(stream.count), size)
    }

    init(_ name: String, _ content: [UInt8], deflated stream: [UInt8]) {
      self.init(name, deflated: stream, crc: crc32(content), size: UInt64(content.count))
    }

    func with(_ change: (inout Entry) -> Void) -> Entry {
      var entry = self
      change(&entry)
      return entry
    }

    /// With sum and sizes behind the content instead of in the local header.
    func describedBehind(hasSignature: Bool = true) -> Entry {
      with {
        $0.flags |= 8
        $0.descriptor = hasSignature ? numbers((4, 0x0807_4b50)) : []
        $0.descriptor += numbers((4, UInt64(crc)), (4, compressedSize), (4, size))
        $0.localCRC = 0
        $0.localSizes = (0, 0)
      }
    }

    /// With sizes in the extra fields of ZIP64.
    var zip64: Entry {
      with {
        $0.localExtra = numbers((2, 1), (2, 16), (8, size), (8, compressedSize))
        $0.centralExtra = $0.localExtra
        $0.localSizes = (0xffff_ffff, 0xffff_ffff)
        $0.sizesAreInExtra = true
      }
    }

    private var sizesAreInExtra = false

    fileprivate var local: [UInt8] {
      let name = localName ?? name
      let sizes = localSizes ?? (compressedSize, size)
      let header = numbers(
        (4, 0x0403_4b50), (2, 20), (2, flags), (2, method), (2, 0), (2, date), (4, UInt64(localCRC ?? crc)),
        (4, sizes.compressed), (4, sizes.content), (2, UInt64(name.count)), (2, UInt64(localExtra.count)))
      return [header, name, localExtra, stored, descriptor].flatMap { $0 }
    }

    fileprivate func central(at position: Int) -> [UInt8] {
      let sizes = sizesAreInExtra ? (0xffff_ffff, 0xffff_ffff) : (compressedSize, size)
      let header = numbers(
        (4, 0x0201_4b50), (2, 20), (2, 20), (2, flags), (2, method), (2, 0), (2, date), (4, UInt64(crc)), (4, sizes.0),
        (4, sizes.1), (2, UInt64(name.count)), (2, UInt64(centralExtra.count)), (8, 0), (2, 0),
        (4, offset ?? UInt64(position)))
      return header + name + centralExtra
    }
  }

  var entries: [Entry]
  var prefix: [UInt8] = []
  var comment: [UInt8] = []
  var statedEntries: UInt64?
  var hasZip64End = false

  init(_ entries: Entry...) { self.entries = entries }

  func with(_ change: (inout Archive) -> Void) -> Archive {
    var archive = self
    change(&archive)
    return archive
  }

  var bytes: [UInt8] {
    var bytes = prefix
    var directory: [UInt8] = []
    for entry in entries {
      if entry.isListed { directory += entry.central(at: bytes.count) }
      bytes += entry.local
    }
    let start = bytes.count
    let count = statedEntries ?? UInt64(entries.count(where: \.isListed))
    bytes += directory
    if hasZip64End {
      let record = UInt64(bytes.count)
      bytes += numbers((4, 0x0606_4b50), (8, 44), (2, 45), (2, 45), (8, 0), (8, count), (8, count))
      bytes += numbers((8, UInt64(directory.count)), (8, UInt64(start)))
      bytes += numbers((4, 0x0706_4b50), (4, 0), (8, record), (4, 1))
    }
    let short = hasZip64End ? 0xffff : count
    bytes += numbers((4, 0x0605_4b50), (4, 0), (2, short), (2, short))
    bytes += numbers((4, hasZip64End ? 0xffff_ffff : UInt64(directory.count)))
    bytes += numbers((4, hasZip64End ? 0xffff_ffff : UInt64(start)), (2, UInt64(comment.count)))
    return bytes + comment
  }
}

/// Numbers one behind the other, each of so many bytes, the lowest byte first.
private func numbers(_ fields: (count: Int, value: UInt64)...) -> [UInt8] {
  fields.flatMap { field in (0..<field.count).map { UInt8(truncatingIfNeeded: field.value >> (8 * $0)) } }
}

/// The sum of ISO 3309, as ZIP has it.
private func crc32(_ bytes: [UInt8]) -> UInt32 {
  var sum = UInt32.max
  for byte in bytes {
    sum ^= UInt32(byte)
    for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xedb8_8320 : sum >> 1 }
  }
  return ~sum
}
