/// Reads the few ASN.1 structures of keys and signatures, one element after another.
///
/// Definite lengths only (X.690, 8.1.3). Lengths in a longer form than needed are read and remembered, since what
/// they mean is clear; a caller that wants DER asks ``hasNonMinimalLength``.
struct DERReader {
  private(set) var rest: ArraySlice<UInt8>
  private(set) var hasNonMinimalLength = false

  enum Tag {
    static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
    static let octetString: UInt8 = 0x04
    static let objectIdentifier: UInt8 = 0x06
    static let sequence: UInt8 = 0x30
    static let context0: UInt8 = 0xA0
    static let context1: UInt8 = 0xA1
  }

  init(_ bytes: some Collection<UInt8>) { rest = ArraySlice(bytes) }

  var nextTag: UInt8? { rest.first }

  /// The content of the next element, which must have this tag. `name` is for the message.
  mutating func read(_ tag: UInt8, _ name: String) throws(KeyFault) -> ArraySlice<UInt8> {
    guard let found = rest.popFirst() else { throw KeyFault(.malformed, "ends before \(name)") }
    guard found == tag else {
      throw KeyFault(.malformed, "\(name) has tag 0x\(hexadecimal([found])), expected 0x\(hexadecimal([tag]))")
    }
    let length = try readLength(name)
    guard length <= rest.count else {
      throw KeyFault(.malformed, "\(name) has length \(length), but \(rest.count) bytes follow")
    }
    defer { rest = rest.dropFirst(length) }
    return rest.prefix(length)
  }

  private mutating func readLength(_ name: String) throws(KeyFault) -> Int {
    guard let first = rest.popFirst() else { throw KeyFault(.malformed, "ends in the length of \(name)") }
    guard first >= 0x80 else { return Int(first) }
    let octets = Int(first & 0x7F)
    guard octets > 0 else { throw KeyFault(.malformed, "\(name) has an indefinite length") }
    guard octets <= 4 else { throw KeyFault(.malformed, "\(name) has a length of \(octets) bytes, allowed 1...4") }
    guard octets <= rest.count else { throw KeyFault(.malformed, "ends in the length of \(name)") }
    let length = rest.prefix(octets).reduce(0) { $0 << 8 | Int($1) }
    if length < 0x80 || rest.first == 0 { hasNonMinimalLength = true }
    rest = rest.dropFirst(octets)
    return length
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
