internal import ExposureKeys
internal import FoundationEssentials

/// A fault of a peer, to throw.
struct PeerFault: Error {
  let code: FaultCode
  let reason: String

  init(_ code: FaultCode, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  var documentFault: DocumentFault { DocumentFault(code: code, reason: reason) }
}

extension PeerFault {
  /// A status that the protocol does not foresee here.
  static func status(_ status: Int, of what: String, expected: String) -> PeerFault {
    switch status {
    case 401, 403: PeerFault(.forbidden, "\(what): the peer answered \(status): it does not let us in")
    default: PeerFault(.httpStatus, "\(what): the peer answered \(status), expected \(expected)")
    }
  }
}

extension PeerAnswer {
  /// The answer where its status is one that the machine can use.
  func response(of what: String, statuses: Set<Int> = [200]) throws(PeerFault) -> PeerResponse {
    switch self {
    case .fault(let fault): throw PeerFault(fault.code, fault.reason)
    case .response(let head, let body):
      guard statuses.contains(head.status) else {
        let expected = statuses.sorted().map(String.init).joined(separator: " or ")
        throw .status(head.status, of: what, expected: expected)
      }
      return PeerResponse(head: head, body: body)
    }
  }
}

/// The small JSON texts of peers, and of cursors.
package enum PeerJSON {
  /// `nil` for anything that is not this value.
  package static func value<Value: Decodable>(_ type: Value.Type, in body: some Collection<UInt8>) -> Value? {
    try? JSONDecoder().decode(type, from: Data(body))
  }

  static func read<Value: Decodable>(
    _ type: Value.Type, in body: [UInt8], of what: String, expected: String
  ) throws(PeerFault) -> Value {
    guard let value = value(type, in: body) else {
      throw PeerFault(.malformedAnswer, "\(what): \(body.count) bytes that are not \(expected)")
    }
    return value
  }

  /// Whether a text has so many members and elements at most, as far as its marks tell: before a reader makes objects of it.
  package static func hasValues(atMost limit: Int, in body: [UInt8]) -> Bool {
    var (count, isInString, isEscaped) = (0, false, false)
    for byte in body {
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "{"):
        count += 1
        if count > limit { return false }
      default: break
      }
    }
    return true
  }

  /// One line, its members in alphabetical order; `nil` is what no cursor can hold.
  static func text(_ value: some Encodable) -> String? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// Text of a peer as part of a message: in quotation marks, cut at 64 characters, only visible ASCII as it is.
func peerText(_ text: String) -> String {
  let limit = 64
  let shown = text.unicodeScalars.prefix(limit).map { scalar in
    (0x20..<0x7F).contains(scalar.value) ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
  }
  return "\"\(shown.joined())\(text.unicodeScalars.count > limit ? "…" : "")\""
}

/// A peer's own words without what may be key data, which it could repeat to get it into a log: runs of just so many characters as
/// sixteen bytes have in hexadecimal and in base64. Digests are longer and stay.
package func withoutKeyData(_ text: String) -> String {
  func masked(_ text: String, length: Int, _ isDigit: (UInt8) -> Bool) -> String {
    var result: [UInt8] = []
    var run: [UInt8] = []
    func close() {
      // A word of this length has no digit, and no capital within.
      let isWord = !run.contains { (48...57).contains($0) } && !run.dropFirst().contains { (65...90).contains($0) }
      result += run.count == length && !isWord ? Array("(\(length) characters)".utf8) : run
      run = []
    }
    for byte in text.utf8 {
      if isDigit(byte) {
        run.append(byte)
      } else {
        close()
        result.append(byte)
      }
    }
    close()
    return String(decoding: result, as: UTF8.self)
  }
  let isLetter = { (byte: UInt8) in (65...90).contains(byte & 0xDF) }
  let hidden = masked(text, length: 32) { (48...57).contains($0) || (65...70).contains($0 & 0xDF) }
  return masked(hidden, length: 22) { (48...57).contains($0) || isLetter($0) || "+/-_".utf8.contains($0) }
}

/// A whole number without a sign, as headers and names have it.
func decimalNumber(_ text: some StringProtocol) -> Int64? {
  let digits = text.utf8
  guard (1...18).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
  return Int64(text)
}

/// Addresses under that of a source.
package enum PeerAddress {
  /// The address with the path behind it, and one slash between them.
  package static func join(_ base: String, _ path: some StringProtocol) -> String {
    var front = Substring(base)
    while front.utf8.last == UInt8(ascii: "/") { front.removeLast() }
    return "\(front)/\(path.drop { $0 == "/" })"
  }

  static func isAbsolute(_ text: some StringProtocol) -> Bool {
    let start = text.prefix(8).lowercased()
    return start.hasPrefix("https://") || start.hasPrefix("http://")
  }
}
