internal import ExposureKeys
internal import KeyPeers

/// An `http` or `https` address in parts, so that hosts can be compared. What goes to the network is put together from
/// the parts again, in ASCII and without user names: nothing after this reads another host in it (RFC 3986).
package struct WebAddress: Hashable, Sendable, CustomStringConvertible {
  package enum Scheme: String, Hashable, Sendable {
    case http, https

    var port: Int { self == .http ? 80 : 443 }
  }

  package let scheme: Scheme
  /// In lower case, without a final dot; an IPv6 address stands in brackets.
  package let host: String
  package let port: Int
  /// Empty, or with a leading slash; without `.` and `..`.
  package let path: String
  /// Without the question mark. Tokens stand here: it never gets into texts.
  package let query: String?

  /// - Throws: ``TransportFault`` `bad-address`.
  package init(_ text: String) throws {
    guard let (scheme, rest) = Self.splitScheme(text), rest.hasPrefix("//") else {
      throw Self.fault(text, "an address begins with http:// or https://")
    }
    guard let scheme = Scheme(rawValue: scheme.lowercased()) else {
      throw Self.fault(text, "its scheme is neither http nor https")
    }
    let afterSlashes = rest.dropFirst(2)
    let authority = afterSlashes.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard !authority.contains("@") else {
      throw Self.fault(text, "it has a user name; credentials belong in the headers of the source")
    }
    guard let (host, port) = Self.splitAuthority(authority) else {
      throw Self.fault(text, "its host or port is not well-formed")
    }
    self.scheme = scheme
    self.host = host
    self.port = port ?? scheme.port
    (path, query) = try Self.splitPath(afterSlashes[authority.endIndex...], of: text)
  }

  /// Another path and query of the same host.
  private init(_ base: WebAddress, following pathAndQuery: String, of text: String) throws {
    scheme = base.scheme
    host = base.host
    port = base.port
    (path, query) = try Self.splitPath(pathAndQuery[...], of: text)
  }

  /// What is sent.
  package var text: String { "\(beginning)\(query.map { "?\($0)" } ?? "")" }

  /// What people and logs may see, with the braces around the names of secrets.
  package var description: String { beginning.replacing("%7B", with: "{").replacing("%7D", with: "}") }

  private var beginning: String { "\(scheme.rawValue)://\(authority)\(path.isEmpty ? "/" : path)" }

  /// Host, and the port where it is not the scheme's.
  package var authority: String { port == scheme.port ? host : "\(host):\(port)" }

  package func hasSameOrigin(as other: WebAddress) -> Bool {
    scheme == other.scheme && host == other.host && port == other.port
  }

  /// The address of a request: `reference` itself when it is absolute, otherwise it is put behind this address's path
  /// with exactly one slash between them, even where it begins with one. A reference that begins with a question mark
  /// is a query of this address; an empty one is this address.
  package func address(for reference: String) throws -> WebAddress {
    if let (_, rest) = Self.splitScheme(reference), rest.hasPrefix("//") { return try WebAddress(reference) }
    guard !reference.isEmpty else { return self }
    let base = path.hasSuffix("/") ? path.dropLast() : path[...]
    let joined =
      reference.hasPrefix("?") || reference.hasPrefix("#")
      ? path + reference : "\(base)/\(reference.drop { $0 == "/" })"
    return try WebAddress(self, following: joined, of: reference)
  }

  /// Where a `Location` header leads (RFC 3986, 5.2).
  package func address(ofRedirect location: String) throws -> WebAddress {
    if Self.splitScheme(location) != nil { return try WebAddress(location) }
    if location.hasPrefix("//") { return try WebAddress("\(scheme.rawValue):\(location)") }
    let whole =
      if location.hasPrefix("/") {
        location
      } else if location.isEmpty || location.hasPrefix("?") || location.hasPrefix("#") {
        path + location
      } else {
        "\(path.lastIndex(of: "/").map { path[...$0] } ?? "/")\(location)"
      }
    return try WebAddress(self, following: whole, of: location)
  }
}

