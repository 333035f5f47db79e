import ExposureKeys
import KeyFormats
import Testing

private func read(_ bytes: [UInt8], window: Int = 128 << 10) throws -> RowDocument {
  try RowDocument(ParserTextKeyDecoder(InputWindow(MemorySource(bytes), capacity: window)))
}

private func read(_ text: String) throws -> RowDocument { try read(Array(text.utf8)) }

private let hex = "014f874b858869abea21d2c785c6f0aa"
private let sample = """
  Diagnosis Key Parser
  File '8.zip' read.
  - Time window: 2020-06-23 08:00:00 UTC - 2020-06-23 09:00:00 UTC
  - Region: DE
  - Batch: 1 of 2
  - Signature Info:
    app_bundle_id: "de.example"
    verification_key_version: "v1"
    verification_key_version: "v2"
    verification_key_id: "26:2"
  Diagnosis Keys:
  1: TEK: \(hex), Transmission Risk Level: 8, Validity: 2020-06-18 00:00:00 UTC - 2020-06-19 00:00:00 UTC (2654064, 144)
  2: TEK: \(hex), Validity: 2020-06-18 00:00:00 UTC - 2020-06-18 00:20:00 UTC, Report Type: CONFIRMED_TEST
    03: TEK: \(hex), Report Type: 9, Days Since Onset of Symptoms: -2
  4: TEK: \(hex)

  """

@Suite("Parser printout")
struct ParserTextTests {
  @Test(
    "A printout that was cut says that keys are missing",
    arguments: [(3, nil), (4, "4 keys, and 3"), (2, "2 keys, and 3")])
  func cut(stated: Int, told: String?) throws {
    let key = "TEK: \(hex), Transmission Risk Level: 8"
    let text = """
      File 'a.zip' read.
      - # of keys in batch: \(stated)
      Diagnosis Keys:
        1: \(key)
        2: \(key)
        3: \(key)
      Revised Diagnosis Keys:
        1: \(key)

      """
    let notes = try read(text).notes.sorted.filter { $0.note.code == "keys-missing" }
    #expect(notes.count == (told == nil ? 0 : 1))
    if let told { #expect(notes.first?.note.text.contains(told) == true && notes.first?.note.isLoss == true) }
  }

  @Test("Header and keys, with parts missing")
  func everything() throws {
    let document = try read(sample)
    #expect(
      document.header
        == ExportHeader(
          startTimestamp: 1_592_899_200, endTimestamp: 1_592_902_800, region: "DE", batchNum: 1, batchSize: 2,
          signatureInfos: [
            SignatureInfo(appBundleID: "de.example", verificationKeyVersion: "v1"),
            SignatureInfo(verificationKeyVersion: "v2", verificationKeyID: "26:2"),
          ]))
    #expect(document.rejections == [])
    let keys = document.keys.map(\.key)
    #expect(keys.map(\.key.hex) == [hex, hex, hex, hex])
    #expect(keys.map(\.rollingStart) == [2_654_064, 2_654_064, nil, nil])
    #expect(keys.map(\.rollingPeriod) == [144, 2, nil, nil])
    #expect(keys.map(\.transmissionRisk) == [8, nil, nil, nil])
    #expect(keys.map(\.reportType) == [nil, 1, 9, nil])
    #expect(keys.map(\.daysSinceOnset) == [nil, nil, -2, nil])
    #expect(document.noteCodes == ["line-not-read  1"])
    #expect(try read(Array(sample.utf8), window: 16) == document)
    #expect(try read(sample.replacing("\n", with: "\r\n")) == document)
  }

  @Test("Truncation at every position: an error, or no more keys than before")
  func truncation() throws {
    let bytes = Array(sample.utf8)
    for length in 0..<bytes.count {
      guard let document = try? read(Array(bytes[..<length])) else { continue }
      #expect(document.keys.count + document.rejections.count <= 4)
    }
  }

  @Test("A bad line is rejected, with its place")
  func rejections() throws {
    let cases: [(line: String, reason: RejectionReason, detail: String)] = [
      ("TEK: ", .keyDataAbsent, "line 2, TEK: empty"),
      ("TEK: \(hex.dropLast(12))", .keyDataLength, "line 2, TEK: 15 bytes of key data, allowed are 16"),
      ("TEK: ?", .keyDataSpelling, "line 2, TEK: 1 characters"),
      ("TEK: \(hex), Transmission Risk Level: high", .fieldNotANumber, "Transmission Risk Level: \"high\", allowed"),
      ("TEK: \(hex), Validity: today", .malformedEntry, "Validity: \"today\", allowed is two instants"),
      ("TEK: \(hex), Validity: x (1)", .malformedEntry, "Validity: \"(1)\", allowed is rolling start and"),
      ("TEK: \(hex), Validity: x (1, 2147483648)", .fieldNotANumber, "rolling period: \"2147483648\""),
      ("TEK: \(hex), Report Type: SURE", .reportTypeUnknown, "Report Type: \"SURE\", allowed is UNKNOWN"),
      ("TEK: \(hex), Shoe Size: 5", .malformedEntry, "Shoe Size: not known"),
    ]
    for (line, reason, detail) in cases {
      let document = try read("Diagnosis Keys:\n17: \(line)\n18: TEK: \(hex)\n")
      let rejection = try #require(document.rejections.first, "\(line)")
      #expect(rejection.reason == reason)
      #expect(rejection.detail.contains(detail), "\(rejection.detail)")
      #expect(rejection.position == KeyPosition(index: 0, byteOffset: 16))
      #expect(document.keys.count == 1)
    }
    for (line, reason) in [("Batch: one", "Batch: \"one\""), ("Time window: now", "Time window: \"now\"")] {
      let error = #expect(throws: FormatError.self) { _ = try read("\n- \(line)\n") }
      #expect(error?.code == .malformed)
      #expect(error?.description.hasPrefix("line 2: byte 1: \(reason), allowed is") == true)
    }
  }

  @Test(
    "An hour of the Corona-Warn-App",
    .enabled(if: RowRealData.cwaHour != nil, "real files are absent; set KEYFERRY_REAL_DATA to their folder"))
  func coronaWarnAppHour() throws {
    let document = try read(try #require(RowRealData.cwaHour))
    #expect(document.keys.count == 5)
    #expect(document.rejections == [])
    #expect(document.keys.map(\.key.transmissionRisk) == [8, 8, 3, 8, 8])
    #expect(document.keys.map(\.key.rollingStart) == [2_654_064, 2_654_208, 2_654_496, 2_654_064, 2_653_920])
    #expect(document.keys.allSatisfy { $0.key.rollingPeriod == 144 })
    #expect(document.header.signatureInfos.first?.appBundleID == "de.rki.coronawarnapp")
    #expect((document.header.startTimestamp, document.header.region) == (1_592_899_200, "DE"))
  }
}
