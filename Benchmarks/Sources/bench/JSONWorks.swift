import Foundation
import GatewayTesting
import KeyFormats

/// Arrays of `CodableDiagnosisKey`.
let jsonWorks = [
  Preparation("CodableDiagnosisKey JSON, read") { count in
    let bytes = try JSONEncoder().encode(sampleKeys(count))
    let document = [UInt8](bytes)
    return [
      .ours { try decode(JSONKeyDecoder(InputWindow(MemorySource(document)), dialect: .codable)) },
      .yardstick("Foundation JSONDecoder", reach: 120) {
        let keys = try JSONDecoder().decode([CodableDiagnosisKey].self, from: bytes)
        blackHole(keys)
        return keys.count
      },
      try .peer("simdjson, on demand", .simdjson, reach: 3, input: document),
    ]
  },
  Preparation("CodableDiagnosisKey JSON, write") { count in
    let keys = sampleKeys(count)
    let bytes = [UInt8](try JSONEncoder().encode(keys))
    let document = try DecodedDocument(
      decoding: JSONKeyDecoder(InputWindow(MemorySource(bytes)), dialect: .codable))
    return [
      .ours { try encode(document, with: CodableJSONEncoder(OutputBuffer(DiscardingSink()))) },
      .yardstick("Foundation JSONEncoder", reach: 100) {
        let bytes = try JSONEncoder().encode(keys)
        blackHole(bytes)
        return keys.count
      },
      try .peer("orjson, of base64 that is made", .orjson, reach: 6, input: bytes),
    ]
  },
]

/// The members and their types as Apple's sample app declares them.
private struct CodableDiagnosisKey: Codable {
  var keyData: Data
  var rollingPeriod: UInt32
  var rollingStartNumber: UInt32
  var transmissionRiskLevel: UInt8
}

private func sampleKeys(_ count: Int) -> [CodableDiagnosisKey] {
  var random = SeededRandom(seed: 3)
  return (0..<count).map { index in
    CodableDiagnosisKey(
      keyData: Data(random.bytes(16)), rollingPeriod: 144, rollingStartNumber: 2_678_000 + 144 * UInt32(index % 14),
      transmissionRiskLevel: UInt8(index % 8))
  }
}
