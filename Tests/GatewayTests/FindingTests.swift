import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyInspection
import KeyPublishing
import Testing

/// A bundle with one fault, and the finding that must name it.
struct FaultyBundle: Sendable, CustomTestStringConvertible {
  let code: Finding.Code
  let severity: Finding.Severity
  var count = 1
  var first: Int?
  var words = ""
  let change: @Sendable (inout SampleBundle) -> Void

  init(
    _ code: Finding.Code, _ severity: Finding.Severity, count: Int = 1, first: Int? = nil, words: String = "",
    _ change: @escaping @Sendable (inout SampleBundle) -> Void
  ) {
    self.code = code
    self.severity = severity
    self.count = count
    self.first = first
    self.words = words
    self.change = change
  }

  var testDescription: String { code.rawValue }
}

/// A whole bundle as an archive with one fault.
struct FaultyArchive: Sendable, CustomTestStringConvertible {
  let code: Finding.Code
  let severity: Finding.Severity
  let change: @Sendable (inout RawZip) -> Void
  var testDescription: String { code.rawValue }
}

@Suite struct FindingTests {
  @Test func soundBundleHasNoFindings() throws {
    #expect(try SampleBundle().examine().report.findings == [])
  }

  @Test(arguments: [
    FaultyBundle(.keysUnsorted, .info, first: 2) { $0.keys.swapAt(1, 2) },
    FaultyBundle(.keyRepeated, .warning, first: 3) { $0.keys.append($0.keys[2]) },
    FaultyBundle(.keyRepeatedDifferently, .warning, count: 2, first: 3) { bundle in
      for risk: Int32 in [1, 2] {
        bundle.keys.append(bundle.keys[2])
        bundle.keys[bundle.keys.count - 1].transmissionRisk = risk
      }
    },
    FaultyBundle(.keyRepeatedWithOtherStart, .warning, first: 3) {
      $0.keys.append($0.keys[2])
      $0.keys[3].rollingStart = midnight - 144
    },
    FaultyBundle(.keyRevisedToo, .info, first: 3) {
      $0.keys.append($0.keys[0])
      $0.keys[3].isRevised = true
    },
    FaultyBundle(.keyDataZero, .warning, first: 0) {
      $0.keys[0] = $0.keys[0].with(TemporaryExposureKey(high: 0, low: 0))
    },
    FaultyBundle(.keyDataLowEntropy, .warning, first: 2, words: "not random") {
      $0.keys[2] = $0.keys[2].with(TemporaryExposureKey(Array("this is a key 01".utf8)))
    },
    FaultyBundle(.rollingPeriodAbsent, .warning, first: 1, words: "microG") { $0.keys[1].rollingPeriod = nil },
    FaultyBundle(.rollingPeriodZero, .warning, first: 1, words: "1...144") { $0.keys[1].rollingPeriod = 0 },
    FaultyBundle(.rollingPeriodTooLong, .error, first: 1, words: "145, allowed 1...144") {
      $0.keys[1].rollingPeriod = 145
    },
    FaultyBundle(.rollingPeriodNegative, .error, first: 1, words: "-3, allowed 1...144") {
      $0.keys[1].rollingPeriod = -3
    },
    FaultyBundle(.rollingStartAbsent, .error, first: 0) { $0.keys[0].rollingStart = nil },
    FaultyBundle(.rollingStartNegative, .error, first: 0, words: "-144") { $0.keys[0].rollingStart = -144 },
    FaultyBundle(.rollingStartUnaligned, .info, first: 0, words: "2660401 (2020-08-01T00:10:00Z)") {
      $0.keys[0].rollingStart = midnight + 1
    },
    FaultyBundle(.rollingStartFuture, .error, first: 0) { $0.keys[0].rollingStart = midnight + 3 * 144 },
    FaultyBundle(.keyStillValid, .warning, first: 0) { $0.keys[0].rollingStart = midnight + 144 },
    FaultyBundle(.keyTooOld, .warning, first: 0) { $0.keys[0].rollingStart = midnight - 14 * 144 },
    FaultyBundle(.riskLevelEight, .info, first: 0) { $0.keys[0].transmissionRisk = 8 },
    FaultyBundle(.riskLevelOutside, .error, first: 0, words: "9, allowed 0...8") { $0.keys[0].transmissionRisk = 9 },
    FaultyBundle(.riskLevelOutside, .error, first: 0, words: "-22, allowed 0...8") {
      $0.keys[0].transmissionRisk = -22
    },
    FaultyBundle(.reportTypeAbsent, .info, first: 0) { $0.keys[0].reportType = nil },
    FaultyBundle(.reportTypeUnknown, .warning, first: 0) { $0.keys[0].reportType = 0 },
    FaultyBundle(.reportTypeUnrecognized, .warning, first: 0, words: "9, defined are 0...5") {
      $0.keys[0].reportType = 9
    },
    FaultyBundle(.reportTypeRecursive, .warning, first: 0) { $0.keys[0].reportType = 4 },
    FaultyBundle(.reportTypeRevoked, .warning, first: 0) { $0.keys[0].reportType = 5 },
    FaultyBundle(.daysSinceOnsetAbsent, .info, first: 0) { $0.keys[0].daysSinceOnset = nil },
    FaultyBundle(.daysSinceOnsetOutside, .warning, first: 0, words: "-15 days") { $0.keys[0].daysSinceOnset = -15 },
    FaultyBundle(.keyDataLength, .error, first: 3) { $0.rawKeys = [[0x0a, 2, 1, 2]] },
    FaultyBundle(.keyDataAbsent, .error, count: 2, first: 3) { $0.rawKeys = [[0x18, 1], [0x18, 2]] },
    FaultyBundle(.keyUnknownFields, .info, first: 3) {
      $0.rawKeys = [[0x0a, 16] + SampleBundle.key(9).key.bytes + [0x38, 1]]
    },
    FaultyBundle(
      .fieldRepeated, .warning, words: "field 4 of a key (rolling period) is stated more than once, first in key 3"
    ) {
      $0.rawKeys = [[0x0a, 16] + SampleBundle.key(9).key.bytes + [0x20, 144, 1, 0x20, 144, 1]]
    },
    FaultyBundle(.keysNone, .info) { $0.keys = [] },
    FaultyBundle(.fileHeaderPadding, .error) { $0.fileHeader = Array("EK Export v1\0\0\0\0".utf8) },
    FaultyBundle(.fileHeaderAbsent, .error) { $0.fileHeader = [] },
    FaultyBundle(.windowAbsent, .warning, words: "start_timestamp") { $0.header.startTimestamp = nil },
    FaultyBundle(.windowEmpty, .error) { $0.header.startTimestamp = $0.header.endTimestamp },
    FaultyBundle(.windowLong, .warning, words: "24 hours") { $0.header.startTimestamp = windowEnd - 86_401 },
    FaultyBundle(.regionAbsent, .info) { $0.header.region = nil },
    FaultyBundle(.batchAbsent, .info) { ($0.header.batchNum, $0.header.batchSize) = (nil, nil) },
    FaultyBundle(.batchNotSingle, .warning, words: "batch 1 of 7") { $0.header.batchSize = 7 },
    FaultyBundle(.batchContradictory, .error, words: "batch 3 of 2") {
      ($0.header.batchNum, $0.header.batchSize) = (3, 2)
    },
    FaultyBundle(.headerUnknownFields, .info, words: "3 bytes") { $0.header.unknownFields = [0xa0, 0x01, 0x07] },
    FaultyBundle(.signatureFileAbsent, .warning) { $0.signatures = nil },
    FaultyBundle(.signatureFileEmpty, .error) { $0.signatures = [] },
    FaultyBundle(.signatureInfosAbsent, .warning) { $0.header.signatureInfos = [] },
    FaultyBundle(.signatureCountDiffers, .error, words: "1 signature, export.bin names 2") {
      $0.header.signatureInfos.append(SampleBundle.info)
    },
    FaultyBundle(.signaturesSeveral, .warning, count: 2, words: "iOS") { bundle in
      bundle.signatures = [SampleBundle.signature, SampleBundle.signature]
      bundle.header.signatureInfos.append(SampleBundle.info)
    },
    FaultyBundle(.signaturesTooMany, .warning, count: 11) { bundle in
      bundle.signatures = Array(repeating: SampleBundle.signature, count: 11)
      bundle.header.signatureInfos = Array(repeating: SampleBundle.info, count: 11)
    },
    FaultyBundle(.signatureInfoDiffers, .warning, words: "key version") {
      $0.signatures?[0].info.verificationKeyVersion = "v2"
    },
    FaultyBundle(.signatureAlgorithm, .error, words: "\"SHA256withECDSA\", required is 1.2.840.10045.4.3.2") {
      $0.signatures?[0].info.signatureAlgorithm = "SHA256withECDSA"
    },
    FaultyBundle(.signatureAlgorithm, .warning) { $0.signatures?[0].info.signatureAlgorithm = "1.2.840.10045.4.3.4" },
    FaultyBundle(.signatureEmpty, .error) { $0.signatures?[0].signature = [] },
    FaultyBundle(.signatureRaw, .error, words: "64 raw bytes") {
      $0.signatures?[0].signature = [UInt8](repeating: 0x55, count: 64)
    },
    FaultyBundle(.signatureNotDER, .error) {
      $0.signatures?[0].signature = [0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x05]
    },
    FaultyBundle(.signatureBatch, .warning, words: "batch 1 of 2") { $0.signatures?[0].batchSize = 2 },
    FaultyBundle(.keyIDAbsent, .warning) { $0.signatures?[0].info.verificationKeyID = nil },
    FaultyBundle(.keyIDCharacters, .warning, words: "\"2 62\"") { $0.signatures?[0].info.verificationKeyID = "2 62" },
    FaultyBundle(.keyVersionAbsent, .warning) { $0.signatures?[0].info.verificationKeyVersion = "" },
  ])
  func faultIsFound(_ faulty: FaultyBundle) throws {
    var bundle = SampleBundle()
    faulty.change(&bundle)
    let findings = try bundle.examine().report.findings
    let finding = try #require(findings.first { $0.code == faulty.code }, "\(findings)")
    #expect(finding.severity == faulty.severity)
    #expect(finding.count == faulty.count)
    #expect(finding.firstPosition == faulty.first)
    #expect(finding.text.contains(faulty.words), "\(finding.text)")
    #expect(findings.map(\.severity.rawValue).sorted { $0 < $1 }.count == findings.count)
    // Nothing else is wrong, but for what follows from the fault.
    let expected = consequences[faulty.code, default: []].union([faulty.code])
    #expect(Set(findings.map(\.code)).subtracting(expected) == [])
  }

