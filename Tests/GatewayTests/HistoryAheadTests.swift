import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyInspection
import Testing

@Suite struct HistoryAheadTests {
  /// Documents that share keys, some of which cannot be read to their end, and how many there are of each.
  private static func documents(_ seed: UInt64) -> [(bundle: SampleBundle, isLeftOut: Bool)] {
    var random = SeededGenerator(state: seed)
    return (0..<12).map { number in
      var bundle = SampleBundle()
      bundle.header.region = ["DE", "NL", "IE"].randomElement(using: &random)
      bundle.header.startTimestamp = windowEnd + UInt64(number) * 3600 - 3600
      bundle.header.endTimestamp = windowEnd + UInt64(number) * 3600
      bundle.keys = (0..<Int.random(in: 1...400, using: &random)).map { _ in
        var key = SampleBundle.key(.random(in: 0..<900, using: &random))
        key.rollingStart =
          Int.random(in: 0..<20, using: &random) == 0 ? nil : midnight - 144 * .random(in: 0..<4, using: &random)
        key.transmissionRisk = .random(in: 0...7, using: &random)
        key.daysSinceOnset = Bool.random(using: &random) ? nil : .random(in: -20...20, using: &random)
        return key
      }
      return (bundle, Int.random(in: 0..<4, using: &random) == 0)
    }
  }

  private static func report(
    _ documents: [(bundle: SampleBundle, isLeftOut: Bool)], _ distinctShapes: Int, isAhead: (Int) -> Bool
  ) throws -> String {
    var collector = HistoryCollector(keysInMemory: 500, distinctShapes: distinctShapes)
    for (number, (bundle, isLeftOut)) in documents.enumerated() {
      let bytes = try bundle.zip()
      let document = try KeyDocument(MemorySource(bytes))
      var ahead = HistoryCollector.ObservedDocument(limit: 400)
      let examined = try Inspector().examine(document, name: "\(number).zip", fileSize: bytes.count) { chunk, _ in
        if isAhead(number) { ahead.observe(chunk) } else { collector.observe(chunk) }
      }
      #expect(!ahead.isTooLarge)
      if isAhead(number) { collector.observe(ahead) }
      if isLeftOut { collector.leaveOut() } else { collector.add(examined.report, byteCount: bytes.count) }
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(collector.report()), as: UTF8.self)
  }

  /// Also where there are more shapes than can be told apart.
  @Test(arguments: [3, 40, 1 << 20]) func aDocumentThatIsObservedElsewhereIsTheSame(distinctShapes: Int) throws {
    for seed in 1...5 as ClosedRange<UInt64> {
      let documents = Self.documents(seed)
      let plain = try Self.report(documents, distinctShapes) { _ in false }
      #expect(try Self.report(documents, distinctShapes) { _ in true } == plain)
      #expect(try Self.report(documents, distinctShapes) { $0 % 2 == 0 } == plain)
    }
  }

  @Test func aLargeDocumentIsNotKept() throws {
    var bundle = SampleBundle()
    bundle.keys = (0..<10).map(SampleBundle.key)
    var ahead = HistoryCollector.ObservedDocument(limit: 9)
    _ = try Inspector().examine(try KeyDocument(MemorySource(try bundle.zip())), name: "large.zip") { chunk, _ in
      ahead.observe(chunk)
    }
    #expect(ahead.isTooLarge)
  }
}
