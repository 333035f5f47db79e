internal import FoundationEssentials

/// Base64 with its padding and nothing else (RFC 4648, section 4): each number of bytes has one spelling.
enum Base64Text {
  static func encode(_ bytes: some Collection<UInt8>) -> String { Data(bytes).base64EncodedString() }

  /// - Returns: `nil` for another spelling: without padding, with spaces, with bits behind the last byte.
  static func decode(_ text: some StringProtocol) -> [UInt8]? {
    let text = String(text)
    guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else { return nil }
    return Array(data)
  }
}

/// A number as notes and proofs write it: decimal digits, no sign, no zero in front.
enum DecimalText {
  /// - Returns: `nil` for another spelling, and for numbers above the limit.
  static func decode(_ text: some StringProtocol, limit: Int) -> Int? {
    guard !text.isEmpty, text.utf8.count <= 19, text.utf8.allSatisfy({ (48...57).contains($0) }),
      text.utf8.count == 1 || text.utf8.first != 48, let number = Int(text), number <= limit
    else { return nil }
    return number
  }
}

/// Text of strangers in a message: short, and on one line.
func quoted(_ text: some StringProtocol) -> String {
  let start = text.prefix(60)
  let shown = String(start).replacing("\n", with: "⏎")
  return "\"\(shown)\(start.count < text.count ? "…" : "")\""
}
