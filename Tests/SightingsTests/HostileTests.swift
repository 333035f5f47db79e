import Foundation
import GRDBSQLite
import KeyDevice
import KeyFormats
import Sightings
import Testing

/// Files of strangers: nothing traps, nothing runs away, nothing is written, and no text names an identifier.
struct HostileTests {
  /// The identifiers, metadata, addresses and own keys of the samples as texts could show them.
  private static let secrets: [String] =
    Sample.broadcasts.flatMap { [$0.identifier, $0.metadata] }.map { Sample.hex($0) } + [
      Sample.hex(Sample.address), Sample.hex(Sample.address, ":"), Sample.hex(Sample.ownKey),
    ]

  /// `KEYFERRY_FUZZ=N` damages N times as many.
  private static let patience = ProcessInfo.processInfo.environment["KEYFERRY_FUZZ"].flatMap { Int($0) } ?? 1

  private func expectDiscreet(_ reading: Reading) {
    for text in reading.texts {
      let text = text.lowercased()
      for secret in Self.secrets { #expect(!text.contains(secret.prefix(8)), "\(text)") }
      #expect(text.utf8.count < 400)
    }
  }

  private func damaged(_ bytes: [UInt8], _ numbers: inout SeededNumbers) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...4, using: &numbers) {
      guard !bytes.isEmpty else { return bytes }
      let place = Int.random(in: bytes.indices, using: &numbers)
      switch Int.random(in: 0..<7, using: &numbers) {
      case 0: bytes[place] = UInt8.random(in: 0...255, using: &numbers)
      case 1: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &numbers)
      case 2: bytes[place] = [0, 0xFF, 0x7F, 0x80, 0x0A, 0x2C].randomElement(using: &numbers)!
      case 3: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...20, using: &numbers)))
      case 4: bytes.insert(contentsOf: (0..<5).map { _ in UInt8.random(in: 0...255, using: &numbers) }, at: place)
      case 5: bytes.removeLast(bytes.count - place)
      default:
        let length = min(bytes.count - place, Int.random(in: 1...64, using: &numbers))
        bytes.insert(contentsOf: bytes[place..<place + length], at: Int.random(in: 0...bytes.count, using: &numbers))
      }
    }
    return bytes
  }

  /// Read at once and in pieces it is the same.
  @Test func damagedTextAndCaptures() throws {
    var numbers = SeededNumbers(seed: 48)
    let samples = [Sample.csv, Sample.companionRaw, Sample.espENA] + Sample.captures.map(\.bytes)
    for sample in samples {
      for _ in 0..<300 * Self.patience {
        let bytes = damaged(sample, &numbers)
        let whole = try Reading(bytes)
        expectDiscreet(whole)
        #expect(whole.tally.sightings == whole.sightings.count || whole.error != nil)
        let longest = Int.random(in: 1...40, using: &numbers)
        #expect(try Reading(PiecewiseSource(bytes, longest: longest)) == whole)
      }
    }
  }

  @Test func smallLimitsAreKept() throws {
    let limits = ReadLimits(documentBytes: 1 << 16, recordBytes: 64)
    for capture in Sample.captures {
      let reading = try Reading(capture.bytes, limits: limits)
      #expect(reading.error != nil || reading.sightings.count == 3, "\(capture.name)")
    }
    let line = try Reading(Array("time,rpi\n".utf8) + [UInt8](repeating: 0x30, count: 2 << 20))
    #expect(line.error?.code == .limitExceeded)
    var huge = Sample.pcap(256, [])
    huge += Sample.little(UInt32(1)) + Sample.little(UInt32(1)) + Sample.little(UInt32.max) + Sample.little(UInt32.max)
    let packet = try Reading(huge)
    #expect(packet.error?.code == .malformed)
    #expect(
      packet.error?.description == "log: packet 1: byte 24: a length of 4294967295 bytes; expected at most 262144")
  }

  @Test func damagedDatabases() throws {
    let folder = try TemporaryFolder()
    var numbers = SeededNumbers(seed: 49)
    for (index, script) in [Sample.microG, Sample.appleStore, Sample.ramble].enumerated() {
      let sound = Array(try Data(contentsOf: URL(filePath: try folder.database(script, as: "\(index).db"))))
      for _ in 0..<150 * Self.patience {
        let path = try folder.write(damaged(sound, &numbers), as: "damaged.db")
        expectDiscreet(try Reading(path: path))
      }
    }
    #expect(folder.names == ["0.db", "1.db", "2.db", "damaged.db"])
  }

  /// Neither its bytes nor its folder change, in any mode that the database was left in.
  @Test(arguments: ["DELETE", "TRUNCATE", "PERSIST", "WAL"])
  func nothingIsWritten(_ mode: String) throws {
    let folder = try TemporaryFolder()
    let path = try folder.database("PRAGMA journal_mode = \(mode);" + Sample.microG, as: "a 100%?#ü.db")
    let before = try Data(contentsOf: URL(filePath: path))
    let names = folder.names
    let reading = try Reading(path: path)
    #expect(reading.error == nil && reading.sightings.count == 3)
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
    #expect(folder.names == names)
  }

  /// Rows that wait beside the database are not left out in silence.
  @Test func waitingRowsAreReported() throws {
    let folder = try TemporaryFolder()
    var database: OpaquePointer?
    #expect(sqlite3_open(folder.path("exposure.db"), &database) == SQLITE_OK)
    defer { sqlite3_close(database) }
    #expect(sqlite3_exec(database, "PRAGMA journal_mode = WAL;" + Sample.microG, nil, nil, nil) == SQLITE_OK)
    let names = folder.names
    let reading = try Reading(path: folder.path("exposure.db"))
    #expect(reading.error?.code == .unsupported)
    #expect(reading.error?.description.contains("-wal") == true)
    #expect(folder.names == names)
    // What the message says to do.
    let copy = try TemporaryFolder()
    for name in names where !name.hasSuffix("-shm") {
      try FileManager.default.copyItem(atPath: folder.path(name), toPath: copy.path(name))
    }
    _ = try copy.database("PRAGMA journal_mode = DELETE", as: "exposure.db")
    #expect(try Reading(path: copy.path("exposure.db")).sightings.count == 3)
  }

  /// Whatever the file calls them, no other table is read: least of all the owner's keys.
  @Test func theOwnersKeysAreNeverRead() throws {
    let folder = try TemporaryFolder()
    let keys =
      "CREATE TABLE tek(keyData BLOB, rollingStartNumber INTEGER); INSERT INTO tek VALUES(x'\(Sample.hex(Sample.ownKey))', 1600000000000);"
    let views = [
      keys + "CREATE VIEW advertisements AS SELECT keyData AS rpi, rollingStartNumber AS timestamp FROM tek;",
      keys + "CREATE TABLE x(rpi, timestamp, rssi); CREATE TABLE advertisements(rpi AS (x'00'), timestamp);"
        + "DROP TABLE advertisements; CREATE TEMP TABLE a(b);"
        + "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES('table', 'advertisements', 'advertisements', 0, "
        + "'CREATE VIEW advertisements AS SELECT keyData AS rpi, rollingStartNumber AS timestamp FROM tek');",
      "PRAGMA writable_schema = ON; CREATE TABLE a(b); INSERT INTO sqlite_schema VALUES('table', 'advertisements', "
        + "'advertisements', 0, 'CREATE VIEW advertisements AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
        + "SELECT zeroblob(16) AS rpi, 1600000000000 AS timestamp, n FROM c');",
    ]
    for (index, script) in views.enumerated() {
      let reading = try Reading(path: try folder.database(script, as: "\(index).db"))
      #expect(reading.error != nil && reading.sightings.isEmpty, "\(index)")
      expectDiscreet(reading)
    }
    // What the file would compute is no column of it.
    let computed = try Reading(
      path: try folder.database(
        "CREATE TABLE advertisements(rpi BLOB, timestamp INTEGER, aem AS (zeroblob(rssi)), rssi INTEGER);"
          + "INSERT INTO advertisements VALUES(zeroblob(16), 1600000000000, 20000000);", as: "computed.db"))
    #expect(computed.error == nil && computed.sightings.count == 1 && computed.tally.withoutMetadata == 1)
  }

  /// Pages whose children are all the same one have more rows than could ever be read; the limit of rows ends it.
  @Test(.timeLimit(.minutes(1))) func rowsWithoutEndEnd() throws {
    let folder = try TemporaryFolder()
    let path = try folder.database(
      "PRAGMA page_size = 512; CREATE TABLE advertisements(rpi BLOB, aem BLOB, timestamp INTEGER, rssi INTEGER);"
        + "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)"
        + "INSERT INTO advertisements SELECT randomblob(16), x'01020304', 1600000000000 + i, -50 FROM n;", as: "tree.db"
    )
    var bytes = Array(try Data(contentsOf: URL(filePath: path)))
    #expect(try Reading(path: path).sightings.count == 10_000)
    let pages = 1..<bytes.count / 512
    let root = 1
    let leaf = try #require(pages.first { bytes[$0 * 512] == 13 })
    let inner = [root] + pages.filter { $0 != root && bytes[$0 * 512] == 5 }.prefix(10)
    try #require(inner.count > 4)
    for (page, child) in zip(inner, inner.dropFirst() + [leaf]) {
      let start = page * 512
      let number = Sample.big(UInt32(child + 1))
      bytes.replaceSubrange(start + 8..<start + 12, with: number)
      for cell in 0..<Int(bytes[start + 3]) << 8 | Int(bytes[start + 4]) {
        let place = start + (Int(bytes[start + 12 + cell * 2]) << 8 | Int(bytes[start + 13 + cell * 2]))
        bytes.replaceSubrange(place..<place + 4, with: number)
      }
    }
    let reading = try Reading(path: try folder.write(bytes, as: "circle.db"))
    #expect(reading.error?.description.contains("more than") == true, "\(String(describing: reading.error))")
    #expect(reading.sightings.count <= bytes.count / 4 + 1)
  }

  /// Bytes are made when they are read: a capture of several gigabytes takes no more memory than a small one.
  @Test func captureOfGigabytesIsStreamed() throws {
    let packet = Sample.pcap(256, [Sample.airWithHeader(Sample.broadcasts[0])]).dropFirst(24)
    let header = Sample.pcap(256, [])
    // Of one packet in a hundred the phone is one; the others are unknown blocks, which are longest.
    let filler = [UInt8](repeating: 0x55, count: 60_000)
    let other =
      Array(packet[packet.startIndex..<packet.startIndex + 8]) + Sample.little(UInt32(filler.count))
      + Sample.little(UInt32(filler.count)) + filler
    let source = RepeatedSource(front: header, unit: Array(packet) + other, count: 40_000)
    let before = residentBytes()
    let reader = try SightingReader(source, name: "large")
    var chunk: [Sighting] = []
    var count = 0
    while try reader.read(into: &chunk) { count += chunk.count }
    #expect(source.byteCount > 2 << 30)
    #expect(count == 40_000)
    #expect(residentBytes() - before < 48 << 20)
  }
}

/// The same bytes again and again behind a front.
private final class RepeatedSource: SeekableSource {
  private let front: [UInt8]
  private let unit: [UInt8]
  let byteCount: Int

  init(front: [UInt8], unit: [UInt8], count: Int) {
    self.front = front
    self.unit = unit
    byteCount = front.count + unit.count * count
  }

  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var filled = 0
    while filled < buffer.count, offset + filled < byteCount {
      let place = offset + filled
      let part = place < front.count ? front[place...] : unit[((place - front.count) % unit.count)...]
      let count = min(part.count, buffer.count - filled)
      part.withUnsafeBytes { bytes in
        UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<filled + count]).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      }
      filled += count
    }
    return filled
  }
}

private func residentBytes() -> Int {
  let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
  let fields = text.split(separator: " ")
  return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4096 : 0
}
