import ExposureKeys
import KeyFormats
import Testing

/// Decodes everything a decoder yields, in chunks of the given size.
func drain(_ decoder: any KeyDecoder, chunkCapacity: Int = 7) throws -> (keys: [ClaimedKey], rejections: [Rejection]) {
  var keys: [ClaimedKey] = []
  var rejections: [Rejection] = []
  var chunk = KeyChunk(capacity: chunkCapacity)
  while try decoder.decode(into: &chunk) {
    chunk.keys.withKeys { keys.append(contentsOf: $0) }
    rejections.append(contentsOf: chunk.rejections)
    chunk.advance()
  }
  return (keys, rejections)
}

func bytes(hex: String) -> [UInt8] {
  let digits = hex.filter { !$0.isWhitespace }
  return stride(from: 0, to: digits.count, by: 2).compactMap { offset in
    let start = digits.index(digits.startIndex, offsetBy: offset)
    return UInt8(digits[start..<digits.index(start, offsetBy: 2)], radix: 16)
  }
}

private let sampleExport = bytes(
  hex: """
    454b204578706f72742076312020202009f0e8c75e0000000011703ac95e000000001a0255532001
    280132211a01312207736f6d655f69642a13312e322e3834302e31303034352e342e332e323a1b0a
    10172fc480e598490c34177604339b1543100818fcdea10120013a1b0a102b63053ac483238de176
    169e861f3dcd1001188adea1012072
    """)

private let goldenExport = bytes(
  hex: """
    454b204578706f727420763120202020098066ab5e00000000119074ab5e000000001a0255532001
    2801321d1a013122033331302a13312e322e3834302e31303034352e342e332e323a0f0a03414243
    100818122000280230003a0f0a03444546100118762001280130013a0f0a03474849100518762001
    28033001420b0a03313233100418642805
    """)

@Suite struct ExportTests {
  @Test("a survey finds what decoding finds, and decodes no key", arguments: [16, 40, 1 << 16])
  func survey(window: Int) throws {
    for export in [sampleExport, goldenExport] {
      let decoder = ExportDecoder(InputWindow(MemorySource(export), capacity: window))
      let (keys, rejections) = try drain(decoder)
      let survey = try #require(try KeyDocument(MemorySource(export)).survey())
      #expect(survey.header == decoder.header && survey.keyCount == keys.count + rejections.count)
      #expect(survey.signatures.isEmpty)
      for end in [17, 30, export.count - 1] {
        #expect(throws: FormatError.self) { try KeyDocument(MemorySource(Array(export[..<end]))).survey() }
      }
    }
    // A key message that is no message: whoever decodes it is told, and a signature is judged without.
    let broken = Array(sampleExport[..<16]) + [0x3a, 2, 0x0a, 0x50]
    #expect(try KeyDocument(MemorySource(broken)).survey()?.keyCount == 1)
    #expect(throws: FormatError.self) { try drain(ExportDecoder(InputWindow(MemorySource(broken)))) }
  }

