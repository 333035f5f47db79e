/// A form in which people have sightings. The raw value is the stable name for programs.
package enum SightingFormat: String, Sendable, Hashable, CaseIterable {
  case ramble
  case microG = "microg"
  case appleStore = "apple-store"
  case companionExport = "companion-export"
  case companionRaw = "companion-raw"
  case espENA = "esp-ena"
  case raspberryPi = "raspberry-pi"
  case cwascan
  case csv
  case pcap
  case pcapng
  case btsnoop
  case packetLogger = "packet-logger"

  /// What it is, for people.
  package var summary: String {
    switch self {
    case .ramble: "the database of the app RaMBLE"
    case .microG: "microG's database of received identifiers"
    case .appleStore: "the store of iOS 13.5 (en_advertisements)"
    case .companionExport: "the companion app's export, one row per identifier"
    case .companionRaw: "the companion app's export, one row per broadcast"
    case .espENA: "the serial output of esp-ena"
    case .raspberryPi: "the CSV of a Raspberry Pi's receiver"
    case .cwascan: "the table of cwascan as CSV"
    case .csv: "CSV with the columns time and rpi"
    case .pcap: "a Bluetooth capture (pcap)"
    case .pcapng: "a Bluetooth capture (pcapng)"
    case .btsnoop: "a log of a Bluetooth controller (btsnoop)"
    case .packetLogger: "a log of Apple's PacketLogger"
    }
  }
}
