internal import ExposureKeys
internal import Federation
internal import KeyIntake
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage
internal import S3Publications

extension SourceProbe {
  /// What was found, for people, line by line.
  var text: String { probeText(of: source, isUsable: isUsable, findings, faults) }
}

extension DestinationProbe {
  /// What was found, for people, line by line.
  var text: String { probeText(of: destination, isUsable: isUsable, findings, faults) }
}

extension BucketProbe {
  /// What was found, for people, line by line.
  func text(of bucket: String) -> String {
    "\n\(bucket): \(isUsable ? "can be published into" : "cannot be published into as it is")\n"
      + (findings + faults).map { "  \(printableText($0, limit: 4000))\n" }.joined()
  }
}

extension DocumentFault {
  /// Its code and its reason.
  var line: String { "\(code): \(reason)" }
}

private func probeText(of name: String, isUsable: Bool, _ findings: [String], _ faults: [DocumentFault]) -> String {
  let verdict = isUsable ? "can be used" : "cannot be used as it is"
  return "\n\(name): \(verdict)\n"
    + (findings + faults.map(\.line)).map { "  \(printableText($0, limit: 4000))\n" }.joined()
}
