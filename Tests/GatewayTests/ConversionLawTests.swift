import BundleTrust
import ExposureKeys
import GatewayTesting
import KeyConversion
import KeyFormats
import KeyInspection
import KeyIntake
import KeyPublishing
import Testing

/// What holds for every conversion between any two formats.
@Suite struct ConversionLawTests {
  static let defaults = FieldDefaults(
    rollingPeriod: 100, transmissionRisk: 3, reportType: 1, daysSinceOnset: 2, origin: "DE",
    visitedRegions: ["DE", "AT"])

  private static func random(_ style: RandomKeys.Style, _ count: Int, _ random: inout SeededRandom) -> Document {
    var document = RandomKeys(style, statesRegions: true, hasUnknownFields: true).document(count, using: &random)
    // A bundle holds key data once.
    var seen: Set<TemporaryExposureKey> = []
    document.keys.removeAll { !seen.insert($0.key).inserted }
    // Some keys say nothing of regions, some are there twice.
    for index in document.keys.indices where random.once(in: 3) { document.keys[index].regions = .none }
    document.keys += document.keys.prefix(count / 10)
    return document
  }

  /// There and back: each step does what the catalogue's row says, counts all of it, and changes nothing else.
  @Test(arguments: LongList.pairs(KeyFormat.written, KeyFormat.written, 50))
  func thereAndBack(first: KeyFormat, second: KeyFormat) throws {
    var random = SeededRandom(for: "thereAndBack \(first.rawValue) \(second.rawValue)")
    for style in RandomKeys.Style.allCases {
      for defaults in [FieldDefaults(), Self.defaults] {
        let document = Self.random(style, 30, &random)
        var source = memory(try document.csv(), format: .csv)
        var sourceFormat = KeyFormat.csv
        for format in [first, second, first] {
          let before = try read(source)
          let converted = try Converted(to: format, defaults: defaults, source)
          source = converted.source(format: format)
          try check(converted, before, from: sourceFormat, try read(source), format, defaults)
          sourceFormat = format
        }
      }
    }
  }

