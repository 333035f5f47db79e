/// Reads ASN.1 in the Basic Encoding Rules, one element after another: what BouncyCastle writes has indefinite lengths,
/// which ``DERReader`` refuses. Nothing is copied.
///
/// Source: X.690, 8.1.
struct BERReader {
  struct Fault: Error, Hashable {
    let reason: String
  }

  /// One element.
  struct Element {
    let tag: UInt8
    /// Without tag, length and the mark of the end.
    let content: ArraySlice<UInt8>
    /// With all of them.
    let whole: ArraySlice<UInt8>
  }

  enum Tag {
    static let integer: UInt8 = 0x02
    static let octetString: UInt8 = 0x04
    static let constructedOctetString: UInt8 = 0x24
    static let objectIdentifier: UInt8 = 0x06
    static let utcTime: UInt8 = 0x17
    static let generalizedTime: UInt8 = 0x18
    static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31
    static let context0: UInt8 = 0xA0
    static let context1: UInt8 = 0xA1
    static let primitiveContext0: UInt8 = 0x80
  }

  /// How deep elements of an indefinite length may nest. A batch's signature nests five deep.
  static let maximumDepth = 16

  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  var nextTag: UInt8? { rest.first }

  /// The content of the next element, which must have this tag. `name` is for the message.
  mutating func read(_ tag: UInt8, _ name: String) throws(Fault) -> ArraySlice<UInt8> {
    try readElement(tag, name).content
  }

  mutating func readElement(_ tag: UInt8, _ name: String) throws(Fault) -> Element {
    guard let found = rest.first else { throw Fault(reason: "ends before \(name)") }
    guard found == tag else {
      throw Fault(reason: "\(name) has tag 0x\(hexadecimal([found])), expected 0x\(hexadecimal([tag]))")
    }
    return try next(name)
  }

  /// The next element, whichever it is.
  mutating func next(_ name: String) throws(Fault) -> Element {
    let element = try Self.element(rest, name, depth: 0)
    rest = rest[element.whole.endIndex...]
    return element
  }

  /// - Throws: where something is left.
  func finish(_ name: String) throws(Fault) {
    guard rest.isEmpty else { throw Fault(reason: "\(rest.count) bytes too many in \(name)") }
  }

  private static func element(_ bytes: ArraySlice<UInt8>, _ name: String, depth: Int) throws(Fault) -> Element {
    guard depth <= maximumDepth else { throw Fault(reason: "\(name) nests deeper than \(maximumDepth) levels") }
    guard let tag = bytes.first else { throw Fault(reason: "ends before \(name)") }
    guard tag & 0x1F != 0x1F else { throw Fault(reason: "\(name) has a tag of several bytes") }
    var rest = bytes.dropFirst()
    guard let first = rest.popFirst() else { throw Fault(reason: "ends in the length of \(name)") }
    if first == 0x80 {
      guard tag & 0x20 != 0 else { throw Fault(reason: "\(name) has an indefinite length, but no parts") }
      return try indefinite(tag, rest, of: bytes, name, depth: depth)
    }
    var length = Int(first)
    if first > 0x80 {
      let octets = Int(first & 0x7F)
      guard octets <= 4 else { throw Fault(reason: "\(name) has a length of \(octets) bytes, allowed 1...4") }
      guard octets <= rest.count else { throw Fault(reason: "ends in the length of \(name)") }
      length = rest.prefix(octets).reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(octets)
    }
    guard length <= rest.count else {
      throw Fault(reason: "\(name) has length \(length), but \(rest.count) bytes follow")
    }
    let end = rest.startIndex + length
    return Element(tag: tag, content: rest[..<end], whole: bytes[..<end])
  }

  /// What follows is read element by element, up to the mark of the end.
  private static func indefinite(
    _ tag: UInt8, _ content: ArraySlice<UInt8>, of bytes: ArraySlice<UInt8>, _ name: String, depth: Int
  ) throws(Fault) -> Element {
    var rest = content
    while !rest.starts(with: [0, 0]) {
      guard !rest.isEmpty else { throw Fault(reason: "\(name) has an indefinite length and no end") }
      rest = rest[try element(rest, name, depth: depth + 1).whole.endIndex...]
    }
    return Element(tag: tag, content: content[..<rest.startIndex], whole: bytes[..<(rest.startIndex + 2)])
  }
}
