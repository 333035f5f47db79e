internal import KeyFormats
internal import KeyIntake

/// The two media types of the federation, and their versions, which must be stated.
///
/// Source: the EU federation gateway's observed behaviour: 406 for a body of another version, 415 for an answer of one.
enum FederationMediaType: String, CaseIterable {
  case json = "application/json"
  case protobuf = "application/protobuf"

  static let version = "1.0"

  var format: KeyFormat { self == .json ? .efgsJSON : .efgsProtobuf }

  /// As a field says it.
  var text: String { "\(rawValue); version=\(Self.version)" }

  /// All that are taken and given.
  static let allowed = allCases.map(\.text).joined(separator: ", ")

  /// Of a body.
  static func ofBody(_ field: String?) throws(FederationRefusal) -> FederationMediaType {
    guard let stated = field.map(Stated.init), let type = FederationMediaType(rawValue: stated.name) else {
      throw FederationRefusal(
        .wrongType, "unsupported-media-type",
        "Content-Type \(field.map { "\"\(printableText($0, limit: 80))\"" } ?? "is missing"), allowed are \(allowed)")
    }
    guard stated.versions.count <= 1 else {
      throw FederationRefusal(
        .malformed, "version-malformed",
        "Accepted Versions not provided correctly: Content-Type states version \(stated.versions.count) times, allowed once"
      )
    }
    guard let text = stated.version else {
      throw FederationRefusal(
        .malformed, "version-missing",
        "Accepted Versions not provided: Content-Type states none, allowed are \(allowed)")
    }
    guard let version = Version(text) else {
      throw FederationRefusal(
        .malformed, "version-malformed",
        "Accepted Versions not provided correctly: version \"\(printableText(text, limit: 20))\", allowed are \(allowed)"
      )
    }
    guard version == .current else {
      throw FederationRefusal(
        .wrongVersion, "version-not-compatible",
        "Protocol version is not compatible! It is \(version.major).\(version.minor), allowed are \(allowed)")
    }
    return type
  }

  /// Of an answer: the first that is asked for and can be given.
  static func ofAnswer(_ field: String?) throws(FederationRefusal) -> FederationMediaType {
    guard let field, field.contains(where: { $0 != " " }) else {
      throw FederationRefusal(.malformed, "accept-missing", "Accept is missing, allowed are \(allowed)")
    }
    for part in field.split(separator: ",").prefix(32) {
      let stated = Stated(String(part))
      guard let type = FederationMediaType(rawValue: stated.name), !stated.isExcluded,
        stated.version.flatMap(Version.init) == .current
      else { continue }
      return type
    }
    throw FederationRefusal(
      .wrongType, "not-acceptable", "Accept \"\(printableText(field, limit: 80))\", allowed are \(allowed)")
  }

  private struct Version: Equatable {
    var major: Int
    var minor: Int

    static let current = Version(major: 1, minor: 0)

    init(major: Int, minor: Int) { (self.major, self.minor) = (major, minor) }

    /// Two numbers with a point between, and nothing else.
    init?(_ text: String) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      let isNumber = { (part: Substring) in
        (1...6).contains(part.utf8.count) && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
      }
      guard parts.count == 2, parts.allSatisfy(isNumber), let major = Int(parts[0]), let minor = Int(parts[1]) else {
        return nil
      }
      self.init(major: major, minor: minor)
    }
  }

  /// One media type with its parameters (RFC 9110, 8.3.1).
  private struct Stated {
    var name: String
    var versions: [String] = []
    /// Its weight is zero.
    var isExcluded = false

    init(_ text: String) {
      let parts = text.split(separator: ";", omittingEmptySubsequences: false).map(Self.trimmed)
      name = parts.first?.lowercased() ?? ""
      for part in parts.dropFirst() {
        let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { Self.trimmed($0) }
        guard halves.count == 2 else { continue }
        var value = halves[1]
        if value.count >= 2, value.first == "\"", value.last == "\"" { value = String(value.dropFirst().dropLast()) }
        switch halves[0].lowercased() {
        case "version": versions.append(value)
        case "q": isExcluded = value.allSatisfy { $0 == "0" || $0 == "." }
        default: break
        }
      }
    }

    var version: String? { versions.first }

    private static func trimmed(_ text: some StringProtocol) -> String {
      let isSpace = { (character: Character) in character == " " || character == "\t" }
      var text = text.drop(while: isSpace)
      while let last = text.last, isSpace(last) { text = text.dropLast() }
      return String(text)
    }
  }
}
