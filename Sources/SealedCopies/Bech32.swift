/// Names of keys with a checksum, as BIP 173 spells them: `age1…`.
enum Bech32 {
  private static let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)

  /// The bytes behind a prefix.
  ///
  /// - Returns: `nil` when the text is none, or its checksum is wrong, or small and capital letters are mixed.
  static func decode(_ text: String, prefix: String) -> [UInt8]? {
    guard text.utf8.count <= 128, text == text.lowercased() || text == text.uppercased() else { return nil }
    let text = Array(text.lowercased().utf8)
    let start = Array(prefix.lowercased().utf8) + [UInt8(ascii: "1")]
    guard text.starts(with: start), text.count >= start.count + 6 else { return nil }
    var values: [UInt8] = []
    for character in text[start.count...] {
      guard let value = alphabet.firstIndex(of: character) else { return nil }
      values.append(UInt8(value))
    }
    guard remainder(of: expanded(prefix) + values) == 1 else { return nil }
    return regrouped(values.dropLast(6), from: 5, to: 8, pads: false)
  }

  static func encode(_ bytes: [UInt8], prefix: String) -> String {
    let values = regrouped(bytes[...], from: 8, to: 5, pads: true) ?? []
    let sum = remainder(of: expanded(prefix) + values + [0, 0, 0, 0, 0, 0]) ^ 1
    let checksum = (0..<6).map { UInt8(truncatingIfNeeded: sum >> UInt32(5 * (5 - $0)) & 31) }
    return prefix.lowercased() + "1" + String(decoding: (values + checksum).map { alphabet[Int($0)] }, as: UTF8.self)
  }

  private static func expanded(_ prefix: String) -> [UInt8] {
    let letters = Array(prefix.lowercased().utf8)
    return letters.map { $0 >> 5 } + [0] + letters.map { $0 & 31 }
  }

  private static func remainder(of values: [UInt8]) -> UInt32 {
    let generators: [UInt32] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3]
    return values.reduce(1) { sum, value in
      let top = sum >> 25
      var next = (sum & 0x1ff_ffff) << 5 ^ UInt32(value)
      for (bit, generator) in generators.enumerated() where top >> UInt32(bit) & 1 != 0 { next ^= generator }
      return next
    }
  }

  private static func regrouped(_ values: ArraySlice<UInt8>, from: UInt32, to: UInt32, pads: Bool) -> [UInt8]? {
    var (word, bits): (UInt32, UInt32) = (0, 0)
    var groups: [UInt8] = []
    for value in values {
      word = (word << from | UInt32(value)) & 0xfff
      bits += from
      while bits >= to {
        bits -= to
        groups.append(UInt8(truncatingIfNeeded: word >> bits & (1 << to - 1)))
      }
    }
    let rest = word & (1 << bits - 1)
    if pads {
      if bits > 0 { groups.append(UInt8(truncatingIfNeeded: word << (to - bits) & (1 << to - 1))) }
    } else if bits >= from || rest != 0 {
      return nil
    }
    return groups
  }
}
