import ExposureKeys
import KeyFormats
import Testing

private func read(
  _ bytes: [UInt8], window: Int = 128 << 10, chunk: Int = 7, limits: ReadLimits = ReadLimits()
) throws -> RowDocument {
  let window = InputWindow(MemorySource(bytes), limits: limits, capacity: window)
  return try RowDocument(CSVKeyDecoder(window, limits: limits), chunkCapacity: chunk)
}

private func read(_ text: String, limits: ReadLimits = ReadLimits()) throws -> RowDocument {
  try read(Array(text.utf8), limits: limits)
}

private func write(
  _ keys: [ClaimedKey], _ regions: RegionTable, _ unknownFields: UnknownFieldTable, header: ExportHeader = .init(),
  atEnd: ExportHeader? = nil
) throws -> [UInt8] {
  let sink = MemorySink()
  let encoder = CSVKeyEncoder(OutputBuffer(sink))
  try encoder.begin(header)
  try keys.withUnsafeBufferPointer { try encoder.encode($0, regions: regions, unknownFields: unknownFields) }
  try encoder.finish(atEnd ?? header)
  return sink.bytes
}

private let hex = "014f874b858869abea21d2c785c6f0aa"
private let columns =
  "key_data,rolling_start_interval_number,rolling_period,transmission_risk_level,report_type,"
  + "days_since_onset_of_symptoms,revised,origin,visited_regions,unknown_fields\n"

@Suite("CSV")
struct CSVTests {
  @Test("The canonical layout, byte for byte")
  func canonical() throws {
    let header = ExportHeader(
      startTimestamp: 1_588_291_200, endTimestamp: 1_588_294_800, region: "DE", batchNum: 1, batchSize: 2,
      signatureInfos: [
        SignatureInfo(verificationKeyVersion: "v1", verificationKeyID: "26;2", signatureAlgorithm: "1.2.3")
      ], unknownFields: [8, 1])
    var regions = RegionTable()
    var key = ClaimedKey(
      key: TemporaryExposureKey(high: 0x014f_874b_8588_69ab, low: 0xea21_d2c7_85c6_f0aa), rollingStartWord: 2_654_064,
      rollingPeriodWord: 144, reportTypeWord: 1, daysSinceOnsetWord: -3,
      fields: [.rollingStart, .rollingPeriod, .reportType, .daysSinceOnset, .revised])
    let id = regions.intern(RegionClaim(origin: "DE", visited: ["AT", "", "A B"]))
    key.regions = try #require(id)
    let bare = ClaimedKey(key: TemporaryExposureKey(high: 0, low: 1))
    let text = """
      # start_timestamp=1588291200
      # end_timestamp=1588294800
      # region=DE
      # batch_num=1
      # batch_size=2
      # signature_info=verification_key_version=v1;verification_key_id=26\\x3b2;signature_algorithm=1.2.3
      # unknown_fields=CAE=
      \(columns)\(hex),2654064,144,,CONFIRMED_TEST,-3,true,DE,AT \\e A\\x20B,
      00000000000000000000000000000001,,,,,,false,,,

      """
    let bytes = try write([key, bare], regions, UnknownFieldTable(), header: header)
    #expect(String(decoding: bytes, as: UTF8.self) == text)
    #expect(try read(bytes).header == header)
  }

  @Test("decode(encode(x)) = x, and encode(decode(b)) = b", arguments: [1, 2, 3, 4, 5, 6, 7, 8])
  func roundTrip(seed: UInt64) throws {
    let claims = try RowClaims(count: 700, seed: seed, odd: seed.isMultiple(of: 2))
    let bytes = try write(claims.keys, claims.regions, claims.unknownFields)
    let document = try read(bytes)
    #expect(document.keys == claims.expected)
    #expect(document.rejections == [])
    #expect(document.notes.isEmpty)

    let decoder = CSVKeyDecoder(InputWindow(MemorySource(bytes)))
    let sink = MemorySink()
    let encoder = CSVKeyEncoder(OutputBuffer(sink, capacity: 64))
    try encoder.begin(decoder.header)
    var chunk = KeyChunk(capacity: 50)
    while try decoder.decode(into: &chunk) {
      let (regions, unknownFields) = (decoder.regions, chunk.unknownFields)
      try chunk.keys.withKeys { try encoder.encode($0, regions: regions, unknownFields: unknownFields) }
      chunk.advance()
    }
    try encoder.finish(decoder.header)
    #expect(sink.bytes == bytes)
  }

