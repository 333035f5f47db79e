internal import KeyDevice

/// Reads the broadcasts in one packet of a capture.
struct BluetoothPacket {
  let milliseconds: Int64
  /// Where the packet is, for rejections.
  let number: Int
  let byteOffset: Int

  func read(_ bytes: PacketBytes, as link: LinkType, into chunk: inout [Sighting], _ tally: inout SightingTally) {
    var bytes = bytes
    switch link {
    case .linkLayer: readAir(bytes, rssi: nil, into: &chunk, &tally)
    case .linkLayerWithHeader:
      // Channel, strength, noise, offences; the access address expected; flags.
      guard bytes.skip(1), let strength = bytes.byte(), bytes.skip(6),
        let flags = bytes.number(UInt16.self, isBig: false)
      else { return reject(.cutOff, "the packet ends within its header", &tally) }
      guard flags & 0x0400 == 0 || flags & 0x0800 != 0 else { return rejectChecksum(&tally) }
      let rssi = flags & 0x0002 != 0 ? Int64(Int8(bitPattern: strength)) : nil
      readAir(bytes, rssi: rssi, into: &chunk, &tally)
    case .nordic: readNordic(bytes, into: &chunk, &tally)
    case .h4WithDirection:
      guard bytes.skip(4) else { return reject(.cutOff, "the packet ends within its header", &tally) }
      readH4(bytes, into: &chunk, &tally)
    case .h4: readH4(bytes, into: &chunk, &tally)
    case .event: readEvent(bytes, into: &chunk, &tally)
    case .linuxMonitor:
      guard bytes.skip(2), let kind = bytes.number(UInt16.self, isBig: true) else {
        return reject(.cutOff, "the packet ends within its header", &tally)
      }
      if kind == 3 { readEvent(bytes, into: &chunk, &tally) }
    }
  }

  // MARK: Packets of the air

  /// Board, length, version, counter, kind; then a header that states its length, flags, channel, strength, counter, time.
  private func readNordic(_ packet: PacketBytes, into chunk: inout [Sighting], _ tally: inout SightingTally) {
    var packet = packet
    guard packet.skip(3), let version = packet.byte(), packet.skip(2), let kind = packet.byte(),
      let headerLength = packet.byte(), headerLength >= 10, var header = packet.take(Int(headerLength) - 1),
      let flags = header.byte(), header.skip(1), let strength = header.byte()
    else { return reject(.cutOff, "the packet ends within its header", &tally) }
    guard version == 3 else {
      return reject(.linkType, "version \(version) of the nRF Sniffer's packets; expected 3", &tally)
    }
    guard kind == 2 else { return }
    guard flags & 0x01 != 0 else { return rejectChecksum(&tally) }
    readAir(packet, rssi: -Int64(strength), into: &chunk, &tally)
  }

  /// Of every broadcast of the advertising channels.
  private static let advertisingAddress: UInt32 = 0x8E89_BED6

  private func readAir(
    _ packet: PacketBytes, rssi: Int64?, into chunk: inout [Sighting], _ tally: inout SightingTally
  ) {
    var packet = packet
    guard let access = packet.number(UInt32.self, isBig: false) else {
      return reject(.cutOff, "the packet ends within its access address", &tally)
    }
    guard access == Self.advertisingAddress else { return }
    guard let kind = packet.byte(), let length = packet.byte() else {
      return reject(.cutOff, "the packet ends within its header", &tally)
    }
    guard var payload = packet.take(Int(length)) else {
      return reject(.cutOff, "the packet has \(packet.count) bytes of a payload of \(length)", &tally)
    }
    switch kind & 0x0F {
    // ADV_IND, ADV_NONCONN_IND, SCAN_RSP, ADV_SCAN_IND: the sender's address, then the data.
    case 0, 2, 4, 6: guard payload.skip(6) else { return }
    // ADV_EXT_IND and its kin: an extended header, which states its length.
    case 7: guard let extended = payload.byte(), payload.skip(Int(extended & 0x3F)) else { return }
    default: return
    }
    readData(payload, rssi: rssi, into: &chunk, &tally)
  }

  // MARK: Events of a controller

  private func readH4(_ packet: PacketBytes, into chunk: inout [Sighting], _ tally: inout SightingTally) {
    var packet = packet
    if packet.byte() == 0x04 { readEvent(packet, into: &chunk, &tally) }
  }

  private func readEvent(_ event: PacketBytes, into chunk: inout [Sighting], _ tally: inout SightingTally) {
    var event = event
    // LE Meta.
    guard event.byte() == 0x3E else { return }
    guard let length = event.byte(), var content = event.take(Int(length)) else {
      return reject(.cutOff, "an event is not there to its end", &tally)
    }
    let subevent = content.byte()
    guard subevent == 0x02 || subevent == 0x0D, let count = content.byte() else { return }
    for _ in 0..<count {
      let isRead =
        subevent == 0x02
        ? readReport(&content, into: &chunk, &tally) : readExtendedReport(&content, into: &chunk, &tally)
      guard isRead else { return reject(.cutOff, "a report of advertising is not there to its end", &tally) }
    }
  }

  /// Kind, kind of address, address, length, data, strength.
  private func readReport(
    _ content: inout PacketBytes, into chunk: inout [Sighting], _ tally: inout SightingTally
  ) -> Bool {
    guard content.skip(8), let length = content.byte(), let data = content.take(Int(length)),
      let strength = content.byte()
    else { return false }
    readData(data, rssi: Int64(Int8(bitPattern: strength)), into: &chunk, &tally)
    return true
  }

  /// Kind (2), kind of address, address (6), channels (2), set, power; strength; interval (2), kind of address, address (6); data.
  private func readExtendedReport(
    _ content: inout PacketBytes, into chunk: inout [Sighting], _ tally: inout SightingTally
  ) -> Bool {
    guard content.skip(13), let strength = content.byte(), content.skip(9), let length = content.byte(),
      let data = content.take(Int(length))
    else { return false }
    readData(data, rssi: Int64(Int8(bitPattern: strength)), into: &chunk, &tally)
    return true
  }

  // MARK: Data

  private func readData(
    _ data: PacketBytes, rssi: Int64?, into chunk: inout [Sighting], _ tally: inout SightingTally
  ) {
    switch AdvertisingData.read(data) {
    case .none: return
    case .wrongLength(let count):
      reject(.serviceDataLength, "the service data has \(count) bytes; expected 20, or 16 without metadata", &tally)
    case .identifier(let identifier, let metadata):
      guard let time = SightingFields.time(milliseconds: milliseconds) else {
        return reject(.time, "no possible time; \(SightingFields.expectedTime)", &tally)
      }
      chunk.append(
        Sighting(
          identifier: identifier, milliseconds: time, encryptedMetadata: metadata,
          rssi: SightingFields.strength(rssi, &tally)))
    }
  }

  private func rejectChecksum(_ tally: inout SightingTally) {
    reject(.checksum, "the receiver reports a wrong check sum; expected a whole packet", &tally)
  }

  private func reject(_ reason: SightingRejection.Reason, _ detail: String, _ tally: inout SightingTally) {
    tally.reject(reason, "packet \(number): byte \(byteOffset)", detail)
  }
}
