internal import HTTPTypes

/// The path and the query of a request, decoded and checked.
struct RequestTarget: Equatable {
  /// Percent-decoded segments; of slashes at the end one counts for nothing.
  var segments: [String]
  /// The last value of each name.
  var query: [String: String]

  static let maximumParameters = 32

  /// - Throws: ``Problem`` with 400 or 414.
  init(_ target: String, byteLimit: Int) throws(Problem) {
    guard target.utf8.count <= byteLimit else {
      throw Problem(
        .uriTooLong, "target-too-long", "the address has \(target.utf8.count) bytes, at most \(byteLimit) are allowed")
    }
    let origin = Self.withoutAuthority(target)
    let halves = origin.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var segments = halves[0].split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
    if segments.last == "" { segments.removeLast() }
    self.segments = []
    for segment in segments {
      guard let decoded = Self.decoded(segment, plusIsSpace: false) else {
        throw Problem(.badRequest, "malformed-path", "a part of the path is not percent-encoded UTF-8")
      }
      guard decoded != ".", decoded != "..", decoded.unicodeScalars.allSatisfy(Self.isAllowed) else {
        throw Problem(
          .badRequest, "malformed-path", "a part of the path is a dot, or has a slash or a control character")
      }
      self.segments.append(decoded)
    }
    query = halves.count == 2 ? try Self.parameters(halves[1]) : [:]
  }

  /// The path as it stands in the table of files: no file's name needs an encoding.
  var path: String { segments.joined(separator: "/") }

  private static func parameters(_ text: Substring) throws(Problem) -> [String: String] {
    var parameters: [String: String] = [:]
    let pairs = text.split(separator: "&")
    guard pairs.count <= maximumParameters else {
      throw Problem(
        .badRequest, "malformed-query", "the query has \(pairs.count) parameters, at most \(maximumParameters) are read"
      )
    }
    for pair in pairs {
      let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = decoded(String(halves[0]), plusIsSpace: true),
        let value = decoded(halves.count == 2 ? String(halves[1]) : "", plusIsSpace: true)
      else {
        throw Problem(.badRequest, "malformed-query", "a part of the query is not percent-encoded UTF-8")
      }
      parameters[name] = value
    }
    return parameters
  }

  /// A request to a proxy names the host as well (RFC 9112, 3.2.2).
  private static func withoutAuthority(_ target: String) -> Substring {
    for scheme in ["http://", "https://"] where target.hasPrefix(scheme) {
      let rest = target.dropFirst(scheme.count)
      guard let slash = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return "/" }
      return rest[slash...]
    }
    return target[...]
  }

  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    scalar != "/" && scalar != "\\" && scalar.value >= 0x20 && scalar.value != 0x7F
  }

  private static func decoded(_ text: String, plusIsSpace: Bool) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(hexadecimal), let low = rest.popFirst().flatMap(hexadecimal) else {
          return nil
        }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(0x20)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func hexadecimal(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
