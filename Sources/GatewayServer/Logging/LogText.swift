internal import ExposureKeys
internal import Logging

/// What log lines are put together from. Nothing that comes from outside can begin a line of its own.
enum LogText {
  static func time(seconds: Int64, milliseconds: Int) -> String {
    let text = String(milliseconds)
    let padding = String(repeating: "0", count: max(0, 3 - text.count))
    return "\(Instant(secondsSince1970: seconds).description.dropLast()).\(padding)\(text)Z"
  }

  /// A JSON string with its quotes.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F || scalar.value == 0x2028 || scalar.value == 0x2029:
        result += "\\u" + Hexadecimal.encode(number: UInt64(scalar.value), width: 4)
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  static func json(_ value: Logger.MetadataValue) -> String {
    switch value {
    case .string(let text): quoted(text)
    case .stringConvertible(let value):
      switch value {
      case let number as any FixedWidthInteger: "\(number)"
      case let number as Double where number.isFinite: "\(number)"
      case let flag as Bool: flag ? "true" : "false"
      default: quoted(value.description)
      }
    case .array(let values): "[" + values.map(json).joined(separator: ",") + "]"
    case .dictionary(let members):
      "{"
        + members.sorted { $0.key < $1.key }.map { "\(quoted($0.key)):\(json($0.value))" }.joined(separator: ",")
        + "}"
    @unknown default: quoted("\(value)")
    }
  }

  /// Quoted where spaces or signs would make it ambiguous.
  static func plain(_ value: Logger.MetadataValue) -> String {
    let text = "\(value)"
    let isPlain = text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F && $0 != "\"" && $0 != "=" }
    return isPlain && !text.isEmpty ? text : quoted(text)
  }

  static func oneLine(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
  }
}
