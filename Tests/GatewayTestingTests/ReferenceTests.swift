import ExposureKeys
import GatewayTesting
import KeyFormats
import Testing

@Suite struct ReferenceTests {
  @Test(arguments: RandomKeys.Style.allCases)
  func exportRoundTrip(style: RandomKeys.Style) throws {
    var random = SeededRandom(for: "exportRoundTrip")
    let document = RandomKeys(style, hasUnknownFields: true).document(500, using: &random)
    let again = try ReferenceExport.decode(ReferenceExport.encode(document))
    #expect(again.content == document.content)
  }

  @Test(arguments: RandomKeys.Style.allCases)
  func batchRoundTrip(style: RandomKeys.Style) throws {
    var random = SeededRandom(for: "batchRoundTrip")
    var document = RandomKeys(style, statesRegions: true, hasUnknownFields: true).document(500, using: &random)
    document.header = ExportHeader()
    for index in document.keys.indices {
      document.keys[index].fields = .numbers
      document.keys[index].isRevised = false
    }
    let once = try ReferenceBatch.decode(ReferenceBatch.encode(document))
    let again = try ReferenceBatch.decode(ReferenceBatch.encode(once))
    #expect(again.content == once.content)
    for (claim, wanted) in zip(once.keys, document.keys) {
      #expect(claim.key == wanted.key)
      #expect(claim.rollingStart == wanted.rollingStart)
      #expect(claim.transmissionRisk ?? .max == wanted.transmissionRisk)
      #expect(claim.daysSinceOnset == wanted.daysSinceOnset)
      #expect(once.regions[claim.regions].origin == document.regions[wanted.regions].origin)
    }
  }

  @Test func signatureRoundTrip() throws {
    let info = SignatureInfo(verificationKeyVersion: "v1", verificationKeyID: "310", unknownFields: [0x78, 1])
    let signatures = [
      ExportSignature(info: info, batchNum: 1, batchSize: 1, signature: [0x30, 0, 1], unknownFields: [0x78, 2]),
      ExportSignature(info: SignatureInfo(appBundleID: "a.b", androidPackage: "c.d"), signature: []),
    ]
    #expect(try ReferenceExport.decodeSignatures(ReferenceExport.encodeSignatures(signatures)) == signatures)
  }

  /// A report type that the enum does not name, key data of fifteen bytes, and none at all.
  @Test func oddKeys() throws {
    let sixteen = [UInt8](repeating: 7, count: 16)
    let bytes: [UInt8] =
      [0x3a, 20, 0x0a, 16] + sixteen + [0x28, 9] + [0x3a, 17, 0x0a, 15] + sixteen.dropLast() + [0x42, 2, 0x18, 1]
    let document = try ReferenceExport.decode(bytes)
    #expect(document.keys.map(\.reportType) == [9])
    #expect(document.rejections.map(\.reason) == [.keyDataLength, .keyDataAbsent])
    #expect(document.unknownFields.isEmpty)
  }

  @Test(
    .enabled(if: RealData.isPresent, "\(RealData.howToEnable)"),
    arguments: [("immuniprotobuf/export.bin", 3), ("google-internals/cpp_testdata_export.bin", 200)])
  func realExports(path: String, count: Int) throws {
    let document = try ReferenceExport.decode(try #require(try RealData.bytes(of: path)))
    #expect(document.keys.count == count)
    #expect(document.rejections.isEmpty)
  }

  @Test func sameSeedSameKeys() {
    var first = SeededRandom(seed: 17)
    var second = SeededRandom(seed: 17)
    let keys = RandomKeys(.wild, statesRegions: true, hasUnknownFields: true)
    #expect(keys.document(100, using: &first).content == keys.document(100, using: &second).content)
    #expect(first.next() == second.next())
  }

  @Test func plausibleKeysAreWithinTheirRanges() {
    var random = SeededRandom(for: "plausibleKeysAreWithinTheirRanges")
    let keys = RandomKeys(.plausible).document(1000, using: &random).keys
    let firstInterval = Int32(RandomKeys.usualDay.firstInterval.rawValue)
    for key in keys {
      #expect((1...144).contains(key.rollingPeriodWord))
      #expect((0...8).contains(key.transmissionRiskWord))
      #expect((-14...14).contains(key.daysSinceOnsetWord))
      #expect((firstInterval - 14 * 144..<firstInterval).contains(key.rollingStartWord))
      #expect(key.fields.isSuperset(of: .numbers))
    }
  }
}
