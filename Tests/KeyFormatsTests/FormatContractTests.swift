import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

/// What every format of the catalogue promises.
@Suite struct FormatContractTests {
  private static let written = KeyFormat.allCases.filter(\.definition.isWritten)
  /// Of formats that require what keys may not state.
  private static let defaults = FieldDefaults(daysSinceOnset: 0, origin: "DE")

  /// The names are what `--from` and `--to` take, and their order is that of `keyferry formats`.
  @Test func namesStay() {
    let names = [
      "gaen-export", "gaen-beta", "codable-json", "publish-json", "efgs-protobuf", "efgs-json", "csv", "json",
      "cwa-submission", "protobuf-text", "parser-text", "parser-json", "sample-days",
      "interoperability-json", "immuni-json", "analyzer-text", "encoded-export", "sql-dump", "property-list", "bson",
    ]
    #expect(KeyFormat.allCases.map(\.rawValue).starts(with: names))
    for format in KeyFormat.allCases { #expect(KeyFormat(rawValue: format.rawValue) == format) }
    #expect(Set(KeyFormat.allCases).count == KeyFormat.allCases.count)
    #expect(KeyFormat(rawValue: "CSV") == nil && KeyFormat(rawValue: "") == nil)
  }

  /// A definition whose line was forgotten would be read by nobody.
  @Test func everyDefinitionIsInTheCatalogue() throws {
    let folder = PackageFolder.root.appending(path: "Sources/KeyFormats")
    let files = FileManager.default.enumerator(atPath: folder.path())?.compactMap { $0 as? String } ?? []
    var names: Set<String> = []
    for file in files where file.hasSuffix(".swift") {
      let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
      for match in text.matches(of: /KeyFormatDefinition\(\s*name: "([^"]*)"/) { names.insert(String(match.1)) }
    }
    #expect(names == Set(KeyFormat.allCases.map(\.rawValue)))
  }

  /// decode(encode(x)) = x, for every x that fits.
  @Test(arguments: written, 0..<4 as Range<UInt64>)
  func whatIsWrittenIsReadBack(format: KeyFormat, seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let keys = RandomKeys(seed.isMultiple(of: 2) ? .wild : .plausible, statesRegions: true, hasUnknownFields: true)
    var document = keys.document(300, using: &random)
    document.shareRegions(for: format)
    _ = try document.fit(to: format, defaults: Self.defaults)
    document.rejections = []
    let capabilities = try #require(format.definition.capabilities)
    if !capabilities.carriesHeader {
      document.header = ExportHeader(
        unknownFields: capabilities.carriesUnknownFields ? document.header.unknownFields : [])
    }
    #expect(document.keys.count > 10)
    let bytes = try document.bytes(as: format)
    let back = try DecodedDocument(bytes, format: format)
    // What proto3 cannot tell from nothing is nothing.
    #expect(back.withoutEmptyRegions.content == document.withoutEmptyRegions.content)
    #expect(try back.bytes(as: format) == bytes)
  }

  /// Nobody has to say what a document of ours is.
  @Test(arguments: written)
  func whatIsWrittenIsRecognised(format: KeyFormat) throws {
    var random = SeededRandom(seed: 5)
    var document = RandomKeys(.plausible, statesRegions: true).document(5, using: &random)
    document.shareRegions(for: format)
    _ = try document.fit(to: format, defaults: Self.defaults)
    let read = try KeyDocument(MemorySource(document.bytes(as: format)))
    #expect(try DecodedDocument(decoding: read.decoder).keys.count == 5)
    #expect(read.format == format)
  }

  @Test(arguments: written)
  func noKeysAreADocument(format: KeyFormat) throws {
    #expect(try DecodedDocument(DecodedDocument().bytes(as: format), format: format).keys.isEmpty)
  }

  /// Where a record is cut makes no difference.
  @Test(arguments: KeyFormat.allCases)
  func singleBytesAreEnough(format: KeyFormat) throws {
    let vectors = try Vector.all(format.rawValue).filter { $0["format"] == nil && $0.bytes.count < 1 << 16 }
    #expect(!vectors.isEmpty)
    for vector in vectors {
      #expect(reading(vector, format, step: 1, window: 16) == reading(vector, format, step: .max, window: 1 << 17))
    }
  }

  private func reading(_ vector: Vector, _ format: KeyFormat, step: Int, window: Int) -> [String] {
    do {
      let window = InputWindow(RowTricklingSource(vector.bytes, step: step), capacity: window)
      let document = try RowDocument(FormatCatalog.decoder(for: format, window), chunkCapacity: step == 1 ? 1 : 100)
      return ["\(document.keys)", "\(document.rejections)", "\(document.header)", "\(document.noteCodes)"]
    } catch {
      return [(error as? FormatError)?.code.rawValue ?? "\(error)"]
    }
  }
}

extension DecodedDocument {
  /// Where a format says regions once for all keys, all have the same.
  fileprivate mutating func shareRegions(for format: KeyFormat) {
    guard format.definition.capabilities?.statesRegionsOnce == true else { return }
    let shared = regions.intern(RegionClaim(origin: "DE", visited: ["DE", "FR", "IT"])) ?? .none
    for index in keys.indices { keys[index].regions = shared }
  }

  fileprivate var withoutEmptyRegions: DecodedDocument {
    var document = self
    document.regions = RegionTable()
    for index in document.keys.indices {
      var claim = regions[keys[index].regions]
      if claim.visited?.isEmpty == true { claim.visited = nil }
      document.keys[index].regions = document.regions.intern(claim) ?? .none
    }
    return document
  }
}
