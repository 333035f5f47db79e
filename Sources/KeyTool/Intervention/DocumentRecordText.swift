internal import ExposureKeys
internal import KeyIntake
internal import KeyReceiving
internal import KeyStorage

extension WaitingDocument {
  /// The document in a list of those that are refused or held, and what held it as a flood.
  func line(_ flood: HeldFlood?) -> String {
    let reason = held > 0 ? "\(holdsText) held" : record.fault?.code.rawValue ?? ""
    return
      "\(record.id.rawValue)  \(record.source)  \(printableText(record.name))  \(record.state.rawValue) since \(record.changed)  \(reason)"
      + (flood.map { "; \($0.text)" } ?? "")
  }

  /// `flood: 12 claims, other-rolling-start: 3 claims`.
  private var holdsText: String {
    holds.sorted { $0.key < $1.key }.map { "\($0): \(counted($1, "claim"))" }.joined(separator: ", ")
  }

  /// What is known of the document.
  ///
  /// - Parameter hasBytes: whether what was received is kept.
  func lines(hasBytes: Bool, flood: HeldFlood?) -> [String] {
    var lines = [
      "document \(record.id.rawValue) of \(record.source): \(printableText(record.name))",
      "state     \(record.state.rawValue) since \(record.changed)",
    ]
    if let fault = record.fault { lines += ["reason    \(fault.code): \(printableText(fault.reason, limit: 4000))"] }
    if held > 0 { lines.append("held      \(holdsText)") }
    if let flood { lines.append("flood     \(printableText(flood.text, limit: 4000))") }
    lines.append("attempts  \(record.attempts)" + (record.nextAttempt.map { ", the next one at \($0)" } ?? ""))
    lines.append("bytes     " + (hasBytes ? "kept; --output FILE writes them" : "not kept any more"))
    return lines
  }
}
