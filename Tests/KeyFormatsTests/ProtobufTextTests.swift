import ExposureKeys
import KeyFormats
import Testing

private func read(
  _ bytes: [UInt8], window: Int = 128 << 10, limits: ReadLimits = ReadLimits()
) throws -> RowDocument {
  let window = InputWindow(MemorySource(bytes), limits: limits, capacity: window)
  return try RowDocument(ProtobufTextKeyDecoder(window, limits: limits))
}

private func read(_ text: String, window: Int = 128 << 10) throws -> RowDocument {
  try read(Array(text.utf8), window: window)
}

private let sample = #"""
  # printed by a protobuf library
  start_timestamp: 1593248400
  end_timestamp: 0xFFFFFFFFFFFFFFFF; region: "D" 'E\n\303\226\u00d6'
  batch_num: 1, batch_size: -2147483648
  signature_infos {
    app_bundle_id: "de.example"
    verification_key_version: "v1"
    3: "an unknown field, by its number"
    signature_algorithm: "1.2.840.10045.4.3.2"
  }
  signature_infos: [< verification_key_id: '262' >, {}]
  keys {
    key_data: "\000Z\272j{e\306\304?\334\362v?b\332\n"  # sixteen bytes
    transmission_risk_level: 1
    rolling_start_interval_number: 2653920
    rolling_period: 144
    report_type: CONFIRMED_TEST
    days_since_onset_of_symptoms: -3
  }
  keys: <key_data: "\x00\x1\x02\3\4\5\6\7" '\"\'\\\?\a\b\f\v' report_type: 7, variant: { a: [1, 2.5e-3, {b: 'c'}] } >
  [example.extension]: 5
  future { nested < deep: "}" > }
  revised_keys: [
    { key_data: "0123456789abcdef" rolling_period: 0 },
    { key_data: "fedcba9876543210" report_type: revoked }
  ]
  revised_keys: []

  """#

@Suite("Protobuf text")
struct ProtobufTextTests {
  @Test("Everything that the text format can say")
  func everything() throws {
    let document = try read(sample)
    #expect(
      document.header
        == ExportHeader(
          startTimestamp: 1_593_248_400, endTimestamp: .max, region: "DE\nÖÖ", batchNum: 1, batchSize: .min,
          signatureInfos: [
            SignatureInfo(
              appBundleID: "de.example", verificationKeyVersion: "v1",
              signatureAlgorithm: SignatureInfo.ecdsaWithSHA256),
            SignatureInfo(verificationKeyID: "262"), SignatureInfo(),
          ]))
    #expect(document.rejections == [])
    #expect(
      document.keys.map(\.key.key.hex) == [
        "005aba6a7b65c6c43fdcf2763f62da0a", "000102030405060722275c3f07080c0b", "30313233343536373839616263646566",
        "66656463626139383736353433323130",
      ])
    let first = try #require(document.keys.first?.key)
    #expect(first.fields == .numbers)
    #expect((first.transmissionRisk, first.rollingStart, first.rollingPeriod) == (1, 2_653_920, 144))
    #expect((first.reportType, first.daysSinceOnset) == (1, -3))
    #expect(document.keys.map(\.key.isRevised) == [false, false, true, true])
    #expect(document.keys.map(\.key.reportType) == [1, 7, nil, 5])
    #expect(document.keys.map(\.key.rollingPeriod) == [144, nil, 0, nil])
    #expect(
      document.noteCodes == [
        "unknown-field [example.extension] 1", "unknown-field future 1", "unknown-field keys.variant 1",
        "unknown-field signature_infos.3 1",
      ])
  }

  @Test("A window of 16 bytes and single bytes from the source make no difference")
  func tinyWindows() throws {
    let whole = try read(sample)
    #expect(try read(sample, window: 16) == whole)
    let window = InputWindow(RowTricklingSource(Array(sample.utf8), step: 1), capacity: 16)
    #expect(try RowDocument(ProtobufTextKeyDecoder(window)) == whole)
  }

  @Test("Truncation at every position: an error, or no more keys than before")
  func truncation() throws {
    let bytes = Array(sample.utf8)
    let whole = try read(bytes).keys
    for length in 0..<bytes.count {
      guard let document = try? read(Array(bytes[..<length])) else { continue }
      #expect(document.keys.elementsEqual(whole.prefix(document.keys.count)))
    }
  }

  @Test("Damaged files never crash")
  func damage() throws {
    var generator = RowGenerator(seed: 5)
    let odd = Array("\"'\n{}<>[]:;,#\\-0x".utf8)
    for _ in 0..<1500 {
      var damaged = Array(sample.utf8)
      for _ in 0...2 {
        let place = Int.random(in: 0..<damaged.count, using: &generator)
        damaged[place] =
          Bool.random(using: &generator)
          ? UInt8.random(in: 0...255, using: &generator) : odd[Int.random(in: 0..<odd.count, using: &generator)]
      }
      #expect((try? read(damaged)) == (try? read(damaged, window: 64)))
    }
  }

  @Test("A key with a bad value is rejected, with its place")
  func rejections() throws {
    let cases: [(fields: String, reason: RejectionReason, detail: String)] = [
      ("rolling_period: 1", .keyDataAbsent, "line 2, key_data: absent"),
      ("key_data: ''", .keyDataLength, "key_data: 0 bytes of key data, allowed are 16"),
      ("key_data: '0123456789abcdefg'", .keyDataLength, "key_data: 17 bytes"),
      ("key_data: 5", .keyDataSpelling, "key_data: no string"),
      ("key_data: '0123456789abcdef' rolling_period: 2147483648", .fieldNotANumber, "rolling_period: \"2147483648\""),
      ("key_data: '0123456789abcdef' rolling_period: 08", .fieldNotANumber, "rolling_period: \"08\", allowed is a"),
      ("key_data: '0123456789abcdef' rolling_period: '1'", .fieldNotANumber, "rolling_period: no number"),
      (
        "key_data: '0123456789abcdef' report_type: SURE", .reportTypeUnknown,
        "report_type: \"SURE\", allowed is UNKNOWN"
      ),
      ("key_data: '0123456789abcdef' report_type {}", .fieldNotANumber, "report_type: no number"),
    ]
    for (fields, reason, detail) in cases {
      let document = try read("# comment\n keys { \(fields) }\nkeys { key_data: '0123456789abcdef' }")
      let rejection = try #require(document.rejections.first)
      #expect(rejection.reason == reason)
      #expect(rejection.detail.contains(detail), "\(rejection.detail)")
      #expect(rejection.position == KeyPosition(index: 0, byteOffset: 11))
      #expect(document.keys.count == 1)
    }
  }

  @Test("What makes a document as a whole unreadable")
  func unreadable() throws {
    let deep = String(repeating: "a{", count: 100_000)
    let cases: [(text: String, code: FormatError.Code, reason: String)] = [
      ("\nkeys {", .truncated, "line 2: byte 7: the document ends in the middle of a field"),
      ("region: \"DE", .truncated, "the document ends"),
      ("\n\n}", .malformed, "line 3: byte 2: \"}\", allowed is the name of a field"),
      ("region \"DE\"", .malformed, "no colon behind the name of a field"),
      ("region: DE", .malformed, "region: no string"),
      ("region: \"\\q\"", .malformed, "an escape that the text format does not have"),
      ("region: \"\\400\"", .malformed, "an octal escape above 377"),
      ("region: \"D\nE\"", .malformed, "a string goes on in the next line"),
      ("batch_num: 99999999999", .malformed, "batch_num: \"99999999999\", allowed is a whole number -2147483648"),
      ("start_timestamp: -1", .malformed, "start_timestamp: \"-1\", allowed is a whole number 0...1844"),
      ("keys: 5", .malformed, "keys is no message"),
      (deep, .malformed, "messages are nested too deeply"),
      ("unknown: \"" + String(repeating: "x", count: 2 << 20), .limitExceeded, "more than 1048576 bytes"),
    ]
    for (text, code, reason) in cases {
      let error = #expect(throws: FormatError.self, "\(text.prefix(40))") { _ = try read(text, window: 256) }
      #expect(error?.code == code)
      #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }
  }

  @Test("Unknown names fill no memory")
  func manyUnknownNames() throws {
    let document = try read("batch_num: 1\n" + (0..<2000).map { "field\($0): 1\n" }.joined())
    #expect(document.notes.counts.count <= 257)
    #expect(document.notes.sorted.map(\.count).reduce(0, +) == 2000)
  }

  @Test(
    "A day of the Corona-Warn-App",
    .enabled(if: RowRealData.cwaDay != nil, "real files are absent; set KEYFERRY_REAL_DATA to their folder"))
  func coronaWarnAppDay() throws {
    let bytes = try #require(RowRealData.cwaDay)
    let document = try read(bytes)
    #expect(document.keys.count == 1280)
    #expect(document.rejections == [] && document.notes.isEmpty)
    let histogram = (1...8).map { level in document.keys.count { $0.key.transmissionRisk == level } }
    #expect(histogram == [440, 20, 130, 0, 130, 150, 50, 360])
    #expect((document.header.region, document.header.signatureInfos.first?.verificationKeyID) == ("DE", "262"))
    #expect(try read(bytes, window: 16) == document)

    let sink = MemorySink()
    let encoder = CSVKeyEncoder(OutputBuffer(sink))
    try encoder.begin(document.header)
    let keys = document.keys.map(\.key)
    try keys.withUnsafeBufferPointer {
      try encoder.encode($0, regions: RegionTable(), unknownFields: UnknownFieldTable())
    }
    try encoder.finish(document.header)
    #expect(try RowDocument(CSVKeyDecoder(InputWindow(MemorySource(sink.bytes)))) == document)
  }
}
