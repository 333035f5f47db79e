import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyInspection
import Testing

@testable import FileCommands
@testable import KeyTool

@Suite struct InspectionTextTests {
  @Test func reportOfASmallBundle() throws {
    var bundle = SampleBundle()
    bundle.keys[0].rollingStart = SampleBundle.midnight - 144
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
      key.rollingStart = SampleBundle.midnight - Int32(number) * 100
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

  /// On a narrow terminal everything keeps to the width, digests too, and nothing is lost.
  @Test func aNarrowTerminalIsKeptTo() throws {
    var report = try SampleBundle().examine().report
    report.sha256 = String(repeating: "ab", count: 32)
    let text = InspectionText.render(report, options: .init(width: 40))
    #expect(text.split(separator: "\n").allSatisfy { $0.count <= 40 }, "\(text)")
    #expect(text.filter { !$0.isWhitespace }.contains(String(repeating: "ab", count: 32)), "\(text)")
    #expect(text.contains("revised,") && text.contains("rejected"), "\(text)")
  }

  @Test func aFindingOfOneKeyIsSaidOfOne() throws {
    var bundle = SampleBundle()
    bundle.keys.append(bundle.keys[0])
    let text = InspectionText.render(try bundle.examine().report)
    #expect(text.contains("1 key that repeats an earlier key"), "\(text)")
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

  @Test func textsNeverShowKeyData() throws {
    var bundle = SampleBundle()
    bundle.keys.append(bundle.keys[0])
    let examination = try bundle.examine()
    let texts =
      [InspectionText.render(examination.report)]
      + DeviceProfile.allCases.map { InspectionText.render($0.judge(examination, signature: .unknown), all: true) }
    for key in bundle.keys { #expect(!texts.joined().contains(key.key.hex)) }
  }

  @Test func skippedKeysAreCounted() throws {
    var bundle = SampleBundle()
    bundle.keys[0].rollingPeriod = 200
    bundle.keys[1].rollingPeriod = 200
    let report = DeviceProfile.iosV1.judge(try bundle.examine(), signature: .verified)
    #expect(report.summary == "reads the file but skips 2 keys")
  }

  /// Whatever a document holds, its report is lines that do not steer a terminal.
  @Test(arguments: ((try? Vector.all()) ?? []).filter { $0["format"] != "none" })
  func everyVectorHasAReport(_ vector: Vector) throws {
    do {
      let document = try KeyDocument(MemorySource(vector.bytes), format: Self.format(of: vector))
      let text = InspectionText.render(try Inspector().examine(document, name: vector.name).report)
      #expect(text.hasPrefix("\(vector.name)\n  format       ") && text.hasSuffix("\n"))
      #expect(!text.unicodeScalars.contains { $0.value < 32 && $0 != "\n" || $0.value == 0x202e })
    } catch is FormatError {
      // A document that is refused has no report; that vectors are refused as they say is tested elsewhere.
    }
  }

  private static func format(of vector: Vector) -> KeyFormat? {
    KeyFormat(rawValue: vector["format"] ?? vector.name.split(separator: "/").first.map(String.init) ?? "")
  }
}

extension SampleBundle {
  func examine() throws -> Examination {
    let bytes = try zip()
    return try Inspector().examine(try KeyDocument(MemorySource(bytes)), name: "sample.zip", fileSize: bytes.count)
  }
}
