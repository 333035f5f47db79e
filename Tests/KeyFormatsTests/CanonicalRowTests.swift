import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

/// The canonical bytes beside an independent canonicaliser, and what makes them ambiguous.
@Suite struct CanonicalRowTests {
  private static let python = Tool(named: "python3")

  private func received(_ document: DecodedDocument) -> SignedRows {
    document.keys.withUnsafeBufferPointer { CanonicalBatch.readRows(of: $0, regions: document.regions) }
  }

  /// One line of JSON, as `interop/federation/canonical.py` reads it.
  private func line(_ document: DecodedDocument) throws -> String {
    let keys: [[Any]] = document.keys.map { key in
      let claim = document.regions[key.regions]
      return [
        key.key.hex, key.rollingStart ?? 0, key.rollingPeriod ?? 0, key.transmissionRisk ?? .max, claim.visited ?? [],
        claim.origin ?? "", key.reportType ?? 0, key.daysSinceOnset ?? 0,
      ]
    }
    return String(decoding: try JSONSerialization.data(withJSONObject: keys), as: UTF8.self)
  }

  /// Wild numbers and regions; few or many distinct keys, so that rows agree for a while, or altogether.
  private func batches() -> [DecodedDocument] {
    var random = SeededRandom(seed: 15)
    let names = ["DE", "IT", "", "Ö", "DE,IT", "\u{1F1EA}", "fr", "?"]
    return [0, 1, 2, 3, 10, 100, 1000, 3000].flatMap { count in
      [2, 40, Int.max].map { distinct in
        var document = DecodedDocument()
        for _ in 0..<count {
          let number = UInt64.random(in: 0..<UInt64(distinct), using: &random)
          var key = ClaimedKey(
            key: distinct == .max
              ? TemporaryExposureKey(high: random.next(), low: random.next())
              : TemporaryExposureKey(high: 0, low: number))
          for field in [\ClaimedKey.rollingStart, \.rollingPeriod, \.transmissionRisk, \.reportType, \.daysSinceOnset]
          where !random.once(in: 4) {
            key[keyPath: field] =
              random.once(in: 2) ? .random(in: 0...1, using: &random) : .random(in: .min ... .max, using: &random)
          }
          let visited = (0..<Int.random(in: 0...3, using: &random)).map { _ in names.randomElement(using: &random) ?? ""
          }
          let claim = RegionClaim(origin: names.randomElement(using: &random), visited: visited)
          key.regions = document.regions.intern(claim) ?? .none
          document.keys.append(key)
        }
        return document
      }
    }
  }

  @Test(.enabled(if: Tool(named: "python3") != nil, "python3 is not installed"))
  func anIndependentCanonicaliserAgrees() throws {
    let python = try #require(Self.python)
    let batches = self.batches()
    let script = PackageFolder.root.appending(path: "interop/federation/canonical.py").path()
    let input = try batches.map { try line($0) + "\n" }.joined()
    let lines = try python.run([script], input: Array(input.utf8)).text.split(separator: "\n")
    try #require(lines.count == batches.count)
    for (document, line) in zip(batches, lines) {
      let rows = received(document)
      #expect("\(sha256(rows.bytes)) \(rows.bytes.count)" == line, "\(document.keys.count) keys")
    }
  }

  private func sha256(_ bytes: [UInt8]) -> String {
    let digest = try? Tool(named: "sha256sum")?.run(["-"], input: bytes).text.prefix(64)
    return String(digest ?? "")
  }

  /// By the definition: each row alone, sorted by its base64.
  @Test func rowsAreSortedByTheirBase64() throws {
    for document in batches() {
      let rows = received(document)
      #expect(rows.count == document.keys.count)
      #expect(rows.order.sorted() == Array(document.keys.indices))
      let texts = document.keys.map { key in
        Array([key].withUnsafeBufferPointer { CanonicalBatch.readRows(of: $0, regions: document.regions) }.bytes)
      }
      let expected = texts.sorted { Base64.encode($0).utf8.lexicographicallyPrecedes(Base64.encode($1).utf8) }
      #expect(rows.bytes == expected.flatMap(\.self))
      #expect((0..<rows.count).allSatisfy { Array(rows[$0]) == expected[$0] })
      #expect((0..<rows.count).allSatisfy { Array(rows[$0]) == texts[rows.order[$0]] })
    }
  }

  @Test(
    arguments: [
      (RegionClaim(origin: "DE", visited: ["DE,IT"]), .comma, 0),
      (RegionClaim(origin: "DE", visited: ["IT", "Ö"]), .notASCII, 1),
      (RegionClaim(origin: "DE", visited: [""]), .empty, 0),
      (RegionClaim(origin: "DE", visited: ["IT", ""]), .empty, 1),
      (RegionClaim(origin: "Ö", visited: []), .notASCII, nil),
    ] as [(RegionClaim, CanonicalBatch.Ambiguity.Reason, Int?)])
  func ambiguousRegionsAreToldAndNotSigned(
    claim: RegionClaim, reason: CanonicalBatch.Ambiguity.Reason, visited: Int?
  ) throws {
    var document = DecodedDocument()
    for claim in [RegionClaim(origin: "DE", visited: ["DE", "IT"]), claim, claim] {
      var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: 2))
      key.regions = document.regions.intern(claim) ?? .none
      document.keys.append(key)
    }
    let found = received(document).ambiguities
    #expect(found.map(\.reason) == [reason] && found.map(\.key) == [1] && found.map(\.visited) == [visited])
    let error = #expect(throws: FormatError.self) {
      try document.keys.withUnsafeBufferPointer { try CanonicalBatch.rows(of: $0, regions: document.regions) }
    }
    #expect(error?.code == .cannotExpress && error?.description.contains("key 1") == true)
  }
}