  @Test(arguments: [
    FaultyArchive(code: .archiveEntryExtra, severity: .warning) {
      $0.entries.append(RawZip.Entry(name: "content.sig", content: [1]))
    },
    FaultyArchive(code: .archiveEntryFolder, severity: .warning) {
      $0.entries.append(RawZip.Entry(name: "keys/", content: []))
    },
    FaultyArchive(code: .archiveEntryName, severity: .warning) {
      $0.entries[0].name = "day.bin"
      $0.entries[1].name = "day.sig"
    },
    FaultyArchive(code: .archiveEntryOrder, severity: .info) { $0.entries.swapAt(0, 1) },
    FaultyArchive(code: .archiveDataDescriptor, severity: .warning) { $0.entries[1].hasDataDescriptor = true },
    FaultyArchive(code: .archiveDateAbsent, severity: .info) { $0.entries[0].date = 0 },
    FaultyArchive(code: .archiveComment, severity: .info) { $0.comment = Array("hello".utf8) },
  ])
  func archiveFaultIsFound(_ faulty: FaultyArchive) throws {
    let report = try examineBytes(try SampleBundle().rawZip(faulty.change)).report
    #expect(report.findings.map(\.code).filter { $0 != .archiveEntryName || faulty.code == $0 }.first == faulty.code)
    #expect(Set(report.findings.map(\.code)) == [faulty.code])
    #expect(report.findings.allSatisfy { $0.severity == faulty.severity })
  }

