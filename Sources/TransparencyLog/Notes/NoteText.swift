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