  private func check(
    _ converted: Converted, _ before: Document, from source: KeyFormat, _ after: Document, _ format: KeyFormat,
    _ defaults: FieldDefaults
  ) throws {
    let receipt = converted.receipt
    let model = ConversionModel(before.content, from: source, to: format, defaults: defaults)
    #expect(after.content.unordered == model.keys)
    #expect(after.rejections.isEmpty)
    #expect(receipt.received == before.keys.count)
    #expect(receipt.rejected == model.rejected)
    #expect(receipt.written == model.written && receipt.written == after.keys.count)
    #expect(receipt.repeated == model.repeated)
    #expect(receipt.received == receipt.written + receipt.rejected + receipt.repeated)
    for document in receipt.documents { #expect(document.received == document.written + document.rejected) }
    let ofKeys = receipt.losses.filter { !$0.hasPrefix("the document loses") && !$0.hasPrefix("a document was batch") }
    #expect(Set(ofKeys) == model.losses)
    #expect(Set(receipt.fillings) == model.fillings)
    try checkHeader(before.header, from: source, after.header, format, receipt)
  }

  /// The header comes back, or the receipt says what of it is lost.
  private func checkHeader(
    _ before: ExportHeader, from source: KeyFormat, _ after: ExportHeader, _ format: KeyFormat,
    _ receipt: ConversionReceipt
  ) throws {
    let lost = receipt.losses.first { $0.hasPrefix("the document loses") } ?? ""
    if format.capabilities.carriesHeader {
      var expected = before
      if format == .gaenExport {
        (expected.batchNum, expected.batchSize) = (1, 1)
        let wasPart = before.batchSize.map { $0 != 1 } ?? false
        #expect(receipt.losses.contains { $0.hasPrefix("a document was batch") } == wasPart)
      }
      let crosses = format == .gaenExport && source == .efgsProtobuf && !before.unknownFields.isEmpty
      if crosses { expected.unknownFields = [] }
      #expect(after == expected)
      #expect(lost.isEmpty != crosses)
    } else {
      // All others have the export's schema.
      let crosses = format == .efgsProtobuf && source != .efgsProtobuf
      let carries = format.capabilities.carriesUnknownFields && !crosses
      #expect(after.unknownFields == (carries ? before.unknownFields : []))
      #expect(lost.contains("time window") == (before.startTimestamp != nil || before.endTimestamp != nil))
      #expect(lost.contains("region") == (before.region != nil))
      #expect(lost.contains("signature infos") == !before.signatureInfos.isEmpty)
      #expect(lost.contains("batch") == ([before.batchNum, before.batchSize].contains { $0 != nil && $0 != 1 }))
      #expect(lost.contains("unknown header fields") == (after.unknownFields != before.unknownFields))
    }
  }

  @Test(arguments: KeyFormat.written, KeyFormat.written)
  func strictRefusesWhateverLoses(first: KeyFormat, second: KeyFormat) throws {
    var random = SeededRandom(for: "strictRefusesWhateverLoses")
    let document = Self.random(.plausible, 20, &random)
    let source = try Converted(to: first, defaults: Self.defaults, memory(document.csv())).source(format: first)
    var plan = ConversionPlan(to: second)
    plan.defaults = Self.defaults
    let receipt = try Converted(plan, [source]).receipt
    let losses = receipt.lost
    #expect(losses.suffix(receipt.losses.count + receipt.unchosenFillings.count).starts(with: receipt.losses))
    plan.isStrict = true
    if losses.isEmpty {
      #expect(try Converted(plan, [source]).receipt.lost.isEmpty)
    } else {
      let refusal = #expect(throws: LossRefusal.self) { try Converted(plan, [source]) }
      guard refusal?.losses == losses else {
        Issue.record("\(String(describing: refusal)) instead of \(losses)")
        return
      }
    }
  }

  @Test func whatLosesNothingIsNeverRefused() throws {
    var random = SeededRandom(for: "whatLosesNothingIsNeverRefused")
    let document = Self.random(.wild, 100, &random)
    let source = memory(try document.csv())
    for format in [KeyFormat.csv, .json] {
      var plan = ConversionPlan(to: format)
      plan.isStrict = true
      #expect(try Converted(plan, [source]).receipt.written == document.keys.count)
    }
  }

  /// A field number means something in its own schema alone, whether the other one has it or not.
  @Test(arguments: [(KeyFormat.gaenExport, KeyFormat.efgsProtobuf), (.efgsProtobuf, .gaenExport)])
  func unknownFieldsStayInTheirSchema(first: KeyFormat, second: KeyFormat) throws {
    var document = Document(header: ExportHeader(unknownFields: [0xa0, 6, 1]))
    var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: 2))
    (key.rollingStart, key.rollingPeriod, key.reportType, key.daysSinceOnset) = (2_650_000, 144, 1, 0)
    key.unknownFields = document.unknownFields.append([0x48, 1])
    document.keys.append(key)
    _ = try document.fit(to: first, defaults: Self.defaults)
    let bytes = memory(try document.bytes(as: first), format: first)
    let kept = try Converted(to: first, defaults: Self.defaults, bytes)
    #expect(kept.receipt.losses.filter { $0.contains("unknown") } == [])
    let other = try Converted(to: second, defaults: Self.defaults, bytes)
    #expect(other.receipt.losses.contains("1 key loses unknown fields"))
    #expect(other.receipt.losses.contains { $0.contains("unknown header fields") })
    let read = try read(other.source(format: second))
    #expect(read.header.unknownFields.isEmpty && read.content.keys.map(\.unknownFields) == [[]])
  }

  /// A field that one format does not know may mean something in another.
  @Test func unknownFieldsNeverChangeTheirMeaning() throws {
    var document = Document(header: ExportHeader(unknownFields: [0x0a, 2, 0x0a, 0]))
    func add(_ unknown: [UInt8]) {
      var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: UInt64(document.keys.count)))
      key.rollingStart = 2_650_000
      key.rollingPeriod = 144
      key.reportType = 1
      key.daysSinceOnset = 0
      key.unknownFields = document.unknownFields.append(unknown)
      document.keys.append(key)
    }
    add([0x38, 5])  // Field 7, a number: the report type of a federation key.
    add([0x2a, 2, 0x49, 0x54])  // Field 5, text: a visited region of a federation key, and no field of an export's.
    add([0x0a, 1, 0])  // Key data, which only a CSV file can have put here.
    add([0x48, 1])  // Field 9 has no meaning anywhere.
    add([0xff])  // No protobuf at all.
    let source = memory(try document.csv())

    let batch = try Converted(to: .efgsProtobuf, defaults: Self.defaults, source)
    let federation = try read(batch.source(format: .efgsProtobuf))
    #expect(federation.keys.map(\.reportType) == [1, 1, 1, 1, 1])
    // CSV has the export's schema, and nobody knows what its fields mean here.
    #expect(federation.content.keys.allSatisfy { $0.unknownFields.isEmpty })
    #expect(federation.content.keys.allSatisfy { $0.regions.visited == ["DE", "AT"] })
    #expect(federation.header.unknownFields.isEmpty && federation.rejections.isEmpty)
    #expect(batch.receipt.losses.contains("5 keys lose unknown fields"))
    #expect(batch.receipt.losses.contains { $0.contains("unknown header fields") })

    let export = try Converted(to: .gaenExport, source)
    let bundle = try read(export.source)
    #expect(bundle.content.keys.map(\.unknownFields) == [[0x38, 5], [0x2a, 2, 0x49, 0x54], [], [0x48, 1], []])
    #expect(bundle.header.unknownFields == [0x0a, 2, 0x0a, 0], "field 1 of an export is no text")
    #expect(export.receipt.losses == ["2 keys lose unknown fields"])
    document.header.unknownFields = [0x3a, 0]
    #expect(
      try Converted(to: .gaenExport, memory(document.csv())).receipt.losses.contains {
        $0.contains("unknown header fields")
      }, "field 7 of an export is a key")
  }

  // MARK: export.bin is a pure function of its input

  @Test(arguments: RandomKeys.Style.allCases)
  func sameKeysSameExport(style: RandomKeys.Style) throws {
    var random = SeededRandom(for: "sameKeysSameExport")
    let document = Self.random(style, 150, &random)
    let csv = try Converted(to: .csv, memory(document.csv()))
    let export = try Converted(to: .gaenExport, csv.source)
    #expect(try Converted(to: .gaenExport, csv.source).bytes == export.bytes, "twice the same")
    #expect(try Converted(to: .gaenExport, export.source).bytes == export.bytes, "a bundle of ours is a fixed point")
    for format in [KeyFormat.csv, .json] {
      let detour = try Converted(to: format, csv.source)
      #expect(try Converted(to: .gaenExport, detour.source).bytes == export.bytes, "by way of \(format)")
    }
    var shuffled = document
    shuffled.keys.shuffle(using: &random)
    #expect(try Converted(to: .gaenExport, memory(shuffled.csv())).bytes == export.bytes, "in any order")
    let bin = try export.exportBin()
    #expect(export.receipt.digests?.hexadecimal == ExportDigests(of: bin).hexadecimal)
    #expect(try read(memory(bin)).content == read(export.source).content, "a bare .bin says the same")
  }

  @Test func orderOfInputsMakesNoDifference() throws {
    var random = SeededRandom(for: "orderOfInputsMakesNoDifference")
    var inputs: [SourceDocument] = []
    for index in 0..<4 {
      var document = Self.random(.wild, 40, &random)
      document.header.signatureInfos = [
        SignatureInfo(verificationKeyVersion: "v\(index % 3)", verificationKeyID: "31\(index % 2)")
      ]
      document.header.unknownFields = [0x78, UInt8(index)]
      inputs.append(try Converted(to: index.isMultiple(of: 2) ? .gaenExport : .json, memory(document.csv())).source)
    }
    let plan = ConversionPlan(to: .gaenExport)
    func bundles(_ inputs: [SourceDocument]) throws -> [[UInt8]] {
      let converted = try Converted(plan, inputs, mayWriteSeveral: true)
      return [converted.bytes] + converted.further
    }
    let expected = try bundles(inputs)
    for _ in 0..<6 { #expect(try bundles(inputs.shuffled(using: &random)) == expected) }
  }

  /// Sorted by raw bytes, revised keys behind, and nothing tells what a person's keys were.
  @Test func keysAreSorted() throws {
    var random = SeededRandom(for: "keysAreSorted")
    let keys = try read(Converted(to: .gaenExport, memory(Self.random(.plausible, 500, &random).csv())).source).keys
    for list in [keys.filter { !$0.isRevised }, keys.filter(\.isRevised)] {
      #expect(list.map(\.key) == list.map(\.key).sorted())
    }
    #expect(keys.drop { !$0.isRevised }.allSatisfy { $0.isRevised })
  }

  // MARK: Many inputs

  private func key(_ low: UInt64, risk: Int32, unknown: UInt32 = 0) -> ClaimedKey {
    var key = ClaimedKey(key: TemporaryExposureKey(high: 7, low: low))
    key.rollingStart = 2_650_000
    key.rollingPeriod = 144
    key.transmissionRisk = risk
    key.unknownFields = unknown
    return key
  }

  @Test func repeatedKeysAreWrittenOnceAndConflictingOnesKept() throws {
    var first = Document(keys: [key(1, risk: 1), key(2, risk: 2), key(1, risk: 3), key(2, risk: 2)])
    var second = Document(keys: [key(2, risk: 2), key(3, risk: 1)])
    // The same key with other unknown fields says something else, wherever it stands.
    for value in [1, 2, 1] as [UInt8] {
      first.keys.append(key(9, risk: 9, unknown: first.unknownFields.append([0x78, value])))
    }
    for index in first.keys.indices.suffix(3) { first.keys[index].transmissionRisk = 1 }
    second.keys.append(key(9, risk: 1, unknown: second.unknownFields.append([0x78, 2])))
    let inputs = try [memory(first.csv(), name: "first"), memory(second.csv(), name: "second")]
    #expect(throws: RepeatedKeyRefusal.self) { try Converted(ConversionPlan(to: .gaenExport), inputs) }
    // Tables keep every row.
    #expect(try Converted(ConversionPlan(to: .csv), inputs).receipt.written == 10)
    let merged = try Converted(ConversionPlan(to: .gaenExport), inputs, mayWriteSeveral: true)
    #expect(merged.receipt.received == 10)
    #expect(merged.receipt.repeated == 4)
    #expect(merged.receipt.written == 6)
    #expect(merged.receipt.conflicting == 2)
    #expect(merged.receipt.warnings.contains("4 repeated keys written once"))
    #expect(merged.receipt.warnings.contains { $0.hasPrefix("2 keys shared key data") })
    let results = try ([merged.bytes] + merged.further).map { try read(memory($0)) }
    #expect(results.map { $0.keys.map(\.key.low) } == [[1, 2, 3, 9], [1, 9]])
    #expect(results.map { $0.content.keys.last?.unknownFields } == [[0x78, 1], [0x78, 2]])
  }

  @Test func headersOfManyInputsAreOne() throws {
    func input(_ header: ExportHeader) throws -> SourceDocument {
      memory(try Document(header: header, keys: [key(1, risk: 1)]).csv())
    }
    let merged = try Converted(
      to: .gaenExport,
      input(ExportHeader(startTimestamp: 100, endTimestamp: 200, region: "DE", batchNum: 2, batchSize: 7)),
      input(ExportHeader(startTimestamp: 50, endTimestamp: 150, region: "DE")))
    #expect(
      try read(merged.source).header
        == ExportHeader(startTimestamp: 50, endTimestamp: 200, region: "DE", batchNum: 1, batchSize: 1))
    #expect(merged.receipt.losses.contains("a document was batch 2 of 7; the result says 1 of 1"))
    let mixed = try Converted(to: .gaenExport, input(ExportHeader(region: "DE")), input(ExportHeader(region: "IT")))
    #expect(try read(mixed.source).header.region == nil)
    #expect(mixed.receipt.losses.contains { $0.contains("different regions (DE, IT)") })
  }

  /// Streams take the keys of all inputs in turn, and the tables of one do not leak into those of another.
  @Test(arguments: [KeyFormat.csv, .json, .efgsProtobuf, .efgsJSON])
  func manyInputsIntoAStream(format: KeyFormat) throws {
    var random = SeededRandom(for: "manyInputsIntoAStream")
    // One of them is longer than a chunk.
    let documents = [2100, 1, 0, 300].map { count in
      RandomKeys(.plausible, statesRegions: true).document(count, using: &random)
    }
    let merged = try Converted(ConversionPlan(to: format), documents.map { memory(try $0.csv()) })
    let expected = documents.map { ConversionModel($0.content, to: format, defaults: FieldDefaults()).keys }
      .reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
    #expect(try read(merged.source(format: format)).content.unordered == expected)
    #expect(merged.receipt.documents.count == 4 && merged.receipt.received == 2401)
  }

  // MARK: Trust and limits

  private func signer(_ id: String) throws -> SigningIdentity {
    try SigningIdentity(key: .generate(), keyID: id, keyVersion: "v1")
  }

  @Test func onlyTrustedInputsGoIn() throws {
    var random = SeededRandom(for: "onlyTrustedInputsGoIn")
    let (ours, foreign) = (try signer("310"), try signer("310"))
    let csv = memory(try Self.random(.plausible, 50, &random).csv())
    func bundle(_ signers: [SigningIdentity]) throws -> SourceDocument {
      var plan = ConversionPlan(to: .gaenExport)
      plan.signers = signers
      return try Converted(plan, [csv]).source
    }
    let plan = ConversionPlan(to: .csv)
    let now = Instant(secondsSince1970: 1_600_000_000)
    let vouching = Vouching.ring(TrustRing(keys: [ours.verificationKey]), at: now)
    let good = try bundle([ours])
    #expect(try Converted(plan, [good], vouching: vouching).receipt.written > 0)
    for (bad, comment) in [(try bundle([foreign]), "foreign"), (try bundle([]), "unsigned"), (csv, "no signatures")] {
      let sink = MemorySink()
      #expect(throws: DocumentRefusal.self, "\(comment)") {
        try Conversion.run(
          plan, from: [good, bad].map { Arrival($0, vouching: vouching, at: now) },
          to: ConversionOutput(document: sink))
      }
      #expect(sink.bytes.isEmpty, "\(comment): nothing is written before all inputs are verified")
    }
  }

  @Test(arguments: KeyFormat.written)
  func limitsAreRespected(format: KeyFormat) throws {
    var random = SeededRandom(for: "limitsAreRespected")
    let document = Self.random(.plausible, 600, &random)
    let bytes = try Converted(to: format, defaults: Self.defaults, memory(document.csv())).bytes
    var limits = ReadLimits()
    limits.documentBytes = 10_000
    let source = SourceDocument(name: "big", source: MemorySource(bytes), format: format, limits: limits)
    let error = #expect(throws: FormatError.self) { try Converted(ConversionPlan(to: .csv), [source]) }
    #expect(error?.code == .limitExceeded)
    #expect(error?.description.hasPrefix("big: ") == true)
  }

  /// The unsigned spelling of EFGS and codable JSON, and the highest number that an export can hold.
  @Test func extremesOfRollingStart() throws {
    var keys: [ClaimedKey] = []
    for start in [0, .max, -1, .min] as [Int32] {
      var next = key(UInt64(keys.count), risk: 1)
      next.rollingStart = start
      keys.append(next)
    }
    let source = memory(try Document(keys: keys).csv())
    let codable = try Converted(to: .codableJSON, source)
    #expect(try read(codable.source).keys.map(\.rollingStart) == [0, .max, -1, .min])
    let export = try Converted(to: .gaenExport, source)
    #expect(try read(export.source).keys.map(\.rollingStart) == [0, .max])
    #expect(export.receipt.documents[0].rejectionCounts == [.valueNotAllowed: 2])
    #expect(export.receipt.documents[0].rejections.map(\.position.index) == [2, 3])
  }
}