  @Test func entriesInAFolderAreNamed() throws {
    let bytes = try SampleBundle().rawZip { zip in
      zip.entries[0].name = "x/export.bin"
      zip.entries[1].name = "x/export.sig"
    }
    #expect(try examineBytes(bytes).report.findings.map(\.code) == [.archiveEntryFolder])
  }

  @Test func bytesBeforeTheArchiveAreCounted() throws {
    // The file must still begin like an archive: an entry that the directory does not name.
    let stray = RawZip(entries: [RawZip.Entry(name: "a", content: [1])]).bytes().prefix(32)
    let report = try examineBytes(try SampleBundle().rawZip { $0.prefix = Array(stray) }).report
    #expect(report.findings.map(\.code) == [.archivePrefix])
    #expect(report.container?.prefixBytes == 32)
  }

  @Test func signatureFileThatCannotBeReadIsAFinding() throws {
    let bytes = try SampleBundle().rawZip { $0.entries[1].content = [0x0a, 0x7f] }
    let report = try examineBytes(bytes).report
    #expect(report.findings.map(\.code) == [.signatureFileMalformed])
    #expect(report.signatureFileSize == 2)
  }

  @Test func sameFaultOfManySignaturesIsOneFinding() throws {
    var bundle = SampleBundle()
    bundle.header.signatureInfos = Array(repeating: SampleBundle.info, count: 5)
    bundle.signatures = (0..<5).map { _ in ExportSignature(info: SignatureInfo(), signature: []) }
    let finding = try #require(try bundle.finding(.signatureEmpty))
    #expect(finding.count == 5)
    #expect(finding.text.contains("signature 0"))
  }

