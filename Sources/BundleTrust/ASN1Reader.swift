internal import ExposureKeys

/// Reads ASN.1 one element after another, and copies nothing.
///
/// SwiftASN1 refuses what a report must describe: bytes behind an element, and a length that takes more bytes than it needs.
///
/// Source: X.690, 8.1.
struct ASN1Reader {
  enum Rules {
    /// Lengths are stated, as in keys and signatures. What a longer form than needed means is clear: a caller that wants DER asks
    /// ``ASN1Reader/hasNonMinimalLength``.
    case definite
    /// Elements may have an indefinite length, as BouncyCastle writes them.
    case basic
  }

  /// One element.
  struct Element {
    let tag: UInt8
    /// Without tag, length and the mark of the end.
    let content: ArraySlice<UInt8>
    /// With all of them.
    let whole: ArraySlice<UInt8>
    let hasNonMinimalLength: Bool
  }

  enum Tag {
    static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
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
  private(set) var hasNonMinimalLength = false
  private let rules: Rules

  init(_ bytes: some Collection<UInt8>, _ rules: Rules = .definite) {
    rest = ArraySlice(bytes)
    self.rules = rules
  }

  var nextTag: UInt8? { rest.first }

  /// The content of the next element, which must have this tag. `name` is for the message.
  mutating func read(_ tag: UInt8, _ name: String) throws(KeyFault) -> ArraySlice<UInt8> {
    try readElement(tag, name).content
  }

  mutating func readElement(_ tag: UInt8, _ name: String) throws(KeyFault) -> Element {
    guard let found = rest.first else { throw KeyFault(.malformed, "ends before \(name)") }
    guard found == tag else {
      throw KeyFault(
        .malformed, "\(name) has tag 0x\(Hexadecimal.encode([found])), expected 0x\(Hexadecimal.encode([tag]))")
    }
    return try next(name)
  }

  /// The next element, whichever it is.
  mutating func next(_ name: String) throws(KeyFault) -> Element {
    let element = try element(rest, name, depth: 0)
    rest = rest[element.whole.endIndex...]
    if element.hasNonMinimalLength { hasNonMinimalLength = true }
    return element
  }

  /// - Throws: where something is left.
  func finish(_ name: String) throws(KeyFault) {
    guard rest.isEmpty else { throw KeyFault(.malformed, "\(rest.count) bytes too many in \(name)") }
  }

  private func element(_ bytes: ArraySlice<UInt8>, _ name: String, depth: Int) throws(KeyFault) -> Element {
    func fault(_ reason: String) -> KeyFault { KeyFault(.malformed, reason) }
    guard depth <= Self.maximumDepth else { throw fault("\(name) nests deeper than \(Self.maximumDepth) levels") }
    guard let tag = bytes.first else { throw fault("ends before \(name)") }
    guard tag & 0x1F != 0x1F else { throw fault("\(name) has a tag of several bytes") }
    var rest = bytes.dropFirst()
    guard let first = rest.popFirst() else { throw fault("ends in the length of \(name)") }
    var isLong = false
    var length = Int(first)
    if first == 0x80 {
      guard rules == .basic else { throw fault("\(name) has an indefinite length") }
      guard tag & 0x20 != 0 else { throw fault("\(name) has an indefinite length, but no parts") }
      // What follows is read element by element, up to the mark of the end.
      let content = rest
      while !rest.starts(with: [0, 0]) {
        guard !rest.isEmpty else { throw fault("\(name) has an indefinite length and no end") }
        rest = rest[try element(rest, name, depth: depth + 1).whole.endIndex...]
      }
      return Element(
        tag: tag, content: content[..<rest.startIndex], whole: bytes[..<(rest.startIndex + 2)],
        hasNonMinimalLength: false)
    } else if first > 0x80 {
      let octets = Int(first & 0x7F)
      guard octets <= 4 else { throw fault("\(name) has a length of \(octets) bytes, allowed 1...4") }
      guard octets <= rest.count else { throw fault("ends in the length of \(name)") }
      length = rest.prefix(octets).reduce(0) { $0 << 8 | Int($1) }
      isLong = length < 0x80 || rest.first == 0
      rest = rest.dropFirst(octets)
    }
    guard length <= rest.count else { throw fault("\(name) has length \(length), but \(rest.count) bytes follow") }
    let end = rest.startIndex + length
    return Element(tag: tag, content: rest[..<end], whole: bytes[..<end], hasNonMinimalLength: isLong)
  }
}

/// The object identifiers that keys come with: the two we take, and those whose names help in a message.
enum ObjectIdentifier {
  static let ecPublicKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
  static let p256: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]

  private static let names: [[UInt8]: String] = [
    ecPublicKey: "EC", p256: "P-256",
    [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x01]: "P-192",
    [0x2B, 0x81, 0x04, 0x00, 0x21]: "P-224",
    [0x2B, 0x81, 0x04, 0x00, 0x22]: "P-384",
    [0x2B, 0x81, 0x04, 0x00, 0x23]: "P-521",
    [0x2B, 0x81, 0x04, 0x00, 0x0A]: "secp256k1",
    [0x2B, 0x24, 0x03, 0x03, 0x02, 0x08, 0x01, 0x01, 0x07]: "brainpoolP256r1",
    [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]: "RSA",
    [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0A]: "RSA-PSS",
    [0x2A, 0x86, 0x48, 0xCE, 0x38, 0x04, 0x01]: "DSA",
    [0x2B, 0x65, 0x6E]: "X25519", [0x2B, 0x65, 0x70]: "Ed25519", [0x2B, 0x65, 0x71]: "Ed448",
  ]

  /// The common name, else the dotted numbers.
  static func name(_ content: ArraySlice<UInt8>) -> String {
    names[Array(content)] ?? dotted(content)
  }

  private static func dotted(_ content: ArraySlice<UInt8>) -> String {
    var arcs: [UInt64] = []
    var arc: UInt64 = 0
    for byte in content.prefix(32) {
      arc = arc << 7 | UInt64(byte & 0x7F)
      guard byte & 0x80 == 0 else { continue }
      if arcs.isEmpty {
        let first = min(arc / 40, 2)
        arcs = [first, arc - first * 40]
      } else {
        arcs.append(arc)
      }
      arc = 0
    }
    return arcs.map(String.init).joined(separator: ".")
  }
}
