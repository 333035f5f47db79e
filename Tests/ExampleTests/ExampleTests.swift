import BundleTrust
import ExposureKeys
import Foundation
import KeyFormats
import Testing

/// Runs the code of the documentation as another package would.
@Suite struct ExampleTests {
  private let csv = Array(
    """
    key_data,rolling_start_interval_number,rolling_period,transmission_risk_level,report_type,revised
    000102030405060708090a0b0c0d0e0f,2678400,144,5,CONFIRMED_TEST,
    ffeeddccbbaa99887766554433221100,2678544,144,,CONFIRMED_TEST,
    101112131415161718191a1b1c1d1e1f,2678544,144,3,REVOKED,true
    abcd,2678544,144,3,CONFIRMED_TEST,

    """.utf8)
  private let noon = Instant(secondsSince1970: 1_607_083_200)

  @Test func aClaimIsBuilt() throws {
    let day = try #require(Day("2020-12-01"))
    let claim = describe(TemporaryExposureKey(high: 1, low: 2), of: day)
    #expect(claim.rollingStart == 2_677_968)
    #expect(claim.daysSinceOnset == nil)
    #expect(age(of: claim, at: noon) == 3)
    #expect(age(of: ClaimedKey(key: claim.key), at: noon) == nil)
  }

  @Test func keysAreCountedPerDay() throws {
    let days = try countKeysPerDay(csv)
    #expect(days.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" } == ["2020-12-04 1", "2020-12-05 2"])
  }

  @Test func firstWordsAreKept() throws {
    let kept = try keepFirst([csv, csv])
    #expect(kept.count == 3 && kept.first?.key.hex.hasPrefix("0001") == true)
  }

  @Test func onlyExpiredKeysGoOut() throws {
    let document = try DecodedDocument(csv)
    // The first key's day is over at midnight; noon is later than two hours behind it.
    #expect(whatMayGoOut(document, at: Instant(secondsSince1970: 1_607_126_400 + 7200)).count == 1)
    #expect(whatMayGoOut(document, at: Instant(secondsSince1970: 1_607_126_400 + 7199)).isEmpty)
  }

  @Test func keysAreCountedInAStream() throws {
    #expect(try countRevoked(MemorySource(csv)) == (1, 1))
  }

  @Test func csvIsWritten() throws {
    let written = String(decoding: try convertToCSV(csv), as: UTF8.self)
    #expect(written.contains("ffeeddccbbaa99887766554433221100,2678544,144,,CONFIRMED_TEST,,"))
    #expect(written.split(separator: "\n").count { !$0.hasPrefix("#") } == 4)
    let sink = MemorySink()
    try convertStream(MemorySource(csv), to: sink)
    #expect(String(decoding: sink.bytes, as: UTF8.self) == written)
  }

  @Test func faultsAreExplained() {
    var lines: [String] = []
    explain(csv) { lines.append($0) }
    #expect(lines.count == 1 && lines[0].hasPrefix("key 3: "))
    #expect(!lines[0].contains("abcd"))
    explain(Array("<html>".utf8)) { lines.append($0) }
    #expect(lines.last?.hasPrefix("no key file: the file looks like a web page") == true)
    explain(Array("EK Export v1    ".utf8) + [0x3a, 99]) { lines.append($0) }
    #expect(lines.count == 3)
  }

  @Test func aBundleIsSignedAndVerified() throws {
    let signer = try SigningIdentity(key: .generate(), keyID: "310", keyVersion: "v1")
    let zip = try bundle(try DecodedDocument(csv), signedBy: signer, at: noon)
    let ring = TrustRing(keys: [signer.verificationKey])
    #expect(try verify(zip, trusting: ring, at: noon).isTrusted)
    let stranger = try SigningIdentity(key: .generate(), keyID: "310", keyVersion: "v1")
    #expect(try !verify(zip, trusting: TrustRing(keys: [stranger.verificationKey]), at: noon).isTrusted)
    let keys = try DecodedDocument(zip).keys
    // Sorted by raw bytes, revised ones last.
    #expect(keys.map { $0.key.hex.prefix(2) } == ["00", "ff", "10"])
    #expect(keys.map(\.isRevised) == [false, false, true])
  }

  @Test func lossesAreReported() throws {
    var lines: [String] = []
    let batch = try fitForFederation(try DecodedDocument(csv)) { lines.append($0) }
    #expect(lines.contains("1 keys lose mark as revised"))
    let read = try DecodedDocument(batch)
    #expect(read.keys.count == 3)
    #expect(read.keys.allSatisfy { $0.daysSinceOnset == 4000 && read.regions[$0.regions].origin == "DE" })
  }

  @Test func formatsThatAreOnlyReadAreNotWritten() throws {
    var document = DecodedDocument()
    for description in FormatCatalog.all where !description.isWritten {
      #expect(throws: FormatError.self) { try document.fit(to: description.format) }
      #expect(throws: FormatError.self) { try document.bytes(as: description.format) }
    }
  }

  @Test func refusedKeysKeepTheirPlace() throws {
    var document = try DecodedDocument(csv)
    document.keys[1].rollingPeriod = 145
    _ = try document.fit(to: .gaenExport)
    #expect(document.rejections.map(\.position.index) == [3, 1])
    #expect(document.rejections.last?.reason == .valueNotAllowed)
    #expect(document.keys.count == 2)
  }
}