  @Test(arguments: [16, 40, 1 << 16])
  func sampleIsReadWhole(window: Int) throws {
    let decoder = ExportDecoder(InputWindow(MemorySource(sampleExport), capacity: window))
    let (keys, rejections) = try drain(decoder)
    #expect(rejections.isEmpty)
    #expect(keys.map(\.key.hex) == ["172fc480e598490c34177604339b1543", "2b63053ac483238de176169e861f3dcd"])
    #expect(keys.map(\.transmissionRisk) == [8, 1])
    #expect(keys.map(\.rollingStart) == [2_649_980, 2_649_866])
    #expect(keys.map(\.rollingPeriod) == [1, 114])
    #expect(keys.allSatisfy { $0.reportType == nil && $0.daysSinceOnset == nil })
    #expect(decoder.header.region == "US")
    #expect(decoder.header.startTimestamp == 1_590_159_600)
    #expect(
      decoder.header.signatureInfos
        == [
          SignatureInfo(
            verificationKeyVersion: "1", verificationKeyID: "some_id",
            signatureAlgorithm: SignatureInfo.ecdsaWithSHA256)
        ])
  }

  @Test func canonicalBytesComeBack() throws {
    let decoder = ExportDecoder(InputWindow(MemorySource(sampleExport)))
    let (keys, _) = try drain(decoder)
    #expect(try encode(keys, decoder.header) == sampleExport)
  }

  @Test func keysThatAreNotSixteenBytesAreRejectedOneByOne() throws {
    let decoder = ExportDecoder(InputWindow(MemorySource(goldenExport)))
    let (keys, rejections) = try drain(decoder)
    #expect(keys.isEmpty)
    #expect(rejections.map(\.reason) == [.keyDataLength, .keyDataLength, .keyDataLength, .keyDataLength])
    #expect(rejections.map(\.position.index) == [0, 1, 2, 3])
    #expect(rejections.map(\.position.byteOffset) == [75, 92, 109, 126])
    #expect(decoder.header.signatureInfos.first?.verificationKeyID == "310")
  }

  @Test func everyTruncationIsAnErrorOrFewerKeys() throws {
    for length in 0..<sampleExport.count {
      let decoder = ExportDecoder(InputWindow(MemorySource(Array(sampleExport[..<length])), capacity: 16))
      do {
        #expect(try drain(decoder).keys.count < 2, "\(length) bytes")
      } catch let error as FormatError {
        #expect(error.code == .truncated || error.code == .malformed, "\(length) bytes: \(error)")
      }
    }
  }

  @Test func mixedLayoutsReadLikeTheGeneralReader() throws {
    // Every presence combination, twice over, so that templates are learned, used and replaced.
    var keys: [ClaimedKey] = []
    for round in 0..<4 {
      for presence in UInt32(0)..<64 {
        for extreme: Int32 in [0, 1, 127, 128, 2_649_024, -1, .max, .min] {
          var claim = ClaimedKey(
            key: TemporaryExposureKey(
              high: UInt64(presence) << 8 | UInt64(round), low: UInt64(bitPattern: Int64(extreme))))
          if presence & 1 != 0 { claim.rollingStart = 2_649_024 &+ extreme }
          if presence & 2 != 0 { claim.rollingPeriod = round.isMultiple(of: 2) ? 144 : extreme }
          if presence & 4 != 0 { claim.transmissionRisk = extreme }
          if presence & 8 != 0 { claim.reportType = extreme }
          if presence & 16 != 0 { claim.daysSinceOnset = extreme }
          claim.isRevised = presence & 32 != 0
          keys.append(claim)
        }
      }
    }
    let bytes = try encode(keys, ExportHeader(region: "XX"))
    for window in [16, 64, 1 << 17] {
      let decoder = ExportDecoder(InputWindow(MemorySource(bytes), capacity: window))
      #expect(try drain(decoder, chunkCapacity: 100).keys == keys)
    }
  }

  @Test func unknownFieldsSurvive() throws {
    // A key with field 7 (varint 3) and field 15 (text), and a header with field 20.
    let key: [UInt8] = [0x0a, 0x10] + (0..<16).map { UInt8($0) } + [0x18, 0x05, 0x38, 0x03, 0x7a, 0x02, 0x68, 0x69]
    let file = ExportDecoder.fileHeader + [0x3a, UInt8(key.count)] + key + [0xa0, 0x01, 0x07]
    let decoder = ExportDecoder(InputWindow(MemorySource(file)))
    var chunk = KeyChunk()
    #expect(try decoder.decode(into: &chunk))
    #expect(chunk.keys[0].unknownFields == 1)
    let sink = MemorySink()
    let encoder = ExportEncoder(OutputBuffer(sink))
    try encoder.begin(decoder.header)
    try chunk.keys.withKeys { try encoder.encode($0, regions: decoder.regions, unknownFields: chunk.unknownFields) }
    try encoder.finish(decoder.header)
    #expect(sink.bytes == file)
  }

  @Test(arguments: [
    ("0f", FormatError.Code.malformed, "wire type 7"), ("00", .malformed, "field number 0"),
    ("3a 05 0a", .truncated, ""), ("3a ff ff ff ff 7f", .malformed, "length"),
    ("1a 02 c3 28", .malformed, "not UTF-8"), ("3a 02 0a 05", .malformed, "key 0"),
    ("0c", .malformed, "group"), ("0b 13 0c", .malformed, "group"), ("3a 03 10 80 80", .malformed, "key 0"),
    ("32 02 0a 05", .malformed, "beyond"), ("20 80 80 80 80 80 80 80 80 80 80 01", .malformed, "varint"),
  ])
  func brokenBytesAreNamed(hex: String, code: FormatError.Code, words: String) throws {
    let decoder = ExportDecoder(InputWindow(MemorySource(ExportDecoder.fileHeader + bytes(hex: hex))))
    let error = #expect(throws: FormatError.self) { try drain(decoder) }
    #expect(error?.code == code, "\(String(describing: error))")
    #expect(error?.description.contains(words) == true, "\(String(describing: error))")
  }

  @Test func hugeRecordsAreRefusedWithoutMemory() throws {
    let file = ExportDecoder.fileHeader + [0x3a, 0x80, 0x80, 0x80, 0x40] + [UInt8](repeating: 0, count: 100_000)
    var limits = ReadLimits()
    limits.recordBytes = 50_000
    let decoder = ExportDecoder(InputWindow(MemorySource(file), limits: limits, capacity: 1024), limits: limits)
    let error = #expect(throws: FormatError.self) { try drain(decoder) }
    #expect(error?.code == .limitExceeded)
  }

  @Test func deepGroupsAreRefused() throws {
    let file = ExportDecoder.fileHeader + [UInt8](repeating: 0x7b, count: 100_000)
    let error = #expect(throws: FormatError.self) { try drain(ExportDecoder(InputWindow(MemorySource(file)))) }
    #expect(error?.code == .limitExceeded)
  }

  @Test func betaFile() throws {
    let header: [UInt8] = [
      0x08, 0x80, 0xcd, 0xad, 0xf6, 0x05, 0x10, 0x90, 0xdb, 0xad, 0xf6, 0x05, 0x1a, 0x02, 0x55, 0x53,
    ]
    let key: [UInt8] =
      [0x0a, 0x10] + (0..<16).map { UInt8($0) } + [0x10, 0xc0, 0xd7, 0xa1, 0x01, 0x18, 0x90, 0x01, 0x20, 0x05]
    let file = [0x0a, UInt8(header.count)] + header + [0x12, UInt8(key.count)] + key + [0x12, UInt8(key.count)] + key
    let decoder = BetaFileDecoder(InputWindow(MemorySource(file)))
    let (keys, _) = try drain(decoder)
    #expect(keys.map(\.rollingStart) == [2_649_024, 2_649_024])
    #expect(keys.map(\.rollingPeriod) == [144, 144])
    #expect(keys.map(\.transmissionRisk) == [5, 5])
    #expect(decoder.header.startTimestamp == 1_590_388_352)
    #expect(decoder.header.region == "US")
  }

  @Test func signatureFileRoundTrips() throws {
    let sample = bytes(
      hex: """
        0a710a211a01312207736f6d655f69642a13312e322e3834302e31303034352e342e332e32100118
        01224830460221009eb6e9d5ad6a688fa970b0e67c0886345eefdd1819592edd84604a1ccf4d0247
        022100906d7fcdf211c710f84a2a7917000573bef0ef27a4974129de2876ac6819f66a
        """)
    let signatures = try SignatureFile.decode(sample)
    #expect(signatures.count == 1)
    #expect(signatures.first?.signature.count == 72)
    #expect(signatures.first?.info.verificationKeyID == "some_id")
    #expect(SignatureFile.encode(signatures) == sample)
    for length in 1..<sample.count {
      #expect(throws: FormatError.self) { try SignatureFile.decode(Array(sample[..<length])) }
    }
  }
}

func encode(_ keys: [ClaimedKey], _ header: ExportHeader) throws -> [UInt8] {
  let sink = MemorySink()
  let encoder = ExportEncoder(OutputBuffer(sink, capacity: 256))
  try encoder.begin(header)
  try keys.withUnsafeBufferPointer {
    try encoder.encode($0, regions: RegionTable(), unknownFields: UnknownFieldTable())
  }
  try encoder.finish(header)
  return sink.bytes
}
