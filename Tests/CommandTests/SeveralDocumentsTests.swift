import ExposureKeys
import GatewayTesting
import KeyFormats
import Testing

/// Several documents give the same whether they stand in many files, in a folder, in an archive, or one behind the other in
/// one file.
@Suite struct SeveralDocumentsTests {
  /// Three documents of different regions and windows, ten keys each.
  private static func documents() -> [DecodedDocument] {
    zip(["DE", "IT", "DE"], 0...).map { region, number in
      var document = Sample.document
      document.keys = Array(Sample.document.keys[number * 10..<number * 10 + 10])
      let day = UInt64(1_605_657_600 + number * 86_400)
      document.header = ExportHeader(
        startTimestamp: day, endTimestamp: day + 86_400, region: region, batchNum: 1, batchSize: 1,
        signatureInfos: [SignatureInfo(verificationKeyVersion: "v\(number)", verificationKeyID: region)])
      return document
    }
  }

  /// `export.bin` by itself, and every text format, can be laid behind each other with `cat`.
  static let concatenated: [KeyFormat] = FormatCatalog.all.map(\.format).filter {
    $0.definition.isWritten && (!$0.definition.isBinary || $0 == .gaenExport) && $0 != .protobufText
  }

  /// The same documents in a folder, in archives, and one behind the other in one entry.
  private static let packing = """
    import os, shutil, tarfile, zipfile
    names = ["0.dump", "1.dump", "2.dump"]
    os.mkdir("folder")
    for n in names: shutil.copy(n, "folder")
    for mode, to in ("w", "all.tar"), ("w:gz", "all.tgz"):
      with tarfile.open(to, mode) as t:
        for n in names: t.add(n)
    with zipfile.ZipFile("all.zip", "w") as z:
      for n in names: z.write(n)
    with zipfile.ZipFile("one-in-one.zip", "w") as z: z.write("all.dump")
    """

  @Test(arguments: LongList.cases(concatenated, 3))
  func oneFileOrMany(format: KeyFormat) throws {
    try Workshop.run { workshop in
      let parts = try Self.documents().map { document in
        var document = document
        _ = try document.fit(to: format)
        return try document.bytes(as: format)
      }
      for (number, part) in parts.enumerated() { try workshop.write(part, "\(number).dump") }
      try workshop.write(Array(parts.joined()), "all.dump")
      let python = try #require(Tool(named: "python3"), "python3 is needed")
      let packed = try python.run(["-c", Self.packing], in: workshop.folder)
      try #require(packed.status == 0, Comment(rawValue: packed.errors))
      for target in [KeyFormat.csv, .json, .gaenExport] {
        func converted(_ inputs: [String]) throws -> [UInt8] {
          let unsigned = target == .gaenExport ? ["--unsigned"] : []
          let outcome = try workshop.keyferry(
            ["convert"] + inputs + ["--from", format.rawValue, "--to", target.rawValue, "-o", "out"] + unsigned)
          #expect(outcome.status == 0, "\(format.rawValue) to \(target.rawValue): \(outcome.errors)")
          #expect(outcome.errors.contains("30 keys read"), "\(outcome.errors)")
          return try workshop.bytes("out")
        }
        let apart = try converted(["0.dump", "1.dump", "2.dump"])
        for whole in ["all.dump", "folder", "all.tar", "all.tgz", "all.zip", "one-in-one.zip"] {
          #expect(try converted([whole]) == apart, "\(whole) of \(format.rawValue) to \(target.rawValue)")
        }
        let header = try workshop.keys("out").header
        #expect(header.region == nil, "two regions are nobody's region")
        if format.definition.capabilities?.carriesHeader == true {
          #expect(header.startTimestamp == 1_605_657_600 && header.endTimestamp == 1_605_657_600 + 3 * 86_400)
        }
      }
    }
  }

