import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

private let bin = ExportDecoder.fileHeader + [0x3a, 18, 0x0a, 16] + (0..<16).map { UInt8($0) }
private let sig: [UInt8] = [0x0a, 0]

/// The archive that we write, as others see it.
@Suite struct ZipWriterTests {
  private static func archive(date: Int64 = 1_600_000_001, size: Int = 100_000) throws -> [UInt8] {
    var random = SeededRandom(seed: 5)
    let sink = MemorySink()
    let writer = ZipWriter(sink, date: Instant(secondsSince1970: date))
    let content = random.bytes(size / 2) + [UInt8](repeating: 7, count: size - size / 2)
    try writer.addEntry("export.bin") { sink in
      // In pieces of odd sizes: where they end makes no difference.
      for start in stride(from: 0, to: content.count, by: 7777) {
        try sink.write(Array(content[start..<min(start + 7777, content.count)]))
      }
    }
    try writer.addEntry("export.sig") { try $0.write([1, 2, 3]) }
    try writer.finish()
    return sink.bytes
  }

  @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 150_000])
  func ourReaderReadsIt(size: Int) throws {
    let archive = try ZipArchive(MemorySource(try Self.archive(size: size)))
    #expect(archive.entries.map(\.name) == ["export.bin", "export.sig"])
    #expect(archive.entries.allSatisfy { !$0.hasDataDescriptor && $0.method == 8 })
    #expect(archive.prefixLength == 0 && archive.commentLength == 0)
    let entry = try #require(archive["export.bin"])
    #expect(try archive.open(entry).readAll(limit: 1 << 20).count == size)
    #expect(try archive.open(try #require(archive["export.sig"])).readAll(limit: 9) == [1, 2, 3])
  }

  @Test func sameContentSameBytes() throws {
    #expect(try Self.archive() == Self.archive())
    #expect(try Self.archive(date: 1_600_000_000) == Self.archive(date: 1_600_000_001), "DOS counts two seconds")
    #expect(try Self.archive(date: 1_600_000_000) != Self.archive(date: 1_600_000_002))
  }

  /// What readers that stream need: the numbers in front of the content.
  @Test func localHeadersAreComplete() throws {
    let bytes = try Self.archive()
    let archive = try ZipArchive(MemorySource(bytes))
    for entry in archive.entries {
      let name = Array(entry.name.utf8)
      let start = try #require(
        bytes.indices.first { bytes[$0...].starts(with: le32(0x0403_4b50)) && bytes[($0 + 30)...].starts(with: name) })
      let header = Array(bytes[start..<start + 30])
      #expect(header[6..<10] == [0, 0, 8, 0], "no flags, deflated")
      #expect(Array(header[14..<18]) == le32(entry.crc32))
      #expect(Array(header[18..<22]) == le32(UInt32(entry.compressedSize)))
      #expect(Array(header[22..<26]) == le32(UInt32(entry.size)))
      #expect(header[28..<30] == [0, 0], "no extra field")
    }
  }

  @Test(arguments: [
    (Int64(0), 1980, 1, 1, 0), (-1, 1980, 1, 1, 0), (1_600_000_001, 2020, 9, 13, 12),
    (4_354_819_199, 2107, 12, 31, 23), (4_354_819_200, 1980, 1, 1, 0), (253_402_300_799, 1980, 1, 1, 0),
  ])
  func datesAreValid(seconds: Int64, year: Int, month: Int, day: Int, hour: Int) throws {
    let archive = try ZipArchive(MemorySource(try Self.archive(date: seconds, size: 1)))
    for entry in archive.entries {
      #expect(Int(entry.date >> 9) + 1980 == year)
      #expect(Int(entry.date >> 5 & 15) == month)
      #expect(Int(entry.date & 31) == day)
      #expect(Int(entry.time >> 11) == hour)
    }
  }

  @Test(.enabled(if: Tool(named: "python3") != nil, "python3 is not installed"))
  func pythonReadsIt() throws {
    let python = try #require(Tool(named: "python3"))
    try withTemporaryFolder { folder in
      try Data(try Self.archive()).write(to: folder.appending(path: "a.zip"))
      let script = """
        import zipfile
        archive = zipfile.ZipFile("a.zip")
        assert archive.testzip() is None
        print([(i.filename, i.file_size, i.date_time, i.flag_bits, i.extra) for i in archive.infolist()])
        """
      let outcome = try python.run(["-c", script], in: folder)
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(
        outcome.text == """
          [('export.bin', 100000, (2020, 9, 13, 12, 26, 40), 0, b''), \
          ('export.sig', 3, (2020, 9, 13, 12, 26, 40), 0, b'')]

          """)
    }
  }

  @Test(.enabled(if: Tool(named: "unzip") != nil, "unzip is not installed"))
  func unzipReadsIt() throws {
    let unzip = try #require(Tool(named: "unzip"))
    try withTemporaryFolder { folder in
      try Data(try Self.archive()).write(to: folder.appending(path: "a.zip"))
      let outcome = try unzip.run(["-t", "a.zip"], in: folder)
      #expect(outcome.status == 0, "\(outcome.text)\(outcome.errors)")
      #expect(outcome.text.contains("No errors detected in compressed data of a.zip"))
    }
  }
}

