internal import ExposureKeys
internal import FileCommands
internal import KeyIntake
internal import KeyPublishing

extension SeriesStatus {
  /// For people, line by line.
  func lines(at now: Instant) -> [String] {
    let heading = "series \(series)" + (title == series ? "" : " (\(printableText(title)))")
    return [heading] + rows(at: now).map { "  \(pad($0.0, 13)) \($0.1)" }
  }

  private func rows(at now: Instant) -> [(String, String)] {
    var rows: [(String, String)] = [
      ("last window", lastWindow.map { "until \($0)" } ?? "none yet"),
      ("next window", nextWindow <= now ? "is due: it was over at \(nextWindow)" : "closes at \(nextWindow)"),
    ]
    if let lastBundle {
      rows.append(
        (
          "last bundle",
          "\(lastBundle.path), \(counted(lastBundle.keys, "key")), padding included, published \(lastBundle.published)"
        ))
    }
    rows.append(("listed", counted(listedBundles, "bundle")))
    if let next {
      rows.append(
        (
          "waiting",
          "\(grouped(next.new)) new + \(grouped(next.revised)) revised + \(grouped(next.held)) held"
            + (next.paused > 0 ? " + \(grouped(next.paused)) paused" : "")
            + (next.lookalikes > 0 ? ", and \(grouped(next.lookalikes)) of padding" : "")
        ))
    }
    if let next, case let rest = next.waiting + next.recalledWaiting, rest > 0 {
      rows.append(
        (
          "full",
          "the next window has no room for \(counted(rest, "key")) more, which are due: they go out with the windows"
            + " after it, and split.window is where the number stands"
        ))
    }
    if let whyNothing { rows.append(("", "the next window would have nothing: \(whyNothing)")) }
    return rows + faults.map { ("fault", $0) }
  }
}
