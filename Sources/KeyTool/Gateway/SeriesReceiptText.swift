internal import ExposureKeys
internal import KeyIntake
internal import KeyPublishing

extension SeriesReceipt {
  /// The receipt for people, line by line.
  var lines: [String] {
    (window == nil ? idle : sums) + bundleLines + warnings.map { "\(series): warning: \($0.reason)" }
      + (fault.map { ["\(series): \($0.reason)"] } ?? [])
  }

  private var idle: [String] {
    guard fault == nil, let nextWindow else { return [] }
    return ["\(series): nothing is due until \(nextWindow)"]
  }

  private var sums: [String] {
    let rare = [(paused, "paused"), (waiting, "waiting")].filter { $0.0 > 0 }
    return ["\(series): \(sum(published, "published", and: rare))"] + reasons
      + (lookalikes > 0 ? ["  look-alikes added: \(grouped(lookalikes))"] : [])
      + (looksAtChanges ? ["  counted are keys with a change since the last round; preview counts all"] : [])
      + recallLines(recalled, "recalled and revoked")
  }

  private var bundleLines: [String] {
    bundles.map { bundle in
      let revised = bundle.revisedKeys > 0 ? " and \(counted(bundle.revisedKeys, "revised key"))" : ""
      return "\(bundle.path): \(counted(bundle.keys, "key"))\(revised), \(grouped(bundle.bytes)) bytes"
    }
      + [
        (signedAgain, "signed again by the new key"), (madeAgain, "made again in place of lost ones"),
        (expired, "no longer listed"), (removed, "removed"),
      ].filter { $0.0 > 0 }.map { "\(series): \(counted($0.0, "bundle")) \($0.1)" }
  }
}