/// Archives of others, honest and hostile: read, or refused with a reason.
@Suite struct ZipReaderTests {
  /// Reads an archive as every command does, to its last key and signature.
  @discardableResult
  private func read(_ bytes: [UInt8], limits: ReadLimits = ReadLimits()) throws -> (keys: Int, signatures: Int) {
    let document = try KeyDocument(MemorySource(bytes), limits: limits)
    let keys = try drain(document.decoder).keys.count
    return (keys, try SignatureFile.decode(document.signatureFile ?? []).count)
  }

  private func code(_ zip: RawZip, limits: ReadLimits = ReadLimits()) -> FormatError.Code? {
    do {
      try read(zip.bytes, limits: limits)
      return nil
    } catch let error as FormatError {
      return error.code
    } catch {
      Issue.record("\(error)")
      return nil
    }
  }

  private func pair() throws -> RawZip {
    RawZip(try .init("export.bin", bin), try .init("export.sig", sig, deflated: false))
  }

  @Test func deflatedAndStored() throws {
    #expect(try read(pair().bytes) == (1, 1))
    #expect(try read(RawZip(.init("export.bin", bin, deflated: false)).bytes) == (1, 0))
  }

  @Test(arguments: [true, false], [true, false])
  func dataDescriptors(isDeflated: Bool, isSigned: Bool) throws {
    var zip = RawZip(try .init("export.bin", bin, deflated: isDeflated), try .init("export.sig", sig))
    zip.entries[0].describeBehind(signed: isSigned)
    zip.entries[1].describeBehind(signed: isSigned)
    #expect(try read(zip.bytes) == (1, 1))
    #expect(try ZipArchive(MemorySource(zip.bytes)).entries.allSatisfy { $0.hasDataDescriptor })
  }

  @Test func zip64() throws {
    var zip = try pair()
    for index in zip.entries.indices {
      let entry = zip.entries[index]
      zip.entries[index].localExtra = le16(1, 16) + le64(UInt64(entry.size), UInt64(entry.compressedSize))
      zip.entries[index].centralExtra =
        le16(0x5455, 1) + [0] + zip.entries[index].localExtra
      (zip.entries[index].size, zip.entries[index].compressedSize) = (.max, .max)
    }
    #expect(try read(zip.bytes) == (1, 1))
    zip.hasZip64End = true
    #expect(try read(zip.bytes) == (1, 1))
    zip.entries[0].centralExtra = le16(1, 8) + le64(60)
    #expect(code(zip) == .malformed, "the field is too short for two sizes")
    zip.entries[0].centralExtra = le16(1, 16) + le64(.max, 20)
    #expect(code(zip) == .malformed, "a size beyond any file")
  }

