import Foundation
import GRDBSQLite
import KeyDevice
import KeyFormats
import Sightings
import Testing

/// Broadcasts whose identifiers anybody can see to be made up, in every form in which people have them.
enum Sample {
  struct Broadcast {
    var seconds: Int64
    var identifier: [UInt8]
    var metadata: [UInt8]
    var rssi: Int8
  }

  static let broadcasts = [
    Broadcast(
      seconds: 1_600_000_200, identifier: Array(0x10...0x1F), metadata: [0xA1, 0xA2, 0xA3, 0xA4], rssi: -52),
    Broadcast(
      seconds: 1_600_000_500, identifier: Array(0x10...0x1F), metadata: [0xA1, 0xA2, 0xA3, 0xA4], rssi: -60),
    Broadcast(
      seconds: 1_600_000_810, identifier: Array(0xE0...0xEF), metadata: [0xB1, 0xB2, 0xB3, 0xB4], rssi: -71),
  ]
  static let address: [UInt8] = [0x3A, 0x51, 0x62, 0x73, 0x84, 0x95]

  static func hex(_ bytes: [UInt8], _ separator: String = "") -> String {
    bytes.map { String(format: "%02x", $0) }.joined(separator: separator)
  }

  // MARK: Text

  static let csv = text(
    "time,rpi,aem,rssi,previous_scan",
    broadcasts.map { "\($0.seconds),\(hex($0.identifier)),\(hex($0.metadata)),\($0.rssi)," })

  static let companionRaw = text(
    "Time;RPI;AEM;RSSI;BDADDR;LAT;LON;Altitude;Speed",
    broadcasts.map {
      "\($0.seconds);\(hex($0.identifier));\(hex($0.metadata));\($0.rssi);\(hex(address, ":"));None;None;None;None"
    })

  /// With the program's other output, the owner's keys and an exposure around the beacons.
  static let espENA = text(
    "I (312) ena-storage: dump",
    ["#,enin,tek,rolling_period", "0,2666666,\(hex(ownKey, " ")),144", "#,timestamp_first,timestamp_last,rpi,aem,rssi"]
      + broadcasts.enumerated().map { index, one in
        "\(index),\(one.seconds),\(one.seconds + 300),\(hex(one.identifier, " ")),\(hex(one.metadata, " ")),\(one.rssi)"
      } + ["#,day,typical_attenuation,min_attenuation,duration_minutes,report_type", "0,18520,60,55,15,1", ""])
  static let ownKey: [UInt8] = Array(0xC0...0xCF)

  static func text(_ header: String, _ rows: [String]) -> [UInt8] {
    Array(([header] + rows).joined(separator: "\n").utf8)
  }

  // MARK: Captures