  @Test(
    "A list of regions is read with every usual separator, and no region with one of these becomes two",
    arguments: ["DE,US", "DE, US", "DE;US", "DE US", "DE|US", "{DE,US}", "['DE', 'US']"])
  func lists(_ list: String) throws {
    let names = "key_data,visited_regions"
    for shape in ["\(names)\n\(hex),\"\(list)\"\n", "\(names)\n\(hex),\"\(list)\"\n\(hex),\"\(list)\"\n"] {
      #expect(try read(shape).keys.allSatisfy { $0.regions.visited == ["DE", "US"] }, "\(shape)")
    }
    #expect(
      try read("\(names.replacing(",", with: "\t"))\n\(hex)\t\(list)\n").keys.first?.regions.visited == ["DE", "US"])
    var regions = RegionTable()
    var key = ClaimedKey(key: TemporaryExposureKey(high: 0, low: 1))
    let id = regions.intern(RegionClaim(visited: ["D,E", "U;S"]))
    key.regions = try #require(id)
    let text = String(decoding: try write([key], regions, UnknownFieldTable()), as: UTF8.self)
    #expect(text.contains("D\\x2cE U\\x3bS"), "\(text)")
    #expect(try read(text).keys.first?.regions.visited == ["D,E", "U;S"])
  }

  @Test("Rows with CR LF, spaces, quotes or upper case digits say the same as canonical rows", arguments: [1, 2, 3])
  func slowRowsAgree(seed: UInt64) throws {
    let claims = try RowClaims(count: 400, seed: seed, odd: false)
    let text = String(decoding: try write(claims.keys, claims.regions, claims.unknownFields), as: UTF8.self)
    let lines = text.split(separator: "\n")
    let spaced = lines.map { $0.replacing(",", with: " , ") }.joined(separator: "\r")
    let quoted = lines.map { "\"" + $0.replacing(",", with: "\",\"") + "\"" }.joined(separator: "\r\n")
    let upper = "\(lines[0])\n" + lines[1...].map { $0.uppercased() + "\n" }.joined()
    #expect(try read(spaced).keys == claims.expected)
    #expect(try read(upper).keys == claims.expected)
    let stated = try read(quoted)
    #expect(stated.keys.map(\.key) == claims.expected.map(\.key))
    #expect(stated.keys.allSatisfy { $0.regions == RegionClaim(origin: "", visited: []) })
  }

  @Test("A window of 16 bytes and single bytes from the source make no difference")
  func tinyWindows() throws {
    let claims = try RowClaims(count: 120, seed: 42)
    var bytes = try write(claims.keys, claims.regions, claims.unknownFields, header: ExportHeader(region: "x\r\ny"))
    bytes += Array("\r\n# batch_num=3\r\nbad,,\r\n\"quoted\nrow\"\r\(hex),1,2,3,4,5,1,,,\r".utf8)
    let whole = try read(bytes)
    #expect(whole.header.batchNum == 3)
    #expect(whole.rejections.count == 2)
    #expect(try read(bytes, window: 16) == whole)
    #expect(try read(bytes, chunk: 1) == whole)
    for step in [1, 3] {
      let window = InputWindow(RowTricklingSource(bytes, step: step), capacity: 16)
      #expect(try RowDocument(CSVKeyDecoder(window)) == whole)
    }
  }

  @Test("Truncation at every position: an error, or no more keys than before")
  func truncation() throws {
    let claims = try RowClaims(count: 12, seed: 9)
    let bytes = try write(claims.keys, claims.regions, claims.unknownFields, header: ExportHeader(region: "DE"))
    for length in 0..<bytes.count {
      guard let document = try? read(Array(bytes[..<length])) else { continue }
      #expect(document.keys.count <= claims.keys.count)
      let whole = document.keys.dropLast()
      #expect(whole.elementsEqual(claims.expected.prefix(whole.count)))
    }
  }

  @Test("Random bytes and damaged files never crash")
  func damage() throws {
    let claims = try RowClaims(count: 30, seed: 10)
    let bytes = try write(claims.keys, claims.regions, claims.unknownFields, header: ExportHeader(region: "DE"))
    var generator = RowGenerator(seed: 11)
    var intact = 0
    for _ in 0..<1500 {
      var damaged = bytes
      for _ in 0...Int.random(in: 0..<4, using: &generator) {
        let place = Int.random(in: 0..<damaged.count, using: &generator)
        let odd = Array("\"\n\r,;#\\-\u{0}9".utf8) + [UInt8.random(in: 0...255, using: &generator)]
        damaged[place] = odd[Int.random(in: 0..<odd.count, using: &generator)]
      }
      let large = try? read(damaged)
      #expect(large == (try? read(damaged, window: 64)))
      if large != nil { intact += 1 }
    }
    #expect(intact > 0)
    for _ in 0..<300 {
      _ = try? read((0..<200).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
  }

  @Test("Empty is absent, and quoted empty regions are stated but empty")
  func emptyCells() throws {
    let rows = [#",,"#, #""","","#, #""",,"#, #",\e \e,"#, #" DE , AT|BE  CH ,"#]
    let document = try read(columns + rows.map { "\(hex),,,,,,,\($0)\n" }.joined())
    #expect(
      document.keys.map(\.regions) == [
        RegionClaim(), RegionClaim(origin: "", visited: []), RegionClaim(origin: ""), RegionClaim(visited: ["", ""]),
        RegionClaim(origin: "DE", visited: ["AT", "BE", "CH"]),
      ])
    #expect(document.keys.allSatisfy { $0.key.fields == [] })
  }

  @Test("Repeated region cells take the short way and mean the same")
  func repeatedRegions() throws {
    let tails = ["DE,DE AT,", "\"a,b\",x|y,", ",\"\",", "DE,DE AT,AQI=", "\"a\nb\",,"]
    let text = columns + (0..<60).map { "\(hex),2654064,144,8,SELF_REPORT,0,false,\(tails[$0 % 5])\n" }.joined()
    let document = try read(Array(text.utf8), chunk: 1000)
    let claims = [
      RegionClaim(origin: "DE", visited: ["DE", "AT"]), RegionClaim(origin: "a,b", visited: ["x", "y"]),
      RegionClaim(visited: []), RegionClaim(origin: "DE", visited: ["DE", "AT"]), RegionClaim(origin: "a\nb"),
    ]
    #expect(document.keys.map(\.regions) == (0..<60).map { claims[$0 % 5] })
    #expect(document.keys.map(\.unknownFields) == (0..<60).map { $0 % 5 == 3 ? [1, 2] : [] })
  }

  /// When bytes come a few at a time, most rows are cut into cells, because nothing is there behind their ends.
  @Test("Plain rows take the short way and mean the same, whatever is wrong in them", arguments: [",", "\t"])
  func damagedPlainRows(separator: Character) throws {
    let names =
      "origin,period,key,note,visited_regions,revised,epoch,report_type,risklevel,days_since_onset,unknown_fields"
    let rows = [
      "DE,144,\(hex),x,DE AT,true,2654064,SELF_REPORT,8,-3,",
      "\"DE\",\"144\",\(hex),\"y z\",\"\",0,\"2654064\",1,,14,\"\"",
      "FR,10,AU+HS4WIaavqIdLHhcbwqg==,,FR,false,2654064,CONFIRMED_CLINICAL_DIAGNOSIS,1,0,",
    ]
    let intact = ([names] + rows + rows).joined(separator: "\n") + "\n"
    let bytes = Array(intact.replacing(",", with: String(separator)).utf8)
    let end = Array((String(repeating: "#", count: 200) + "\n").utf8)
    func reading(_ bytes: [UInt8], step: Int) -> Result<RowDocument, FormatError> {
      do {
        let window = InputWindow(RowTricklingSource(bytes + end, step: step), capacity: step == 5 ? 16 : 1 << 16)
        return .success(try RowDocument(CSVKeyDecoder(window), chunkCapacity: 100))
      } catch {
        return .failure(error as? FormatError ?? FormatError(.unsupported, "\(error)"))
      }
    }
    let whole = try reading(bytes, step: .max).get()
    #expect(whole.keys.count == 6)
    #expect(try reading(bytes, step: 5).get() == whole)
    let secondHalf = names.utf8.count + 2 + rows.joined().utf8.count + 2..<bytes.count
    for place in secondHalf {
      var damaged = [bytes, bytes]
      damaged[0].remove(at: place)
      damaged[1].insert(bytes[place], at: place)
      for byte in Array("#,;\t \"\r\n-0a".utf8) {
        damaged.append(bytes)
        damaged[damaged.count - 1][place] = byte
      }
      for bytes in damaged {
        #expect(reading(bytes, step: .max) == reading(bytes, step: 5), "\(place)")
      }
    }
  }

  @Test("A line of names that looks like key data is no key when it stands in the file again")
  func namesThatLookLikeKeys() throws {
    let name = "temporary_exposure_key"
    let document = try read("\(name)\n\(hex)\n\(name)\n\(hex)\n" + String(repeating: "\n", count: 100))
    #expect(document.keys.count == 2)
    #expect(document.noteCodes == ["column-line-repeated  1"])
  }

  @Test("Layouts of other tools")
  func otherLayouts() throws {
    let transparency = try read(
      """
      indir,country,zipfile,filetime,zipstart,zipend,zipkeyver,zipverkeyid,tek,epoch,period,risklevel
      20200701,de,de-5.zip,2020-07-01,1593248400,1593295200,v1,262,\(hex),2654064,144,8
      """)
    let key = try #require(transparency.keys.first?.key)
    #expect(key.key.hex == hex)
    #expect((key.rollingStart, key.rollingPeriod, key.transmissionRisk) == (2_654_064, 144, 8))
    #expect(key.fields == [.rollingStart, .rollingPeriod, .transmissionRisk])
    #expect(transparency.noteCodes.count == 7)
    #expect(transparency.noteCodes.first == "unknown-column filetime 1")
    #expect(transparency.keys.first?.regions.origin == "de")

    let short = "key_hex,rolling_start,rolling_period,transmission_risk,report_type,days_since_onset,revised"
    let row = "\(hex),2654064,144,,revoked,2,TRUE"
    let long = "\(hex),2654064,144,7,REVOKED,2,true"
    for separator in [",", ";", "\t"] {
      let text = [short, row, long].joined(separator: "\n").replacing(",", with: separator)
      let keys = try read(text + String(repeating: "\n", count: 300)).keys.map(\.key)
      #expect(keys.map(\.reportType) == [5, 5])
      #expect(keys.map(\.transmissionRisk) == [nil, 7])
      #expect(keys.map(\.isRevised) == [true, true])
    }
    let camel = try read("rollingStartNumber;keyData;daysSinceOnset\n5;\(hex);-1\n").keys.first?.key
    #expect(camel?.rollingStart == 5)
    #expect(camel?.daysSinceOnset == -1)
    #expect(try read("TemporaryExposureKey\n\n\(hex)\n\n").keys.count == 1)
  }

  @Test("Key data as hexadecimal, base64, UUID")
  func keySpellings() throws {
    let spellings = [
      hex, hex.uppercased(), "AU+HS4WIaavqIdLHhcbwqg==", "AU+HS4WIaavqIdLHhcbwqg", "AU-HS4WIaavqIdLHhcbwqg",
      "014f874b-8588-69ab-ea21-d2c785c6f0aa", "\"\(hex)\"", "  \(hex)  ",
    ]
    let document = try read("key_data\n" + spellings.joined(separator: "\n"))
    #expect(document.keys.map(\.key.key.hex) == spellings.map { _ in hex })
  }

  @Test("Byte order mark, line ends, blank lines, repeated column lines, metadata anywhere")
  func lenience() throws {
    let text =
      "\u{FEFF}# made by hand\r\n\r\n\(columns.dropLast())\r\n# region = DE \r\n\(hex),,,,,,,,,\r\n   \r\n"
      + "\(columns.dropLast())\r\n\(hex),,,,,,,,,\r\n#end_timestamp=18446744073709551615\r\n# region=AT\r\n# a=b"
    let document = try read(text)
    #expect(document.keys.count == 2)
    #expect(document.header == ExportHeader(endTimestamp: .max), "two tables of two regions")
    #expect(document.noteCodes == ["column-line-repeated  1"])
    #expect(try read(columns).keys.isEmpty)
    #expect(try read(String(columns.dropLast())).keys.isEmpty)
  }

  @Test("Numbers and absent cells as notebooks and databases write them")
  func foreignCells() throws {
    let document = try read(
      columns
        + "\(hex),2654064.0,1.44e+02,NaN,NULL,None,False,nan,\\N,\n0x\(hex),1592438400000,144.00,,confirmed,-2,t,\"NULL\",\"{DE,IT}\",\n"
    )
    #expect(document.rejections.isEmpty)
    let (first, second) = (try #require(document.keys.first), try #require(document.keys.last))
    #expect(first.key.fields == [.rollingStart, .rollingPeriod])
    #expect((first.key.rollingStart, first.key.rollingPeriod) == (2_654_064, 144))
    #expect(first.regions == RegionClaim())
    #expect((second.key.rollingStart, second.key.reportType, second.key.isRevised) == (2_654_064, 1, true))
    #expect(second.regions == RegionClaim(origin: "NULL", visited: ["DE", "IT"]))
    #expect(document.noteCodes == ["rolling-start-from-seconds milliseconds 1"])
  }

  @Test("A bad cell rejects its row, with line, column, value and what is allowed, but never key material")
  func badCells() throws {
    let secret = "ffeeddccbbaa99887766554433221100"
    let cases: [(row: String, reason: RejectionReason, detail: String)] = [
      (
        "z!,,,,,,,,,", .keyDataSpelling, "line 3, column 1 (key_data): 2 characters, allowed are 32 hexadecimal digits,"
      ),
      (
        "\(secret.dropLast(12)),,,,,,,,,", .keyDataLength,
        "line 3, column 1 (key_data): 15 bytes of key data, allowed are 16"
      ),
      (",1,,,,,,,,", .keyDataAbsent, "line 3, column 1 (key_data): empty"),
      (
        "\(hex),2147483648,,,,,,,,", .fieldNotANumber,
        "column 2 (rolling_start_interval_number): \"2147483648\", allowed"
      ),
      ("\(hex),,\(secret),,,,,,,", .fieldNotANumber, "column 3 (rolling_period): a value of 32 characters, allowed"),
      (
        "\(hex),,+1,,,,,,,", .fieldNotANumber,
        "column 3 (rolling_period): \"+1\", allowed is a whole number -2147483648"
      ),
      ("\(hex),,,1.5,,,,,,", .fieldNotANumber, "column 4 (transmission_risk_level): \"1.5\""),
      (
        "\(hex),,,\"1,0\",,,,,,", .fieldNotANumber,
        "column 4 (transmission_risk_level): \"1,0\", allowed is a whole number without a comma in it"
      ),
      ("\(hex),,,,CONFIRMED_TESTS,,,,,", .reportTypeUnknown, "column 5 (report_type): \"CONFIRMED_TESTS\", allowed"),
      ("\(hex),,,,99999999999,,,,,", .fieldNotANumber, "column 5 (report_type): \"99999999999\""),
      ("\(hex),,,,,-,,,,", .fieldNotANumber, "column 6 (days_since_onset_of_symptoms): \"-\""),
      ("\(hex),,,,,,yes,,,", .malformedEntry, "column 7 (revised): \"yes\", allowed is true, false, 1 or 0"),
      ("\(hex),,,,,,,,,=", .malformedEntry, "column 10 (unknown_fields): \"=\", allowed is base64"),
      ("\(hex),,,,,,,,", .malformedEntry, "line 3, 9 cells, allowed are as many as columns: 10"),
      ("\(hex),,,,,,,,,,", .malformedEntry, "line 3, 11 cells, allowed are as many as columns: 10"),
      ("\"\(hex)\"x,,,,,,,,,", .malformedEntry, "line 3, text behind the closing quote of a cell"),
    ]
    let good = "\(hex),2654064,144,1,,,false,,,\n"
    for (row, reason, detail) in cases {
      let document = try read(columns + good + row + "\n" + good)
      let rejection = try #require(document.rejections.first, "\(row)")
      #expect(rejection.reason == reason)
      #expect(rejection.position == KeyPosition(index: 1, byteOffset: columns.utf8.count + good.utf8.count))
      #expect(rejection.detail.contains(detail), "\(rejection.detail)")
      #expect(rejection.detail.hasPrefix("line 3, "))
      #expect(!rejection.detail.contains(secret) && !rejection.detail.contains(hex))
      #expect(document.keys.count == 2)
    }
    let later = try read(columns + "\"\(hex)\",,,,,,,\"a\nb\rc\r\nd\",,\n\nbad,,,,,,,,,\n")
    #expect(later.rejections.first?.detail.hasPrefix("line 7, ") == true)
  }

  @Test("What makes a file as a whole unreadable")
  func unreadable() throws {
    let small = ReadLimits(recordBytes: 4096)
    let cases: [(text: String, code: FormatError.Code, reason: String)] = [
      ("", .truncated, "line 1: byte 0: the document ends before the line that names the columns"),
      ("# only\n# comments\n", .truncated, "line 3"),
      (
        "date,teks\n1,2\n", .malformed,
        "no column holds key data: found \"date\", \"teks\"; accepted names are key_data, key_hex, key, tek"
      ),
      ("\(hex),1,2\n", .malformed, "found \"(32 characters)\", \"1\", \"2\""),
      ("H(tek),epoch\n", .malformed, "H(tek) holds digests, which are no keys"),
      ("key,period,KEY_DATA\n", .malformed, "2 columns hold key_data: key, KEY_DATA; allowed is one"),
      (columns + "\n\"\(hex),1\n,2\n", .truncated, "line 3: byte 166: the document ends in a cell whose quote"),
      ("# batch_num=one\n" + columns, .malformed, "line 1: byte 0: batch_num is \"one\", allowed is a whole number"),
      (
        "# start_timestamp=-1\n", .malformed,
        "start_timestamp is \"-1\", allowed is a whole number 0...18446744073709551615"
      ),
      ("# signature_info=unknown_fields=*\n", .malformed, "unknown_fields is 1 characters that are not base64"),
      (columns + String(repeating: "x", count: 5000) + "\n", .limitExceeded, "line 2: byte 165"),
      (columns + "\"" + String(repeating: "x\n", count: 5000), .limitExceeded, "line 2: byte 165"),
      ("#" + String(repeating: "x", count: 5000), .limitExceeded, "line 1"),
      ("key" + String(repeating: ",", count: 4096), .limitExceeded, "4097 columns, allowed are at most 4096"),
    ]
    for (text, code, reason) in cases {
      for capacity in [16, 512, 1 << 16] {
        let error = #expect(throws: FormatError.self, "\(text.prefix(50))") {
          _ = try read(
            Array(text.utf8), window: capacity,
            limits: reason.contains("columns, allowed") || code != .limitExceeded ? ReadLimits() : small)
        }
        #expect(error?.code == code)
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "") – \(reason)")
        #expect(error?.description.contains(hex) == false)
      }
    }
    let utf16 = #expect(throws: FormatError.self) { _ = try read([0xFF, 0xFE, 0x6B, 0]) }
    #expect(utf16?.code == .unsupported)
  }

  @Test("Hostile names are shown short and printable")
  func hostileNames() throws {
    let text = "key,\u{1B}[2J,\"a\nb\",\(String(repeating: "n", count: 500)),..\\..\\x\n\(hex),1,2,3,4\n"
    let document = try read(text)
    #expect(document.keys.count == 1)
    #expect(document.notes.sorted.map(\.note.subject) == ["(500 characters)", "..\\..\\x", "?[2J", "a?b"])
  }

  @Test("Any string survives in the metadata", arguments: RowClaims.strings)
  func metadataStrings(text: String) throws {
    let info = SignatureInfo(
      appBundleID: text, androidPackage: text, verificationKeyVersion: text, verificationKeyID: text,
      signatureAlgorithm: text, unknownFields: Array(text.utf8))
    let header = ExportHeader(
      startTimestamp: 0, endTimestamp: .max, region: text, batchNum: .min, batchSize: .max,
      signatureInfos: [info, SignatureInfo(), SignatureInfo(signatureAlgorithm: text)], unknownFields: Array(text.utf8))
    let empty = (RegionTable(), UnknownFieldTable())
    #expect(try read(try write([], empty.0, empty.1, header: header)).header == header)
    #expect(try read(try write([], empty.0, empty.1, header: ExportHeader(), atEnd: header)).header == header)
  }

  @Test("What is known only at the end stands behind the keys, and nothing is taken back")
  func metadataAtEnd() throws {
    let key = ClaimedKey(key: TemporaryExposureKey(high: 0, low: 1))
    let bytes = try write(
      [key], RegionTable(), UnknownFieldTable(), header: ExportHeader(startTimestamp: 5, region: "DE"),
      atEnd: ExportHeader(startTimestamp: 5, endTimestamp: 6, region: "AT"))
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == "# start_timestamp=5\n# region=DE\n\(columns)00000000000000000000000000000001,,,,,,false,,,\n"
        + "# end_timestamp=6\n# region=AT\n")
    #expect(try read(bytes).header == ExportHeader(startTimestamp: 5, endTimestamp: 6, region: "AT"))
    let error = #expect(throws: FormatError.self) {
      _ = try write([], RegionTable(), UnknownFieldTable(), header: ExportHeader(region: "DE"), atEnd: ExportHeader())
    }
    #expect(error?.code == .cannotExpress)
  }

  @Test("Rejected rows fill a chunk as keys do")
  func manyRejections() throws {
    let decoder = CSVKeyDecoder(InputWindow(MemorySource(Array((columns + String(repeating: "x\n", count: 100)).utf8))))
    var chunk = KeyChunk(capacity: 10)
    #expect(try decoder.decode(into: &chunk))
    #expect(chunk.rejections.count == 10)
  }
}
