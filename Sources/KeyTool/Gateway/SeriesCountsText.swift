internal import ExposureKeys
internal import FileCommands
internal import KeyIntake
internal import KeyPublishing

/// What the receipt of a round and the preview of the next one tell alike about the keys of a series.
protocol SeriesCounts {
  var believed: Int { get }
  var revised: Int { get }
  var alreadyReleased: Int { get }
  var held: Int { get }
  var leftOut: Int { get }
  /// By reason.
  var holds: [String: Int] { get }
  var omissions: [String: Int] { get }
  var notRevocable: Int { get }
  /// When the first of the held keys may go out.
  var nextRelease: Instant? { get }
}

extension SeriesReceipt: SeriesCounts {}
extension SeriesPreview: SeriesCounts {}

extension SeriesCounts {
  /// `believed 3 = 2 new + 0 revised + 0 already released + 0 held + 1 left out`, and what the caller adds.
  func sum(_ first: Int, _ name: String, and others: [(count: Int, name: String)]) -> String {
    let parts =
      [
        (first, name), (revised, "revised"), (alreadyReleased, "already released"), (held, "held"),
        (leftOut, "left out"),
      ] + others
    return "believed \(grouped(believed)) = " + parts.map { "\(grouped($0.0)) \($0.1)" }.joined(separator: " + ")
  }

  /// Why keys are held or left out, a line for each reason.
  var reasons: [String] {
    let release = nextRelease.map { ", the first until \($0)" } ?? ""
    return ranked(holds).map { "  held, \($0): \(grouped($1))\(release)" }
      + ranked(omissions).map { "  left out, \($0): \(grouped($1))" }
  }

  /// What a recall took the last claim of.
  ///
  /// - Parameter words: what becomes of those that devices let go.
  func recallLines(_ recalled: Int, _ words: String) -> [String] {
    [(recalled, words), (notRevocable, "recalled, but devices do not let go of their report type")]
      .filter { $0.0 > 0 }.map { "  \($0.1): \(grouped($0.0))" }
  }
}
