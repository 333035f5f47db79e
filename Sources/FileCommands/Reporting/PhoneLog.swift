internal import BundleTrust
internal import ExposureKeys
internal import FoundationEssentials
internal import KeyFormats
internal import KeyIntake

/// What a phone says about the files that it was given: the log that iOS (both versions) and Android export.
///
/// iOS names a file by the SHA-256 of `export.bin` in hexadecimal digits; Android by that of all files of a call, one after the
/// other, in base64.
struct PhoneLog {
  struct Check {
    /// As the phone writes it: text, or milliseconds since 1970.
    let time: String?
    let app: String?
    let region: String?
    let keys: Int?
    let matches: Int?
    /// SHA-256, 64 lower-case hexadecimal digits.
    let hash: String
  }

  let kind: Kind
  private(set) var checks: [Check] = []

  enum Kind: String, Encodable {
    case iOS1 = "ios-1"
    case iOS2 = "ios-2"
    case android
  }

  /// Phones keep two weeks of checks; nothing that they export is near to this.
  static let byteLimit = 64 << 20
  private static let checkLimit = 1 << 20

  /// - Throws: ``FormatError`` that names the entry.
  init(_ bytes: [UInt8]) throws {
    var bytes = bytes[...]
    if bytes.starts(with: [0xef, 0xbb, 0xbf]) { bytes = bytes.dropFirst(3) }
    let first = bytes.first { ![0x20, 0x09, 0x0a, 0x0d].contains($0) }
    if first == UInt8(ascii: "[") {
      kind = .android
      for (number, entry) in try Self.decode([AndroidEntry].self, bytes).enumerated() {
        try add(
          Check(
            time: entry.timestamp?.text, app: entry.appName, region: nil, keys: entry.keyCount,
            matches: entry.matchesCount, hash: try Self.hash(entry.hash, "entry \(number + 1)")))
      }
      return
    }
    let log = try Self.decode(AppleLog.self, bytes)
    let isSecond = log.exposureChecks.contains { $0.files != nil }
    kind = isSecond ? .iOS2 : .iOS1
    for (number, check) in log.exposureChecks.enumerated() {
      let place = "check \(number + 1)"
      guard let files = check.files else {
        guard let hash = check.hash else { continue }
        try add(
          Check(
            time: check.timestamp?.text, app: check.dataSource ?? check.app, region: nil, keys: check.keys,
            matches: check.matches, hash: try Self.hash(hash, place)))
        continue
      }
      for (index, file) in files.enumerated() {
        try add(
          Check(
            time: (file.timestamp ?? check.timestamp)?.text, app: file.app ?? check.app, region: file.region,
            keys: file.keys, matches: file.matches, hash: try Self.hash(file.hash, "\(place), file \(index + 1)")))
      }
    }
  }

  private static func decode<Log: Decodable>(_ type: Log.Type, _ bytes: ArraySlice<UInt8>) throws -> Log {
    func place(_ context: DecodingError.Context, _ last: (any CodingKey)? = nil) -> String {
      (context.codingPath + [last].compactMap(\.self)).map { key in
        key.intValue.map { "entry \($0 + 1)" } ?? TerminalText.harmless(key.stringValue)
      }.joined(separator: ", ")
    }
    let shape =
      "it is no log of a phone: expected are ExposureChecks with Hash or Files (iOS), or a list of entries with hash (Android)"
    do {
      return try JSONDecoder().decode(type, from: Data(bytes))
    } catch DecodingError.typeMismatch(let type, let context) where !context.codingPath.isEmpty {
      let expected = type == Int.self ? "a whole number" : type == String.self ? "text" : "another kind of value"
      throw FormatError(.malformed, "\(place(context)): expected is \(expected)")
    } catch DecodingError.dataCorrupted(let context) where !context.codingPath.isEmpty {
      throw FormatError(.malformed, "\(place(context)): the number is not whole, or too large")
    } catch DecodingError.keyNotFound(let key, let context) where !context.codingPath.isEmpty {
      throw FormatError(.malformed, "\(place(context, key)) is missing; \(shape)")
    } catch is DecodingError {
      throw FormatError(.unrecognizedFormat, shape)
    }
  }

  private mutating func add(_ check: Check) throws {
    guard check.keys ?? 0 >= 0, check.matches ?? 0 >= 0 else {
      throw FormatError(.malformed, "entry \(checks.count + 1): a number of keys or matches is below 0")
    }
    guard checks.count < Self.checkLimit else {
      throw FormatError(.limitExceeded, "more than \(Self.checkLimit) checks")
    }
    checks.append(check)
  }

  private static func hash(_ text: String, _ place: String) throws -> String {
    let bytes = (text.utf8.count == 64 ? Hexadecimal.decode(text.utf8) : nil) ?? Base64.decode(text.utf8)
    guard let bytes, bytes.count == 32 else {
      throw FormatError(
        .malformed,
        "\(place): a hash of \(text.count) characters; expected are 64 hexadecimal digits, or base64 of 32 bytes")
    }
    return Hexadecimal.encode(bytes)
  }

  /// A text, or a number.
  private struct Word: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      if let number = try? value.decode(Int64.self) {
        text = "\(number)"
      } else if let number = try? value.decode(Double.self) {
        text = "\(number)"
      } else {
        text = try value.decode(String.self)
      }
    }
  }

  private struct AndroidEntry: Decodable {
    let timestamp: Word?
    let keyCount: Int?
    let matchesCount: Int?
    let appName: String?
    let hash: String
  }

  private struct AppleLog: Decodable {
    let exposureChecks: [Check]

    enum CodingKeys: String, CodingKey { case exposureChecks = "ExposureChecks" }

    struct Check: Decodable {
      let timestamp: Word?
      let app: String?
      let dataSource: String?
      let hash: String?
      let keys: Int?
      let matches: Int?
      let files: [File]?

      enum CodingKeys: String, CodingKey {
        case timestamp = "Timestamp"
        case app = "AppBundleIdentifier"
        case dataSource = "DataSource"
        case hash = "Hash"
        case keys = "RandomIDCount"
        case matches = "MatchCount"
        case files = "Files"
      }
    }

    struct File: Decodable {
      let timestamp: Word?
      let app: String?
      let region: String?
      let hash: String
      let keys: Int?
      let matches: Int?

      enum CodingKeys: String, CodingKey {
        case timestamp = "Timestamp"
        case app = "AppBundleIdentifier"
        case region = "RegionCode"
        case hash = "Hash"
        case keys = "KeyCount"
        case matches = "MatchCount"
      }
    }
  }
}
