/// Text as HTML shows it, also within a quoted attribute.
package func escaped(_ text: some StringProtocol) -> String {
  var result = ""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "&": result += "&amp;"
    case "<": result += "&lt;"
    case ">": result += "&gt;"
    case "\"": result += "&quot;"
    case "'": result += "&#39;"
    case _ where scalar.value < 0x20 && scalar != "\n" && scalar != "\t": result += "\u{FFFD}"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result
}

/// Numbers as people read them.
package enum ReadableNumber {
  /// `12 345`, with narrow spaces that do not break.
  package static func grouped(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text += "\u{202F}" }
      text.append(digit)
    }
    return (number < 0 ? "−" : "") + text
  }

  /// `950`, `1.2k`, `34k`, `1.5M`.
  package static func short(_ number: Int) -> String {
    for (unit, letter) in [(1_000_000, "M"), (1000, "k")] where number >= unit {
      let tenths = number / (unit / 10)
      return tenths >= 100 || tenths % 10 == 0 ? "\(tenths / 10)\(letter)" : "\(tenths / 10).\(tenths % 10)\(letter)"
    }
    return String(number)
  }

  /// `640 B`, `12.3 kB`, `4.5 MB`.
  package static func bytes(_ count: Int) -> String {
    for (unit, name) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")] where count >= unit {
      let tenths = count / (unit / 10)
      return "\(tenths / 10).\(tenths % 10)\u{00A0}\(name)"
    }
    return "\(count)\u{00A0}B"
  }

  /// `45 s`, `12 min`, `3 h`, `5 d`: the greatest unit of which there are two, rounded down.
  package static func age(_ seconds: Int64) -> String {
    switch seconds {
    case ..<120: "\(seconds)\u{00A0}s"
    case ..<7200: "\(seconds / 60)\u{00A0}min"
    case ..<172_800: "\(seconds / 3600)\u{00A0}h"
    default: "\(seconds / 86_400)\u{00A0}d"
    }
  }

  /// `2 h`, `30 min`.
  package static func duration(_ seconds: Int64) -> String {
    if seconds % 3600 == 0, seconds > 0 { return "\(seconds / 3600)\u{00A0}h" }
    return seconds % 60 == 0 ? "\(seconds / 60)\u{00A0}min" : "\(seconds)\u{00A0}s"
  }
}
