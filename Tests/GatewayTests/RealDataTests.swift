import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyConversion
import KeyFormats
import KeyInspection
import KeyIntake
import Testing

private typealias Folder = GatewayTesting.RealData

/// Every file of a real system that holds keys: opened, counted, verified where its key is published, and converted to
/// every format that can carry it and back.
@Suite(.enabled(if: Folder.isPresent, "\(Folder.howToEnable)"))
struct RealDataTests {
  struct File: CustomTestStringConvertible, Sendable {
    let path: String
    let format: KeyFormat
    let keys: Int
    /// How many of them have key data of another length than sixteen bytes.
    var rejected = 0
    var testDescription: String { path }

    func source() throws -> SourceDocument {
      memory(try #require(try Folder.bytes(of: path)), name: path)
    }
  }

  static let files: [File] = [
    File(path: "immuniprotobuf/export.bin", format: .gaenExport, keys: 3),
    File(path: "cwa-real-2020-06-27/2020-06-27.textproto", format: .protobufText, keys: 1280),
    File(path: "maltej-gist/cwa-de-2020-06-23-hour8.excerpt.txt", format: .parserText, keys: 5),
    File(path: "sledilnik-cwa-scrape/SI-2020-08-27.json", format: .json, keys: 5),
    File(path: "radarcovid-report/RadarCOVID-TEKs-2020-08-29.json", format: .sampleDays, keys: 312),
    File(path: "radarcovid-report/RadarCOVID-TEKs-2020-08-30.json", format: .sampleDays, keys: 341),
    File(path: "google-server/testExport-2-records-1-of-1.zip", format: .gaenExport, keys: 2),
    File(path: "google-server/early_sample1.zip", format: .gaenExport, keys: 2),
    File(path: "google-server/1605818700-1605819000-0001-ff23e2.zip", format: .gaenExport, keys: 50),
    File(path: "google-server/example_keys.json", format: .publishJSON, keys: 2),
    File(path: "google-sample-110/sample_diagnosis_key_file.zip", format: .gaenExport, keys: 110),
    File(path: "google-internals/sample_diagnosis_key_file.zip", format: .gaenExport, keys: 140),
    File(path: "google-internals/cpp_testdata_export.bin", format: .gaenExport, keys: 200),
    File(path: "nl-backend/payload.json", format: .codableJSON, keys: 14),
    File(path: "nl-backend/payload-good00.json", format: .codableJSON, keys: 0),
    File(path: "nl-backend/payload-good01.json", format: .codableJSON, keys: 1),
    File(path: "nl-backend/payload-good14.json", format: .codableJSON, keys: 14),
    File(path: "nl-backend/payload-ancient-TEKs.json", format: .codableJSON, keys: 2),
    File(path: "nl-backend/payload-duplicate-TEKs-KeyData.json", format: .codableJSON, keys: 14),
    File(path: "nl-backend/payload-duplicate-TEKs-RSN-and-RP.json", format: .codableJSON, keys: 2),
    File(path: "nl-backend/payload-duplicate-TEKs-RSN.json", format: .codableJSON, keys: 13),
    File(path: "efgs/diagnosisKeyBatchMaxValInt.bin", format: .efgsProtobuf, keys: 1, rejected: 1),
    File(path: "efgs/diagnosisKeyBatchMaxValUint.bin", format: .efgsProtobuf, keys: 1, rejected: 1),
    File(path: "efgs/diagnosisKeyBatchSmallInt.bin", format: .efgsProtobuf, keys: 1, rejected: 1),
    File(path: "efgs/efgs_history5.bin", format: .efgsProtobuf, keys: 3, rejected: 3),
    File(path: "cms/example-batch.pb", format: .efgsProtobuf, keys: 2),
    File(path: "cwa-server/payload.pb", format: .cwaSubmission, keys: 10),
    File(path: "cwa-server/submission.bin", format: .cwaSubmission, keys: 14),
  ]

  @Test(arguments: files)
  func openedAndCounted(file: File) throws {
    let document = try file.source().open()
    let content = try Document(decoding: document.decoder)
    #expect(document.format == file.format)
    #expect(content.keys.count + content.rejections.count == file.keys)
    #expect(content.rejections.count == file.rejected, "\(content.rejections)")
  }

