import ExposureKeys
import Foundation
import KeyFormats
import Testing

/// What every JSON format promises: reading gives back what was written, and writing gives back canonical bytes.
@Suite struct JSONLawTests {
  static let codableFields: KeyFields = [.rollingStart, .rollingPeriod, .transmissionRisk]

  @Test(arguments: CodableJSONEncoder.Wrapper.allCases)
  func codableRoundTrip(wrapper: CodableJSONEncoder.Wrapper) throws {
    let keys = ClaimedKey.randoms(3000, seed: 1, fields: Self.codableFields)
    let bytes = try written(keys, parts: 3) { CodableJSONEncoder($0, wrapper: wrapper) }
    let document = try readJSON(bytes)
    #expect(document.keys == keys)
    #expect(document.dialect == .codable)
    #expect(document.wrapper == (wrapper == .none ? .array : .member(wrapper.rawValue)))
    #expect(document.rejections.isEmpty && document.notes.isEmpty)
    #expect(try written(document.keys) { CodableJSONEncoder($0, wrapper: wrapper) } == bytes)
  }

  @Test func codableLines() throws {
    let keys = ClaimedKey.randoms(3000, seed: 2, fields: Self.codableFields, required: Self.codableFields)
    let bytes = try written(keys) { CodableJSONEncoder($0, style: .lines) }
    let document = try readJSON(bytes)
    #expect(document.keys == keys)
    #expect(document.wrapper == .lines)
    #expect(try written(document.keys) { CodableJSONEncoder($0, style: .lines) } == bytes)
  }

  @Test func codableSingle() throws {
    let key = ClaimedKey.randoms(2, seed: 3, fields: Self.codableFields)
    let bytes = try written([key[0]]) { CodableJSONEncoder($0, style: .single) }
    let document = try readJSON(bytes)
    #expect(document.keys == [key[0]])
    #expect(document.wrapper == .object)
    #expect(throws: FormatError.self) { try written(key) { CodableJSONEncoder($0, style: .single) } }
    #expect(throws: FormatError.self) { try written([]) { CodableJSONEncoder($0, style: .single) } }
  }