  @Test func fieldsThatNoDeviceReadsAreNoFaultOfAFederationBatch() throws {
    let sink = MemorySink()
    let encoder = BatchEncoder(OutputBuffer(sink))
    var key = SampleBundle.key(1)
    key.daysSinceOnset = 3000
    try encoder.begin(ExportHeader())
    try [key].withUnsafeBufferPointer {
      try encoder.encode($0, regions: RegionTable(), unknownFields: UnknownFieldTable())
    }
    try encoder.finish(ExportHeader())
    let report = try examineBytes(sink.bytes).report
    #expect(report.format == "efgs-protobuf")
    #expect(report.findings.map(\.code) == [.daysSinceOnsetOutside])
    #expect(report.findings.map(\.severity) == [.info])
  }

  /// Times are judged by the header wherever it stands; here behind the keys.
  @Test func headerBehindTheKeysCountsToo() throws {
    var bundle = SampleBundle()
    bundle.keys[0].rollingStart = midnight + 144
    let file = try bundle.exportFile()
    bundle.keys = []
    let headerLength = try bundle.exportFile().count
    let swapped = file[..<16] + file[headerLength...] + file[16..<headerLength]
    let report = try examineBytes(Array(swapped), signatureFile: bundle.signatureFile()).report
    #expect(report.findings.map(\.code) == [.keyStillValid])
  }

  @Test func keyMayEndTwoHoursBeforeTheWindow() throws {
    var bundle = SampleBundle()
    bundle.keys[0].rollingStart = midnight + 144
    bundle.keys[0].rollingPeriod = 132
    #expect(try bundle.findings() == [])
    bundle.keys[0].rollingPeriod = 133
    #expect(try bundle.findings() == [.keyStillValid])
  }

  @Test func keyExpiredFourteenDaysAgoIsUsefulYet() throws {
    var bundle = SampleBundle()
    bundle.keys[0].rollingStart = midnight + 2 * 144 - 15 * 144
    #expect(try bundle.findings() == [])
    bundle.keys[0].rollingPeriod = 143
    #expect(try bundle.findings() == [.keyTooOld])
  }

  @Test func twoKeysOfOneDayAreNoFinding() throws {
    var bundle = SampleBundle()
    bundle.keys[0].rollingPeriod = 80
    bundle.keys[1].rollingPeriod = 64
    #expect(try bundle.findings() == [])
  }

  @Test func reportsNeverShowKeyData() throws {
    var bundle = SampleBundle()
    bundle.keys.append(bundle.keys[0])
    bundle.keys.append(bundle.keys[0].with(TemporaryExposureKey(Array("secret key bytes".utf8))))
    let examination = try bundle.examine()
    let text = "\(examination.report)"
    for key in bundle.keys { #expect(!text.contains(key.key.hex)) }
    #expect(!text.contains("secret"))
  }
}

/// Findings that come with others.
private let consequences: [Finding.Code: Set<Finding.Code>] = [
  .keyRepeatedDifferently: [.keyRepeated, .keysUnsorted],
  .rollingStartNegative: [],
  .signatureFileAbsent: [], .signaturesTooMany: [.signaturesSeveral], .fileHeaderAbsent: [],
  .signatureAlgorithm: [.signatureInfoDiffers], .keyIDAbsent: [.signatureInfoDiffers],
  .keyIDCharacters: [.signatureInfoDiffers], .keyVersionAbsent: [.signatureInfoDiffers],
  .signatureInfosAbsent: [.signatureCountDiffers],
  .keyDataZero: [], .keyDataLowEntropy: [.keysUnsorted],
  .fieldRepeated: [.rollingStartAbsent, .reportTypeAbsent, .daysSinceOnsetAbsent],
  .keyUnknownFields: [
    .rollingStartAbsent, .rollingPeriodAbsent, .reportTypeAbsent, .daysSinceOnsetAbsent,
  ],
]

extension ClaimedKey {
  func with(_ key: TemporaryExposureKey?) -> ClaimedKey {
    var copy = self
    if let key { copy.key = key }
    return copy
  }
}
