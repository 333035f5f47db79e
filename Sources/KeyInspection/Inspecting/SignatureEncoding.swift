/// How the bytes of a signature are spelled. Whether they verify is another question.
package enum SignatureEncoding: String, Codable, Hashable, Sendable {
  /// X9.62: a DER sequence of two integers in their shortest form, both in 1...n-1 of P-256.
  case der
  /// A sequence of two integers, but not in their one canonical form or range.
  case notCanonical = "not-canonical"
  /// Sixty-four bytes, r and s side by side (IEEE P1363).
  case raw
  case empty
  case unrecognized

  init(_ bytes: [UInt8]) {
    if bytes.isEmpty {
      self = .empty
    } else if let integers = Self.integers(bytes) {
      self = integers.allSatisfy(Self.isCanonical) ? .der : .notCanonical
    } else {
      self = bytes.count == 64 ? .raw : .unrecognized
    }
  }

  /// The contents of the two integers of a DER sequence that fills the bytes.
  private static func integers(_ bytes: [UInt8]) -> [ArraySlice<UInt8>]? {
    guard bytes.count >= 2, bytes[0] == 0x30, bytes[1] < 0x80, Int(bytes[1]) == bytes.count - 2 else { return nil }
    var rest = bytes[2...]
    var integers: [ArraySlice<UInt8>] = []
    while !rest.isEmpty {
      guard rest.count >= 2, rest[rest.startIndex] == 0x02 else { return nil }
      let length = Int(rest[rest.startIndex + 1])
      guard length >= 1, length < 0x80, length <= rest.count - 2 else { return nil }
      integers.append(rest.dropFirst(2).prefix(length))
      rest = rest.dropFirst(2 + length)
    }
    return integers.count == 2 ? integers : nil
  }

  private static func isCanonical(_ integer: ArraySlice<UInt8>) -> Bool {
    let bytes = Array(integer)
    guard let first = bytes.first, first < 0x80, bytes.count <= 33 else { return false }
    if first == 0, bytes.count > 1, bytes[1] < 0x80 { return false }
    let digits = bytes.drop { $0 == 0 }
    guard !digits.isEmpty else { return false }
    return digits.count < order.count || digits.lexicographicallyPrecedes(order)
  }

  /// The order n of P-256 (SEC 2, section 2.4.2).
  private static let order: [UInt8] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
  ]
}
