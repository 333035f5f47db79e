internal import KeyIntake
internal import KeyStorage

extension RecallPreview {
  /// What is withdrawn, or would be, line by line.
  func lines(of request: RecallRequest, isDone: Bool) -> [String] {
    guard claims > 0 else {
      let place = request.source.map { " and came in by \(printableText($0))" } ?? ""
      return ["nothing in the store is of the origin \(request.origin)\(place), as asked for"]
    }
    let verb = isDone ? "withdrawn" : "would be withdrawn"
    return [
      "\(counted(claims, "claim")) of \(counted(documents, "document")) \(verb)",
      "\(counted(keysLeftWithoutClaims, "key")) left without any claim",
    ]
      + released.sorted { $0.key < $1.key }.map { series, count in
        "  of these, released by \(series): \(grouped(count))"
      }
  }
}