  /// Tables of different columns, one behind the other.
  @Test func tablesOfOtherColumns() throws {
    let document = try DecodedDocument(
      Array(
        """
        # region=DE
        key_data,rolling_start_interval_number
        000102030405060708090a0b0c0d0e0f,2676096
        # region=IT
        rolling_period,tek
        72,101112131415161718191a1b1c1d1e1f

        """.utf8))
    #expect(document.rejections.isEmpty)
    #expect(document.keys.map(\.rollingPeriod) == [nil, 72])
    #expect(document.header.region == nil)
  }

  /// Metadata behind the rows stays that of its own table, as does what stands in front of the next.
  @Test func metadataBehindTheRows() throws {
    func document(_ lines: String...) throws -> DecodedDocument {
      try DecodedDocument(Array((lines + [""]).joined(separator: "\n").utf8))
    }
    let row = "000102030405060708090a0b0c0d0e0f"
    let behind = try document("key_data", row, "# region=DE", "# start_timestamp=60")
    #expect(behind.header.region == "DE" && behind.header.startTimestamp == 60)
    let two = try document(
      "key_data", row, "# region=DE", "# start_timestamp=60", "# region=DE", "# start_timestamp=30", "key_data", row)
    #expect(two.header.region == "DE" && two.header.startTimestamp == 30 && two.keys.count == 2)
    // A restated value with no table behind it is what it always was: the last one counts.
    let restated = try document("# region=DE", "key_data", row, "# region=IT", row)
    #expect(restated.header.region == "IT" && restated.notes.sorted.map(\.note.code) == ["metadata-restated"])
  }

  /// A region on a line of a daily dump is the origin of its keys, wherever on the line it stands.
  @Test func regionsOfLines() throws {
    let document = try DecodedDocument(
      Array(
        """
        {"sample_date":"2020-11-18","tek_list":["00010203-0405-0607-0809-0a0b0c0d0e0f"],"extraction_date":"2020-11-19","region":"ES"}
        {"sample_date":"2020-11-18","region":"PT","tek_list":["10111213-1415-1617-1819-1a1b1c1d1e1f"],"extraction_date":"2020-11-19"}
        {"sample_date":"2020-11-19","tek_list":["20212223-2425-2627-2829-2a2b2c2d2e2f"],"extraction_date":"2020-11-19"}

        """.utf8))
    #expect(document.keys.map { document.regions[$0.regions].origin } == ["ES", "PT", nil])
    #expect(document.keys.map(\.rollingStart) == [2_676_096, 2_676_096, 2_676_240])
    #expect(document.header.region == nil)
  }

  /// A document that makes its reader hold ever more headers is refused.
  @Test func headersAreBounded() throws {
    let one = #"{"start_timestamp":"60","region":"DE","keys":[]}"#
    let many = (0..<60_000).map { one.replacing("DE", with: "R\($0)") }.joined(separator: "\n")
    #expect(throws: FormatError.self) {
      _ = try DecodedDocument(Array(many.utf8), format: .json)
    }
  }

  /// Exports one behind the other keep every key, whatever the size of the chunks; a byte that is not there is told.
  @Test func exportsBehindEachOther() throws {
    let parts = try Self.documents().map { try $0.bytes(as: .gaenExport) }
    let whole = Array(parts.joined())
    for capacity in [1, 3, 10, 11, 100] {
      let document = try DecodedDocument(
        decoding: KeyDocument(MemorySource(whole)).decoder, chunkCapacity: capacity)
      #expect(document.keys.map(\.key) == Sample.document.keys.prefix(30).map(\.key), "chunks of \(capacity)")
      #expect(document.notes.sorted.map(\.note.code) == ["further-document"])
    }
    for cut in stride(from: parts[0].count + 1, to: parts[0].count + 16, by: 1) {
      #expect(throws: FormatError.self, "cut at \(cut)") { _ = try DecodedDocument(Array(whole.prefix(cut))) }
    }
  }
}
