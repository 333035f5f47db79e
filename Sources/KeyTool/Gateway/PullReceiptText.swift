internal import ExposureKeys
internal import FileCommands
internal import KeyIntake
internal import KeyNormalization
internal import KeyReceiving
internal import KeyStorage

extension PullReceipt {
  /// How many documents that could not be fetched are named.
  private static let shownFailures = 8

  /// The receipt for people, line by line.
  var lines: [String] {
    switch outcome {
    case .paused: return ["\(source): paused; keyferry resume \(source) lets it go on"]
    case .waiting(let instant): return ["\(source): not due before \(instant)"]
    case .done, .failed: break
    }
    var lines = ["\(source): \(summary)"]
    if counts.received > 0 { lines.append("  " + receivedText(counts)) }
    for (reason, count) in ranked(counts.rejections) { lines.append("  rejected, \(reason): \(grouped(count))") }
    for (allowance, count) in ranked(counts.allowances) { lines.append("  allowed, \(allowance): \(grouped(count))") }
    for notice in notices { lines.append("  noticed, \(notice.code): \(printableText(notice.reason))") }
    for refusal in refusals {
      lines.append("  in quarantine, \(refusal.fault.code): \(printableText(refusal.fault.reason, limit: 4000))")
    }
    for failure in failures.prefix(Self.shownFailures) {
      lines.append("  not fetched, \(failure.fault.code): \(printableText(failure.fault.reason))")
    }
    let more = failures.count - Self.shownFailures
    if more > 0 { lines.append("  not fetched: \(grouped(more)) more") }
    if case .failed(let fault) = outcome { lines.append("  failed, \(fault.code): \(printableText(fault.reason))") }
    return lines
  }

  private var summary: String {
    var parts: [String] = []
    if recorded > 0 { parts.append("\(counted(recorded, "document")) recorded") }
    if unchanged > 0 { parts.append("\(grouped(unchanged)) unchanged") }
    if !refusals.isEmpty { parts.append("\(grouped(refusals.count)) refused") }
    if parts.isEmpty { parts.append("nothing new") }
    return parts.joined(separator: ", ")
  }
}