  private static let asCSV: [String: [UInt8]] = {
    let sources = files.compactMap { file in
      (try? Converted(to: .csv, file.source()).bytes).map { (file.path, $0) }
    }
    return Dictionary(uniqueKeysWithValues: sources)
  }()

  /// Whatever else is asked for is filled in; what the target cannot carry is counted; the rest comes back.
  @Test(arguments: files, KeyFormat.written)
  func convertedAndBack(file: File, format: KeyFormat) throws {
    let defaults = FieldDefaults(
      rollingPeriod: 144, transmissionRisk: 0, reportType: 1, daysSinceOnset: 0, origin: "XX")
    // By way of CSV, which loses nothing (see below) and is read faster than text.
    var source = memory(try #require(Self.asCSV[file.path]))
    for target in [format, .csv] {
      let before = try read(source)
      let model = ConversionModel(before.content, to: target, defaults: defaults)
      let converted: Converted
      do {
        converted = try Converted(to: target, defaults: defaults, source)
      } catch is RepeatedKeyRefusal {
        #expect(target == .gaenExport && Set(model.keys.keys.map(\.claim.key)).count < model.keys.count)
        return
      }
      source = converted.source(format: target)
      let after = try read(source)
      #expect(after.content.unordered == model.keys)
      #expect(Set(converted.receipt.losses.filter { !$0.hasPrefix("the document loses") }) == model.losses)
      #expect(Set(converted.receipt.fillings) == model.fillings)
      #expect(converted.receipt.received == before.keys.count + before.rejections.count)
      if target.capabilities.carriesHeader {
        #expect(after.header.region == before.header.region)
        #expect(after.header.startTimestamp == before.header.startTimestamp)
        #expect(after.header.signatureInfos == before.header.signatureInfos)
      }
    }
  }

  @Test(arguments: files)
  func losslessFormatsLoseNothing(file: File) throws {
    let before = try read(try file.source())
    for format in [KeyFormat.csv, .json] {
      let converted = try Converted(to: format, try file.source())
      #expect(converted.receipt.losses.isEmpty && converted.receipt.fillings.isEmpty)
      let after = try read(converted.source)
      #expect(after.content.keys == before.content.keys && after.content.revised == before.content.revised)
      #expect(after.header == before.header)
    }
  }

  /// Every file is there, so a test that finds none has looked in the wrong place.
  @Test func allKeyFilesOfTheFolderAreListed() {
    let known = Set(Self.files.map(\.path))
    let other: Set<String> = [
      "cocoa", "covid-alert-app", "retrieve-canadian", "crypto-vectors", "covid-alert-dashboard", "dka",
      "tek_transparency", "operator-signature", "policies", "public-keys.json", "transparency-vectors.json",
      "efgs/CSharpTestdata.head100.txt", "MANIFEST.md", "device", "federation-vectors",
    ]
    let unlisted = Folder.files(endingWith: ["zip", "bin", "pb", "json", "textproto", "txt"]).filter { path in
      !known.contains(path) && !other.contains { path == $0 || path.hasPrefix("\($0)/") }
    }
    #expect(unlisted.isEmpty)
  }

  // MARK: Signatures

  struct Published: Decodable {
    struct Key: Decodable {
      let name: String
      let spki: String?
      let verifies: [String]?
    }
    let keys: [Key]
  }

  private func publicKey(of path: String) throws -> TrustRing {
    let document = try #require(try Folder.bytes(of: "public-keys.json"))
    let key = try #require(
      try JSONDecoder().decode(Published.self, from: Data(document)).keys.first {
        $0.verifies?.contains(path) == true
      })
    guard let spki = key.spki else {
      return try TrustRing(document: try #require(try Folder.bytes(of: "google-server/example_public.pem")))
    }
    return try TrustRing(document: Array(#"{"keys":[{"publicKey":"\#(spki)"}]}"#.utf8))
  }

  /// All four verify; three of them name the algorithm in another way than devices want it or name no version.
  @Test(arguments: [
    ("google-server/testExport-2-records-1-of-1.zip", BundleTrust.SignatureVerdict.Code.verified),
    ("google-server/early_sample1.zip", .verified),
    ("google-sample-110/sample_diagnosis_key_file.zip", .wrongAlgorithm),
    ("google-internals/sample_diagnosis_key_file.zip", .verified),
  ])
  func publishedKeysVerify(path: String, verdict: BundleTrust.SignatureVerdict.Code) throws {
    let source = memory(try #require(try Folder.bytes(of: path)), name: path)
    let instant = Instant(secondsSince1970: 1_600_000_000)
    let report = try #require(try source.verify(trusting: try publicKey(of: path), at: instant))
    #expect(report.findings.map(\.verdict.code) == [verdict], "\(report.lines)")
    if case .wrongAlgorithm(_, let verifiesOtherwise)? = report.findings.first?.verdict { #expect(verifiesOtherwise) }
    // Another's key does not verify it.
    let other = TrustRing(keys: [try SigningIdentity(key: .generate(), keyID: "1", keyVersion: "1").verificationKey])
    #expect(try source.verify(trusting: other, at: instant)?.isTrusted == false)
  }

  @Test func emptySignatureFileIsAFault() throws {
    let path = "google-server/1605818700-1605819000-0001-ff23e2.zip"
    let source = memory(try #require(try Folder.bytes(of: path)), name: path)
    let report = try #require(
      try source.verify(
        trusting: try publicKey(of: "google-server/early_sample1.zip"), at: Instant(secondsSince1970: 0)))
    #expect(!report.isTrusted && report.findings.isEmpty)
    #expect(report.faults.map(\.code).contains(.noSignatures))
  }

  // MARK: Known results

  /// The day file as the server wrote it: its header and its keys, 38,496 bytes.
  @Test func coronaWarnAppDayFileHasItsSizeAgain() throws {
    let source = memory(try #require(try Folder.bytes(of: "cwa-real-2020-06-27/2020-06-27.textproto")))
    let before = try read(source)
    let export = try Converted(to: .gaenExport, source)
    let bin = try export.exportBin()
    #expect(bin.count == 38_496)
    #expect(export.receipt.losses.isEmpty && export.receipt.fillings.isEmpty)
    #expect(try read(memory(bin)).content == before.content, "the server sorts as we do")
    #expect(try entry("export.sig", of: export.bytes) == nil)
  }

  /// Each row ends with the canonical text that another implementation made of its fields.
  @Test func federationRowsHaveTheExpectedCanonicalText() throws {
    let bytes = try #require(try Folder.bytes(of: "efgs/CSharpTestdata.head100.txt"))
    let rows = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
    #expect(rows.count == 100)
    for (number, row) in rows.enumerated() {
      let cells = row.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
      try #require(cells.count == 17)
      func list(_ cell: Int) -> [String] {
        cells[cell].dropFirst().dropLast().split(separator: ",").map(String.init)
      }
      func number32(_ cell: Int) throws -> Int32 {
        let bytes = list(cell).compactMap { UInt8($0) }
        try #require(bytes.count == 4)
        return Int32(bitPattern: bytes.reduce(0) { $0 << 8 | UInt32($1) })
      }
      var key = ClaimedKey(key: try #require(TemporaryExposureKey(list(0).compactMap { UInt8($0) })))
      key.rollingStart = try number32(2)
      key.rollingPeriod = try number32(4)
      key.transmissionRisk = try number32(6)
      key.reportType = try number32(12)
      key.daysSinceOnset = try number32(14)
      var regions = RegionTable()
      let interned = regions.intern(RegionClaim(origin: list(10).first, visited: list(8)))
      key.regions = try #require(interned)
      let text = try CanonicalBatch.text(of: key, regions: regions)
      #expect(Data(text).base64EncodedString() == cells[16], "row \(number + 1)")
    }
  }

  @Test func workedBatchHasItsCanonicalForm() throws {
    let expected = try #require(try Folder.bytes(of: "cms/example-batch.canonical"))
    let batch = try read(memory(try #require(try Folder.bytes(of: "cms/example-batch.pb"))))
    let canonical = try batch.keys.withUnsafeBufferPointer { try CanonicalBatch.bytes(of: $0, regions: batch.regions) }
    #expect(canonical == expected)
  }
}
