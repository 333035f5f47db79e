/// The first bytes of a document, and what can be said of them before any format is known.
struct DocumentFront {
  /// How many bytes are looked at.
  static let reach = 4096

  let bytes: [UInt8]
  let kind: Kind

  enum Kind {
    case archive
    case json
    /// Other text: its lines, without blanks in front of them.
    case text(lines: [String])
    /// Bytes that are no text; `nil` when they are not protobuf either.
    case binary(ProtobufFront?)
    /// Nothing that any format could be, and why.
    case nothing(String)
  }

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    kind = Self.kind(of: bytes)
  }

  private static func kind(of bytes: [UInt8]) -> Kind {
    if bytes.isEmpty { return .nothing("the file is empty") }
    if ZipArchive.begins(bytes) { return .archive }
    guard let text = textual(bytes) else { return .binary(ProtobufFront(bytes)) }
    switch text.first {
    case nil: return .nothing("the file holds nothing but white space")
    case UInt8(ascii: "{"), UInt8(ascii: "["): return .json
    case UInt8(ascii: "<") where XMLPropertyList.begins(bytes): return .text(lines: [])
    case UInt8(ascii: "<"):
      return .nothing("the file looks like a web page; a server may have answered with an error")
    default:
      return .text(
        lines: text.split(whereSeparator: { $0 == 0x0a || $0 == 0x0d })
          .map { String(decoding: $0.drop { $0 == 0x20 || $0 == 0x09 }, as: UTF8.self) })
    }
  }

  /// The front as text without a byte order mark and leading white space, or `nil` for binary.
  private static func textual(_ front: [UInt8]) -> ArraySlice<UInt8>? {
    var text = front[...]
    if text.starts(with: [0xef, 0xbb, 0xbf]) { text = text.dropFirst(3) }
    let control = text.contains { $0 < 0x20 && ![0x09, 0x0a, 0x0d, 0x0c].contains($0) || $0 == 0x7f }
    return control ? nil : text.drop { [0x20, 0x09, 0x0a, 0x0d].contains($0) }
  }

  /// The lines of text that is not JSON; none of anything else.
  var lines: [String] {
    if case .text(let lines) = kind { lines } else { [] }
  }

  /// `nil` when the bytes are text, or not protobuf.
  var protobuf: ProtobufFront? {
    if case .binary(let front) = kind { front } else { nil }
  }
}
