internal import ExposureKeys
internal import KeyIntake
internal import KeyStorage

extension DocumentRecord {
  /// The document in a list of those that are refused or held.
  var line: String {
    let reason = held > 0 ? "\(holdsText) held" : fault?.code.rawValue ?? ""
    return "\(id.rawValue)  \(source)  \(printableText(name))  \(state.rawValue) since \(changed)  \(reason)"
  }

  /// `flood: 12 claims, other-rolling-start: 3 claims`.
  private var holdsText: String {
    holds.sorted { $0.key < $1.key }.map { "\($0): \(counted($1, "claim"))" }.joined(separator: ", ")
  }

  /// What is known of the document.
  ///
  /// - Parameter hasBytes: whether what was received is kept.
  func lines(hasBytes: Bool) -> [String] {
    var lines = [
      "document \(id.rawValue) of \(source): \(printableText(name))", "state     \(state.rawValue) since \(changed)",
    ]
    if let fault { lines += ["reason    \(fault.code): \(printableText(fault.reason, limit: 4000))"] }
    if held > 0 { lines.append("held      \(holdsText)") }
    lines.append("attempts  \(attempts)" + (nextAttempt.map { ", the next one at \($0)" } ?? ""))
    lines.append("bytes     " + (hasBytes ? "kept; --output FILE writes them" : "not kept any more"))
    return lines
  }
}