  static func big<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian, Array.init)
  }
  static func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian, Array.init)
  }

  /// Bytes one behind the other.
  static func all(_ parts: [UInt8]...) -> [UInt8] { Array(parts.joined()) }

  static func advertisingData(_ one: Broadcast, flags: Bool = true) -> [UInt8] {
    all(flags ? [2, 1, 0x1A] : [], [3, 3, 0x6F, 0xFD, 0x17, 0x16, 0x6F, 0xFD], one.identifier, one.metadata)
  }

  static func air(_ one: Broadcast) -> [UInt8] {
    let data = advertisingData(one)
    return all(little(UInt32(0x8E89_BED6)), [0x42, UInt8(6 + data.count)], address, data, [0, 0, 0])
  }

  static func airWithHeader(_ one: Broadcast, flags: UInt16 = 0x0C13) -> [UInt8] {
    all([37, UInt8(bitPattern: one.rssi), 0x80, 0], little(UInt32(0x8E89_BED6)), little(flags), air(one))
  }

  static func nordic(_ one: Broadcast) -> [UInt8] {
    let packet = air(one)
    return all(
      [4], little(UInt16(10 + packet.count)), [3], little(UInt16(7)), [2, 10, 1, 37, UInt8(-one.rssi)],
      little(UInt16(0)), little(UInt32(0)), packet)
  }

  /// One event with a report for each.
  static func event(_ ones: [Broadcast]) -> [UInt8] {
    var reports: [UInt8] = []
    for one in ones {
      let data = advertisingData(one)
      reports += all([3, 1], address, [UInt8(data.count)], data, [UInt8(bitPattern: one.rssi)])
    }
    return all([0x3E, UInt8(2 + reports.count), 0x02, UInt8(ones.count)], reports)
  }

  static func extendedEvent(_ one: Broadcast) -> [UInt8] {
    let data = advertisingData(one, flags: false)
    let report = all(
      little(UInt16(0x10)), [1], address, [1, 0, 0xFF, 0x7F, UInt8(bitPattern: one.rssi)], little(UInt16(0)), [0],
      [UInt8](repeating: 0, count: 6), [UInt8(data.count)], data)
    return all([0x3E, UInt8(2 + report.count), 0x0D, 1], report)
  }

  static func pcap(_ link: UInt32, _ packets: [[UInt8]], isBig: Bool = false, isNano: Bool = false) -> [UInt8] {
    func number<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] { isBig ? big(number) : little(number) }
    var file = all(
      number(UInt32(isNano ? 0xA1B2_3C4D : 0xA1B2_C3D4)), number(UInt16(2)), number(UInt16(4)), number(UInt64(0)),
      number(UInt32(65535)), number(link))
    for (packet, one) in zip(packets, broadcasts) {
      let length = number(UInt32(packet.count))
      file += all(
        number(UInt32(one.seconds)), number(UInt32(isNano ? 250_000_000 : 250_000)), length, length, packet)
    }
    return file
  }

  static func block(_ kind: UInt32, _ content: [UInt8]) -> [UInt8] {
    let padding = [UInt8](repeating: 0, count: (4 - content.count % 4) % 4)
    let length = little(UInt32(12 + content.count + padding.count))
    return all(little(kind), length, content, padding, length)
  }

  /// - Parameter unit: what option 9 states; `nil` leaves it out, which means microseconds.
  static func pcapng(_ link: UInt16, _ packets: [[UInt8]], unit: UInt8?, perSecond: UInt64) -> [UInt8] {
    let option = unit.map { all(little(UInt16(9)), little(UInt16(1)), [$0, 0, 0, 0], little(UInt32(0))) } ?? []
    var file = block(
      0x0A0D_0D0A, all(little(UInt32(0x1A2B_3C4D)), little(UInt16(1)), little(UInt16(0)), little(Int64(-1))))
    file += block(1, all(little(link), little(UInt16(0)), little(UInt32(0)), option))
    file += block(0xBAD, [1, 2, 3])
    for (packet, one) in zip(packets, broadcasts) {
      let time = UInt64(one.seconds) * perSecond + perSecond / 4
      let length = little(UInt32(packet.count))
      file += block(
        6,
        all(
          little(UInt32(0)), little(UInt32(time >> 32)), little(UInt32(truncatingIfNeeded: time)), length, length,
          packet))
    }
    return file
  }

  static func btsnoop(_ kind: UInt32, flags: UInt32, _ packets: [[UInt8]]) -> [UInt8] {
    var file = all(Array("btsnoop\0".utf8), big(UInt32(1)), big(kind))
    for (packet, one) in zip(packets, broadcasts) {
      let length = big(UInt32(packet.count))
      let time: Int64 = 0x00DC_DDB3_0F2F_8000 + one.seconds * 1_000_000 + 250_000
      file += all(length, length, big(flags), big(UInt32(0)), big(time), packet)
    }
    return file
  }

  static func packetLogger(_ packets: [[UInt8]], isBig: Bool) -> [UInt8] {
    var file: [UInt8] = []
    for (packet, one) in zip(packets, broadcasts) {
      let numbers: [UInt32] = [UInt32(9 + packet.count), UInt32(one.seconds), 250_000]
      for number in numbers { file += isBig ? big(number) : little(number) }
      file += all([1], packet)
    }
    return file
  }

  static let captures: [(name: String, format: SightingFormat, hasRSSI: Bool, bytes: [UInt8])] = [
    ("pcap 251", .pcap, false, pcap(251, broadcasts.map { air($0) })),
    ("pcap 256", .pcap, true, pcap(256, broadcasts.map { airWithHeader($0) })),
    ("pcap 256 big", .pcap, true, pcap(256, broadcasts.map { airWithHeader($0) }, isBig: true, isNano: true)),
    ("pcap 272", .pcap, true, pcap(272, broadcasts.map(nordic))),
    ("pcap 187", .pcap, true, pcap(187, broadcasts.map { [4] + event([$0]) })),
    ("pcap 201", .pcap, true, pcap(201, broadcasts.map { [0, 0, 0, 1, 4] + extendedEvent($0) })),
    ("pcap 254", .pcap, true, pcap(254, broadcasts.map { [0, 0, 0, 3] + event([$0]) })),
    ("pcapng micro", .pcapng, true, pcapng(256, broadcasts.map { airWithHeader($0) }, unit: nil, perSecond: 1_000_000)),
    ("pcapng nano", .pcapng, true, pcapng(272, broadcasts.map(nordic), unit: 9, perSecond: 1_000_000_000)),
    ("pcapng binary", .pcapng, true, pcapng(187, broadcasts.map { [4] + event([$0]) }, unit: 0x8A, perSecond: 1024)),
    ("btsnoop 1001", .btsnoop, true, btsnoop(1001, flags: 3, broadcasts.map { event([$0]) })),
    ("btsnoop 1002", .btsnoop, true, btsnoop(1002, flags: 3, broadcasts.map { [4] + event([$0]) })),
    ("btsnoop 2001", .btsnoop, true, btsnoop(2001, flags: 3, broadcasts.map { extendedEvent($0) })),
    ("PacketLogger", .packetLogger, true, packetLogger(broadcasts.map { event([$0]) }, isBig: true)),
    ("PacketLogger little", .packetLogger, true, packetLogger(broadcasts.map { extendedEvent($0) }, isBig: false)),
  ]

  // MARK: Databases

  static let microG = """
    CREATE TABLE advertisements(rpi BLOB NOT NULL, aem BLOB NOT NULL, timestamp INTEGER NOT NULL, rssi INTEGER NOT NULL,
      duration INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(rpi, timestamp));
    CREATE TABLE tek(keyData BLOB NOT NULL, rollingStartNumber INTEGER, rollingPeriod INTEGER);
    INSERT INTO tek VALUES(x'\(hex(ownKey))', 2666664, 144);
    \(broadcasts.map {
      "INSERT INTO advertisements VALUES(x'\(hex($0.identifier))', x'\(hex($0.metadata))', \($0.seconds * 1000 + 250), \($0.rssi), 0);"
    }.joined(separator: "\n"))
    """

  static let appleStore = """
    CREATE TABLE en_advertisements(rpi BLOB, encrypted_aem BLOB, timestamp INTEGER, scan_interval INTEGER, rssi INTEGER,
      saturated BOOLEAN, counter INTEGER, PRIMARY KEY(rpi, timestamp)) WITHOUT ROWID;
    \(broadcasts.map {
      "INSERT INTO en_advertisements VALUES(x'\(hex($0.identifier))', x'\(hex($0.metadata))', \($0.seconds), 150, \($0.rssi), 0, 4);"
    }.joined(separator: "\n"))
    """

  static let ramble = """
    CREATE TABLE devices(id INTEGER PRIMARY KEY, service_uuids TEXT, service_data TEXT, first_seen TEXT, last_seen INTEGER);
    CREATE TABLE locations(device_id INTEGER, timestamp INTEGER, rssi INTEGER, latitude REAL, longitude REAL);
    INSERT INTO devices VALUES(1, 'fd6f', 'fd6f:\(hex(broadcasts[0].identifier + broadcasts[0].metadata))', '1599990000', 1600000500);
    INSERT INTO devices VALUES(2, '180f,fd6f', 'fd6f:\(hex(broadcasts[2].identifier + broadcasts[2].metadata))', 1600000810, '1600000810');
    INSERT INTO devices VALUES(3, 'feaa', 'feaa:00', 1600000000, 1600000000);
    \(zip(broadcasts, [1, 1, 2]).map { "INSERT INTO locations VALUES(\($1), \($0.seconds), \($0.rssi), NULL, NULL);" }
      .joined(separator: "\n"))
    INSERT INTO locations VALUES(3, 1600000000, -40, NULL, NULL);
    """
}

