import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyInspection
import KeyPublishing
import Testing

@Suite struct InspectionTextTests {
  @Test func reportOfASmallBundle() throws {
    var bundle = SampleBundle()
    bundle.keys[0].rollingStart = midnight - 144
    bundle.keys[0].rollingPeriod = nil
    var report = try bundle.examine().report
    report.size = 1234
    report.sha256 = String(repeating: "ab", count: 32)
    let lines = InspectionText.render(report, options: .init(ascii: true)).split(separator: "\n").map(String.init)
    for line in [
      "sample.zip", "  format       gaen-export in a zip archive, 1,234 bytes",
      "  window       2020-08-02 23:00 to 2020-08-03 00:00 UTC, 1 hour", "  region       DE", "  batch        1 of 1",
      "  signatures   id 262, version v1, 1.2.840.10045.4.3.2, DER, 10 bytes",
      "  sha-256      " + String(repeating: "ab", count: 32), "  keys         3, 3 distinct, 0 revised, 0 rejected",
      "  every key    days since onset +2", "               risk level 5",
      "  key day     keys                      rolling period  keys",
      "  2020-07-31     1  ########                       144     2  ################",
      "  2020-08-01     2  ################        not stated     1  ########",
      "  warning: 1 key without rolling period (144 is meant); microG skips the file (first: key 0)",
    ] {
      #expect(lines.contains(line), "\(line)\nis not in\n\(lines.joined(separator: "\n"))")
    }
    #expect(lines.allSatisfy { $0.utf8.allSatisfy { $0 < 128 } })
  }

  @Test(arguments: [60, 80, 100])
  func linesKeepToTheWidth(width: Int) throws {
    var bundle = SampleBundle()
    bundle.keys = (UInt64(0)..<500).map { number in
      var key = SampleBundle.key(number % 400)
      key.rollingStart = midnight - Int32(number) * 100
      key.daysSinceOnset = Int32(number % 40) - 20
      key.rollingPeriod = Int32(number % 200)
      key.reportType = Int32(number % 7)
      return key
    }
    let text = InspectionText.render(try bundle.examine().report, options: .init(width: width, rows: 20))
    let tables = text.split(separator: "\n").drop { !$0.contains("key day") }
    #expect(tables.allSatisfy { $0.count <= width }, "\(tables.filter { $0.count > width })")
    #expect(text.contains("rows)"))
    #expect(text.contains("CLINICAL_DIAGNOSIS"))
    #expect(!text.contains(" \n"))
  }

  @Test func hostileNamesCannotSteerTheTerminal() throws {
    var bundle = SampleBundle()
    bundle.header.region = "\u{1b}[2J\u{202e}DE\n"
    bundle.signatures?[0].info.verificationKeyID = "\u{7}id"
    let examination = try bundle.examine()
    for text in [
      InspectionText.render(examination.report),
      InspectionText.render(DeviceProfile.strict.judge(examination, signature: .unknown), all: true),
    ] {
      #expect(!text.unicodeScalars.contains { $0.value < 32 && $0 != "\n" || $0.value == 0x202e })
    }
  }

  @Test func profileTextNamesRuleAndReason() throws {
    var bundle = SampleBundle()
    bundle.keys[1].rollingPeriod = nil
    let text = InspectionText.render(DeviceProfile.microg.judge(try bundle.examine(), signature: .verified))
    #expect(
      text == """
        profile microg: refuses the file
          refuse-file: rolling-period: 1 key without rolling period: the whole file is skipped

        """)
  }

  @Test func keysAreListedOneALine() throws {
    var bundle = SampleBundle()
    bundle.keys[1].transmissionRisk = nil
    bundle.keys[1].reportType = nil
    bundle.keys[1].daysSinceOnset = nil
    bundle.keys[1].rollingPeriod = nil
    bundle.keys[2].isRevised = true
    bundle.keys[2].reportType = 5
    bundle.keys[2].daysSinceOnset = -3
    let document = try KeyDocument(MemorySource(try bundle.zip()))
    let sink = MemorySink()
    let output = OutputBuffer(sink)
    var lister = KeyLister { _ in "digest" }
    _ = try Inspector().examine(document, name: "x") { chunk, regions in
      try lister.list(chunk, regions: regions, to: output)
    }
    try output.flush()
    #expect(
      String(decoding: sink.bytes, as: UTF8.self)
        == """
             0  digest  2020-08-01 00:00 - 2020-08-02 00:00     5  test             +2
             1  digest  2020-08-01 00:00 - ?                    -  -                 -
             2  digest  2020-08-01 00:00 - 2020-08-02 00:00     5  revoked          -3  revised

        """.split(separator: "\n").map { $0 + "\n" }.joined())
  }

  @Test func listedIndexesAreThoseOfFindings() throws {
    var bundle = SampleBundle()
    bundle.keys = []
    bundle.rawKeys = [[0x0a, 1, 1], [0x0a, 16] + SampleBundle.key(1).key.bytes]
    let document = try KeyDocument(MemorySource(try bundle.zip()))
    let sink = MemorySink()
    let output = OutputBuffer(sink)
    var lister = KeyLister()
    let report = try Inspector().examine(document, name: "x") { chunk, regions in
      try lister.list(chunk, regions: regions, to: output)
    }.report
    try output.flush()
    let text = String(decoding: sink.bytes, as: UTF8.self)
    #expect(text.hasPrefix("     1  \(SampleBundle.key(1).key.hex)  -  "))
    #expect(report.findings.first { $0.code == .rollingPeriodAbsent }?.firstPosition == 1)
  }

  /// Every member of the JSON is in the schema, and every member that the schema requires is in the JSON.
  @Test func reportFitsItsSchema() throws {
    let schema = try DocumentSchema(named: "inspection.schema.json")
    var bundle = SampleBundle()
    bundle.signatures?[0].info.androidPackage = "app"
    bundle.rawKeys = [[0x0a, 1, 1]]
    bundle.keys[1].transmissionRisk = nil
    for bytes in [try bundle.zip(), try bundle.exportFile(), try SampleBundle().zip()] {
      var report = try examineBytes(bytes).report
      report.sha256 = "00"
      let encoded = try JSONEncoder().encode(report)
      #expect(try JSONDecoder().decode(InspectionReport.self, from: encoded) == report)
      #expect(try schema.faults(in: encoded, at: "report") == [])
    }
    #expect(schema.values(of: "code", in: "finding") == Set(Finding.Code.allCases.map(\.rawValue)))
  }
}
