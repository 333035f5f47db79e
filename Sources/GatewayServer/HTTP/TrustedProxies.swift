internal import Glibc
internal import HTTPTypes
internal import NIOCore

/// Proxies in front of the server, and the field in which they say for whom they ask. Of anybody else the field is an
/// invention.
package struct TrustedProxies: Hashable, Sendable {
  /// Which field the proxies write. Another one they may pass on as a client sent it.
  package enum Field: String, CaseIterable, Hashable, Sendable {
    case xForwardedFor = "x-forwarded-for"
    /// RFC 7239.
    case forwarded
  }

  package var blocks: [AddressBlock]
  package var field: Field

  package init(_ blocks: [AddressBlock] = [], field: Field = .xForwardedFor) {
    self.blocks = blocks
    self.field = field
  }

  package var isEmpty: Bool { blocks.isEmpty }

  /// Whether a connection from there is one of these proxies'.
  func holds(_ address: SocketAddress?) -> Bool {
    !isEmpty && (IPAddress(address).map(trusts) ?? false)
  }

  private func trusts(_ address: IPAddress) -> Bool { blocks.contains { $0.contains(address) } }

  /// Who asks: the connection's address where that is no proxy of ours, and otherwise the last hop, from the right, that is
  /// none. What cannot be read ends the search: it was not written by one of them.
  ///
  /// - Parameter values: the lines of the field, in their order.
  func client(of connection: RateLimitedClient, at address: SocketAddress?, fields values: [String])
    -> RateLimitedClient
  {
    guard !isEmpty, let proxy = IPAddress(address), trusts(proxy) else { return connection }
    var client = proxy
    for hop in values.flatMap(hops).reversed() {
      guard let address = hop.flatMap({ IPAddress($0) }) else { break }
      client = address
      if !trusts(address) { break }
    }
    return RateLimitedClient(address: client.bytes)
  }

  /// `nil` for a hop that hides, or cannot be read.
  private func hops(_ line: String) -> [String?] {
    switch field {
    case .xForwardedFor: line.split(separator: ",", omittingEmptySubsequences: false).map { Self.host(in: $0) }
    case .forwarded:
      line.split(separator: ",", omittingEmptySubsequences: false).map { element in
        element.split(separator: ";").lazy.map(Self.trimmed).first { $0.lowercased().hasPrefix("for=") }
          .flatMap { Self.host(in: $0.dropFirst(4)) }
      }
    }
  }

  /// The address of `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `"[2001:db8::1]:80"`.
  private static func host(in text: Substring) -> String? {
    var text = trimmed(text)
    if text.count >= 2, text.first == "\"", text.last == "\"" { text = text.dropFirst().dropLast() }
    if text.first == "[" {
      return text.firstIndex(of: "]").map { String(text[text.index(after: text.startIndex)..<$0]) }
    }
    if text.count(where: { $0 == ":" }) == 1 { text = text.prefix { $0 != ":" } }
    return text.isEmpty ? nil : String(text)
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}

/// An address in network order: four bytes are of IPv4, sixteen of IPv6. A mapped one is of IPv4.
struct IPAddress: Hashable, Sendable {
  let bytes: [UInt8]

  init?(_ text: String) {
    var bytes = [UInt8](repeating: 0, count: 16)
    guard text.utf8.count <= 45 else { return nil }
    if inet_pton(AF_INET, text, &bytes) == 1 {
      self.bytes = Array(bytes.prefix(4))
    } else if inet_pton(AF_INET6, text, &bytes) == 1 {
      let isMapped = bytes.prefix(12).elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
      self.bytes = isMapped ? Array(bytes.suffix(4)) : bytes
    } else {
      return nil
    }
  }

  init?(bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  init?(_ address: SocketAddress?) {
    guard let text = address?.ipAddress else { return nil }
    self.init(text)
  }
}

/// Addresses that begin alike: `10.0.0.0/8`, `2001:db8::/32`, or one address.
package struct AddressBlock: Hashable, Sendable {
  private let address: IPAddress
  private let bits: Int

  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let first = parts.first, let address = IPAddress(String(first)), parts.count <= 2 else { return nil }
    self.address = address
    guard parts.count == 2 else {
      bits = address.bytes.count * 8
      return
    }
    guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let bits = Int(parts[1]),
      (0...address.bytes.count * 8).contains(bits)
    else { return nil }
    self.bits = bits
  }

  /// The loopback addresses.
  package static let ofThisMachine = ["127.0.0.0/8", "::1"].compactMap { AddressBlock($0) }

  /// - Parameter bytes: an address in network order, of four or sixteen bytes.
  package func contains(bytes: [UInt8]) -> Bool { IPAddress(bytes: bytes).map(contains) ?? false }

  func contains(_ other: IPAddress) -> Bool {
    guard other.bytes.count == address.bytes.count else { return false }
    return (0..<bits).allSatisfy { bit in
      (other.bytes[bit / 8] ^ address.bytes[bit / 8]) & (0x80 >> UInt8(bit % 8)) == 0
    }
  }
}
