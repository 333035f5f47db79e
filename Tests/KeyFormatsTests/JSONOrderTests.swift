import ExposureKeys
import KeyFormats
import Testing

/// JSON gives the order of members no meaning: what is read of a document is the same for every order, and for a list
/// of any length.
@Suite struct JSONOrderTests {
  /// How one system spells a document of three members, one of which is the list.
  struct Spelling: Sendable, CustomTestStringConvertible {
    let format: String
    var name = ""
    /// The members beside the list.
    let members: [String]
    let list: String
    /// The members of one entry, with `@` for key data in hexadecimal; of a list of key data it is one text.
    let entry: [String]
    var isText = false
    /// What is read of one entry beside its key data.
    let expected: Expected

    struct Expected: Sendable {
      var start: Int32? = 2_676_096
      var period: Int32? = 144
      var risk: Int32?
      var type: Int32?
      var onset: Int32?
      var regions = RegionClaim()
      var header = ExportHeader()
    }

    var testDescription: String { name.isEmpty ? format : name }

    /// The document with its members, and those of each entry, in the given order.
    func text(_ keys: [String], order: [Int], entryOrder: [Int]) -> String {
      let body = entryOrder.map { entry[$0] }.joined(separator: ",")
      let entries = keys.map { key in
        let text = body.replacing("@", with: key)
        return isText ? text : "{\(text)}"
      }
      let all = ["\"\(list)\":[\(entries.joined(separator: ","))]"] + members
      return "{\(order.map { all[$0] }.joined(separator: ","))}"
    }
  }

