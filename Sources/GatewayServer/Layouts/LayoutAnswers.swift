import ExposureKeys
import Foundation
internal import KeyPublishing

/// Answers that several layouts give.
extension LayoutAnswer {
  /// A JSON document, its members in the order of their names, so that equal content has equal bytes.
  static func json(
    _ value: some Encodable, cache: Cache = .list, headers: [(name: String, value: String)] = [],
    isSignedResponse: Bool = false
  ) -> LayoutAnswer {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else {
      preconditionFailure("numbers, texts and their collections always encode")
    }
    return LayoutAnswer(
      .bytes(Array(data), mediaType: "application/json"), cache: cache, headers: headers,
      isSignedResponse: isSignedResponse)
  }

  /// 404. What is not there may be published soon.
  static func missing(_ what: String) -> LayoutAnswer { LayoutAnswer(.notFound(what), cache: .seconds(60)) }

  /// 400.
  static func invalid(_ what: String) -> LayoutAnswer { LayoutAnswer(.badRequest(what), cache: .never) }

  static func noSeries(_ publications: Publications) -> LayoutAnswer {
    .missing("no such series; there are: \(publications.series.map(\.manifest.series).joined(separator: ", "))")
  }
}

extension LayoutRequest {
  /// A query parameter that counts something.
  ///
  /// - Returns: `absent` where it is not given, `nil` where it is no whole number in 0...2⁶³−1.
  func count(_ parameter: QueryParameter, absent: Int64) -> Int64? {
    guard let text = query[parameter] else { return absent }
    return decimal(text)
  }
}

/// A number of decimal digits and nothing else; `nil` beyond 2⁶³−1.
func decimal(_ text: some StringProtocol) -> Int64? {
  guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
  return Int64(text)
}

extension PublishedSeries {
  var listedIncrements: [PublishedBundle] { increments.filter(\.facts.isListed) }

  /// An increment, also one that is not listed any more.
  func increment(ordinal: Int64) -> PublishedBundle? {
    increments.first { $0.facts.ordinal == ordinal }
  }

  /// The listed roll-ups of a day, those that end first in front: one, or the parts of one that was split.
  func rollUps(of day: Day) -> [PublishedBundle] { days.filter { $0.facts.isListed && $0.day == day } }

  /// Whether nothing more can come for this day: its last window is in a roll-up, or this was published so late that
  /// what is new goes into windows of later days.
  func isOver(_ day: Day) -> Bool {
    let midnight = day.start.secondsSince1970 + secondsPerDay
    return manifest.windowEnd ?? 0 >= midnight || manifest.written >= midnight + manifest.period
      || rollUps(of: day).contains { $0.facts.end >= midnight } || isPassedOver(day)
  }

  /// Whether a clock that was far ahead has made the bundles of this day, and was set right since.
  func isPassedOver(_ day: Day) -> Bool {
    manifest.windowEnd.map { SeriesManifest.isPassedOver(day, windowEnd: $0) } ?? false
  }
}

extension PublishedBundle {
  /// The UTC day in which its window begins.
  var day: Day { Instant(secondsSince1970: facts.start).day }
}

let secondsPerDay: Int64 = 86_400
