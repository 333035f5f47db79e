import ExposureKeys
import Foundation
import GatewayTesting
import KeyIntake
import KeyNormalization
import KeyStorage
import Testing

@testable import KeyPublishing

/// A window of many bundles costs little more than one of few: its keys are read once, and however many archives wait for the
/// store, they lie in one file.
@Suite struct ManyPartsTests {
  private static func run(_ count: Int, revised: Bool = false) throws -> KeyRun {
    var run = KeyRun()
    for place in 0..<count {
      var key = ClaimedKey(
        key: TemporaryExposureKey(
          high: UInt64(place) << 24, low: UInt64(place) &* 0x9e37_79b9_7f4a_7c15),
        rollingStartWord: 2_650_032, rollingPeriodWord: 144, transmissionRiskWord: 3,
        fields: [.rollingStart, .rollingPeriod, .transmissionRisk])
      key.isRevised = revised && place % 3 == 0
      try run.append(key, number: UInt32(place))
    }
    return run
  }

  /// Bytes that this thread has asked the system for so far, from files and from anything else.
  private static func bytesRead() throws -> Int {
    let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("rchar:") })
    return try #require(Int(line.dropFirst(6).trimmingCharacters(in: .whitespaces)))
  }

  /// Read once for each part, it would be forty times as much.
  @Test(
    "a run of 40,000 keys is dealt out among forty bundles by reading it once",
    arguments: [false, true])
  func oneReading(revised: Bool) throws {
    #if os(Linux)
      let run = try Self.run(40_000, revised: revised)
      let settings = SeriesSettings.sample { $0.maximumKeys = 1000 }
      let sealer = BundleSealer(settings: settings, signer: identity)
      let before = try Self.bytesRead()
      let bundles = try sealer.seal(run, start: 1_600_000_000, windowEnd: 1_600_086_400)
      let read = try Self.bytesRead() - before
      #expect(
        bundles.count == 40 && bundles.allSatisfy { $0.keyCount + $0.revisedKeyCount == 1000 })
      // Once to deal them out, once for each list of a share, and the archives for their digests.
      let size = 40_000 * MemoryLayout<NumberedKey>.stride
      #expect(read < 5 * size, "\(read) bytes of a run of \(size)")
    #endif
  }

  @Test(
    "shares that were dealt out are those that are counted off",
    arguments: [1, 2, 7, 16_384, 20_000])
  func shares(parts: Int) throws {
    let run = try Self.run(20_000)
    var numbers: [UInt32] = []
    for (part, share) in try run.dealt(among: parts).enumerated() {
      #expect(share.part == part && share.parts == parts)
      var place = part
      try share.read { key in
        if key.number != UInt32(place) {
          Issue.record("part \(part) has \(key.number) in the place of \(place)")
        }
        place += parts
        numbers.append(key.number)
      }
    }
    #expect(numbers.sorted() == (0..<20_000).map { UInt32($0) })
  }

  @Test("runs on one shelf are whole, each by itself")
  func shelf() throws {
    let shelf = KeyRunFile()
    let runs = try [0, 1, 9000, 3, 20_000].map { count in try Self.run(count).kept(on: shelf) }
    for (run, count) in zip(runs, [0, 1, 9000, 3, 20_000]) {
      var numbers: [UInt32] = []
      try run.read { numbers.append($0.number) }
      #expect(run.count == count && numbers == (0..<UInt32(count)).map { $0 })
      var third: [UInt32] = []
      try run.read(every: 3, from: 2) { third.append($0.number) }
      #expect(third == stride(from: UInt32(2), to: UInt32(max(count, 2)), by: 3).map { $0 })
    }
  }

  /// Whatever else the process does meanwhile opens a few files, and not two hundred.
  private static func descriptors() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
  }

  @Test("two hundred archives of all sizes take one descriptor, and are what was written")
  func archives() throws {
    #if os(Linux)
      let before = try Self.descriptors()
      let shelf = ArchiveShelf()
      var random = SeededRandom(seed: 5)
      let bytes = random.bytes(1_200_300)
      func contents(_ number: Int) -> [UInt8] {
        let size =
          [0, 1, 1000, 65_535, 65_536, 65_537, 131_072, 1_200_000][number % 8] + number / 8
        return Array(bytes[number..<number + size])
      }
      var archives: [ArchiveSpool?] = []
      for number in 0..<200 {
        let (archive, bytes) = (ArchiveSpool(on: shelf), contents(number))
        var place = 0
        while place < bytes.count {
          let count = min(bytes.count - place, Int.random(in: 1...100_000, using: &random))
          // A header is completed later, wherever it stands.
          var piece = Array(bytes[place..<place + count])
          let last = piece[count - 1]
          piece[count - 1] = ~last
          try piece.withUnsafeBytes { try archive.write($0) }
          try archive.overwrite(at: place + count - 1, with: [last])
          place += count
        }
        archives.append(archive)
        // Some are let go, and others take their room.
        if number % 5 == 4 { archives[number - 2] = nil }
      }
      #expect(try Self.descriptors() - before < 20)
      for (number, archive) in archives.enumerated() {
        guard let archive else { continue }
        let bytes = contents(number)
        #expect(archive.byteCount == bytes.count)
        #expect(try archive.stored.bytes() == bytes, "\(number)")
      }
    #endif
  }
}
