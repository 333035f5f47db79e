import ExposureKeys
import Foundation
import KeyFormats

/// A document read to its end.
struct ReadDocument: Equatable {
  var keys: [ClaimedKey] = []
  /// Unknown fields by key, for those that have some.
  var unknownFields: [Int: [UInt8]] = [:]
  var rejections: [Rejection] = []
  var header = ExportHeader()
  var claims: [RegionClaim] = []
  var notes = ReadingNotes()
  var dialect: JSONDialect?
  var wrapper: JSONWrapper?
  var request = PublishEnvelope()

  /// The keys with their regions spelled out, so that documents with different tables compare.
  var regionClaims: [RegionClaim] { keys.map { claims[Int($0.regions.rawValue)] } }
}

/// Gives its bytes in pieces of one size.
final class DrippingSource: ByteSource {
  private let source: MemorySource
  private let step: Int

  init(_ bytes: [UInt8], step: Int) {
    source = MemorySource(bytes)
    self.step = step
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    source.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(step, buffer.count)]))
  }
}

func readJSON(
  _ bytes: [UInt8], dialect: JSONDialect? = nil, limits: ReadLimits = ReadLimits(), window: Int = 128 << 10,
  chunk capacity: Int = 2048, step: Int = .max
) throws -> ReadDocument {
  let window = InputWindow(DrippingSource(bytes, step: step), limits: limits, capacity: window)
  let decoder = JSONKeyDecoder(window, limits: limits, dialect: dialect)
  var document = ReadDocument()
  var chunk = KeyChunk(capacity: capacity)
  while try decoder.decode(into: &chunk) {
    chunk.keys.withKeys { keys in
      for var key in keys {
        if key.unknownFields != 0 {
          document.unknownFields[document.keys.count] = Array(chunk.unknownFields[key.unknownFields])
          key.unknownFields = 0
        }
        document.keys.append(key)
      }
    }
    document.rejections += chunk.rejections
    chunk.advance()
  }
  document.header = decoder.header
  document.claims = decoder.regions.claims
  document.notes = decoder.notes
  document.dialect = decoder.dialect
  document.wrapper = decoder.wrapper
  document.request = decoder.publishEnvelope
  return document
}

func readJSON(_ text: String, dialect: JSONDialect? = nil, limits: ReadLimits = ReadLimits()) throws -> ReadDocument {
  try readJSON(Array(text.utf8), dialect: dialect, limits: limits)
}

func written(
  _ keys: [ClaimedKey], header: ExportHeader = ExportHeader(), finish: ExportHeader? = nil,
  regions: RegionTable = RegionTable(), unknownFields: UnknownFieldTable = UnknownFieldTable(), parts: Int = 1,
  by encoder: (OutputBuffer) -> any KeyEncoder
) throws -> [UInt8] {
  let sink = MemorySink()
  let encoder = encoder(OutputBuffer(sink, capacity: 4096))
  try encoder.begin(header)
  let size = max(1, (keys.count + parts - 1) / parts)
  for start in stride(from: 0, to: keys.count, by: size) {
    try Array(keys[start..<min(start + size, keys.count)]).withUnsafeBufferPointer {
      try encoder.encode($0, regions: regions, unknownFields: unknownFields)
    }
  }
  try encoder.finish(finish ?? header)
  return sink.bytes
}

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// A repeatable source of random numbers (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }
}

extension ClaimedKey {
  /// A key with these fields at most; each is stated or absent by chance, its value ordinary or extreme by chance.
  static func random(
    _ generator: inout SeededGenerator, fields: KeyFields = .numbers, required: KeyFields = [], wild: Bool = true
  ) -> ClaimedKey {
    func number(_ range: ClosedRange<Int32>) -> Int32 {
      guard wild, UInt8.random(in: 0..<8, using: &generator) == 0 else { return .random(in: range, using: &generator) }
      return [Int32.min, -1, 0, 1, 12_345_678, 123_456_789, .max].randomElement(using: &generator) ?? 0
    }
    func isStated(_ field: KeyFields) -> Bool {
      required.contains(field) || fields.contains(field) && Bool.random(using: &generator)
    }
    var key = ClaimedKey(key: TemporaryExposureKey(high: generator.next(), low: generator.next()))
    if isStated(.rollingStart) { key.rollingStart = number(2_600_000...2_700_000) }
    if isStated(.rollingPeriod) { key.rollingPeriod = number(1...144) }
    if isStated(.transmissionRisk) { key.transmissionRisk = number(0...8) }
    if isStated(.reportType) { key.reportType = number(0...5) }
    if isStated(.daysSinceOnset) { key.daysSinceOnset = number(-14...14) }
    return key
  }

  static func randoms(
    _ count: Int, seed: UInt64, fields: KeyFields = .numbers, required: KeyFields = [], wild: Bool = true
  ) -> [ClaimedKey] {
    var generator = SeededGenerator(seed)
    return (0..<count).map { _ in random(&generator, fields: fields, required: required, wild: wild) }
  }
}
