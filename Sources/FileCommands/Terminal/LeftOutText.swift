internal import Containers
internal import KeyIntake

/// What was not read, for people.
enum LeftOutText {
  /// The list behind a run that went on.
  ///
  /// - Parameter count: how many documents there were, those that were left out included.
  static func lines(_ leftOut: [LeftOutDocument], of count: Int) -> [String] {
    guard !leftOut.isEmpty else { return [] }
    return ["\(counted(leftOut.count, "document")) of \(grouped(count)) left out:"]
      + leftOut.flatMap { document in document.reason.split(separator: "\n").map { "  \($0)" } }
  }

  /// What was met and is no document; `nil` where there was nothing.
  static func line(_ passedOver: PassedOver) -> String? {
    let parts = [
      passedOver.macFiles > 0 ? counted(passedOver.macFiles, "file") + " of macOS" : nil,
      passedOver.links > 0 ? counted(passedOver.links, "link") : nil,
      passedOver.others > 0 ? counted(passedOver.others, "pipe or device", "pipes or devices") : nil,
      passedOver.outputFolders > 0 ? "the folder of the outputs" : nil,
      passedOver.noKeyFiles > 0
        ? counted(passedOver.noKeyFiles, "file") + " of an archive that "
          + (passedOver.noKeyFiles == 1 ? "was no key file" : "were no key files") : nil,
      passedOver.publishedFiles > 0
        ? counted(passedOver.publishedFiles, "file") + " that Keyferry publishes beside bundles" : nil,
    ].compactMap { $0 }
    return parts.isEmpty ? nil : "passed over: \(parts.joined(separator: ", "))"
  }

  /// After a fault that ended everything, though there was more to read.
  static let hint = "--keep-going leaves out what cannot be read, lists it and takes the rest"
}