/// A folder that is gone when it is let go.
final class TemporaryFolder {
  let url = FileManager.default.temporaryDirectory.appending(path: "sightings-\(UUID().uuidString)")

  init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appending(path: name).path(percentEncoded: false) }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: url.path(percentEncoded: false))) ?? []).sorted()
  }

  func write(_ bytes: [UInt8], as name: String) throws -> String {
    try Data(bytes).write(to: URL(filePath: path(name)))
    return path(name)
  }

  /// Makes a database; SQLite's own program does it on phones.
  func database(_ script: String, as name: String) throws -> String {
    var database: OpaquePointer?
    try #require(sqlite3_open(path(name), &database) == SQLITE_OK)
    defer { sqlite3_close(database) }
    let code = sqlite3_exec(database, script, nil, nil, nil)
    try #require(code == SQLITE_OK, "\(String(cString: sqlite3_errmsg(database)))")
    return path(name)
  }
}

/// What came of reading a log: everything that somebody can see.
struct Reading: Equatable {
  var format: SightingFormat?
  var sightings: [Sighting] = []
  var tally = SightingTally()
  var error: FormatError?

  init(_ source: any SeekableSource, path: String? = nil, limits: ReadLimits = ReadLimits()) throws {
    do {
      let reader = try SightingReader(source, name: "log", path: path.map { Array($0.utf8) }, limits: limits)
      format = reader.format
      defer { tally = reader.tally }
      var chunk: [Sighting] = []
      while try reader.read(into: &chunk) { sightings += chunk }
    } catch let error as FormatError {
      self.error = error
    }
  }

