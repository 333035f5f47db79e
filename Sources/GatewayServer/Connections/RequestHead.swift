internal import NIOCore

/// The head of one GET or HEAD request without a body, when a read from a connection of HTTP/1.1 holds just that.
///
/// It knows less than HTTP/1.1 (RFC 9112) allows, and takes nothing that it does not know: what it takes, every parser
/// reads alike. Everything else is left to the framework's.
struct RequestHead: Equatable {
  /// `nil` where a stored response is not looked for: the method is HEAD, the host is missing, or a field stands twice.
  var retrieval: RetrievalRequest?
  /// What proxies say about the client, line by line; empty where nobody asks.
  var forwarded: [String] = []

  /// - Parameter bytes: of which the first begins a request.
  init?(_ bytes: ByteBuffer, _ requests: RequestReader) {
    guard bytes.readableBytes <= requests.limits.headerBytes else { return nil }
    var reader = HeadReader(bytes)
    let isGet = reader.skip("GET ")
    guard isGet || reader.skip("HEAD "), let target = reader.target(), reader.skip(" HTTP/1.1\r\n") else { return nil }
    var host: Range<Int>?
    var values: [(field: RetrievalRequest.Field, value: Range<Int>)] = []
    var isPlain = isGet
    var count = 0
    while !reader.skip("\r\n") {
      guard let (name, value) = reader.field() else { return nil }
      count += 1
      switch FramingField(name: reader.bytes[name]) {
      case .host where host == nil: host = value
      case .host: isPlain = false
      case .connection where isSame(reader.bytes[value], "keep-alive"): break
      case .connection, .other: return nil
      case nil:
        if !requests.proxies.isEmpty, isSame(reader.bytes[name], requests.proxies.field.rawValue) {
          forwarded.append(reader.text(value))
          break
        }
        guard let field = RetrievalRequest.Field(name: reader.bytes[name]) else { break }
        // Two lines of one field are the framework's to put together.
        if values.contains(where: { $0.field == field }) { isPlain = false }
        values.append((field, value))
      }
    }
    guard reader.isAtEnd else { return nil }
    guard isPlain, let host, RequestTarget.isAuthority(reader.bytes[host]), count <= requests.limits.headerCount,
      let target = try? RequestTarget(utf8: reader.bytes[target], byteLimit: requests.limits.targetBytes)
    else { return }
    var retrieval = RetrievalRequest(target, host: requests.readsHost ? reader.text(host) : nil)
    for (field, value) in values { retrieval.take(reader.text(value), of: field) }
    self.retrieval = retrieval
  }
}

/// A field that says where a request of HTTP/1.1 ends, and what becomes of its connection (RFC 9112).
private enum FramingField {
  case host
  case connection
  /// Whoever sends one wants more than a response on a connection that stays.
  case other

  private static let names: [(String, FramingField)] = [
    ("host", .host), ("connection", .connection), ("content-length", .other), ("transfer-encoding", .other),
    ("upgrade", .other), ("expect", .other), ("proxy-connection", .other),
  ]

  init?(name: some Collection<UInt8>) {
    guard let found = Self.names.first(where: { isSame(name, $0.0) }) else { return nil }
    self = found.1
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
