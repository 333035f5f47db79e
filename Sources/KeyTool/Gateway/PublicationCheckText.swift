internal import KeyIntake
internal import KeyPublishing

extension PublicationCheck {
  /// For people: a line for each file that is not as it should be, and how many were read.
  var text: String {
    let lines = (faults + leaving).map { "\(printableText($0.path)): \($0.kind.rawValue): \($0.reason)" }
    return (lines + ["\(counted(files, "published file")) read, \(counted(faults.count, "fault"))"]).map { $0 + "\n" }
      .joined()
  }
}
