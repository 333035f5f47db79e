/// The two numbers of an ECDSA signature on P-256, and how a file spelled them.
struct SpelledSignature {
  enum Form: Hashable {
    /// Canonical DER (X9.62, X.690): what every device takes.
    case der
    /// Readable, but not the one encoding that DER allows.
    case nonCanonicalDER(reason: String)
    /// IEEE P1363: r‖s, 32 bytes each.
    case raw
  }

  let form: Form
  /// r‖s, 64 bytes, each within 1...n-1.
  let scalars: [UInt8]

  init(_ signature: [UInt8]) throws(KeyFault) {
    guard !signature.isEmpty else { throw KeyFault(.malformed, "the signature is empty") }
    // A DER signature can have 64 bytes too, by a chance of 2^-40 or so; then it begins like one and fits exactly.
    if signature.count == 64 {
      if let der = try? SpelledSignature(der: signature), der.form == .der {
        self = der
      } else {
        try self.init(raw: signature)
      }
    } else {
      try self.init(der: signature)
    }
  }

  private init(raw signature: [UInt8]) throws(KeyFault) {
    form = .raw
    scalars = signature
    try Self.requireRange(signature.prefix(32), "r")
    try Self.requireRange(signature.suffix(32), "s")
  }

  private init(der signature: [UInt8]) throws(KeyFault) {
    var doubts: [String] = []
    var outer = ASN1Reader(signature)
    var sequence = ASN1Reader(try outer.read(ASN1Reader.Tag.sequence, "the signature"))
    let r = try Self.scalar(sequence.read(ASN1Reader.Tag.integer, "r"), "r", &doubts)
    let s = try Self.scalar(sequence.read(ASN1Reader.Tag.integer, "s"), "s", &doubts)
    if !sequence.rest.isEmpty { doubts.append("\(sequence.rest.count) bytes follow s") }
    if !outer.rest.isEmpty { doubts.append("\(outer.rest.count) bytes follow the signature") }
    if outer.hasNonMinimalLength || sequence.hasNonMinimalLength {
      doubts.append("a length takes more bytes than it needs")
    }
    scalars = r + s
    form = doubts.isEmpty ? .der : .nonCanonicalDER(reason: doubts.joined(separator: "; "))
  }

  /// The 32 bytes of a number, with what is odd about its encoding.
  private static func scalar(
    _ content: ArraySlice<UInt8>, _ name: String, _ doubts: inout [String]
  ) throws(KeyFault) -> [UInt8] {
    guard let first = content.first else { throw KeyFault(.malformed, "\(name) is empty") }
    let magnitude = content.drop { $0 == 0 }
    if first >= 0x80 {
      doubts.append("\(name) lacks the zero byte in front, so that it reads as negative")
    } else if content.count - magnitude.count > 1 || (first == 0 && magnitude.first.map { $0 < 0x80 } == true) {
      doubts.append("\(name) has more zero bytes in front than it needs")
    }
    guard magnitude.count <= 32 else {
      throw KeyFault(.malformed, "\(name) has \(magnitude.count) bytes, at most 32 are allowed")
    }
    try requireRange(magnitude, name)
    return [UInt8](repeating: 0, count: 32 - magnitude.count) + magnitude
  }

  private static func requireRange(_ number: ArraySlice<UInt8>, _ name: String) throws(KeyFault) {
    let magnitude = number.drop { $0 == 0 }
    guard !magnitude.isEmpty else { throw KeyFault(.malformed, "\(name) is zero") }
    guard magnitude.count < 32 || magnitude.lexicographicallyPrecedes(groupOrder) else {
      throw KeyFault(.malformed, "\(name) is not below the order of the curve")
    }
  }

  /// n of P-256 (FIPS 186-4, D.1.2.3), big-endian.
  private static let groupOrder: [UInt8] = [
    0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
  ]
}
