internal import ExposureKeys
internal import HTTPTypes

/// The path and the query of a request, decoded and checked.
///
/// Of the query only what some layout reads is kept: whatever else a client says is forgotten here, so equal targets have
/// equal responses.
struct RequestTarget: Hashable, Sendable {
  /// Percent-decoded, without the slash in front; of slashes at the end one counts for nothing.
  let path: String
  /// The last value of each.
  let query: [QueryParameter: String]

  static let maximumParameters = 32

  /// No segment has a slash within.
  var segments: [String] {
    path.isEmpty ? [] : path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
  }

  /// - Throws: ``Problem`` with 400 or 414.
  init(_ target: String, byteLimit: Int) throws(Problem) { try self.init(utf8: target.utf8, byteLimit: byteLimit) }

  /// - Throws: ``Problem`` with 400 or 414.
  init(utf8 target: some BidirectionalCollection<UInt8>, byteLimit: Int) throws(Problem) {
    guard target.count <= byteLimit else {
      throw Problem(
        .uriTooLong, "target-too-long", "the address has \(target.count) bytes, at most \(byteLimit) are allowed")
    }
    if let path = Self.plainPath(target) {
      self.init(path: path, query: [:])
    } else {
      try self.init(decoding: String(decoding: target, as: UTF8.self))
    }
  }

  /// Nearly every path: nothing to decode, and nothing to refuse. It is what ``init(decoding:)`` makes of it.
  ///
  /// - Returns: `nil` where the target has to be looked at closely.
  static func plainPath(_ target: some BidirectionalCollection<UInt8>) -> String? {
    guard target.first == UInt8(ascii: "/") else { return nil }
    var isStartOfSegment = true
    var path = target.dropFirst()
    for byte in path {
      switch byte {
      case UInt8(ascii: "/"): isStartOfSegment = true
      case UInt8(ascii: ".") where isStartOfSegment: return nil
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        isStartOfSegment = false
      default: return nil
      }
    }
    if path.last == UInt8(ascii: "/") { path.removeLast() }
    return String(decoding: path, as: UTF8.self)
  }

  private init(path: String, query: [QueryParameter: String]) {
    self.path = path
    self.query = query
  }

  init(decoding target: String) throws(Problem) {
    let origin = Self.absoluteForm(target)?.rest ?? target
    let halves = origin.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var segments = halves[0].split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
    if segments.last == "" { segments.removeLast() }
    for index in segments.indices {
      guard let decoded = PercentEncoding.decode(segments[index]) else {
        throw Problem(.badRequest, "malformed-path", "a part of the path is not percent-encoded UTF-8")
      }
      guard decoded != ".", decoded != "..", decoded.unicodeScalars.allSatisfy(Self.isAllowed) else {
        throw Problem(
          .badRequest, "malformed-path", "a part of the path is a dot, or has a slash or a control character")
      }
      segments[index] = decoded
    }
    self.init(
      path: segments.joined(separator: "/"), query: halves.count == 2 ? try Self.parameters(halves[1]) : [:])
  }

  private static func parameters(_ text: Substring) throws(Problem) -> [QueryParameter: String] {
    var parameters: [QueryParameter: String] = [:]
    let pairs = text.split(separator: "&")
    guard pairs.count <= maximumParameters else {
      throw Problem(
        .badRequest, "malformed-query", "the query has \(pairs.count) parameters, at most \(maximumParameters) are read"
      )
    }
    for pair in pairs {
      let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = PercentEncoding.decode(halves[0], plusIsSpace: true),
        let value = PercentEncoding.decode(halves.count == 2 ? halves[1] : "", plusIsSpace: true)
      else {
        throw Problem(.badRequest, "malformed-query", "a part of the query is not percent-encoded UTF-8")
      }
      if let parameter = QueryParameter(named: name) { parameters[parameter] = value }
    }
    return parameters
  }

  /// The halves of a target as it is sent to a proxy, which names the host as well (RFC 9112, 3.2.2): what is between the
  /// slashes, and the path with the query, which begins with a slash.
  ///
  /// - Returns: `nil` for another form.
  static func absoluteForm(_ target: String) -> (authority: Substring, rest: String)? {
    for scheme in ["http://", "https://"] where isSame(target.utf8.prefix(scheme.utf8.count), scheme) {
      let rest = target.utf8.dropFirst(scheme.utf8.count)
      let end = rest.firstIndex { [UInt8(ascii: "/"), UInt8(ascii: "?")].contains($0) } ?? rest.endIndex
      let tail = String(Substring(rest[end...]))
      return (Substring(rest[..<end]), tail.hasPrefix("/") ? tail : "/" + tail)
    }
    return nil
  }

  /// Whether a text can be a host with or without a port (RFC 3986, 3.2.2 and 3.2.3), or is empty, which is allowed where
  /// a target has none.
  static func isAuthority(_ text: some Collection<UInt8>) -> Bool {
    guard text.count <= 261 else { return false }
    return text.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "%"):
        true
      default: false
      }
    }
  }

  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    scalar != "/" && scalar != "\\" && scalar.value >= 0x20 && scalar.value != 0x7F
  }
}
