internal import ExposureKeys
internal import FileCommands
internal import KeyIntake
internal import KeyReceiving
internal import KeyStorage

extension RereadReceipt {
  var lines: [String] {
    var lines: [String] = []
    let verb = isDone ? "read again" : "to be read again"
    lines.append(
      "source \(source), policy \(policy): \(counted(documents, "document")) \(verb), "
        + "\(grouped(changedDocuments)) of them say something else")
    if alreadyRead > 0 { lines.append("  read by this policy already: \(counted(alreadyRead, "document"))") }
    if notKept > 0 { lines.append("  bytes not kept, stay as they were read: \(counted(notKept, "document"))") }
    for refusal in refusals.prefix(20) {
      lines.append("  stays as it was read, \(printableText(refusal.document)): \(refusal.fault.code)")
    }
    lines.append(
      "claims: \(grouped(same)) as before, \(grouped(removed)) removed, \(grouped(added)) added, "
        + "\(grouped(putAside)) put aside for the operator")
    for (keys, text) in [
      (gained, "read now, and not before"), (lost, "not read any more"), (otherwise, "read otherwise"),
    ]
    where keys.count > 0 {
      let origins = ranked(keys.origins)
      let named = origins.prefix(12).map { "\($0.isEmpty ? "origin not known" : printableText($0)) \(grouped($1))" }
      let more = origins.count > 12 ? " and \(counted(origins.count - 12, "origin")) more" : ""
      lines.append("\(counted(keys.count, "key")) \(text): \(named.joined(separator: ", "))\(more)")
      if let example = keys.example { lines.append("  such as \(example.hex)") }
    }
    for reason in Set(rejectionsBefore.keys).union(rejectionsNow.keys).sorted()
    where rejectionsBefore[reason] != rejectionsNow[reason] {
      let (before, now) = (rejectionsBefore[reason] ?? 0, rejectionsNow[reason] ?? 0)
      lines.append("  rejected, \(reason): \(grouped(before)) before, \(grouped(now)) now")
    }
    return lines
  }
}