extension WebAddress {
  private static func fault(_ text: String, _ reason: String) -> TransportFault {
    TransportFault(code: .badAddress, reason: "\(displayable(text)): \(reason)", isTemporary: false)
  }

  /// The beginning of a text that claims to be an address, without anything that may be secret.
  package static func displayable(_ text: String) -> String {
    var shown = text.prefix { $0 != "?" && $0 != "#" }
    if let user = shown.lastIndex(of: "@") { shown = "…\(shown[user...])" }
    let clean = shown.unicodeScalars.prefix(200).map { $0.value < 0x20 || $0.value == 0x7F ? "\u{FFFD}" : String($0) }
    return clean.isEmpty ? "an empty address" : clean.joined()
  }

  private static func splitScheme(_ text: String) -> (scheme: Substring, rest: Substring)? {
    guard let colon = text.firstIndex(of: ":") else { return nil }
    let scheme = text[..<colon]
    guard let first = scheme.utf8.first, isLetter(first),
      scheme.utf8.allSatisfy({ isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) })
    else { return nil }
    return (scheme, text[text.index(after: colon)...])
  }

  private static func splitAuthority(_ text: Substring) -> (host: String, port: Int?)? {
    var host: Substring
    var rest: Substring
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { return nil }
      host = text[...end]
      rest = text[text.index(after: end)...]
      let address = host.dropFirst().dropLast()
      guard address.contains(":"), address.utf8.allSatisfy({ Hexadecimal.isDigit($0) || $0 == 0x3A || $0 == 0x2E })
      else {
        return nil
      }
    } else {
      host = text.prefix { $0 != ":" }
      rest = text[host.endIndex...]
      if host.hasSuffix(".") { host = host.dropLast() }
      guard !host.isEmpty, host.utf8.count <= 253,
        host.utf8.allSatisfy({ isLetter($0) || isDigit($0) || "-._".utf8.contains($0) }),
        host.split(separator: ".", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty })
      else { return nil }
    }
    guard rest.hasPrefix(":") || rest.isEmpty else { return nil }
    rest = rest.dropFirst()
    if rest.isEmpty { return (host.lowercased(), nil) }
    guard rest.utf8.allSatisfy(isDigit), let port = Int(rest), (1...65535).contains(port) else { return nil }
    return (host.lowercased(), port)
  }

  private static func splitPath(_ text: Substring, of whole: String) throws -> (path: String, query: String?) {
    guard text.utf8.count <= 8192 else { throw fault(whole, "it is longer than 8192 bytes") }
    guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
      throw fault(whole, "it has a control character")
    }
    let text = text.prefix { $0 != "#" }
    let path = text.prefix { $0 != "?" }
    let query = path.endIndex == text.endIndex ? nil : text[text.index(after: path.endIndex)...]
    return (withoutDotSegments(percentEncoded(path)), query.map { percentEncoded($0) })
  }

  /// RFC 3986, 5.2.4, for a path that is empty or begins with a slash.
  private static func withoutDotSegments(_ path: String) -> String {
    guard path.contains("/.") else { return path }
    var kept: [Substring] = []
    let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment {
      case ".":
        if isLast { kept.append("") }
      case "..":
        _ = kept.popLast()
        if isLast { kept.append("") }
      default:
        kept.append(segment)
      }
    }
    return "/" + kept.joined(separator: "/")
  }

  /// Every byte that may not stand in a path or query is encoded; what is encoded already stays.
  private static func percentEncoded(_ text: Substring) -> String {
    let bytes = Array(text.utf8)
    var encoded: [UInt8] = []
    encoded.reserveCapacity(bytes.count)
    for (index, byte) in bytes.enumerated() {
      let isEscape =
        byte == 0x25 && index + 2 < bytes.count && Hexadecimal.isDigit(bytes[index + 1])
        && Hexadecimal.isDigit(bytes[index + 2])
      if isEscape || isLetter(byte) || isDigit(byte) || "-._~!$&'()*+,;=:@/?".utf8.contains(byte) {
        encoded.append(byte)
      } else {
        encoded += "%\(Hexadecimal.encode([byte], digits: Hexadecimal.uppercase))".utf8
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}

private func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
private func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
