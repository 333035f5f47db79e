extension VerificationResult {
  /// The verdict first, then a line for each signature and fault.
  var text: String {
    let verdict = isTrusted ? "verified" : "not verified"
    let details = signatures.map(\.text) + faults.map(\.text) + (sha256.map { ["export.bin SHA-256 \($0)"] } ?? [])
    let judgement = profile.map { InspectionText.render($0) } ?? ""
    return "\(name): \(verdict)\n" + details.map { "  \($0)\n" }.joined() + judgement
  }
}
