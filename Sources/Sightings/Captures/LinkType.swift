/// How packets of a capture begin: the numbers of pcap and btsnoop that are read.
enum LinkType: Hashable {
  /// Packets of the air, without signal strength.
  case linkLayer
  /// Packets of the air behind a header with signal strength: Ubertooth, Sniffle.
  case linkLayerWithHeader
  /// Packets of the air as the nRF Sniffer hands them over.
  case nordic
  /// Between host and controller, with the kind of packet in the first byte.
  case h4
  /// The same behind four bytes that state the direction.
  case h4WithDirection
  /// Events of a controller, which the log marks as such elsewhere.
  case event
  /// Linux' monitor: adapter and kind, two bytes each.
  case linuxMonitor

  /// Of pcap and pcapng; bits above the sixteenth mean other things.
  init?(pcap number: UInt32) {
    switch number & 0xFFFF {
    case 187: self = .h4
    case 201: self = .h4WithDirection
    case 251: self = .linkLayer
    case 254: self = .linuxMonitor
    case 256: self = .linkLayerWithHeader
    case 272: self = .nordic
    default: return nil
    }
  }

  static let pcapNumbers = "187, 201, 251, 254, 256, 272"
}
