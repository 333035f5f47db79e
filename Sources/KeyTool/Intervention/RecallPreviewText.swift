internal import KeyIntake
internal import KeyPublishing
internal import KeyStorage

extension RecallPreview {
  /// What is withdrawn, or would be, line by line.
  func lines(of request: RecallRequest, _ bundles: [CarryingBundle], isDone: Bool) -> [String] {
    guard claims > 0 else {
      let place = request.source.map { " and came in by \(printableText($0))" } ?? ""
      return ["nothing in the store is of the origin \(request.origin)\(place), as asked for"]
    }
    let verb = isDone ? "withdrawn" : "would be withdrawn"
    return [
      "\(counted(claims, "claim")) of \(counted(documents.count, "document")) \(verb)",
      "\(counted(keysLeftWithoutClaims, "key")) left without any claim",
    ]
      + released.sorted { $0.key < $1.key }.map { series, count in
        "  of these, released by \(series): \(grouped(count))"
      } + lines(of: bundles)
  }

  private func lines(of bundles: [CarryingBundle]) -> [String] {
    if bundles.isEmpty { return [] }
    let ends = bundles.compactMap(\.servedUntil)
    let end =
      ends.count == bundles.count ? ends.max().map { "; the last file is removed after \($0)" } ?? "" : ""
    let rest = bundles.count - Self.mostBundles
    return [
      "\(counted(bundles.count, "published bundle")) \(bundles.count == 1 ? "carries" : "carry") withdrawn keys\(end)"
    ]
      + bundles.prefix(Self.mostBundles).map(\.line) + (rest > 0 ? ["  and \(rest) more: --json lists all"] : [])
  }

  private static let mostBundles = 20
}

extension CarryingBundle {
  fileprivate var line: String {
    var parts = [state == .staged ? "signed and not published yet" : nil, keys.map { counted($0, "key") }]
    switch (state, listedUntil, servedUntil) {
    case (.unlisted, _, let end?): parts.append("not listed any longer, file removed after \(end)")
    case (_, let listed?, let end?): parts.append("listed until \(listed), file removed after \(end)")
    case (_, _, nil) where keys == nil: parts.append("shown until its origin stops listing it")
    default: parts.append("served until an operator moves the folder \(printableText(series)) away")
    }
    return "  \(printableText(path)): " + parts.compactMap(\.self).joined(separator: ", ")
  }
}
