import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyIntake
import Testing

/// `interop/vectors/federation`: keys, and what a signature over them covers.
@Suite struct FederationVectorTests {
  static let names = (try? Vector.all().map(\.name).filter { $0.hasPrefix("federation/") }) ?? []

  @Test func allOfThemAreThere() { #expect(Self.names.count >= 6) }

  @Test(arguments: names)
  func canonicalBytesAreThose(name: String) throws {
    var document = DecodedDocument()
    var rows: [String] = []
    var canonical = ""
    for line in String(decoding: try Vector(name: name).bytes, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 8).map(String.init)
      switch words[0] {
      case "key": try document.add(words)
      case "row": rows.append(words[1])
      case "canonical": canonical = "\(words[1]) \(words[2])"
      default: Issue.record("an unknown line: \(line)")
      }
    }
    let (batch, ambiguities) = CanonicalBatch.received(document.keys, regions: document.regions)
    #expect("\(batch.digest) \(batch.canonical.count)" == canonical)
    #expect(batch.firstRows == Array(rows.prefix(3)))
    let all = document.keys.withUnsafeBufferPointer { CanonicalBatch.readRows(of: $0, regions: document.regions) }
    #expect((0..<all.count).map { FederationDigest.hexadecimal(all[$0]) } == rows)
    #expect(batch.origins == document.keys.map { document.regions[$0.regions].origin ?? "" })
    let reasons = Set(ambiguities.map(\.reason))
    #expect(reasons == (name == "federation/ambiguous" ? Set(CanonicalBatch.Ambiguity.Reason.allCases) : []))
    guard reasons.isEmpty else {
      #expect(throws: FormatError.self) { try CanonicalBatch.signed(document.keys, regions: document.regions) }
      return
    }
    #expect(try CanonicalBatch.signed(document.keys, regions: document.regions) == batch)
  }
}

extension DecodedDocument {
  /// `key DATA START PERIOD RISK ORIGIN TYPE DAYS VISITED`.
  fileprivate mutating func add(_ words: [String]) throws {
    let data = stride(from: 0, to: 32, by: 2).compactMap { UInt8(words[1].dropFirst($0).prefix(2), radix: 16) }
    var key = ClaimedKey(key: try #require(TemporaryExposureKey(data)))
    let numbers = words.map { Int32($0) }
    try #require([2, 3, 4, 6, 7].allSatisfy { numbers[$0] != nil })
    (key.rollingStart, key.rollingPeriod, key.transmissionRisk) = (numbers[2], numbers[3], numbers[4])
    (key.reportType, key.daysSinceOnset) = (numbers[6], numbers[7])
    let visited = try JSONDecoder().decode([String].self, from: Data(words[8].utf8))
    let interned = regions.intern(RegionClaim(origin: words[5], visited: visited))
    key.regions = try #require(interned)
    keys.append(key)
  }
}
