internal import ExposureKeys
internal import FoundationEssentials

/// A JSON object of numbers and texts in its one spelling: members in the order of their UTF-16 units, no spaces, only
/// what must be escaped is (RFC 8785, for what entries have).
enum FlatJSON {
  static func encode(_ members: [String: LogEntry.Value]) -> String {
    let sorted = members.sorted { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) }
    let texts = sorted.map { "\(text($0.key)):\(value($0.value))" }
    return "{" + texts.joined(separator: ",") + "}"
  }

  /// - Returns: `nil` for what is none.
  static func decode(_ bytes: [UInt8]) -> [String: LogEntry.Value]? {
    try? JSONDecoder().decode([String: Scalar].self, from: Data(bytes)).mapValues(\.value)
  }

  private static func value(_ value: LogEntry.Value) -> String {
    switch value {
    case .number(let number): "\(number)"
    case .text(let text): self.text(text)
    }
  }

  static func text(_ text: String) -> String {
    var json = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": json += "\\\""
      case "\\": json += "\\\\"
      case "\u{08}": json += "\\b"
      case "\u{0c}": json += "\\f"
      case "\n": json += "\\n"
      case "\r": json += "\\r"
      case "\t": json += "\\t"
      case _ where scalar.value < 0x20:
        json += "\\u" + Hexadecimal.encode(number: UInt64(scalar.value), width: 4)
      default: json.unicodeScalars.append(scalar)
      }
    }
    return json + "\""
  }

  private struct Scalar: Decodable {
    let value: LogEntry.Value

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(Int.self) {
        value = .number(number)
      } else {
        value = .text(try container.decode(String.self))
      }
    }
  }
}
