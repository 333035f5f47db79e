/// The fields that readers of one protobuf message take for their own.
///
/// Fields that one format does not know are kept as they were sent; in another format's message the same numbers may
/// have a meaning. A field 7 of an export's key, say, would become the report type of a federation key.
struct OwnFields {
  /// Indexed by field number; `nil` where no field of the message has the number.
  let wireTypes: [WireType?]

  static let exportKey = OwnFields(wireTypes: [nil, .length, .varint, .varint, .varint, .varint, .varint])
  static let exportFile = OwnFields(
    wireTypes: [nil, .fixed64, .fixed64, .length, .varint, .varint, .length, .length, .length])
  static let signatureInfo = OwnFields(wireTypes: [nil, .length, .length, .length, .length, .length])
  static let federationKey = OwnFields(
    wireTypes: [nil, .length, .varint, .varint, .varint, .length, .length, .varint, .varint])
  static let federationBatch = OwnFields(wireTypes: [nil, .length])

  /// Whether `encoded` is a run of whole fields none of which has a meaning in this message.
  func areForeign(_ encoded: some Collection<UInt8>) -> Bool {
    func check(_ bytes: UnsafeRawBufferPointer) -> Bool {
      var reader = ProtobufReader(bytes)
      while !reader.isAtEnd {
        guard let tag = try? reader.readTag() else { return false }
        let own = tag.number < wireTypes.count ? wireTypes[Int(tag.number)] : nil
        guard own != tag.wire, (try? reader.skip(tag)) != nil else { return false }
      }
      return true
    }
    return encoded.withContiguousStorageIfAvailable { check(UnsafeRawBufferPointer($0)) }
      ?? Array(encoded).withUnsafeBytes(check)
  }
}
