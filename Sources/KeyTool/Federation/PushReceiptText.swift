internal import ExposureKeys
internal import Federation
internal import FileCommands
internal import KeyIntake
internal import KeyPublishing
internal import KeyStorage

extension PushReceipt {
  /// How many batches are named.
  private static let shownBatches = 20

  /// The receipt for people, line by line.
  var lines: [String] {
    switch outcome {
    case .paused: return ["\(destination): paused; keyferry resume \(destination) lets it go on"]
    case .waiting(let instant): return ["\(destination): not due before \(instant)"]
    case .done, .failed, .rehearsed: break
    }
    var lines = ["\(destination): \(summary)", "  signed by \(printableText(signer))"]
    let left = [
      ("it has them", selection.known), ("held", selection.held), ("too old", selection.tooOld),
      ("no answer yet", selection.unanswered), ("for the origin alone", selection.forOriginAlone),
      ("refused before", selection.refused), ("revoked, and never sent", selection.neverSent),
      ("ambiguous regions", selection.ambiguous),
    ].filter { $0.1 > 0 }.map { "\($0.0): \(grouped($0.1))" }
    if !left.isEmpty { lines.append("  not sent: " + left.joined(separator: ", ")) }
    if selection.putAside > 0 {
      lines.append("  put aside for you: \(counted(selection.putAside, "key")), see keyferry quarantine list")
    }
    for (reason, count) in ranked(selection.leftOut) { lines.append("  left out, \(reason): \(grouped(count))") }
    if let nextRelease { lines.append("  the next held key may go at \(nextRelease)") }
    for batch in batches.prefix(Self.shownBatches) { lines.append("  \(batch.line)") }
    if batches.count > Self.shownBatches {
      lines.append("  and \(counted(batches.count - Self.shownBatches, "batch", "batches")) more")
    }
    if let warning { lines.append("  warning, \(warning.code): \(printableText(warning.reason, limit: 1000))") }
    if case .failed(let fault) = outcome { lines.append("  failed, \(fault.code): \(printableText(fault.reason))") }
    return lines
  }

  private var summary: String {
    if outcome == .rehearsed {
      return "rehearsal: \(counted(selection.toSend, "key")) would be sent, and nothing was"
    }
    var parts: [String] = []
    if stored > 0 { parts.append("\(counted(stored, "key")) taken") }
    if known > 0 { parts.append("\(grouped(known)) there already") }
    if refused > 0 { parts.append("\(grouped(refused)) refused") }
    if pending > 0 { parts.append("\(grouped(pending)) waiting for the next push") }
    return parts.isEmpty ? "nothing to send" : parts.joined(separator: ", ")
  }
}

extension PushReceipt.Batch {
  fileprivate var line: String {
    let again = isSentAgain ? ", sent again as it was" : ""
    let reason = fault.map { ": " + printableText($0.reason, limit: 1000) } ?? ""
    return "batch \(tag), \(counted(keys, "key")), SHA-256 \(digest.prefix(16))…: \(outcome)\(again)\(reason)"
  }
}

extension DestinationStatus {
  /// The status for people, line by line.
  var lines: [String] {
    var lines = ["destination \(printableText(name)) for keys of \(printableText(origin))", "  state         \(state)"]
    if let attempt {
      lines.append("  last attempt  \(attempt.time)")
      if let last = attempt.lastSuccess { lines.append("  last success  \(last)") }
      if let fault = attempt.fault { lines.append("  fault         \(fault.code): \(printableText(fault.reason))") }
      if let warning = attempt.warning {
        lines.append("  warning       \(warning.code): \(printableText(warning.reason, limit: 1000))")
      }
      if let next = nextAttempt { lines.append("  next attempt  \(next <= now ? "due" : "\(next)")") }
    }
    if let waiting { lines.append("  waiting       \(counted(waiting, "key")) to be sent") }
    let parts = PushedKeyState.allCases.compactMap { state in keys[state].map { "\(grouped($0)) \(state.rawValue)" } }
    if !parts.isEmpty { lines.append("  told          \(parts.joined(separator: ", "))") }
    if !unanswered.isEmpty {
      lines.append("  unanswered    \(unanswered.map(\.push.tag).joined(separator: ", "))")
    }
    return lines
  }
}
