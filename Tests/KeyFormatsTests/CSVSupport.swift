import ExposureKeys
import Foundation
import KeyFormats
import Testing

/// A document read to its end, with the tables' numbers replaced by what they stand for.
struct RowDocument: Equatable {
  struct Key: Equatable {
    var key: ClaimedKey
    var regions: RegionClaim
    var unknownFields: [UInt8]
  }
  var header = ExportHeader()
  var keys: [Key] = []
  var rejections: [Rejection] = []
  var notes = ReadingNotes()

  init() {}

  init(_ decoder: any KeyDecoder, chunkCapacity: Int = 7) throws {
    var chunk = KeyChunk(capacity: chunkCapacity)
    while try decoder.decode(into: &chunk) {
      let regions = decoder.regions
      let unknownFields = chunk.unknownFields
      chunk.keys.withKeys { claimed in
        for claim in claimed {
          var key = claim
          key.regions = .none
          key.unknownFields = 0
          keys.append(
            Key(key: key, regions: regions[claim.regions], unknownFields: Array(unknownFields[claim.unknownFields])))
        }
      }
      rejections += chunk.rejections
      chunk.advance()
    }
    header = decoder.header
    notes = decoder.notes
    #expect(chunk.nextIndex == keys.count + rejections.count)
  }

  var noteCodes: [String] { notes.sorted.map { "\($0.note.code) \($0.note.subject) \($0.count)" } }
}

/// Hands out a few bytes at a time.
final class RowTricklingSource: ByteSource {
  private let source: MemorySource
  private let step: Int

  init(_ bytes: [UInt8], step: Int) {
    source = MemorySource(bytes)
    self.step = step
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    source.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(step, buffer.count)]))
  }
}

/// Repeatable random numbers (xorshift), so that a failure can be seen again.
struct RowGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state &* 0x2545_F491_4F6C_DD1D
  }
}

/// Claims with every combination of presence, extreme words, odd regions and unknown fields.
struct RowClaims {
  var generator: RowGenerator
  var keys: [ClaimedKey] = []
  var regions = RegionTable()
  var unknownFields = UnknownFieldTable()

  static let words: [Int32] = [
    0, 1, 9, 10, 99, 100, 144, 145, 999, 2_654_064, 9_999_999, 10_000_000, 99_999_999, 100_000_000, .max, .min, -1, -14,
    -2000,
  ]
  static let strings = [
    "", "DE", "de", "A,B", "say \"hi\"", "a b", "a|b", " ", "\\", "\\e", "\\x20", "x\ny", "x\r\ny", "\t", "Österreich",
    "#1", "  ends  ", "\"", ";", "\u{0}", String(repeating: "long", count: 40),
  ]

  init(count: Int, seed: UInt64, odd: Bool = true) throws {
    generator = RowGenerator(seed: seed)
    for _ in 0..<count { keys.append(try key(odd: odd)) }
  }

  private mutating func word() -> Int32 {
    Bool.random(using: &generator)
      ? Self.words[Int.random(in: 0..<Self.words.count, using: &generator)]
      : Int32.random(in: .min ... .max, using: &generator) >> Int32.random(in: 0...31, using: &generator)
  }

  private mutating func key(odd: Bool) throws -> ClaimedKey {
    var key = ClaimedKey(key: TemporaryExposureKey(high: generator.next(), low: generator.next()))
    let presence = generator.next()
    if presence & 1 != 0 { key.rollingStart = word() }
    if presence & 2 != 0 { key.rollingPeriod = word() }
    if presence & 4 != 0 { key.transmissionRisk = word() }
    if presence & 8 != 0 { key.reportType = presence & 64 != 0 ? word() : Int32(presence >> 8 & 7) }
    if presence & 16 != 0 { key.daysSinceOnset = word() }
    key.isRevised = presence & 32 != 0
    guard odd else { return key }
    var claim = RegionClaim()
    if presence & 1024 != 0 { claim.origin = Self.strings.randomElement(using: &generator) }
    if presence & 2048 != 0 {
      claim.visited = (0..<Int(presence >> 12 & 3)).compactMap { _ in Self.strings.randomElement(using: &generator) }
    }
    let id = regions.intern(claim)
    key.regions = try #require(id)
    if presence >> 16 & 7 == 0 {
      key.unknownFields = unknownFields.append(
        (0...Int(presence >> 20 & 15)).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
    }
    return key
  }

  var expected: [RowDocument.Key] {
    keys.map { claim in
      var key = claim
      key.regions = .none
      key.unknownFields = 0
      return RowDocument.Key(
        key: key, regions: regions[claim.regions], unknownFields: Array(unknownFields[claim.unknownFields]))
    }
  }
}

/// Files of real systems, which are not part of the project: tests that need them are skipped where they are absent.
enum RowRealData {
  static let folder = ProcessInfo.processInfo.environment["KEYFERRY_REAL_DATA"] ?? "../shared/data"

  static func bytes(_ path: String) -> [UInt8]? {
    FileManager.default.contents(atPath: "\(folder)/\(path)").map(Array.init)
  }

  static let cwaDay = bytes("cwa-real-2020-06-27/2020-06-27.textproto")
  static let cwaHour = bytes("maltej-gist/cwa-de-2020-06-23-hour8.excerpt.txt")
}
