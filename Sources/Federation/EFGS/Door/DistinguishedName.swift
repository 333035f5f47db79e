internal import ExposureKeys

/// The subject of a certificate as a proxy writes it: as RFC 4514 has it (`CN=gateway,O=Ministry,C=DE`, with nginx and
/// HAProxy), or in OpenSSL's old form (`/C=DE/O=Ministry/CN=gateway`).
///
/// Only the country is read. A name that can be read in two ways has more countries than one, and is refused for that: in the
/// old form a slash in a value cannot be told from the next attribute.
enum DistinguishedName {
  /// Bytes that a name may have.
  static let byteLimit = 4096

  /// The values of every attribute C in their order; `nil` where the text is no name.
  static func countries(in text: String) -> [String]? {
    guard !text.isEmpty, text.utf8.count <= byteLimit, !text.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
      return nil
    }
    guard let attributes = text.hasPrefix("/") ? legacy(text) : standard(text) else { return nil }
    return attributes.filter { isCountry($0.type) }.map(\.value)
  }

  private typealias Attribute = (type: String, value: String)

  private static func isCountry(_ type: String) -> Bool {
    ["c", "countryname", "2.5.4.6", "oid.2.5.4.6"].contains(type.lowercased())
  }

  // MARK: OpenSSL's old form

  private static func legacy(_ text: String) -> [Attribute]? {
    var attributes: [Attribute] = []
    for part in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
      if let equals = part.firstIndex(of: "="), part[..<equals].allSatisfy(isTypeCharacter), equals > part.startIndex {
        attributes.append((String(part[..<equals]), String(part[part.index(after: equals)...])))
      } else if let last = attributes.popLast() {
        attributes.append((last.type, "\(last.value)/\(part)"))
      } else {
        return nil
      }
    }
    return attributes
  }

  private static func isTypeCharacter(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber || character == "." || character == "-")
  }

  // MARK: RFC 4514, and what RFC 2253 takes beside it

  private static func standard(_ text: String) -> [Attribute]? {
    var attributes: [Attribute] = []
    var rest = Array(text.utf8)[...]
    while true {
      skipSpaces(&rest)
      let type = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "+") }
      guard type.endIndex < rest.endIndex, rest[type.endIndex] == UInt8(ascii: "="), !type.isEmpty else { return nil }
      let name = String(decoding: type, as: UTF8.self).trimmingSpaces
      guard !name.isEmpty, name.allSatisfy(isTypeCharacter) else { return nil }
      rest = rest[(type.endIndex + 1)...]
      skipSpaces(&rest)
      guard let value = value(&rest) else { return nil }
      attributes.append((name, value))
      guard let separator = rest.popFirst() else { return attributes }
      guard separator == UInt8(ascii: ",") || separator == UInt8(ascii: "+") || separator == UInt8(ascii: ";") else {
        return nil
      }
    }
  }

  private static func skipSpaces(_ rest: inout ArraySlice<UInt8>) {
    while rest.first == UInt8(ascii: " ") { rest.removeFirst() }
  }

  /// A value up to the separator behind it.
  private static func value(_ rest: inout ArraySlice<UInt8>) -> String? {
    if rest.first == UInt8(ascii: "#") { return hexadecimalValue(&rest) }
    let isQuoted = rest.first == UInt8(ascii: "\"")
    if isQuoted { rest.removeFirst() }
    var bytes: [UInt8] = []
    /// Bytes that were written as they are count to here, blanks at the end do not.
    var meant = 0
    while let byte = rest.first {
      if isQuoted
        ? byte == UInt8(ascii: "\"") : [UInt8(ascii: ","), UInt8(ascii: "+"), UInt8(ascii: ";")].contains(byte)
      {
        break
      }
      rest.removeFirst()
      guard byte == UInt8(ascii: "\\") else {
        // A mark that had to be escaped.
        guard isQuoted || byte != UInt8(ascii: "\"") else { return nil }
        bytes.append(byte)
        if isQuoted || byte != UInt8(ascii: " ") { meant = bytes.count }
        continue
      }
      guard let first = rest.popFirst() else { return nil }
      if let value = Hexadecimal.decode([first] + rest.prefix(1)) {
        rest.removeFirst()
        bytes += value
      } else {
        bytes.append(first)
      }
      meant = bytes.count
    }
    if isQuoted {
      guard rest.popFirst() == UInt8(ascii: "\"") else { return nil }
      skipSpaces(&rest)
    }
    return String(validating: bytes.prefix(meant), as: UTF8.self)
  }

  /// `#13024445`: the DER of a string of fewer than 128 bytes.
  private static func hexadecimalValue(_ rest: inout ArraySlice<UInt8>) -> String? {
    rest.removeFirst()
    let digits = rest.prefix(while: Hexadecimal.isDigit)
    rest = rest.dropFirst(digits.count)
    skipSpaces(&rest)
    guard let bytes = Hexadecimal.decode(digits), bytes.count >= 2, bytes[1] < 0x80, Int(bytes[1]) == bytes.count - 2
    else { return nil }
    return String(validating: bytes.dropFirst(2), as: UTF8.self)
  }
}

extension String {
  fileprivate var trimmingSpaces: String {
    var text = self[...]
    while text.last == " " { text.removeLast() }
    return String(text.drop { $0 == " " })
  }
}
