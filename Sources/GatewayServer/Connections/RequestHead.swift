internal import NIOCore

/// The head of one GET or HEAD request without a body, when a read from a connection holds just that.
///
/// It knows less than HTTP/1.1 (RFC 9112) allows, and takes nothing that it does not know: what it takes, every parser
/// reads alike. Everything else is left to the framework's.
struct RequestHead: Equatable {
  /// What it asks; `nil` where that is not simply everything under an address.
  var question: Question?

  /// - Parameter bytes: of which the first begins a request.
  init?(_ bytes: ByteBuffer, limits: ServerLimits) {
    guard bytes.readableBytes <= limits.headerBytes else { return nil }
    var reader = HeadReader(bytes)
    let isGet = reader.skip("GET ")
    guard isGet || reader.skip("HEAD "), let target = reader.target(), reader.skip(" HTTP/1.1\r\n") else { return nil }
    var (host, acceptEncoding): (Range<Int>?, Range<Int>?)
    var isPlain = isGet
    var count = 0
    while !reader.skip("\r\n") {
      guard let (name, value) = reader.field() else { return nil }
      count += 1
      switch FieldRole(of: reader.bytes[name]) {
      case .none: break
      case .connection where FieldRole.keepsConnection(reader.bytes[value]): break
      case .connection, .framing: return nil
      case .host where host == nil: host = value
      case .acceptEncoding where acceptEncoding == nil: acceptEncoding = value
      case .host, .acceptEncoding, .condition: isPlain = false
      }
    }
    guard reader.isAtEnd else { return nil }
    guard isPlain, let host, count <= limits.headerCount else { return }
    question = Question(
      target: reader.text(target), host: reader.text(host), acceptEncoding: acceptEncoding.map(reader.text))
  }
}

/// Goes through the bytes of a head.
private struct HeadReader {
  let bytes: [UInt8]
  private var position = 0

  init(_ bytes: ByteBuffer) { self.bytes = Array(bytes.readableBytesView) }

  var isAtEnd: Bool { position == bytes.count }

  func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  /// Whether this comes next; it is passed then.
  mutating func skip(_ expected: StaticString) -> Bool {
    let count = expected.utf8CodeUnitCount
    guard bytes.count - position >= count else { return false }
    let isNext = expected.withUTF8Buffer { $0.elementsEqual(bytes[position..<position + count]) }
    if isNext { position += count }
    return isNext
  }

  /// A path, with or without a query.
  mutating func target() -> Range<Int>? {
    guard !isAtEnd, bytes[position] == UInt8(ascii: "/") else { return nil }
    return pass { (0x21...0x7E).contains($0) }
  }

  /// A field line to its end; the value is without space around it.
  mutating func field() -> (name: Range<Int>, value: Range<Int>)? {
    let name = pass(Self.isToken)
    guard !name.isEmpty, skip(":") else { return nil }
    _ = pass(Self.isSpace)
    var value = pass { (0x20...0x7E).contains($0) || Self.isSpace($0) }
    while let last = value.last, Self.isSpace(bytes[last]) { value.removeLast() }
    guard skip("\r\n") else { return nil }
    return (name, value)
  }

  private mutating func pass(_ belongs: (UInt8) -> Bool) -> Range<Int> {
    let start = position
    while position < bytes.count, belongs(bytes[position]) { position += 1 }
    return start..<position
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  private static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
