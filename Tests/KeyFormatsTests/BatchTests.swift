import ExposureKeys
import KeyFormats
import Testing

/// The worked example of the federation's facts: two keys whose order under the signature is not the obvious one.
private let body = bytes(
  hex: """
    0a2d0a10000102030405060708090a0b0c0d0e0f1080aba30118900120052a0244452a02495432024445380140a43e0a270a1008090a0b0c0d
    0e0f101112131415161710 90aca301184820ffffffff073202444538024005
    """)

private let canonical = """
  CAkKCwwNDg8QERITFBUWFw==.ACjWEA==.AAAASA==.f////w==..REU=.AAAAAg==./////Q==.\
  AAECAwQFBgcICQoLDA0ODw==.ACjVgA==.AAAAkA==.AAAABQ==.REUsSVQ=.REU=.AAAAAQ==.AAAPkg==.
  """

@Suite struct BatchTests {
  @Test func workedExample() throws {
    let decoder = BatchDecoder(InputWindow(MemorySource(body), capacity: 16))
    let (keys, rejections) = try drain(decoder)
    #expect(rejections.isEmpty)
    #expect(keys.map(\.rollingStart) == [2_676_096, 2_676_240])
    #expect(keys.map(\.rollingPeriod) == [144, 72])
    #expect(keys.map(\.transmissionRisk) == [5, nil])
    #expect(keys.map(\.daysSinceOnset) == [3986, -3])
    #expect(
      keys.map { decoder.regions[$0.regions] } == [
        RegionClaim(origin: "DE", visited: ["DE", "IT"]), RegionClaim(origin: "DE", visited: []),
      ])
    let signed = try keys.withUnsafeBufferPointer { try CanonicalBatch.bytes(of: $0, regions: decoder.regions) }
    #expect(String(decoding: signed, as: UTF8.self) == canonical)
    #expect(try encodeBatch(keys, decoder.regions) == body)
  }

  @Test func aZeroThatIsNotOnTheWireIsStated() throws {
    let file: [UInt8] = [0x0a, 0x12, 0x0a, 0x10] + [UInt8](repeating: 9, count: 16)
    let decoder = BatchDecoder(InputWindow(MemorySource(file)))
    let key = try #require(try drain(decoder).keys.first)
    #expect(key.daysSinceOnset == 0 && key.reportType == 0 && key.rollingPeriod == 0 && key.transmissionRisk == 0)
    #expect(decoder.regions[key.regions] == RegionClaim(visited: []))
    #expect(try encodeBatch([key], decoder.regions) == file)
  }

  @Test func extremesKeepTheirBits() throws {
    let key: [UInt8] =
      [0x0a, 0x10] + [UInt8](repeating: 7, count: 16) + [0x10, 0xff, 0xff, 0xff, 0xff, 0x0f]
      + [0x18, 0xff, 0xff, 0xff, 0xff, 0x0f] + [0x20, 0xea, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]
      + [0x32, 0x02, 0x44, 0x45, 0x40, 0xff, 0xff, 0xff, 0xff, 0x0f]
    let file = [0x0a, UInt8(key.count)] + key
    let decoder = BatchDecoder(InputWindow(MemorySource(file)))
    let claim = try #require(try drain(decoder).keys.first)
    #expect(claim.rollingStart == -1 && claim.transmissionRisk == -22 && claim.daysSinceOnset == .min)
    #expect(try encodeBatch([claim], decoder.regions) == file)
  }

  @Test func regionsThatAreNotASCIICannotBeSigned() throws {
    var regions = RegionTable()
    var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: 2))
    let interned = regions.intern(RegionClaim(origin: "Ö", visited: []))
    key.regions = try #require(interned)
    let error = #expect(throws: FormatError.self) {
      try [key].withUnsafeBufferPointer { try CanonicalBatch.bytes(of: $0, regions: regions) }
    }
    #expect(error?.code == .cannotExpress)
  }
}

private func encodeBatch(_ keys: [ClaimedKey], _ regions: RegionTable) throws -> [UInt8] {
  let sink = MemorySink()
  let encoder = BatchEncoder(OutputBuffer(sink))
  try encoder.begin(ExportHeader())
  try keys.withUnsafeBufferPointer {
    try encoder.encode($0, regions: regions, unknownFields: UnknownFieldTable())
  }
  try encoder.finish(ExportHeader())
  return sink.bytes
}
