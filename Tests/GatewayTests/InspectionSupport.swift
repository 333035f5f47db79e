import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyInspection

let midnight = SampleBundle.midnight
let windowEnd = SampleBundle.windowEnd

extension SampleBundle {
  func examine(_ options: InspectionOptions = InspectionOptions()) throws -> Examination {
    try examineBytes(try zip(), options)
  }

  /// The codes of all findings.
  func findings() throws -> Set<Finding.Code> { Set(try examine().report.findings.map(\.code)) }

  func finding(_ code: Finding.Code) throws -> Finding? { try examine().report.findings.first { $0.code == code } }
}

func examineBytes(
  _ bytes: [UInt8], _ options: InspectionOptions = InspectionOptions(), signatureFile: [UInt8]? = nil,
  format: KeyFormat? = nil, name: String = "sample.zip"
) throws -> Examination {
  let document = try KeyDocument(MemorySource(bytes), format: format, signatureFile: signatureFile)
  return try Inspector(options).examine(document, name: name, fileSize: bytes.count)
}

/// Writes archives that ``ZipWriter`` never would: stored entries with any name, flags and date.
struct RawZip {
  struct Entry {
    var name: String
    var content: [UInt8]
    var hasDataDescriptor = false
    /// 2020-08-03 by default.
    var date: UInt16 = 40 << 9 | 8 << 5 | 3
  }
  var entries: [Entry]
  var prefix: [UInt8] = []
  var comment: [UInt8] = []

  func bytes() -> [UInt8] {
    var file = prefix
    var directory: [UInt8] = []
    for entry in entries {
      let offset = file.count
      let name = Array(entry.name.utf8)
      let flags: UInt16 = entry.hasDataDescriptor ? 8 : 0
      let sum = crc32(entry.content)
      let size = UInt32(entry.content.count)
      let local = entry.hasDataDescriptor ? (UInt32(0), UInt32(0)) : (sum, size)
      file += word32(0x0403_4b50) + word16(20, flags, 0, 0, entry.date)
      file += word32(local.0, local.1, local.1) + word16(UInt16(name.count), 0) + name + entry.content
      if entry.hasDataDescriptor { file += word32(0x0807_4b50, sum, size, size) }
      directory += word32(0x0201_4b50) + word16(20, 20, flags, 0, 0, entry.date) + word32(sum, size, size)
      directory += word16(UInt16(name.count), 0, 0, 0, 0) + word32(0, UInt32(offset)) + name
    }
    let start = UInt32(file.count)
    file += directory + word32(0x0605_4b50) + word16(0, 0, UInt16(entries.count), UInt16(entries.count))
    return file + word32(UInt32(directory.count), start) + word16(UInt16(comment.count)) + comment
  }

  private func word16(_ words: UInt16...) -> [UInt8] { words.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] } }
  private func word32(_ words: UInt32...) -> [UInt8] {
    words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(8 * $0)) } }
  }
  private func crc32(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(UInt32.max) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { value, _ in value >> 1 ^ (value & 1 == 1 ? 0xedb8_8320 : 0) }
    }
  }
}

extension SampleBundle {
  /// The bundle as an archive of stored entries, changed by `change`.
  func rawZip(_ change: (inout RawZip) -> Void) throws -> [UInt8] {
    var zip = RawZip(entries: [RawZip.Entry(name: "export.bin", content: try exportFile())])
    if let signature = signatureFile() { zip.entries.append(RawZip.Entry(name: "export.sig", content: signature)) }
    change(&zip)
    return zip.bytes()
  }
}
