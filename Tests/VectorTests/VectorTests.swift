import BundleTrust
import ExposureKeys
import GatewayTesting
import KeyConversion
import KeyFormats
import KeyInspection
import KeyIntake
import KeyPublishing
import Testing

/// Every vector of interop/vectors that is a document runs through decode, inspect, convert and re-encode.
@Suite struct VectorTests {
  static let vectors: [Vector] = ((try? Vector.all()) ?? []).filter { $0["format"] != "none" }

  @Test func thereAreVectorsOfEveryReadableKind() throws {
    let folders = Set(Self.vectors.map { $0.name.split(separator: "/").first.map(String.init) ?? "" })
    let expected = Set(KeyFormat.allCases.map(\.rawValue))
    #expect(expected.subtracting(folders) == [], "formats without a vector")
  }

  @Test(arguments: vectors)
  func decodes(_ vector: Vector) throws {
    let format = try #require(vector.format, "\(vector.name): no such format")
    try judge(vector, Outcome { try Reading(vector, format: format) }, try vector.expectation(), format)
  }

  /// Without being told the format. `detected` says what is found where it is not the vector's own.
  @Test(arguments: vectors)
  func isRecognised(_ vector: Vector) throws {
    let outcome = Outcome { try Reading(vector, format: nil) }
    guard let detected = vector["detected"] else {
      return try judge(vector, outcome, try vector.expectation(), try #require(vector.format))
    }
    switch outcome {
    case .read(let reading): #expect(reading.format.rawValue == detected, "\(vector.name)")
    case .refused(let error): #expect("refused:\(error.code.rawValue)" == detected, "\(vector.name): \(error)")
    }
  }

  private func judge(_ vector: Vector, _ outcome: Outcome, _ expected: Vector.Expectation, _ format: KeyFormat) throws {
    switch (expected, outcome) {
    case (.refused(let code), .refused(let error)):
      #expect(error.code.rawValue == code, "\(vector.name): \(error)")
    case (.accepted, .read(let reading)):
      #expect(reading.rejections.isEmpty, "\(vector.name)")
      try reading.check(vector, format)
    case (.rejectedKeys, .read(let reading)):
      #expect(!reading.rejections.isEmpty, "\(vector.name)")
      try reading.check(vector, format)
    case (_, .refused(let error)): Issue.record("\(vector.name): expected \(expected), refused: \(error)")
    case (_, .read): Issue.record("\(vector.name): expected \(expected), but it was read")
    }
  }

  @Test(arguments: vectors)
  func inspects(_ vector: Vector) throws {
    guard case .read(let reading) = Outcome({ try Reading(vector, format: vector.format) }) else { return }
    let document = try KeyDocument(MemorySource(vector.bytes), format: vector.format)
    var inspector = Inspector()
    let report = try inspector.inspect(document, name: vector.name)
    #expect(report.keys.total == reading.keys.count, "\(vector.name)")
    #expect(report.keys.rejected == reading.rejections.count, "\(vector.name)")
  }

  /// What a vector says must survive the two lossless formats, and come back as the same keys.
  @Test(arguments: vectors)
  func convertsWithoutLoss(_ vector: Vector) throws {
    guard case .read(let reading) = Outcome({ try Reading(vector, format: vector.format) }) else { return }
    for target in [KeyFormat.json, .csv] {
      let sink = MemorySink()
      let source = SourceDocument(name: vector.name, source: MemorySource(vector.bytes), format: vector.format)
      let arrival = Arrival(source, vouching: .operator, at: Instant(secondsSince1970: 1_600_000_000))
      let receipt = try Conversion.run(
        ConversionPlan(to: target), from: [arrival], to: ConversionOutput(document: sink))
      #expect(receipt.losses == [], "\(vector.name) to \(target)")
      #expect(receipt.received == receipt.written + receipt.rejected, "\(vector.name) to \(target)")
      let back = try Reading(sink.bytes, format: target)
      #expect(back.claims == reading.claims.sorted(revisedLast: target == .json), "\(vector.name) to \(target)")
    }
  }

  @Test(arguments: vectors.filter { $0["canonical"] == "yes" })
  func canonicalBytesComeBack(_ vector: Vector) throws {
    let format = try #require(vector.format)
    let reading = try Reading(vector, format: format)
    let sink = MemorySink()
    let output = OutputBuffer(sink)
    let encoder = try FormatCatalog.encoder(for: format, output)
    try encoder.begin(reading.header)
    try reading.keys.withUnsafeBufferPointer {
      try encoder.encode($0, regions: reading.regions, unknownFields: reading.unknownFields)
    }
    try encoder.finish(reading.header)
    #expect(sink.bytes == vector.bytes, "\(vector.name)")
  }
}

extension Vector: CustomTestStringConvertible {
  public var testDescription: String { name }

