public import ExposureKeys

/// `export.sig`: a `TEKSignatureList`, without header bytes.
public enum SignatureFile {
  /// The most entries that are read: more than a hundred times what any device looks at.
  public static let maximumSignatures = 1024

  /// - Throws: ``FormatError`` when the bytes are not a signature list.
  public static func decode(_ bytes: [UInt8]) throws -> [ExportSignature] {
    var notes = ReadingNotes()
    return try decode(bytes, &notes)
  }

  /// - Parameter notes: gets the fields that a signature states more than once.
  package static func decode(_ bytes: [UInt8], _ notes: inout ReadingNotes) throws -> [ExportSignature] {
    try bytes.withUnsafeBytes { buffer in
      var reader = ProtobufReader(buffer)
      var signatures: [ExportSignature] = []
      do throws(ProtobufFault) {
        while !reader.isAtEnd {
          let tag = try reader.readTag()
          if tag == ProtobufTag(number: 1, wire: .length) {
            let place = "signature \(signatures.count)"
            signatures.append(try ExportSignature(protobuf: try reader.readBytes(), in: place, &notes))
            guard signatures.count <= maximumSignatures else { break }
          } else {
            try reader.skip(tag)
          }
        }
      } catch {
        throw error.error(at: buffer.count - reader.remaining, in: "signature \(signatures.count)")
      }
      guard signatures.count <= maximumSignatures else {
        throw FormatError(.limitExceeded, "more than \(maximumSignatures) signatures")
      }
      return signatures
    }
  }

  public static func encode(_ signatures: [ExportSignature]) -> [UInt8] {
    var list = ProtobufWriter()
    for signature in signatures {
      var message = ProtobufWriter()
      signature.info.encode(into: &message, number: 1)
      message.int32(2, signature.batchNum)
      message.int32(3, signature.batchSize)
      message.data(4, signature.signature)
      message.raw(signature.unknownFields)
      list.data(1, message.bytes)
    }
    return list.bytes
  }
}

extension ExportSignature {
  private static let fields = MessageFields(wireTypes: [nil, .length, .varint, .varint, .length])

  /// - Parameter place: where the message stands, for the notes.
  init(
    protobuf bytes: UnsafeRawBufferPointer, in place: String, _ notes: inout ReadingNotes
  ) throws(ProtobufFault) {
    self.init(info: SignatureInfo(), signature: [])
    var seen: Set<UInt32> = []
    var reader = ProtobufReader(bytes, isWhole: true)
    while !reader.isAtEnd {
      let start = reader.position
      let tag = try reader.readTag()
      if Self.fields.contain(tag), !seen.insert(tag.number).inserted {
        notes.countRepeated("field \(tag.number) of a signature", in: place)
      }
      switch (tag.number, tag.wire) {
      case (1, .length): try info.merge(protobuf: try reader.readBytes(), in: "the info of \(place)", &notes)
      case (2, .varint): batchNum = Int32(truncatingIfNeeded: try reader.readVarint())
      case (3, .varint): batchSize = Int32(truncatingIfNeeded: try reader.readVarint())
      case (4, .length): signature = Array(try reader.readBytes())
      default:
        try reader.skip(tag)
        unknownFields.append(contentsOf: UnsafeRawBufferPointer(start: start, count: reader.position - start))
      }
    }
  }
}
