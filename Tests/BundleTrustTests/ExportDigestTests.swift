import BundleTrust
import Testing

@Suite struct ExportDigestTests {
  @Test func knownAnswers() {
    let digests = ExportDigests(of: Array("abc".utf8))
    #expect(digests.hexadecimal == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(digests.uppercaseHexadecimal.hasPrefix("BA7816BF"))
    #expect(digests.base64 == "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")
    #expect(digests.byteCount == 3)
    #expect(digests.bodyBytes == nil, "shorter than a header")
  }

  @Test func theGoldenExportOfTheReferenceServer() {
    #expect(ExportDigests(of: goldenExport).base64 == "ho9AqUPleXoGs4wc5PEUU7MvbToDryEnQ+rJ8Fb1Hvc=")
  }

  @Test func piecesOfEverySizeGiveTheSameDigests() {
    let whole = ExportDigests(of: sampleExport)
    let body = ExportDigests(of: Array(sampleExport.dropFirst(16)))
    #expect(whole.bodyBytes == body.fileBytes)
    for size in 1...40 {
      var digest = ExportDigest(includingBody: true)
      for start in stride(from: 0, to: sampleExport.count, by: size) {
        sampleExport[start..<min(start + size, sampleExport.count)].withUnsafeBytes { digest.update($0) }
        digest.update(UnsafeRawBufferPointer(start: nil, count: 0))
      }
      #expect(digest.finalize() == whole)
    }
  }

  @Test func theBodyIsHashedOnlyOnRequest() {
    #expect(ExportDigests(of: sampleExport, includingBody: false).bodyBytes == nil)
    #expect(
      ExportDigests(of: sampleExport, includingBody: false).fileBytes == ExportDigests(of: sampleExport).fileBytes)
  }

  @Test func aHeaderAloneHasAnEmptyBody() {
    let header = ExportDigests(of: Array(sampleExport.prefix(16)))
    #expect(header.bodyBytes == ExportDigests(of: []).fileBytes)
  }
}

private let goldenExport = bytes(
  hex: """
    454b204578706f727420763120202020098066ab5e00000000119074ab5e000000001a0255532001
    2801321d1a013122033331302a13312e322e3834302e31303034352e342e332e323a0f0a03414243
    100818122000280230003a0f0a03444546100118762001280130013a0f0a03474849100518762001
    28033001420b0a03313233100418642805
    """)
