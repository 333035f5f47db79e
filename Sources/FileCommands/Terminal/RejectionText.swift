internal import KeyIntake

/// Keys that did not get through: the first of them, a line each.
enum RejectionText {
  /// `de.zip: key 17 at byte 1042: rolling period 145, allowed 1...144`.
  static func line(_ document: String, _ position: Int, at byteOffset: Int?, _ detail: String) -> String {
    "\(document): key \(position)\(byteOffset.map { " at byte \($0)" } ?? ""): \(detail)"
  }

  static func lines(_ keys: [RejectedKey], of count: Int, in document: String) -> [String] {
    lines(keys.map { line($0.document, $0.position, at: $0.byteOffset, $0.detail) }, of: count, in: document)
  }

  /// - Parameter count: how many keys were rejected, those without a line included.
  static func lines(_ shown: [String], of count: Int, in document: String) -> [String] {
    let more = count - shown.count
    return shown + (more > 0 ? ["\(document): and \(counted(more, "more key")) rejected"] : [])
  }
}
