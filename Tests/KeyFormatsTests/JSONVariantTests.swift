import ExposureKeys
import Foundation
import KeyFormats
import Testing

/// The shapes in which real systems write keys (`clients.md` 2.1).
@Suite struct JSONVariantTests {
  static let data = "ASNFZ4mrze/w4dLDtKWWhw=="
  static let key = TemporaryExposureKey(high: 0x0123_4567_89ab_cdef, low: 0xf0e1_d2c3_b4a5_9687)

  static func claimed(
    start: Int32? = 2_649_024, period: Int32? = 144, risk: Int32? = nil, type: Int32? = nil, onset: Int32? = nil
  ) -> ClaimedKey {
    var key = ClaimedKey(key: key)
    key.rollingStart = start
    key.rollingPeriod = period
    key.transmissionRisk = risk
    key.reportType = type
    key.daysSinceOnset = onset
    return key
  }

  /// A national upload names the visited countries beside its keys, which makes no federation batch of it.
  @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
  func membersBesideTheKeysTellNoDialect(order: [Int]) throws {
    let key =
      #"{"keyData":"\#(Self.data)","rollingStartIntervalNumber":2649024,"rollingPeriod":144,"transmissionRiskLevel":5}"#
    for count in [1, 1000] {
      let members = [
        #""keys":[\#(Array(repeating: key, count: count).joined(separator: ","))]"#,
        #""visitedCountries":{"DE":1,"IT":0}"#, #""consentToShareWithEfgs":0"#,
      ]
      let document = try readJSON("{" + order.map { members[$0] }.joined(separator: ",") + "}")
      #expect(document.dialect != .efgs)
      #expect(document.keys == Array(repeating: Self.claimed(risk: 5), count: count))
    }
  }

  @Test func blanksInFrontOfADocumentAreReadOver() throws {
    let text = #"[{"keyData":"\#(Self.data)","rollingStartNumber":2649024,"rollingPeriod":144}]"#
    let document = try DecodedDocument(Array(repeating: 0x20, count: 3 << 20) + Array(text.utf8))
    #expect(document.keys == [Self.claimed()])
  }