  // swift-format-ignore: the members stay in one piece
  static let spellings: [Spelling] = [
    Spelling(
      format: "codable-json", members: [#""userName":"x""#, #""visitedCountries":{"DE":1,"IT":0}"#],
      list: "diagnosisKeys",
      entry: [
        #""keyData":"@""#, #""rollingStartNumber":2676096"#, #""rollingPeriod":144"#, #""transmissionRiskLevel":5"#,
        #""regions":["DE"]"#,
      ],
      expected: .init(risk: 5, regions: RegionClaim(visited: ["DE"]))),
    Spelling(
      format: "codable-json", name: "national upload",
      members: [#""visitedCountries":{"DE":1,"IT":0}"#, #""consentToShareWithEfgs":0"#], list: "keys",
      entry: [
        #""keyData":"@""#, #""rollingStartIntervalNumber":2676096"#, #""rollingPeriod":144"#,
        #""transmissionRiskLevel":5"#,
      ],
      expected: .init(risk: 5)),
    Spelling(
      format: "publish-json", members: [#""healthAuthorityID":"x""#, #""traveler":true"#, #""padding":"AAAA""#],
      list: "temporaryExposureKeys",
      entry: [#""key":"@""#, #""rollingStartNumber":2676096"#, #""rollingPeriod":144"#, #""transmissionRisk":5"#],
      expected: .init(risk: 5)),
    Spelling(
      format: "efgs-json", members: [#""consentToShareWithEfgs":0"#, #""origin":"XX""#], list: "keys",
      entry: [
        #""keyData":"@""#, #""rollingStartIntervalNumber":2676096"#, #""rollingPeriod":144"#,
        #""visitedCountries":["AT","IT"]"#, #""origin":"DE""#, #""reportType":"CONFIRMED_TEST""#,
      ],
      expected: .init(risk: 0, type: 1, onset: 0, regions: RegionClaim(origin: "DE", visited: ["AT", "IT"]))),
    Spelling(
      format: "json", members: [#""start_timestamp":1605657600"#, #""region":"DE""#, #""batch_num":1"#], list: "keys",
      entry: [
        #""key_data":"@""#, #""rolling_start_interval_number":"2676096""#, #""rolling_period":144"#,
        #""report_type":1"#, #""visited_countries":["AT"]"#,
      ],
      expected: .init(
        type: 1, regions: RegionClaim(visited: ["AT"]),
        header: ExportHeader(startTimestamp: 1_605_657_600, region: "DE", batchNum: 1))),
    Spelling(
      format: "json", name: "export in camel case",
      members: [#""startTimestamp":"1605657600""#, #""region":"DE""#, #""batchNum":1"#], list: "keys",
      entry: [#""keyData":"@""#, #""rollingStartIntervalNumber":"2676096""#, #""rollingPeriod":144"#],
      expected: .init(header: ExportHeader(startTimestamp: 1_605_657_600, region: "DE", batchNum: 1))),
    Spelling(
      format: "json", name: "revised keys",
      members: [#""endTimestamp":"1605657600""#, #""region":"DE""#], list: "revised_keys",
      entry: [#""keyData":"@""#, #""rollingStartIntervalNumber":"2676096""#, #""origin":"DE""#],
      expected: .init(
        period: 0, risk: 0, type: 0, onset: 0, regions: RegionClaim(origin: "DE", visited: []),
        header: ExportHeader(endTimestamp: 1_605_657_600, region: "DE"))),
    Spelling(
      format: "parser-json", members: [#""region":"DE""#, #""keyCount":1"#, #""batchCount":2"#], list: "diagnosisKeys",
      entry: [
        #""TemporaryExposureKey":"@""#, #""transmissionRiskLevel":5"#,
        #""validity":{"rollingStartIntervalNumber":2676096,"rollingPeriod":144}"#,
      ],
      expected: .init(risk: 5, header: ExportHeader(region: "DE", batchSize: 2))),
    Spelling(
      format: "sample-days", members: [#""sample_date":"2020-11-18""#, #""region":"DE""#], list: "tek_list",
      entry: [#""@""#], isText: true,
      expected: .init(
        period: nil, regions: RegionClaim(origin: "DE"), header: ExportHeader(region: "DE"))),
    Spelling(
      format: "interoperability-json", members: [#""batchTag":"x""#, #""unheardOf":[{"keyData":5}]"#],
      list: "exposures",
      entry: [
        #""keyData":"@""#, #""rollingStartNumber":2676096"#, #""rollingPeriod":144"#, #""transmissionRiskLevel":5"#,
        #""regions":["GB"]"#, #""origin":"IE""#, #""daysSinceOnset":2"#, #""other":{"a":[1,{}]}"#,
      ],
      expected: .init(risk: 5, onset: 2, regions: RegionClaim(origin: "IE", visited: ["GB"]))),
    Spelling(
      format: "immuni-json", members: [#""_id":{"$oid":"5fc0"}"#, #""index":{"$numberLong":"5"}"#], list: "keys",
      entry: [
        #""key_data":"@""#, #""rolling_start_number":2676096"#, #""rolling_period":{"$numberInt":"144"}"#,
        #""transmission_risk_level":5"#,
      ],
      expected: .init(risk: 5)),
  ]

  @Test func everyDialectIsSpelled() {
    let dialects = KeyFormat.allCases.filter { $0.definition.fileExtension == "json" }.map(\.rawValue)
    #expect(Set(Self.spellings.map(\.format)) == Set(dialects))
  }

  static func permutations(_ count: Int) -> [[Int]] {
    guard count > 1 else { return [Array(0..<count)] }
    return permutations(count - 1).flatMap { shorter in
      (0..<count).map { place in
        var order = shorter
        order.insert(count - 1, at: place)
        return order
      }
    }
  }

  private static func keys(_ count: Int) -> [TemporaryExposureKey] {
    (0..<count).map { TemporaryExposureKey(high: UInt64($0), low: 0xF0E1_D2C3_B4A5_9687) }
  }

  /// Reads `text` without being told its format, and compares everything that is read.
  private func check(_ text: String, _ spelling: Spelling, _ keys: [TemporaryExposureKey]) throws -> Bool {
    let document = try KeyDocument(MemorySource(Array(text.utf8)))
    let read = try DecodedDocument(decoding: document.decoder)
    let wanted = spelling.expected
    let claims = keys.map { data in
      var claim = ClaimedKey(key: data)
      claim.rollingStart = wanted.start
      claim.rollingPeriod = wanted.period
      claim.transmissionRisk = wanted.risk
      claim.reportType = wanted.type
      claim.daysSinceOnset = wanted.onset
      claim.isRevised = spelling.list == "revised_keys"
      return claim
    }
    return document.format.rawValue == spelling.format && read.header == wanted.header && read.rejections.isEmpty
      && read.keys.map(\.withoutTables) == claims && read.keys.allSatisfy { read.regions[$0.regions] == wanted.regions }
  }

  @Test(arguments: spellings, [1, 1000])
  func theOrderOfMembersSaysNothing(_ spelling: Spelling, count: Int) throws {
    let keys = Self.keys(count)
    let texts = keys.map(\.hex)
    var generator = SeededGenerator(7)
    let orders = Self.permutations(spelling.members.count + 1)
    var entryOrders: [[Int]] = [spelling.entry.indices.reversed()]
    // Of a long list one order is enough: its keys are read as that of a short one.
    if count == 1 { entryOrders += (0..<24).map { _ in spelling.entry.indices.shuffled(using: &generator) } }
    for order in orders {
      for entryOrder in entryOrders {
        let text = spelling.text(texts, order: order, entryOrder: entryOrder)
        let isRight = try check(text, spelling, keys)
        guard isRight else {
          Issue.record("\(order) \(entryOrder): \(text.prefix(400))")
          return
        }
      }
    }
  }

  /// MongoDB's value of bytes is an object, whose members have no order either.
  @Test(
    arguments: [
      #"{"$binary":"AAECAwQFBgcICQoLDA0ODw==","$type":"00"}"#, #"{"$type":"00","$binary":"AAECAwQFBgcICQoLDA0ODw=="}"#,
      #"{"$binary":{"base64":"AAECAwQFBgcICQoLDA0ODw==","subType":"00"}}"#,
      #"{"$binary":{"subType":"00","base64":"AAECAwQFBgcICQoLDA0ODw=="}}"#,
    ])
  func bytesOfMongoDB(value: String) throws {
    let text = #"{"keys":[{"key_data":\#(value),"rolling_start_number":2676096,"rolling_period":144}]}"#
    #expect(try readJSON(text).keys.map(\.key.hex) == ["000102030405060708090a0b0c0d0e0f"])
  }

  /// Of a thousand keys one alone has the members that tell the federation's format, wherever it stands.
  @Test(arguments: [0, 1, 500, 999])
  func oneKeyTellsNothingOfTheOthers(place: Int) throws {
    let keys = Self.keys(1000).enumerated().map { index, key in
      let more = index == place ? #","origin":"DE","days_since_onset_of_symptoms":3"# : ""
      return #"{"keyData":"\#(key.hex)","rollingStartIntervalNumber":2676096\#(more)}"#
    }
    let document = try KeyDocument(MemorySource(Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8)))
    let read = try DecodedDocument(decoding: document.decoder)
    #expect(document.format == .efgsJSON)
    #expect(read.keys.count == 1000)
    for (index, key) in read.keys.enumerated() {
      #expect(key.reportType == (index == place ? 0 : nil) && key.daysSinceOnset == (index == place ? 3 : nil))
    }
  }

  /// A list that may hold personal data is one of keys wherever the first entry's key data stands.
  @Test func keyDataBehindLongAndNestedMembers() throws {
    let long = String(repeating: "x", count: 5000)
    let text =
      #"{"exposures":[{"a":{"b":{}},"c":"\#(long)","keyData":"000102030405060708090a0b0c0d0e0f","rollingPeriod":144}]}"#
    #expect(try readJSON(text).keys.count == 1)
    #expect(throws: FormatError.self) { try readJSON(#"{"exposures":[{"a":{},"keydata":1}]}"#) }
  }

  /// What an object says of its lists of key data holds for all of them.
  @Test func severalListsOfKeyData() throws {
    let list = #""tek_list":["000102030405060708090a0b0c0d0e0f"]"#
    for text in [
      "{\(list),\"sample_date\":\"2020-11-18\",\(list)}", "{\"sample_date\":\"2020-11-18\",\(list),\(list)}",
    ] {
      #expect(try readJSON(text).keys.map(\.rollingStart) == [2_676_096, 2_676_096], "\(text)")
    }
  }

  /// Two names of one member of the header say the same, or it is noted; one that says nothing takes nothing away.
  @Test func twoNamesOfAHeaderMember() throws {
    let pairs = [(#""start_timestamp":5"#, #""startTimestamp":null"#), (#""batch_num":1"#, #""batchNum":1"#)]
    for (one, other) in pairs {
      let documents = try ["{\(one),\(other),\"keys\":[]}", "{\(other),\(one),\"keys\":[]}"].map { try readJSON($0) }
      #expect(documents[0].header == documents[1].header && documents[0].header != ExportHeader())
      #expect(documents.allSatisfy { $0.notes.isEmpty })
    }
    let document = try readJSON(#"{"batch_num":1,"batchNum":2,"keys":[]}"#)
    #expect(document.notes.sorted.map(\.note.code) == ["spellings-disagree"] && document.header.batchNum == 2)
  }
}
