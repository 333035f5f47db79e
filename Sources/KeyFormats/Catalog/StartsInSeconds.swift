package import ExposureKeys

/// Finds rolling starts that are stated in seconds since 1970 instead of intervals of ten minutes.
///
/// Some tools wrote the time of a key's start itself: 1589414400 is 2020-05-14, and as an interval it would be of the
/// year 32189, which no key is of. Such a start becomes the interval that begins then. One within an interval is no
/// start, and its key is rejected.
package struct StartsInSeconds: Sendable {
  /// From 2019-01-01 until before 2035-01-01: keys began in 2020.
  static let plausible: Range<Int64> = 1_546_300_800..<2_051_222_400

  private var converted = 0

  package init() {}

  /// Converts the chunk's keys in place. Those whose start is none move to the chunk's rejections.
  package mutating func convert(_ chunk: inout KeyChunk) {
    let first = chunk.keys.withKeys { keys in keys.firstIndex { Self.plausible.contains(Int64($0.rollingStartWord)) } }
    guard let first else { return }
    var refused: [(offset: Int, seconds: Int32)] = []
    var converted = 0
    var kept = first
    chunk.keys.withMutableKeys { keys in
      for offset in first..<keys.count {
        var key = keys[offset]
        if Self.plausible.contains(Int64(key.rollingStartWord)) {
          guard case .interval(let start) = Self.interval(seconds: Int64(key.rollingStartWord)) else {
            refused.append((offset, key.rollingStartWord))
            continue
          }
          key.rollingStart = start
          converted += 1
        }
        keys[kept] = key
        kept += 1
      }
    }
    self.converted += converted
    guard !refused.isEmpty else { return }
    let positions = refused.map { chunk.documentIndex(ofKeyAt: $0.offset) }
    chunk.keys.truncate(to: kept)
    for (position, refusal) in zip(positions, refused) {
      chunk.rejections.append(
        Rejection(
          position: KeyPosition(index: position, byteOffset: -1), reason: .valueNotAllowed,
          detail: "rolling start \(refusal.seconds): seconds since 1970 that begin no interval of ten minutes, allowed "
            + "are the number of an interval, or whole multiples of 600 seconds"))
    }
    chunk.rejections.sort { $0.position.index < $1.position.index }
  }

  /// What `notes` say, and how many starts were converted.
  package func added(to notes: ReadingNotes) -> ReadingNotes {
    var notes = notes
    notes.count(Self.note, converted)
    return notes
  }

  private static let note = ReadingNote(
    code: "rolling-start-from-seconds", subject: "seconds",
    text: "a rolling start in seconds since 1970 was read as the interval that begins then")

  // MARK: Numbers in text

  enum Reading: Equatable {
    case interval(Int32)
    /// A time within an interval.
    case unaligned
    /// No time at which a key began.
    case noTime
  }

  static func interval(seconds: Int64) -> Reading {
    guard plausible.contains(seconds) else { return .noTime }
    guard seconds.isMultiple(of: IntervalNumber.secondsPerInterval) else { return .unaligned }
    return .interval(Int32(truncatingIfNeeded: seconds / IntervalNumber.secondsPerInterval))
  }

  /// A number that is too large for any field: milliseconds since 1970, perhaps.
  static func interval(milliseconds: Int64) -> Reading {
    let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    let reading = interval(seconds: seconds)
    return rest != 0 && reading != .noTime ? .unaligned : reading
  }

  static let millisecondsNote = ReadingNote(
    code: "rolling-start-from-seconds", subject: "milliseconds",
    text: "a rolling start in milliseconds since 1970 was read as the interval that begins then")

  /// What is wrong with a start in milliseconds that begins no interval.
  static func unaligned(milliseconds: Int64) -> String {
    "rolling start \(milliseconds): milliseconds since 1970 that begin no interval of ten minutes, allowed are the "
      + "number of an interval, or whole multiples of 600000 milliseconds"
  }
}