  @Test func namesInFoldersAndOthers() throws {
    #expect(try read(RawZip(.init("a/export.bin", bin), .init("a/export.sig", sig)).bytes) == (1, 1))
    #expect(try read(RawZip(.init("a/", []), .init("a/b.bin", bin), .init("x/b.sig", sig)).bytes) == (1, 0))
    #expect(try read(RawZip(.init("../../etc/export.bin", bin)).bytes) == (1, 0), "nothing is ever unpacked")
    #expect(try read(RawZip(.init("export.bin", bin), .init("export.sig", sig), .init("x", [])).bytes) == (1, 1))
    #expect(code(RawZip(try .init("export.sig", sig))) == .missingEntry)
    #expect(code(RawZip(try .init("a.bin", bin), try .init("b.bin", bin))) == .missingEntry)
    #expect(code(RawZip(try .init("export.bin/", []))) == .missingEntry)
    #expect(code(RawZip()) == .missingEntry)
  }

  @Test(arguments: ["export.bin", "export.sig"])
  func duplicates(name: String) throws {
    var zip = try pair()
    zip.entries.append(try .init(name, bin))
    #expect(code(zip) == .duplicateEntry)
  }

  @Test func hostileNamesAreNotPrinted() throws {
    var zip = RawZip(try .init("x", bin))
    zip.entries[0].name = Array("\u{1b}[2J\r\u{202e}".utf8) + [0xff, 0xfe] + Array(".txt".utf8)
    let error = #expect(throws: FormatError.self) { try read(zip.bytes) }
    let text = try #require(error).description
    #expect(text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f } && !text.contains("\u{202e}"), "\(text.debugDescription)")
    zip.entries[0].name = Array("export.bi\u{0}".utf8)
    #expect(code(zip) == .missingEntry)
    zip.entries[0].name = [UInt8](repeating: 65, count: 60_000)
    let long = #expect(throws: FormatError.self) { try read(zip.bytes) }
    #expect((long?.description.utf8.count ?? 0) < 1000)
  }

  @Test func commentsAndPrefixes() throws {
    var zip = try pair()
    zip.comment = Array("PK\u{5}\u{6} is how an end begins".utf8)
    #expect(try read(zip.bytes) == (1, 1))
    #expect(try ZipArchive(MemorySource(zip.bytes)).commentLength == zip.comment.count)
    zip.comment = [UInt8](repeating: 32, count: 65_535)
    #expect(try read(zip.bytes) == (1, 1))
    zip.comment = [UInt8](repeating: 32, count: 70_000)
    #expect(code(zip) == .truncated, "a comment is at most 65,535 bytes")
    zip.comment = []
    zip.prefix = Array("PK\u{3}\u{4} junk".utf8)
    #expect(try ZipArchive(MemorySource(zip.bytes)).prefixLength == zip.prefix.count)
    zip.prefix = Array("#!/bin/sh\n".utf8)
    #expect(throws: FormatError.self) { try read(zip.bytes) }
  }