  var format: KeyFormat? {
    KeyFormat(rawValue: self["format"] ?? name.split(separator: "/").first.map(String.init) ?? "")
  }
}

private enum Outcome {
  case read(Reading)
  case refused(FormatError)

  init(_ body: () throws -> Reading) {
    do {
      self = .read(try body())
    } catch let error as FormatError {
      self = .refused(error)
    } catch {
      self = .refused(FormatError(.malformed, "an error of another kind: \(error)"))
    }
  }
}

/// A document read to its end.
private struct Reading {
  var header = ExportHeader()
  var keys: [ClaimedKey] = []
  var rejections: [Rejection] = []
  var regions = RegionTable()
  var unknownFields = UnknownFieldTable()
  var notes: [String] = []
  var format: KeyFormat

  init(_ vector: Vector, format: KeyFormat?) throws { try self.init(vector.bytes, format: format) }

  init(_ bytes: [UInt8], format: KeyFormat?) throws {
    let document = try KeyDocument(MemorySource(bytes), format: format)
    self.format = document.format
    var chunk = KeyChunk(capacity: 3)
    while try document.decoder.decode(into: &chunk) {
      for index in 0..<chunk.keys.count {
        var key = chunk.keys[index]
        if key.unknownFields != 0 { key.unknownFields = unknownFields.append(chunk.unknownFields[key.unknownFields]) }
        keys.append(key)
      }
      rejections += chunk.rejections
      chunk.advance()
    }
    self.format = document.format
    header = document.decoder.header
    regions = document.decoder.regions
    notes = Set(document.decoder.notes.sorted.map(\.note.code)).sorted()
  }

  /// Compares everything that the vector states.
  func check(_ vector: Vector, _ expected: KeyFormat) throws {
    #expect(format == expected, "\(vector.name): read as \(format.rawValue)")
    if let count = try vector.number("keys") { #expect(keys.count == count, "\(vector.name)") }
    if let count = try vector.number("revised") { #expect(keys.count(where: \.isRevised) == count, "\(vector.name)") }
    if let reasons = vector["rejected"] {
      #expect(rejections.map(\.reason.rawValue).joined(separator: " ") == reasons, "\(vector.name)")
    }
    if let codes = vector["notes"] { #expect(notes.joined(separator: " ") == codes, "\(vector.name)") }
    if let digest = vector["sha256"] {
      #expect(ExportDigests(of: vector.bytes, includingBody: false).hexadecimal == digest, "\(vector.name)")
    }
  }

  /// The keys with their tables resolved, so that two documents can be compared.
  var claims: [ResolvedClaim] {
    keys.map { key in
      var bare = key
      bare.regions = .none
      bare.unknownFields = 0
      return ResolvedClaim(
        key: bare, regions: regions[key.regions], unknownFields: Array(unknownFields[key.unknownFields]))
    }
  }
}

private struct ResolvedClaim: Equatable, CustomStringConvertible {
  var key: ClaimedKey
  var regions: RegionClaim
  var unknownFields: [UInt8]
  var description: String {
    "start \(key.rollingStartWord) period \(key.rollingPeriodWord) risk \(key.transmissionRiskWord) type "
      + "\(key.reportTypeWord) onset \(key.daysSinceOnsetWord) fields \(key.fields.rawValue) \(regions) \(unknownFields)"
  }
}

extension [ResolvedClaim] {
  /// The document format keeps two lists, so revised keys come behind the others.
  fileprivate func sorted(revisedLast: Bool) -> [ResolvedClaim] {
    revisedLast ? filter { !$0.key.isRevised } + filter(\.key.isRevised) : self
  }
}
