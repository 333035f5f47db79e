/// Reads the protobuf wire format from plain memory. Every access is checked against `end`.
///
/// Source of the encoding: the Protocol Buffers encoding specification. As in the common libraries, a varint has at
/// most ten bytes, and the bits that its type cannot hold are dropped.
struct ProtobufReader {
  private(set) var position: UnsafeRawPointer
  let end: UnsafeRawPointer
  /// What it means when a field reaches beyond the end: more may follow, or the message that is complete is wrong.
  private let shortfall: ProtobufFault

  /// - Parameter isWhole: whether `bytes` is a complete message, and not only the part of a file that is in memory.
  init(_ bytes: UnsafeRawBufferPointer, isWhole: Bool = false) {
    shortfall = isWhole ? .beyondMessage : .truncated
    // An empty buffer may have no address; any address serves for "nothing here".
    position = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
    end = position + bytes.count
  }

  var isAtEnd: Bool { position == end }
  var remaining: Int { end - position }

  @inline(__always)
  mutating func readVarint() throws(ProtobufFault) -> UInt64 {
    guard position < end else { throw shortfall }
    var byte = position.load(as: UInt8.self)
    position += 1
    if byte < 0x80 { return UInt64(byte) }
    var value = UInt64(byte & 0x7f)
    var shift: UInt64 = 7
    while true {
      guard position < end else { throw shortfall }
      guard shift < 70 else { throw .varintTooLong }
      byte = position.load(as: UInt8.self)
      position += 1
      value |= UInt64(byte & 0x7f) &<< shift
      if byte < 0x80 { return value }
      shift += 7
    }
  }

  /// A field's number and wire type.
  ///
  /// A tag that is spelled in more than five bytes is refused, as the common libraries do; inside an unknown group,
  /// which they skip by other code, they accept it.
  @inline(__always)
  mutating func readTag(inGroup: Bool = false) throws(ProtobufFault) -> ProtobufTag {
    let start = position
    let raw = try readVarint()
    guard raw <= UInt64(UInt32.max), let wire = WireType(rawValue: UInt8(raw & 7)), raw >> 3 != 0,
      position - start <= 5 || inGroup
    else { throw .invalidTag(raw) }
    return ProtobufTag(number: UInt32(raw >> 3), wire: wire)
  }

  @inline(__always)
  mutating func readFixed64() throws(ProtobufFault) -> UInt64 {
    guard remaining >= 8 else { throw shortfall }
    defer { position += 8 }
    return UInt64(littleEndian: position.loadUnaligned(as: UInt64.self))
  }

  /// The content of a length-delimited field.
  @inline(__always)
  mutating func readBytes() throws(ProtobufFault) -> UnsafeRawBufferPointer {
    let length = try readVarint()
    guard length <= UInt64(Int32.max) else { throw .lengthTooLarge(length) }
    guard length <= UInt64(remaining) else { throw shortfall }
    defer { position += Int(length) }
    return UnsafeRawBufferPointer(start: position, count: Int(length))
  }

  mutating func readString() throws(ProtobufFault) -> String {
    let bytes = try readBytes()
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .invalidUTF8 }
    return text
  }

  mutating func advance(_ count: Int) throws(ProtobufFault) {
    guard count <= remaining else { throw shortfall }
    position += count
  }

  /// Moves behind the value of a field whose tag has been read.
  mutating func skip(_ tag: ProtobufTag) throws(ProtobufFault) {
    switch tag.wire {
    case .varint: _ = try readVarint()
    case .fixed64: try advance(8)
    case .length: _ = try readBytes()
    case .fixed32: try advance(4)
    case .endGroup: throw .unexpectedEndGroup(tag.number)
    case .startGroup: try skipGroup(tag.number)
    }
  }

  /// Groups may nest in each other, so their numbers are kept on a stack, not on the call stack.
  private mutating func skipGroup(_ number: UInt32) throws(ProtobufFault) {
    var open = [number]
    while let innermost = open.last {
      let tag = try readTag(inGroup: true)
      switch tag.wire {
      case .startGroup:
        guard open.count < 100 else { throw .groupsTooDeep }
        open.append(tag.number)
      case .endGroup:
        guard tag.number == innermost else { throw .unexpectedEndGroup(tag.number) }
        open.removeLast()
      default: try skip(tag)
      }
    }
  }
}

struct ProtobufTag: Equatable {
  var number: UInt32
  var wire: WireType
}

enum WireType: UInt8 {
  case varint = 0
  case fixed64 = 1
  case length = 2
  case startGroup = 3
  case endGroup = 4
  case fixed32 = 5
}

/// Why bytes are not protobuf.
enum ProtobufFault: Error, Equatable {
  case truncated
  case beyondMessage
  case varintTooLong
  case invalidTag(UInt64)
  case lengthTooLarge(UInt64)
  case invalidUTF8
  case unexpectedEndGroup(UInt32)
  case groupsTooDeep
  case unknownFieldsTooLarge(limit: Int)
  case tooManySignatureInfos(limit: Int)

  func error(at byteOffset: Int, in what: String) -> FormatError {
    switch self {
    case .truncated: FormatError(.truncated, byteOffset: byteOffset, "\(what): the bytes end in the middle of it")
    case .beyondMessage:
      FormatError(.malformed, byteOffset: byteOffset, "\(what): a field reaches beyond the end of its message")
    case .varintTooLong: FormatError(.malformed, byteOffset: byteOffset, "\(what): a varint of more than 10 bytes")
    case .invalidTag(let raw):
      FormatError(
        .malformed, byteOffset: byteOffset,
        "\(what): field tag \(raw) has field number \(raw >> 3) and wire type \(raw & 7), allowed are "
          + "numbers 1...536870911 and types 0...5")
    case .lengthTooLarge(let length):
      FormatError(.malformed, byteOffset: byteOffset, "\(what): length \(length), allowed 0...\(Int32.max)")
    case .invalidUTF8: FormatError(.malformed, byteOffset: byteOffset, "\(what): a text field is not UTF-8")
    case .unexpectedEndGroup(let number):
      FormatError(.malformed, byteOffset: byteOffset, "\(what): group \(number) ends without having begun")
    case .groupsTooDeep:
      FormatError(.limitExceeded, byteOffset: byteOffset, "\(what): groups nested deeper than 100")
    case .unknownFieldsTooLarge(let limit):
      FormatError(
        .limitExceeded, byteOffset: byteOffset, "\(what): unknown header fields of more than \(limit) bytes")
    case .tooManySignatureInfos(let limit):
      FormatError(.limitExceeded, byteOffset: byteOffset, "\(what): more than \(limit) signature infos")
    }
  }
}