  @Test func codableWithoutRollingPeriod() throws {
    var key = ClaimedKey(key: TemporaryExposureKey(high: .max, low: .max))
    key.rollingStart = 2_649_024
    key.rollingPeriod = 144
    key.transmissionRisk = 3
    let bytes = try written([key]) { CodableJSONEncoder($0, generation: .withoutRollingPeriod) }
    #expect(
      text(bytes)
        == #"[{"keyData":"\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/w==","rollingStartNumber":2649024,"transmissionRiskLevel":3}]"#
    )
    key.rollingPeriod = nil
    #expect(try readJSON(bytes).keys == [key])
  }

  @Test func publishRoundTrip() throws {
    let keys = ClaimedKey.randoms(3000, seed: 4, fields: Self.codableFields)
    let request = PublishEnvelope(
      healthAuthorityID: "example \"state\"", verificationPayload: "a.b.c", hmacKey: "c2VjcmV0",
      symptomOnsetInterval: 2_649_000,
      traveler: true, revisionToken: "tok\nen")
    let bytes = try written(keys, parts: 2) { PublishJSONEncoder($0, envelope: request) }
    let document = try readJSON(bytes)
    #expect(document.keys == keys)
    #expect(document.dialect == .publish)
    #expect(document.request == request)
    #expect(try written(document.keys) { PublishJSONEncoder($0, envelope: document.request) } == bytes)
  }

  @Test func federationRoundTrip() throws {
    var regions = RegionTable()
    var claims: [RegionClaim.ID] = []
    for visited in [["DE"], ["DE", "IT"], [], ["IT", "DE"]] {
      for origin in ["DE", "FR", "\u{e9}\"\\"] {
        claims.append(try regions.number(of: RegionClaim(origin: origin, visited: visited)))
      }
    }
    var keys = ClaimedKey.randoms(
      3000, seed: 5, required: [.rollingStart, .rollingPeriod, .reportType, .daysSinceOnset])
    // A federation key always has a start; without it nothing tells the dialect apart.
    for index in keys.indices {
      keys[index].regions = claims[index % claims.count]
      if keys[index].rollingStartWord == 0 { keys[index].rollingStart = 1 }
      if keys[index].transmissionRisk == .max { keys[index].transmissionRisk = nil }
    }
    let bytes = try written(keys, regions: regions, parts: 2, by: EFGSJSONEncoder.init)
    let document = try readJSON(bytes)
    #expect(document.dialect == .efgs)
    #expect(document.regionClaims == keys.map { regions[$0.regions] })
    for (read, key) in zip(document.keys, keys) {
      var read = read
      read.regions = key.regions
      #expect(read == key)
    }
    #expect(document.keys.count == keys.count)
    var table = RegionTable()
    for claim in document.claims { _ = table.intern(claim) }
    #expect(try written(document.keys, regions: table, by: EFGSJSONEncoder.init) == bytes)
  }

  @Test func emptyFederationBatch() throws {
    let bytes = try written([], by: EFGSJSONEncoder.init)
    #expect(text(bytes) == "{}")
    #expect(try readJSON(bytes).keys.isEmpty)
  }

  static let header = ExportHeader(
    startTimestamp: 1_598_486_400, endTimestamp: .max, region: "S\"I\u{1}", batchNum: 1, batchSize: -1,
    signatureInfos: [
      SignatureInfo(verificationKeyVersion: "v1", verificationKeyID: "293", signatureAlgorithm: "1.2.840.10045.4.3.2"),
      SignatureInfo(appBundleID: "a", androidPackage: "b", unknownFields: [1, 2, 3]),
    ], unknownFields: [250, 6, 1, 0])

  @Test(arguments: ExportJSONEncoder.Layout.allCases, [true, false])
  func exportRoundTrip(layout: ExportJSONEncoder.Layout, headerAtEnd: Bool) throws {
    var regions = RegionTable()
    let claims = try [RegionClaim(), RegionClaim(origin: "DE"), RegionClaim(visited: []), RegionClaim(visited: ["IT"])]
      .map { try regions.number(of: $0) }
    var fields = UnknownFieldTable()
    var keys = ClaimedKey.randoms(3000, seed: 6)
    var expected: [Int: [UInt8]] = [:]
    for index in keys.indices {
      if index % 7 == 0 { keys[index].regions = claims[index / 7 % claims.count] }
      if index % 11 == 0 {
        let content = [UInt8](repeating: UInt8(index % 251), count: 1 + index % 5)
        keys[index].unknownFields = fields.append(content)
        expected[index] = content
      }
    }
    let bytes = try written(
      keys, header: headerAtEnd ? ExportHeader() : Self.header, finish: Self.header, regions: regions,
      unknownFields: fields, parts: 2
    ) { ExportJSONEncoder($0, layout: layout) }
    let document = try readJSON(bytes)
    #expect(document.header == Self.header)
    #expect(document.unknownFields == expected)
    #expect(document.regionClaims == keys.map { regions[$0.regions] })
    #expect(document.keys.map(\.withoutTables) == keys.map(\.withoutTables))
    #expect(document.dialect == .export)
    #expect((try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])?.count == 8)
  }

  @Test func exportRevisedKeysStandBehindTheOthers() throws {
    var keys = ClaimedKey.randoms(100, seed: 7)
    for index in keys.indices where index % 3 == 0 { keys[index].isRevised = true }
    let bytes = try written(keys, parts: 4) { ExportJSONEncoder($0) }
    let document = try readJSON(bytes)
    let expected = keys.filter { !$0.isRevised } + keys.filter(\.isRevised)
    #expect(document.keys == expected)
    #expect(try written(document.keys) { ExportJSONEncoder($0) } == bytes)
  }

  @Test func emptyExport() throws {
    let bytes = try written([]) { ExportJSONEncoder($0) }
    #expect(text(bytes) == "{\n\"keys\":[]\n}\n")
    #expect(try readJSON(bytes).keys.isEmpty)
  }

  /// The window's size, the pieces in which bytes come, and the chunk's size change nothing.
  @Test(arguments: [16, 17, 64, 300], [1, 7, 1 << 20])
  func smallWindows(window: Int, step: Int) throws {
    var regions = RegionTable()
    let claim = try regions.number(of: RegionClaim(origin: "DE", visited: ["FR", "IT"]))
    var keys = ClaimedKey.randoms(60, seed: 8)
    for index in keys.indices where index % 2 == 0 { keys[index].regions = claim }
    let documents = [
      try written(keys, header: Self.header, regions: regions) { ExportJSONEncoder($0, layout: .pretty) },
      try written(keys) { CodableJSONEncoder($0, wrapper: .gaenKeys) },
      try written(keys) { CodableJSONEncoder($0, style: .lines) },
      try written(keys, regions: regions, by: EFGSJSONEncoder.init),
      Array(
        #"{"a":"\u00e9\\","b":[{"c":[1,2.5e1,null,true]}],"keys":[3,{"keyData":"AAA="},{"x":1},"y",[[]]],"d":-0.5}"#
          .utf8),
    ]
    for bytes in documents {
      let whole = try readJSON(bytes)
      #expect(try readJSON(bytes, window: window, step: step) == whole)
      #expect(try readJSON(bytes, window: window, chunk: 1, step: step) == whole)
    }
  }

  /// What reading by a remembered shape makes of an object, the parser makes of it too, whatever is wrong in it. In a
  /// window of one record no shape is remembered.
  @Test(arguments: [true, false])
  func damagedRepeats(isList: Bool) throws {
    var keys = ClaimedKey.randoms(4, seed: 9, fields: [], required: Self.codableFields, wild: false)
    keys[2].key = TemporaryExposureKey(high: 0xFFFF_0123_4567_89AB, low: 0xFFF0_1234_5678_9FFF)
    keys[2].rollingStart = 2_678_400
    var original = try written(keys) { CodableJSONEncoder($0, style: isList ? .array : .lines) }
    if isList { original.removeLast() }
    let end = [UInt8](repeating: 0x20, count: 5000) + Array(isList ? "]".utf8 : "".utf8)
    let objects = original.split(separator: UInt8(ascii: "{"))
    let object = objects[isList ? 3 : 2].startIndex - 1..<objects[isList ? 3 : 2].endIndex
    func reading(_ bytes: [UInt8], window: Int) -> Result<ReadDocument, FormatError> {
      do {
        return .success(try readJSON(bytes + end, window: window))
      } catch {
        return .failure(error as? FormatError ?? FormatError(.unsupported, "\(error)"))
      }
    }
    for place in object {
      var damaged = [original, original, original]
      damaged[0].remove(at: place)
      damaged[1].insert(original[place], at: place)
      damaged[2].insert(UInt8(ascii: " "), at: place)
      for byte in Array(#" "\/-+09.eA=_:,{}n"#.utf8) + [0, 0x1F, 0x80, 0xFF] {
        damaged.append(original)
        damaged[damaged.count - 1][place] = byte
      }
      for bytes in damaged {
        #expect(reading(bytes, window: 128 << 10) == reading(bytes, window: 16), "\(text(Array(bytes[object])))")
      }
    }
  }
}

extension RegionTable {
  mutating func number(of claim: RegionClaim) throws -> RegionClaim.ID {
    let number = intern(claim)
    return try #require(number)
  }
}

extension ClaimedKey {
  var withoutTables: ClaimedKey {
    var key = self
    key.regions = .none
    key.unknownFields = 0
    return key
  }
}
