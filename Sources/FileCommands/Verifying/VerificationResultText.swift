extension VerificationResult {
  /// The verdict first, then a line for each signature and fault.
  var text: String {
    let verdict = isTrusted ? "verified" : "not verified"
    let logged = log.map { ["\($0.isLogged ? "in the log" : "not in the log"): \($0.text)"] } ?? []
    let details =
      signatures.map(\.text) + faults.map(\.text) + logged + (attestation.map { [$0.text] } ?? [])
      + (sha256.map { ["export.bin SHA-256 \($0)"] } ?? [])
    let judgement = profile.map { InspectionText.render($0) } ?? ""
    return "\(name): \(verdict)\n" + details.map { Self.lines($0, width: Console.outputWidth) }.joined() + judgement
  }

  /// Broken between words where a terminal would break it within one.
  static func lines(_ detail: String, width: Int?) -> String {
    guard let width else { return "  \(detail)\n" }
    return InspectionText.wrapped(detail, label: "", hanging: "", width).map { $0 + "\n" }.joined()
  }
}