  // swift-format-ignore: the documents stay in one piece
  @Test(arguments: [
    (#"[{"keyData":"@","rollingStartNumber":2649024,"transmissionRiskLevel":0}]"#, claimed(period: nil, risk: 0)),
    (#"{"keyData":"@","rollingPeriod":144,"rollingStartNumber":2649024,"transmissionRiskLevel":7}"#, claimed(risk: 7)),
    (
      #"{"gaenKeys":[{"keyData":"@","rollingPeriod":144,"rollingStartNumber":2649024,"transmissionRiskLevel":0,"fake":0}]}"#,
      claimed(risk: 0)
    ),
    (
      #"{"temporaryExposureKeys":[{"key":"@","rollingStartNumber":2649024,"rollingPeriod":144,"transmissionRisk":3}]}"#,
      claimed(risk: 3)
    ),
    (
      #"{"temporaryExposureKeys":[{"key":"@","rollingStart":2649024,"rollingDuration":144,"transmissionRisk":3}],"regions":["440"],"padding":"x"}"#,
      claimed(risk: 3)
    ),
    (
      #"[{"key":"@","rollingStartNumber":2649024,"rollingPeriod":144,"transmissionRiskLevel":7,"daysSinceOnsetOfSymptoms":-3}]"#,
      claimed(risk: 7, onset: -3)
    ),
    (
      #"{"keys":[{"keyData":"@","rollingStartNumber":2649024,"rollingPeriod":144}],"bucketId":"b","padding":"c"}"#,
      claimed()
    ),
    (
      #"[{"transmissionRiskLevel":1,"keyData":"@","rollingStartNumber":2649024,"rollingStartIntervalNumber":2649024}]"#,
      claimed(period: nil, risk: 1)
    ),
    (
      #"[{"keyData":"@","rollingStartIntervalNumber":2649024,"transmissionRiskLevel":5,"rollingPeriod":144,"reportType":1,"daysSinceOnsetOfSymptoms":2}]"#,
      claimed(risk: 5, type: 1, onset: 2)
    ),
    (#"[{"tek":"0123456789abcdefF0E1D2C3B4A59687","epoch":2649024,"period":144,"risklevel":2}]"#, claimed(risk: 2)),
    (
      #"[{"keyData":"01234567-89ab-cdef-f0e1-d2c3b4a59687","rollingStartNumber":2649024,"rollingPeriod":144}]"#,
      claimed()
    ),
    (#"[{"keyData":"ASNFZ4mrze_w4dLDtKWWhw","rollingStartNumber":2.649024e6,"rollingPeriod":144.0}]"#, claimed()),
    (#"[{"keyData":"ASNFZ4mrze\u002Fw4dLDtKWWhw==","rollingStartNumber":2649024,"rollingPeriod":1.44E+2}]"#, claimed()),
    (
      #"[{"key\u0044ata":"ASNFZ4mrze\/w4dLDtKWWhw==","rollingStartNumber":2649024,"rollingPeriod":17,"rollingPeriod":144,"transmissionRiskLevel":null}]"#,
      claimed()
    ),
    (
      #"[{"keyData":"@","rollingStartNumber":2649024,"rollingPeriod":144,"reportType":"self_report","daysSinceOnset":1}]"#,
      claimed(type: 3, onset: 1)
    ),
    (
      #"{"timeWindowStart":"2020-06-27T09:00:00Z","keyCount":1,"signatureInfos":{},"diagnosisKeys":[{"TemporaryExposureKey":"0123456789abcdeff0e1d2c3b4a59687","transmissionRiskLevel":5,"validity":{"start":"x","end":"y","rollingStartIntervalNumber":2649024,"rollingPeriod":144}}]}"#,
      claimed(risk: 5)
    ),
    (
      #"{"startTimestamp":"1","keys":[{"keyData":"@","rollingStartIntervalNumber":"2649024","rollingPeriod":144}]}"#,
      claimed()
    ),
    (
      #"{"revised_keys":null,"keys":[{"key_data":"@","rolling_start_interval_number":2649024,"rolling_period":144,"report_type":"REVOKED"}]}"#,
      claimed(type: 5)
    ),
  ])
  func shape(text: String, expected: ClaimedKey) throws {
    let document = try readJSON(text.replacingOccurrences(of: "@", with: Self.data))
    #expect(document.keys == [expected], "\(text)")
    #expect(document.rejections.isEmpty, "\(document.rejections)")
  }

  // swift-format-ignore: the documents stay in one piece
  @Test func federationReadsAbsenceAsZero() throws {
    let text =
      #"{"keys":[{"keyData":"@","rollingStartIntervalNumber":2676096,"transmissionRiskLevel":2147483647,"origin":"DE","reportType":"CONFIRMED_TEST"}]}"#
      .replacingOccurrences(of: "@", with: Self.data)
    let document = try readJSON(text)
    var key = Self.claimed(start: 2_676_096, period: 0, type: 1, onset: 0)
    key.regions = document.keys[0].regions
    #expect(document.dialect == .efgs)
    #expect(document.keys == [key])
    #expect(document.regionClaims == [RegionClaim(origin: "DE", visited: [])])
    let other = try readJSON(text, dialect: .codable)
    #expect(other.keys[0].rollingPeriod == nil && other.keys[0].transmissionRisk == .max)
  }

  // swift-format-ignore: the documents stay in one piece
  @Test func sampleDayLines() throws {
    let line =
      #"{"sample_date":"2020-05-14","tek_list":["01234567-89ab-cdef-f0e1-d2c3b4a59687","x",5],"extraction_date":"2020-08-29"}"#
    let document = try readJSON(line + "\n" + line + "\n")
    #expect(document.keys == [Self.claimed(period: nil), Self.claimed(period: nil)])
    #expect(document.dialect == .sampleDays && document.wrapper == .member("tek_list"))
    #expect(document.notes.sorted.map(\.count) == [2])
    #expect(document.rejections.map(\.position.index) == [1, 2, 4, 5])
  }

  // swift-format-ignore: the documents stay in one piece
  @Test func userDefaultsDump() throws {
    let text = """
      {"testResults":["6F1C0A5E-0000-4000-8000-000000000000",{"id":"x","isAdded":true,"dateAdministered":611539200.0}],
       "diagnosisKeys":[{"keyData":"\(Self.data)","rollingPeriod":144,"rollingStartNumber":2649024}],
       "exposures":[{"date":1,"duration":900}],"unheardOf":{"a":[]}}
      """
    let document = try readJSON(text)
    #expect(document.keys == [Self.claimed()])
    #expect(document.wrapper == .member("diagnosisKeys"))
    let notes = document.notes.sorted.map { "\($0.note.code) \($0.note.subject) \($0.count)" }
    #expect(
      notes == ["member-skipped unheardOf 1", "private-data-skipped exposures 1", "private-data-skipped testResults 1"])
  }

  // swift-format-ignore: the documents stay in one piece
  @Test func unknownMembersOfKeysAreCounted() throws {
    let entry =
      #"{"keyData":"\#(Self.data)","rollingStartNumber":2649024,"rollingPeriod":144,"republicationSecret":{"a":[1]}}"#
    let document = try readJSON("{\"userName\":\"u\",\"keys\":[\(entry),\(entry)]}")
    #expect(document.keys == [Self.claimed(), Self.claimed()])
    #expect(document.notes.counts.first { $0.key.code == "unknown-member-ignored" }?.value == 2)
    let many = (0..<500).map { "\"m\($0)\":0" }.joined(separator: ",")
    #expect(try readJSON("[{\"keyData\":\"\(Self.data)\",\(many)}]").notes.counts.count == 33)
  }

  // swift-format-ignore: the documents stay in one piece
  @Test(arguments: [
    (#"{"keyData":"AAAA"}"#, RejectionReason.keyDataLength), (#"{"keyData":""}"#, .keyDataLength),
    (#"{"keyData":"!"}"#, .keyDataSpelling), (#"{"keyData":7}"#, .keyDataSpelling),
    (#"{"keyData":"\ud800"}"#, .keyDataSpelling), (#"{"keyData":null}"#, .keyDataAbsent),
    (#"{}"#, .keyDataAbsent), (#"{"rollingPeriod":1}"#, .keyDataAbsent),
    (#"{"keyData":"@","rollingPeriod":"144"}"#, .fieldNotANumber),
    (#"{"keyData":"@","rollingPeriod":1.5}"#, .fieldNotANumber),
    (#"{"keyData":"@","rollingPeriod":4294967296}"#, .fieldNotANumber),
    (#"{"keyData":"@","rollingPeriod":-2147483649}"#, .fieldNotANumber),
    (#"{"keyData":"@","rollingPeriod":1e999999999999999999999}"#, .fieldNotANumber),
    (#"{"keyData":"@","rollingPeriod":true}"#, .fieldNotANumber),
    (#"{"keyData":"@","rollingPeriod":[]}"#, .fieldNotANumber),
    (#"{"keyData":"@","reportType":"MAYBE"}"#, .reportTypeUnknown), (#"{"keyData":"@","fake":1}"#, .markedFake),
    (#"{"keyData":"@","visitedCountries":[1]}"#, .malformedEntry),
    (#"{"keyData":"@","origin":"\udc00"}"#, .malformedEntry),
    (#"7"#, .malformedEntry), (#""x""#, .malformedEntry), (#"[[]]"#, .malformedEntry), (#"null"#, .malformedEntry),
  ])
  func rejections(entry: String, reason: RejectionReason) throws {
    let good = #"{"keyData":"@"}"#
    let text = "[\(good),\(entry),\(good)]".replacingOccurrences(of: "@", with: Self.data)
    let document = try readJSON(text)
    #expect(document.keys.count == 2)
    #expect(document.rejections.map(\.reason) == [reason])
    #expect(document.rejections.first?.position == KeyPosition(index: 1, byteOffset: 40))
    #expect(document.rejections.first?.detail.contains(Self.data) == false)
  }

  // swift-format-ignore: the documents stay in one piece
  @Test func unsignedNumbersKeepTheirBits() throws {
    let text =
      #"[{"keyData":"@","rollingStartNumber":4294967295,"rollingPeriod":-0,"transmissionRiskLevel":-2147483648}]"#
    let document = try readJSON(text.replacingOccurrences(of: "@", with: Self.data))
    #expect(document.keys == [Self.claimed(start: -1, period: 0, risk: .min)])
  }

  @Test func byteOrderMark() throws {
    #expect(try readJSON([0xEF, 0xBB, 0xBF] + Array("[]".utf8)).keys.isEmpty)
    #expect(throws: FormatError.self) { try readJSON([0xFF, 0xFE, 0x5B, 0x00]) }
  }

  // MARK: Real files

  static func realFile(_ path: String) -> [UInt8]? {
    let root = ProcessInfo.processInfo.environment["KEYFERRY_REAL_DATA"] ?? "../shared/data"
    guard let data = FileManager.default.contents(atPath: "\(root)/\(path)") else {
      print("skipped: \(path) is absent; set KEYFERRY_REAL_DATA to the folder of real files")
      return nil
    }
    return [UInt8](data)
  }

  @Test(arguments: [
    ("radarcovid-report/RadarCOVID-TEKs-2020-08-29.json", 312, JSONDialect.sampleDays),
    ("radarcovid-report/RadarCOVID-TEKs-2020-08-30.json", 341, .sampleDays),
    ("sledilnik-cwa-scrape/SI-2020-08-27.json", 5, .export), ("google-server/example_keys.json", 2, .publish),
    ("nl-backend/payload-good14.json", 14, .codable), ("nl-backend/payload.json", 14, .codable),
    ("nl-backend/payload-ancient-TEKs.json", 2, .codable), ("nl-backend/payload-duplicate-TEKs-RSN.json", 13, .codable),
  ])
  func realFiles(path: String, count: Int, dialect: JSONDialect) throws {
    guard let bytes = Self.realFile(path) else { return }
    let document = try readJSON(bytes)
    #expect(document.keys.count == count)
    #expect(document.rejections.isEmpty)
    #expect(document.dialect == dialect)
    let copy = try readJSON(try written(document.keys, header: document.header) { ExportJSONEncoder($0) })
    #expect(copy.keys == document.keys && copy.header == document.header)
  }

  @Test func realHeader() throws {
    guard let bytes = Self.realFile("sledilnik-cwa-scrape/SI-2020-08-27.json") else { return }
    let header = try readJSON(bytes).header
    #expect(header.startTimestamp == 1_598_486_400 && header.region == "SI" && header.batchSize == 1)
    #expect(header.signatureInfos.map(\.verificationKeyID) == ["293"])
  }

  /// Tables are turned into JSON by many tools: the members then have the names of our columns.
  @Test func membersNamedLikeColumns() throws {
    let document = try DecodedDocument(
      Array(
        """
        [{"key_data":"000102030405060708090a0b0c0d0e0f","rolling_start_number":2676096,"rolling_period":144,"revised":true,\
        "origin":"DE","visited_regions":["FR","IT"]},
        {"key_data":"101112131415161718191a1b1c1d1e1f","rolling_start":2676096,"revised":0},
        {"key_data":"202122232425262728292a2b2c2d2e2f","rolling_start":2676096,"revised":"perhaps"}]
        """.utf8))
    #expect(document.keys.map(\.isRevised) == [true, false])
    #expect(document.keys.map(\.rollingStart) == [2_676_096, 2_676_096])
    #expect(document.regions[document.keys[0].regions] == RegionClaim(origin: "DE", visited: ["FR", "IT"]))
    #expect(document.rejections.map(\.reason) == [.malformedEntry])
    #expect(document.notes.isEmpty)
  }

  /// A table's headings may be spelled as members of JSON are.
  @Test func columnsNamedLikeMembers() throws {
    let document = try DecodedDocument(
      Array(
        "TemporaryExposureKey,rollingStartIntervalNumber,visitedCountries\n000102030405060708090a0b0c0d0e0f,5,FR\n".utf8
      ))
    #expect(document.keys.map(\.rollingStart) == [5])
    #expect(document.notes.isEmpty)
  }

  private static func decode(_ text: String) throws -> (keys: [ClaimedKey], rejections: [Rejection]) {
    let document = try DecodedDocument(Array(text.utf8))
    return (document.keys, document.rejections)
  }

  /// As `mongoexport --jsonArray` writes collections.
  @Test func aListOfDocumentsIsReadDocumentByDocument() throws {
    let one = #"{"_id":{"$oid":"5fc0"},"keys":[{"keyData":"@","rollingStartNumber":2649024,"rollingPeriod":144}]}"#
    let documents = [one, #"{"keys":[]}"#, one, "7", one].map { $0.replacing("@", with: Self.data) }
    let apart = try Self.decode(documents.filter { $0 != "7" }.joined(separator: "\n"))
    let together = try Self.decode(" [ \(documents.joined(separator: " , ")) ] ")
    #expect(together.keys == apart.keys && apart.keys == Array(repeating: Self.claimed(), count: 3))
    #expect(together.rejections.map(\.reason) == [.malformedEntry])
    #expect(throws: FormatError.self) { try Self.decode("[\(documents[0]) \(documents[0])]") }
    #expect(throws: FormatError.self) { try Self.decode("[\(documents[0])") }
  }

  @Test func aListWithoutAnyKeyIsRefused() throws {
    #expect { try Self.decode(#"[{"name":"a"},{"name":"b"}]"#) } throws: {
      ($0 as? FormatError)?.code == .unrecognizedFormat && "\($0)".contains("name")
    }
    // Among keys it is a bad key.
    let mixed = try Self.decode(
      #"[{"name":"a"},{"keyData":"@","rollingStartNumber":2649024,"rollingPeriod":144}]"#
        .replacing("@", with: Self.data))
    #expect(mixed.keys == [Self.claimed()] && mixed.rejections.map(\.reason) == [.keyDataAbsent])
  }

  /// Objects of a remembered shape are counted like the others.
  @Test func ignoredMembersOfRepeatedShapesAreCounted() throws {
    let entries = (0..<600).map { number in
      let test = number % 3 == 0 ? "" : #","testType":\#(number % 2),"lab":"x""#
      return #"{"keyData":"\#(Self.data)","rollingStartNumber":2649024,"rollingPeriod":144\#(test)}"#
    }
    let notes = try readJSON("[\(entries.joined(separator: ","))]").notes.counts
    #expect(notes.first { $0.key.subject == "testType" }?.value == 400)
    #expect(notes.first { $0.key.subject == "lab" }?.value == 400)
  }
}
