internal import KeyIntake
internal import KeyReceiving
internal import KeyStorage

extension SourceProbe {
  /// What was found, for people, line by line.
  var text: String {
    let verdict = isUsable ? "can be used" : "cannot be used as it is"
    return "\n\(source): \(verdict)\n" + findings.map { "  \(printableText($0, limit: 4000))\n" }.joined()
      + faults.map { "  \($0.code): \(printableText($0.reason, limit: 4000))\n" }.joined()
  }
}
