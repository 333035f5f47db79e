/// What the first field of a protobuf message tells about the format, which bears no mark.
struct ProtobufFront {
  /// The tag of the first field.
  let tag: ProtobufTag
  /// What is there of its message, for a field that may hold one.
  let message: Message?

  /// The fields of a message by their numbers, up to where the bytes end.
  struct Message {
    fileprivate(set) var wires: [UInt32: WireType] = [:]
    /// The values of fields that are varints.
    fileprivate(set) var numbers: [UInt32: UInt64] = [:]

    /// A signature info, two numbers and the signature, as no key has it. Such a file holds no keys.
    var isSignature: Bool { wires[4] == .length }
    /// Key data comes first in every format's keys.
    var isKey: Bool { wires[1] == .length && !isSignature }
  }

  init?(_ bytes: [UInt8]) {
    let front = bytes.withUnsafeBytes { bytes -> (ProtobufTag, Message?)? in
      var reader = ProtobufReader(bytes)
      guard let tag = try? reader.readTag() else { return nil }
      guard tag == ProtobufTag(number: 1, wire: .length) else { return (tag, nil) }
      // The message may be longer than what is looked at, or the file cut off inside it.
      guard let length = try? reader.readVarint() else { return nil }
      let there = min(Int(clamping: length), reader.remaining)
      return Message(UnsafeRawBufferPointer(start: reader.position, count: there)).map { (tag, $0) }
    }
    guard let front else { return nil }
    (tag, message) = front
  }
}

extension ProtobufFront.Message {
  /// `nil` when the bytes are no message.
  fileprivate init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = ProtobufReader(bytes)
    do {
      while !reader.isAtEnd {
        let tag = try reader.readTag()
        wires[tag.number] = tag.wire
        switch tag.wire {
        case .varint: numbers[tag.number] = try reader.readVarint()
        case .length: try reader.advance(Int(clamping: try reader.readVarint()))
        default: try reader.skip(tag)
        }
      }
    } catch {
      // What was seen up to the cut decides.
      guard error == .truncated else { return nil }
    }
  }
}