  init(_ bytes: [UInt8], limits: ReadLimits = ReadLimits()) throws {
    try self.init(MemorySource(bytes), limits: limits)
  }

  init(path: String) throws {
    try self.init(MemorySource(Array(try Data(contentsOf: URL(filePath: path)))), path: path)
  }

  static func == (left: Reading, right: Reading) -> Bool {
    left.format == right.format && left.sightings == right.sightings && left.tally == right.tally
      && left.error == right.error
  }

  /// All texts that a command could print.
  var texts: [String] { [error.map(\.description) ?? ""] + tally.examples.flatMap { [$0.place, $0.detail] } }
}

/// Hands over a few bytes at a time, so that a window's end falls everywhere.
final class PiecewiseSource: SeekableSource {
  private let source: MemorySource
  private let longest: Int
  init(_ bytes: [UInt8], longest: Int) {
    source = MemorySource(bytes)
    self.longest = longest
  }
  var byteCount: Int { source.byteCount }
  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    source.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(longest, buffer.count)]))
  }
}

/// Files of the original programs, where they are there: beside the package in `../shared/data`, or where `KEYFERRY_REAL_DATA` says.
enum RealSightings {
  static let folder: String? = {
    let root = ProcessInfo.processInfo.environment["KEYFERRY_REAL_DATA"] ?? "../shared/data"
    let path = "\(root)/device/vectors"
    if FileManager.default.fileExists(atPath: path) { return path }
    print("skipped: no device/vectors in \(root); set KEYFERRY_REAL_DATA to the folder of real files")
    return nil
  }()
}

/// The same numbers for the same seed (SplitMix64).
struct SeededNumbers: RandomNumberGenerator {
  var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }
}
