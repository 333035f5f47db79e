package import ExposureKeys

/// A window of publication, aligned to UTC multiples of a series' period: from `start` to before `end`, in seconds since
/// 1970. What becomes publishable while it lasts goes out when it is over.
package struct ExportWindow: Hashable, Sendable, Codable {
  package var start: Int64
  package var end: Int64

  /// The newest window that is over.
  init(over now: Instant, period: Int64) {
    end = multiple(of: period, notAfter: now.secondsSince1970)
    start = end - period
  }

  /// The first window that begins at a time or behind it.
  init(notBefore seconds: Int64, period: Int64) {
    start = multiple(of: period, notAfter: seconds + period - 1)
    end = start + period
  }

  private init(start: Int64, end: Int64) {
    self.start = start
    self.end = end
  }

  /// The instant by which keys of the window are judged, whenever the round runs: so that what a bundle holds depends on
  /// the window and not on the second in which a timer fired.
  package var instant: Instant { Instant(secondsSince1970: end) }
  /// The UTC day to which it belongs. Periods divide a day, so no window belongs to two.
  package var day: Day { Instant(secondsSince1970: start).day }

  func next(period: Int64) -> ExportWindow { ExportWindow(start: end, end: end + period) }

  /// The windows that are over and were not published, the oldest first. A window that was published, or was due and had
  /// nothing to publish, is never opened again; neither is one that overlaps it after a change of the period.
  ///
  /// - Parameters:
  ///   - last: where the last one ended; `nil` before the first round, which takes only the newest window.
  ///   - earliest: windows that end before are not made up for.
  static func due(period: Int64, now: Instant, last: Int64?, earliest: Int64) -> [ExportWindow] {
    let newest = ExportWindow(over: now, period: period)
    guard let last else { return [newest] }
    var windows: [ExportWindow] = []
    var window = newest
    while window.start >= last, window == newest || window.end >= earliest {
      windows.append(window)
      window = ExportWindow(start: window.start - period, end: window.start)
    }
    return windows.reversed()
  }
}

private func multiple(of period: Int64, notAfter seconds: Int64) -> Int64 {
  let rest = seconds % period
  return seconds - (rest < 0 ? rest + period : rest)
}
