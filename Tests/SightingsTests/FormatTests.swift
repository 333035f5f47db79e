import ExposureKeys
import Foundation
import KeyDevice
import KeyFormats
import Sightings
import Testing

/// Every form says the same of the same broadcasts.
struct FormatTests {
  private func expectBroadcasts(
    _ reading: Reading, _ format: SightingFormat, milliseconds: Int64 = 0, hasRSSI: Bool = true,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    try #require(reading.error == nil, "\(reading.error!)", sourceLocation: location)
    #expect(reading.format == format, sourceLocation: location)
    #expect(reading.tally.rejectedCount == 0, "\(reading.tally.examples)", sourceLocation: location)
    try #require(reading.sightings.count == Sample.broadcasts.count, sourceLocation: location)
    #expect(reading.tally.sightings == Sample.broadcasts.count, sourceLocation: location)
    for (sighting, one) in zip(reading.sightings, Sample.broadcasts) {
      #expect(sighting.identifier.bytes == one.identifier, sourceLocation: location)
      #expect(sighting.milliseconds == one.seconds * 1000 + milliseconds, sourceLocation: location)
      #expect(sighting.rssi == (hasRSSI ? one.rssi : nil), sourceLocation: location)
      #expect(sighting.encryptedMetadata.map { Sample.big($0) } == one.metadata, sourceLocation: location)
    }
  }

  @Test func captures() throws {
    for capture in Sample.captures {
      let reading = try Reading(capture.bytes)
      try expectBroadcasts(reading, capture.format, milliseconds: 250, hasRSSI: capture.hasRSSI)
      #expect(reading.tally.records == 3, "\(capture.name)")
      #expect(reading.tally.withoutRSSI == (capture.hasRSSI ? 0 : 3), "\(capture.name)")
    }
  }

  @Test func tables() throws {
    try expectBroadcasts(try Reading(Sample.csv), .csv)
    try expectBroadcasts(try Reading(Sample.companionRaw), .companionRaw)
    let beacons = try Reading(Sample.espENA)
    try expectBroadcasts(beacons, .espENA)
    #expect(beacons.sightings.allSatisfy { $0.durationMilliseconds == 300_000 })
    #expect(!beacons.sightings.contains { $0.identifier.bytes == Sample.ownKey })
  }

  @Test func databases() throws {
    let folder = try TemporaryFolder()
    try expectBroadcasts(
      try Reading(path: try folder.database(Sample.microG, as: "exposure.db")), .microG, milliseconds: 250)
    let apple = try Reading(path: try folder.database(Sample.appleStore, as: "en_advertisements.db"))
    try expectBroadcasts(apple, .appleStore)
    #expect(apple.sightings.allSatisfy { $0.secondsSincePreviousScan == 150 })
    try expectBroadcasts(try Reading(path: try folder.database(Sample.ramble, as: "RaMBLE.sqlite")), .ramble)
  }

  /// Each spelling that a cell has in some log.
  @Test(
    arguments: [
      ("1600000200", 1_600_000_200_000), ("1600000200.25", 1_600_000_200_250), ("1600000200.2", 1_600_000_200_200),
      ("1600000200250", 1_600_000_200_250), ("2020-09-13 12:30:00.250000", 1_600_000_200_000),
      ("2020-09-13T12:30:00Z", 1_600_000_200_000), ("\"2020-09-13 12:30:00+00\"", 1_600_000_200_000), ("0", nil),
      ("-1", nil),
      ("", nil), ("99999999999999999999", nil), ("4294967296000", nil), ("1e9", nil), ("1600000200.x", nil),
      ("NaN", nil),
    ] as [(String, Int64?)])
  func times(_ spelled: String, _ milliseconds: Int64?) throws {
    let reading = try Reading(
      Sample.text("time,rpi", ["\(spelled),\(Sample.hex(Sample.broadcasts[0].identifier))"]))
    #expect(reading.sightings.first?.milliseconds == milliseconds)
    #expect(reading.tally.rejected == (milliseconds == nil ? [.time: 1] : [:]))
  }

