internal import KeyDevice

/// The service data of Exposure Notification in what a device broadcasts: structures of length, type and value.
enum AdvertisingData {
  private static let serviceData: UInt8 = 0x16
  private static let service: UInt16 = 0xFD6F

  enum Content {
    case none
    case identifier(ProximityIdentifier, metadata: UInt32?)
    /// So many bytes, of which phones make nothing.
    case wrongLength(Int)
  }

  static func read(_ data: PacketBytes) -> Content {
    var data = data
    while let length = data.byte(), length > 0 {
      // What a short snapshot length has cut off is no structure any more.
      guard var structure = data.take(Int(length)), let type = structure.byte() else { return .none }
      guard type == serviceData, structure.number(UInt16.self, isBig: false) == service else { continue }
      guard structure.count == 16 || structure.count == 20 else { return .wrongLength(structure.count) }
      guard let first = structure.take(16), let identifier = SightingFields.identifier(first.rest) else { return .none }
      return .identifier(identifier, metadata: structure.number(UInt32.self, isBig: true))
    }
    return .none
  }
}
