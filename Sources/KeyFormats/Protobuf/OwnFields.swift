/// The fields that readers of a protobuf format take for their own.
///
/// Fields that one format does not know are kept as they were sent; in another format's message the same numbers may
/// have a meaning. A field 7 of an export's key, say, would become the report type of a federation key.
struct OwnFields {
  /// Those of a key.
  let key: MessageFields
  /// Those of the message around the keys.
  let file: MessageFields
}

/// The fields of one protobuf message.
struct MessageFields {
  /// Indexed by field number; `nil` where no field of the message has the number.
  let wireTypes: [WireType?]

  func contain(_ tag: ProtobufTag) -> Bool {
    tag.number < wireTypes.count && wireTypes[Int(tag.number)] == tag.wire
  }

  /// Whether `encoded` is a run of whole fields none of which has a meaning in this message.
  func areForeign(_ encoded: some Collection<UInt8>) -> Bool {
    func check(_ bytes: UnsafeRawBufferPointer) -> Bool {
      var reader = ProtobufReader(bytes)
      while !reader.isAtEnd {
        guard let tag = try? reader.readTag() else { return false }
        guard !contain(tag), (try? reader.skip(tag)) != nil else { return false }
      }
      return true
    }
    return encoded.withContiguousStorageIfAvailable { check(UnsafeRawBufferPointer($0)) }
      ?? Array(encoded).withUnsafeBytes(check)
  }
}
