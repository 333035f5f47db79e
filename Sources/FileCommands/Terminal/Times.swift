internal import ExposureKeys
internal import KeyIntake

/// `2020-06-20 00:00`.
func minuteText(_ instant: Instant) -> String {
  let text = instant.description
  guard let letter = text.firstIndex(of: "T") else { return text }
  return "\(text[..<letter]) \(text[text.index(after: letter)...].prefix(5))"
}

/// Spans of time for people.
package enum DurationText {
  /// `45 s`, `12 min`, `3 h`, `5 d`: the greatest unit of which there are two, rounded down.
  package static func text(_ seconds: Int64) -> String { ReadableNumber.age(seconds).replacing("\u{00A0}", with: " ") }
}
