import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyInspection
import Testing

private func examineRealFile(_ name: String) throws -> Examination {
  try examineBytes(try #require(try RealData.bytes(of: name)), name: name)
}

@Suite(.enabled(if: RealData.isPresent, "\(RealData.howToEnable)"))
struct RealFileTests {
  struct RealFile: Sendable, CustomTestStringConvertible {
    let path: String
    let keys: Int
    let has: Set<Finding.Code>
    let lacks: Set<Finding.Code>
    var testDescription: String { path }
  }

  @Test(arguments: [
    RealFile(
      path: "google-server/testExport-2-records-1-of-1.zip", keys: 2,
      has: [.reportTypeAbsent, .archiveDateAbsent], lacks: [.signatureAlgorithm, .rollingPeriodAbsent, .keysUnsorted]),
    RealFile(
      path: "google-server/early_sample1.zip", keys: 2, has: [.keyVersionAbsent, .rollingPeriodAbsent],
      lacks: [.signatureFileEmpty]),
    RealFile(
      path: "google-server/1605818700-1605819000-0001-ff23e2.zip", keys: 50, has: [.signatureFileEmpty],
      lacks: [.reportTypeAbsent, .keysUnsorted]),
    RealFile(
      path: "google-internals/sample_diagnosis_key_file.zip", keys: 140, has: [.rollingPeriodAbsent, .riskLevelEight],
      lacks: [.signatureAlgorithm]),
    RealFile(
      path: "google-internals/cpp_testdata_export.bin", keys: 200, has: [.signatureFileAbsent, .rollingStartUnaligned],
      lacks: [.fileHeaderPadding]),
    RealFile(
      path: "google-sample-110/sample_diagnosis_key_file.zip", keys: 110, has: [.signatureAlgorithm, .keyIDAbsent],
      lacks: [.signatureFileEmpty]),
    RealFile(
      path: "immuniprotobuf/export.bin", keys: 3, has: [.signatureFileAbsent, .riskLevelEight],
      lacks: [.regionAbsent, .rollingPeriodAbsent]),
  ])
  func findingsOfRealFiles(_ file: RealFile) throws {
    let report = try examineRealFile(file.path).report
    let codes = Set(report.findings.map(\.code))
    #expect(report.keys.total == file.keys)
    #expect(codes.isSuperset(of: file.has), "\(codes.map(\.rawValue).sorted())")
    #expect(codes.isDisjoint(with: file.lacks), "\(codes.map(\.rawValue).sorted())")
    #expect(report.distributions.keyDay.rows.reduce(0) { $0 + $1.count } == file.keys)
  }
}
