internal import KeyDevice
internal import KeyFormats

/// RaMBLE keeps a row for each Bluetooth address, with the last service data that was seen of it, and the places and times at which
/// it was seen. Each time is a sighting.
///
/// If two devices use an address one after the other, the later identifier replaces the earlier one, and the first time stays. So
/// times that are more than an identifier's life before the last are not believed to be of it. A device without times is a sighting
/// that lasted from the first to the last, without signal strength.
final class RambleRecords: SightingRecords {
  private struct Device {
    var identifier: ProximityIdentifier
    var metadata: UInt32?
    /// In milliseconds; the first is not before the identifier can have begun.
    var first: Int64
    var last: Int64
    var hasTimes = false
  }

  private enum Stage {
    case devices(ReadOnlyRows)
    case places(ReadOnlyRows)
    case devicesWithoutTimes([Device])
  }

  private let database: ReadOnlyDatabase
  private let hasPlaces: Bool
  private let placesHaveStrength: Bool
  private let mostRows: Int
  private var rowNumber = 0
  private var devices: [Int64: Device] = [:]
  private var stage: Stage

  /// How long a phone uses an identifier, and twice as long for its clock and the receiver's.
  private static let life: Int64 = 1800 * 1000
  private static let deviceLimit = 1 << 21

  init(_ database: ReadOnlyDatabase, _ columns: Set<String>, _ places: Set<String>, _ byteCount: Int) throws {
    self.database = database
    hasPlaces = places.isSuperset(of: ["device_id", "timestamp"])
    placesHaveStrength = places.contains("rssi")
    mostRows = SightingDatabase.mostRows(byteCount)
    database.open(tables: ["devices", "locations"])
    let first = columns.contains("first_seen") ? "first_seen" : "NULL"
    stage = .devices(try database.statement("SELECT id, service_data, \(first), last_seen FROM devices"))
  }

  func advance(into chunk: inout [Sighting], _ tally: inout SightingTally) throws -> Bool {
    switch stage {
    case .devices(let rows):
      if try rows.step() {
        try readDevice(rows, &tally)
      } else if hasPlaces {
        rowNumber = 0
        let rssi = placesHaveStrength ? "rssi" : "NULL"
        stage = .places(try database.statement("SELECT device_id, timestamp, \(rssi) FROM locations"))
      } else {
        stage = .devicesWithoutTimes(devicesWithoutTimes)
      }
    case .places(let rows):
      if try rows.step() {
        try readPlace(rows, into: &chunk, &tally)
      } else {
        stage = .devicesWithoutTimes(devicesWithoutTimes)
      }
    case .devicesWithoutTimes(var left):
      guard let device = left.popLast() else { return false }
      stage = .devicesWithoutTimes(left)
      chunk.append(
        Sighting(
          identifier: device.identifier, milliseconds: device.first,
          durationMilliseconds: SightingFields.duration(from: device.first, until: device.last),
          encryptedMetadata: device.metadata))
    }
    return true
  }

  /// The last of the table first, since the last one is taken first: the order must not be a dictionary's.
  private var devicesWithoutTimes: [Device] {
    devices.filter { !$0.value.hasTimes }.sorted { $0.key > $1.key }.map(\.value)
  }

  private func countRow(of table: String) throws -> String {
    rowNumber += 1
    guard rowNumber <= mostRows else { throw SightingDatabase.tooManyRows(table, mostRows) }
    return "\(table): row \(rowNumber)"
  }

  private func readDevice(_ rows: ReadOnlyRows, _ tally: inout SightingTally) throws {
    let place = try countRow(of: "devices")
    let data = rows.bytes(1)
    guard data.starts(with: "fd6f:".utf8) else { return }
    tally.records += 1
    // What other services say may follow.
    let digits = data.dropFirst(5).prefix { !" ,;|".utf8.contains($0) }
    guard let bytes = SightingFields.bytes(digits), bytes.count == 16 || bytes.count == 20,
      let identifier = SightingFields.identifier(Array(bytes.prefix(16)))
    else {
      return tally.reject(
        .serviceDataLength, place, "service data of \(digits.count) characters; expected 40 hexadecimal digits")
    }
    guard let last = rows.time(3) else {
      return tally.reject(.time, place, "no possible last_seen; \(SightingFields.expectedTime)")
    }
    guard let id = rows.number(0) else {
      return tally.reject(.malformedRow, place, "an id that is no number; expected one")
    }
    guard devices.count < Self.deviceLimit else {
      throw FormatError(
        .limitExceeded, place: place,
        "more than \(Self.deviceLimit) devices of Exposure Notification; split the database")
    }
    let first = rows.time(2).map { min(max($0, last - Self.life), last) } ?? last
    devices[id] = Device(
      identifier: identifier, metadata: SightingFields.metadata(bytes.dropFirst(16)), first: first, last: last)
  }

  private func readPlace(_ rows: ReadOnlyRows, into chunk: inout [Sighting], _ tally: inout SightingTally) throws {
    let place = try countRow(of: "locations")
    guard let id = rows.number(0), let device = devices[id] else { return }
    tally.records += 1
    guard let time = rows.time(1) else {
      return tally.reject(.time, place, "no possible timestamp; \(SightingFields.expectedTime)")
    }
    guard time >= device.last - Self.life else {
      return tally.reject(
        .replacedIdentifier, place,
        "\((device.last - time) / 1000) s before the device was last seen; expected at most \(Self.life / 1000), "
          + "the life of an identifier")
    }
    devices[id]?.hasTimes = true
    chunk.append(
      Sighting(
        identifier: device.identifier, milliseconds: time, encryptedMetadata: device.metadata,
        rssi: SightingFields.strength(rows.number(2), &tally)))
  }
}
