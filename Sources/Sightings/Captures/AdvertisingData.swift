internal import KeyDevice

/// The service data of Exposure Notification in what a device broadcasts: structures of length, type and value.
enum AdvertisingData {
  private static let serviceData: UInt8 = 0x16
  /// 0xFD6F, little-endian.
  private static let service: [UInt8] = [0x6F, 0xFD]

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
      guard type == serviceData, structure.count >= 2, structure.rest.starts(with: service) else { continue }
      _ = structure.skip(2)
      guard structure.count == 16 || structure.count == 20 else { return .wrongLength(structure.count) }
      guard let identifier = ProximityIdentifier(structure.rest.prefix(16)) else { return .none }
      return .identifier(identifier, metadata: SightingFields.metadata(structure.rest.dropFirst(16)))
    }
    return .none
  }
}
