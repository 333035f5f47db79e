internal import Glibc

/// Whether an address is one of the open internet's, where a subscriber of another country may be: a global unicast address
/// (RFC 6890 and the registries of special addresses). Everything else may be in our own network, and is refused.
package struct AddressReach: Sendable {
  /// Says of an address, in network order, of four or sixteen bytes, that it may be reached nevertheless.
  private let isAllowed: @Sendable ([UInt8]) -> Bool

  package init(isAllowed: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }) { self.isAllowed = isAllowed }

  /// Why nobody is called there; `nil` where somebody may be.
  ///
  /// - Parameter text: `192.0.2.1`, `2001:db8::1`.
  package func refusal(of text: String) -> String? {
    guard let bytes = Self.bytes(of: text) else { return "\(text.prefix(60)) is no address" }
    if isAllowed(bytes) { return nil }
    return Self.kind(of: bytes).map { "\(text) is \($0)" }
  }

  /// In network order; an IPv4 address within IPv6 (`::ffff:192.0.2.1`) is one of IPv4. `nil` for what is no address, and for
  /// one with a zone.
  package static func bytes(of text: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 16)
    guard text.utf8.count <= 45 else { return nil }
    if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes.prefix(4)) }
    guard inet_pton(AF_INET6, text, &bytes) == 1 else { return nil }
    return begins(bytes, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96) ? Array(bytes.suffix(4)) : bytes
  }

  /// What an address is that is not global; `nil` for one that is.
  private static func kind(of bytes: [UInt8]) -> String? {
    guard bytes.count == 16 else { return ranges4.first { begins(bytes, $0.prefix, $0.bits) }?.kind }
    // Translated to IPv4 on the way: there the packet arrives.
    if begins(bytes, [0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], 96) { return embedded(bytes[12...], "NAT64") }
    if begins(bytes, [0x20, 0x02], 16) { return embedded(bytes[2..<6], "6to4") }
    if let range = ranges6.first(where: { begins(bytes, $0.prefix, $0.bits) }) { return range.kind }
    return begins(bytes, [0x20], 3) ? nil : "no global unicast address"
  }

  private static func embedded(_ bytes: ArraySlice<UInt8>, _ name: String) -> String? {
    kind(of: Array(bytes)).map { "\(name) for \($0)" }
  }

  private static let ranges4: [(prefix: [UInt8], bits: Int, kind: String)] = [
    ([0], 8, "this network"), ([10], 8, "a private address"), ([100, 64], 10, "a carrier's shared address"),
    ([127], 8, "this machine"), ([169, 254], 16, "a link-local address"), ([172, 16], 12, "a private address"),
    ([192, 0, 0], 24, "kept for protocols"), ([192, 0, 2], 24, "for documentation"),
    ([192, 88, 99], 24, "kept for 6to4"), ([192, 168], 16, "a private address"), ([198, 18], 15, "for benchmarks"),
    ([198, 51, 100], 24, "for documentation"), ([203, 0, 113], 24, "for documentation"),
    ([224], 4, "a multicast address"), ([240], 4, "reserved, or broadcast"),
  ]

  private static let ranges6: [(prefix: [UInt8], bits: Int, kind: String)] = [
    ([0xFC], 7, "a private address"), ([0xFE, 0x80], 10, "a link-local address"),
    ([0xFE, 0xC0], 10, "a site-local address"), ([0xFF], 8, "a multicast address"),
    ([0x20, 0x01, 0, 0], 32, "a Teredo address"), ([0x20, 0x01, 0], 23, "kept for protocols"),
    ([0x20, 0x01, 0x0D, 0xB8], 32, "for documentation"), ([0x3F, 0xFF, 0], 20, "for documentation"),
  ]

  private static func begins(_ bytes: [UInt8], _ prefix: [UInt8], _ bits: Int) -> Bool {
    (0..<bits).allSatisfy { bit in
      let expected = bit / 8 < prefix.count ? prefix[bit / 8] : 0
      return (bytes[bit / 8] ^ expected) & (0x80 >> UInt8(bit % 8)) == 0
    }
  }
}