  /// One number changed at a time.
  @Test func liesAreFound() throws {
    func lie(_ expected: FormatError.Code, _ comment: Comment, _ change: (inout RawZip) -> Void) throws {
      var zip = try pair()
      change(&zip)
      #expect(code(zip) == expected, comment)
    }
    try lie(.checksumMismatch, "wrong sum in both places") { $0.entries[0].crc ^= 1 }
    try lie(.malformed, "wrong sum in the local header") { $0.entries[0].localCRC = 1 }
    try lie(.malformed, "wrong size in the local header") { $0.entries[0].localSize = 1 }
    try lie(.malformed, "wrong compressed size in the local header") { $0.entries[0].localCompressedSize = 1 }
    try lie(.malformed, "declared small, inflates large") { $0.entries[0].size = 5 }
    try lie(.truncated, "declared large, inflates small") { $0.entries[0].size = 5000 }
    try lie(.truncated, "compressed bytes cut off") { $0.entries[0].compressedSize -= 1 }
    try lie(.malformed, "compressed bytes that go on") {
      $0.entries[0].stored += [0]; $0.entries[0].compressedSize += 1
    }
    try lie(.checksumMismatch, "stored with two sizes") { $0.entries[0].method = 0 }
    try lie(.truncated, "reaches beyond the file") {
      $0.entries[1].compressedSize = 1 << 20; $0.entries[1].size = 1 << 20
    }
    try lie(.unsupported, "encrypted") { $0.entries[0].flags = 1 }
    try lie(.unsupported, "unknown method") { $0.entries[0].method = 99 }
    try lie(.malformed, "another method in the local header") { $0.entries[0].localMethod = 0 }
    try lie(.malformed, "another name in the local header") { $0.entries[0].localName = Array("export.bim".utf8) }
    try lie(.unsupported, "on the second disk") { $0.entries[0].disk = 1 }
    try lie(.unsupported, "a split archive") { $0.disk = 1 }
    try lie(.malformed, "the second entry is the first") { $0.entries[1].offset = 0 }
    try lie(.malformed, "the second entry begins inside the first") { $0.entries[1].offset = 31 }
    try lie(.malformed, "no header stands there") { $0.entries[1].offset = 82 }
    try lie(.truncated, "behind the directory") { $0.entries[0].offset = 1 << 20 }
    try lie(.malformed, "more entries than there are") { $0.statedEntries = 3 }
    try lie(.malformed, "fewer entries than there are") { $0.statedEntries = 1 }
    try lie(.limitExceeded, "far more entries") { $0.statedEntries = 5000 }
    try lie(.malformed, "a directory outside the file") { $0.statedDirectoryOffset = 1 << 30 }
    try lie(.malformed, "a directory larger than the file") { $0.statedDirectorySize = 1 << 30 }
    try lie(.malformed, "a directory that is too short") { $0.statedDirectorySize = 20 }
    try lie(.malformed, "no name") { $0.entries[1].name = [] }
    try lie(.malformed, "a damaged stream") { $0.entries[0].stored[0] = 0xff }
  }

  /// 3 MB of zeros in 3 KB. What counts is what is allowed, not what the archive announces.
  @Test func bombs() throws {
    let bomb = [UInt8](repeating: 0, count: 3_000_000)
    var zip = RawZip(try .init("export.bin", bomb))
    var limits = ReadLimits()
    limits.documentBytes = 200_000
    #expect(zip.bytes.count < 4_000)
    #expect(code(zip, limits: limits) == .limitExceeded, "announced")
    #expect(code(zip) == .unrecognizedFormat, "read and no protobuf")
    zip.entries[0].size = 1000
    #expect(code(zip, limits: limits) == .malformed, "not announced")
    zip = RawZip(try .init("export.bin", bin), try .init("export.sig", bomb))
    #expect(code(zip) == .limitExceeded, "a signature file is at most 1 MiB")
  }

  @Test func everyTruncationIsRefused() throws {
    let bytes = try pair().bytes
    for length in 0..<bytes.count {
      #expect(throws: FormatError.self, "\(length) bytes") { try read(Array(bytes[..<length])) }
    }
  }

  @Test func joinedArchivesAreNoneOrTheLast() throws {
    // The offsets of the second one are those of an archive by itself, so they point into the first.
    var other = try pair()
    other.entries[0] = try .init("export.bin", bin + [0x20, 1])
    #expect(throws: FormatError.self) { try read(pair().bytes + other.bytes) }
    #expect(throws: FormatError.self) { try read(pair().bytes + [0]) }
  }

  @Test func randomDamageIsReadOrRefused() throws {
    var random = SeededRandom(for: "randomDamageIsReadOrRefused")
    var whole = try pair()
    whole.comment = Array("comment".utf8)
    let bytes = whole.bytes
    var verdicts: [String: Int] = [:]
    for _ in 0..<500 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<damaged.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: damaged[place] = UInt8(truncatingIfNeeded: random.next())
        case 1: damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 2: damaged.remove(at: place)
        default: damaged.insert(random.pick([0, 0xff, 0x50]), at: place)
        }
      }
      do {
        try read(damaged)
        verdicts["read", default: 0] += 1
      } catch let error as FormatError {
        verdicts[error.code.rawValue, default: 0] += 1
      }
    }
    #expect(verdicts.keys.count > 3, "the damage reaches different checks: \(verdicts)")
  }
}