  @Test func onlyTimesAndIdentifiers() throws {
    let reading = try Reading(
      Sample.text(
        "\u{FEFF}timestamp\trpi",
        Sample.broadcasts.map { "\($0.seconds)\t0x\(Sample.hex($0.identifier).uppercased())" } + [""]))
    #expect(reading.sightings.map { $0.identifier.bytes } == Sample.broadcasts.map(\.identifier))
    #expect(reading.tally.withoutRSSI == 3 && reading.tally.withoutMetadata == 3)
  }

  @Test func rowsThatAreNoSightingsAreCounted() throws {
    let good = Sample.hex(Sample.broadcasts[0].identifier)
    let reading = try Reading(
      Sample.text(
        "time,rpi,aem,rssi",
        [
          "1600000200,\(good),a1a2a3a4,-50", "1600000200,\(good.dropLast(2)),a1a2a3a4,-50", "1600000200,,,",
          "1600000200",
          "never,\(good),,", "1600000200,\(good),a1a2a3,-50", "1600000200,xx\(good.dropLast(2)),,",
          "1600000200,\(good),None,-4294967234",
        ]))
    #expect(reading.sightings.count == 2)
    #expect(reading.tally.rejected == [.identifier: 3, .malformedRow: 1, .time: 1, .metadata: 1])
    #expect(reading.tally.impossibleRSSI == 1 && reading.tally.withoutRSSI == 1)
    #expect(
      reading.tally.examples.map(\.place) == ["line 3", "line 4", "line 5", "line 6", "line 7", "line 8"])
    #expect(reading.tally.examples[0].detail == "the identifier has 15 bytes; expected 16")
  }

  /// The later identifier of an address replaces the earlier one, so that times of the earlier must not count for it.
  @Test func rambleForgetsAnEarlierIdentifiersTimes() throws {
    let folder = try TemporaryFolder()
    let reading = try Reading(
      path: try folder.database(
        Sample.ramble + "INSERT INTO locations VALUES(1, 1599998600, -40, NULL, NULL);"
          + "INSERT INTO devices VALUES(4, 'fd6f', 'fd6f:\(Sample.hex(Sample.broadcasts[0].identifier))', 1500000000, 1600001000);",
        as: "RaMBLE.sqlite"))
    #expect(reading.tally.rejected == [.replacedIdentifier: 1])
    #expect(reading.sightings.count == 4)
    let last = try #require(reading.sightings.last)
    #expect(last.rssi == nil && last.encryptedMetadata == nil)
    #expect(last.milliseconds == 1_599_999_200_000 && last.durationMilliseconds == 1_800_000)
  }

  /// Devices without times come in the order of the table, each time.
  @Test func rambleWithoutPlaces() throws {
    let folder = try TemporaryFolder()
    let rows = (1...40).map { number in
      "INSERT INTO devices VALUES(\(number), 'fd6f:\(Sample.hex([UInt8](repeating: UInt8(number), count: 20)))', 1600000000);"
    }
    let path = try folder.database(
      "CREATE TABLE devices(id INTEGER, service_data TEXT, last_seen INTEGER);" + rows.joined(), as: "RaMBLE.sqlite")
    let reading = try Reading(path: path)
    #expect(reading.sightings.map { $0.identifier.bytes[0] } == Array(1...40))
    #expect(reading.sightings.allSatisfy { $0.rssi == nil && $0.durationMilliseconds == 0 })
  }

  @Test func microGsImpossibleStrengths() throws {
    let folder = try TemporaryFolder()
    let identifier = Sample.hex(Sample.broadcasts[0].identifier)
    let reading = try Reading(
      path: try folder.database(
        Sample.microG
          + "INSERT INTO advertisements VALUES(x'\(identifier)', x'0102', 1600009000000, -2047, 60000);"
          + "INSERT INTO advertisements VALUES(x'\(identifier)', x'', 1600009500000, 0, 60000);"
          + "INSERT INTO advertisements VALUES(x'01', x'', 1600009500000, 0, 60000);"
          + "INSERT INTO advertisements VALUES(x'\(identifier)', 'text', 'never', 0, 60000);", as: "exposure.db"))
    #expect(reading.sightings.count == 5)
    #expect(reading.tally.impossibleRSSI == 2 && reading.tally.withoutMetadata == 2)
    #expect(reading.sightings.filter { $0.durationMilliseconds == 60_000 }.count == 2)
    #expect(reading.tally.rejected == [.identifier: 1, .time: 1])
  }

  @Test func severalReportsInOneEventAndTwoLengths() throws {
    var short = Sample.broadcasts[1]
    short.metadata = []
    var data = Sample.event(Sample.broadcasts)
    var reading = try Reading(Sample.pcap(187, [[4] + data]))
    #expect(reading.sightings.count == 3)
    data = [0x3E, 0x25, 0x02, 1, 3, 1] + Sample.address + [25, 0x13, 0x16, 0x6F, 0xFD] + short.identifier
    data += [2, 1, 0x1A, 0, 0, UInt8(bitPattern: -70)]
    data[1] = UInt8(data.count - 2)
    reading = try Reading(Sample.pcap(187, [[4] + data]))
    #expect(reading.sightings.count == 1 && reading.tally.withoutMetadata == 1)
    #expect(reading.sightings.first?.rssi == -70)
    var long = Sample.broadcasts[0]
    long.metadata.append(0)
    var packet = Sample.airWithHeader(long)
    let structure = try #require(packet.firstIndex(of: 0x17))
    packet[structure] = 0x18
    reading = try Reading(Sample.pcap(256, [packet]))
    #expect(reading.tally.rejected == [.serviceDataLength: 1])
  }

  @Test func packetsThatTheReceiverFoundDamaged() throws {
    let reading = try Reading(
      Sample.pcap(
        256,
        [
          Sample.airWithHeader(Sample.broadcasts[0], flags: 0x0413),
          Sample.airWithHeader(Sample.broadcasts[1], flags: 0x0011),
        ]))
    #expect(reading.tally.rejected == [.checksum: 1])
    #expect(reading.sightings.count == 1 && reading.tally.withoutRSSI == 1)
  }

  /// A receiver that is switched off leaves such a file.
  @Test func whatIsBeforeACutCounts() throws {
    for capture in Sample.captures {
      let reading = try Reading(Array(capture.bytes.dropLast(6)))
      #expect(reading.error == nil, "\(capture.name)")
      #expect(reading.sightings.count == 2, "\(capture.name)")
      #expect(reading.tally.rejected == [.cutOff: 1], "\(capture.name)")
    }
  }

  @Test func filesWithoutSightingsAreRefused() throws {
    let folder = try TemporaryFolder()
    let refused: [(Reading, FormatError.Code, String)] = [
      (try Reading([]), .unrecognizedFormat, "empty"),
      (try Reading(Array("EK Export v1    ".utf8)), .unrecognizedFormat, "key file"),
      (try Reading(Array(#"{"mac":"x","rpi":"00"}"#.utf8)), .unrecognizedFormat, "without times"),
      (try Reading(Array(#"[{"scanInstances":[]}]"#.utf8)), .unrecognizedFormat, "exposure windows"),
      (try Reading(Array("key_data,rolling_start\n".utf8)), .unrecognizedFormat, "no sightings"),
      (try Reading(Sample.pcap(1, [[1]])), .unsupported, "link type 1,"),
      (try Reading(Sample.pcapng(1, [[1]], unit: nil, perSecond: 1000)), .unsupported, "link type 1,"),
      (try Reading(Sample.btsnoop(1003, flags: 0, [])), .unsupported, "1003"),
      (
        try Reading(
          path: try folder.database(
            "CREATE TABLE a(b); CREATE VIEW advertisements AS SELECT 1 AS rpi, 2 AS timestamp;", as: "a.db")),
        .unrecognizedFormat, "without a table of sightings"
      ),
      (try Reading(Array("SQLite format 3\0".utf8)), .unsupported, "file alone"),
    ]
    for (reading, code, words) in refused {
      #expect(reading.error?.code == code, "\(words): \(String(describing: reading.error))")
      #expect(reading.error?.description.contains(words) == true, "\(String(describing: reading.error))")
      #expect(reading.error?.description.hasPrefix("log") == true)
      #expect(reading.sightings.isEmpty)
    }
  }
}

/// The same three broadcasts as the original programs write them.
@Suite(.enabled(if: RealSightings.folder != nil, "needs the vectors of real forms: set KEYFERRY_REAL_DATA"))
struct RealFormTests {
  private static let first: Int64 = 1_585_821_630

  @Test(arguments: [
    ("RaMBLE_playstore_v40.15_20200402_1200.sqlite", "ramble", 3), ("exposure.db", "microg", 2),
    ("en_advertisements.db", "apple-store", 3), ("rx_data.csv", "companion-export", 2),
    ("rx_raw_data.csv", "companion-raw", 3),
    ("rx_raw_data_gps.csv", "companion-raw", 3), ("esp-ena.log", "esp-ena", 2),
    ("raspberry-encrypted.csv", "raspberry-pi", 3),
    ("raspberry-plain.csv", "raspberry-pi", 3), ("cwascan.csv", "cwascan", 3), ("sightings.csv", "csv", 3),
  ])
  func sightings(_ name: String, _ format: String, _ count: Int) throws {
    let folder = try #require(RealSightings.folder)
    let truth = try #require(
      JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: "\(folder)/sightings/truth.json")))
        as? [String: Any])
    let stated = try #require(truth["sightings"] as? [[String: Any]])
    let reading = try Reading(path: "\(folder)/sightings/\(name)")
    #expect(reading.error == nil && reading.tally.rejectedCount == 0)
    #expect(reading.format?.rawValue == format)
    try #require(reading.sightings.count == count)
    // Those that keep a row for an identifier have the first and the third.
    let expected = count == 3 ? stated : [stated[0], stated[2]]
    for (sighting, one) in zip(reading.sightings.sorted { $0.milliseconds < $1.milliseconds }, expected) {
      #expect(sighting.time.secondsSince1970 == (one["time"] as? Int64))
      #expect(Sample.hex(sighting.identifier.bytes) == one["rpi"] as? String)
      if name != "raspberry-plain.csv" {
        #expect(sighting.encryptedMetadata.map { Sample.hex(Sample.big($0)) } == one["aem"] as? String)
      }
      if count == 3 { #expect(sighting.rssi.map(Int.init) == one["rssi"] as? Int) }
    }
    if count == 2 { #expect(reading.sightings.map(\.durationMilliseconds).max() == 300_000) }
  }

  @Test(
    arguments: [
      ("btsnoop_hci.log", -62), ("hci_h4.pcap", -62), ("hci_h4_phdr.pcap", -62), ("hci_h4_phdr_ext.pcap", -62),
      ("le_ll.pcap", nil), ("le_ll_phdr.pcap", -62), ("le_ll_phdr.pcapng", -62), ("nordic.pcap", -62),
      ("packetlogger.pklg", -62),
    ] as [(String, Int8?)])
  func captures(_ name: String, _ rssi: Int8?) throws {
    let folder = try #require(RealSightings.folder)
    let reading = try Reading(path: "\(folder)/ble/\(name)")
    #expect(reading.error == nil && reading.tally.rejectedCount == 0)
    try #require(reading.sightings.count == 1)
    #expect(Sample.hex(reading.sightings[0].identifier.bytes) == "8be6cd371c5c891604bfbe49df845096")
    #expect(reading.sightings[0].encryptedMetadata == 0x7203_3874)
    #expect(reading.sightings[0].rssi == rssi)
    #expect(reading.sightings[0].milliseconds == (2_642_976 * 600 + 61) * 1000 + 250)
  }

  @Test(arguments: ["esp32-scanner.jsonl", "cwa-exposure-windows.json", "play-services-records.json", "truth.json"])
  func otherFilesAreRefused(_ name: String) throws {
    let folder = try #require(RealSightings.folder)
    #expect(try Reading(path: "\(folder)/sightings/\(name)").error?.code == .unrecognizedFormat)
  }
}
