package import ExposureKeys

/// What the system says about the time, at one look.
package struct ClockReading: Hashable, Sendable, Codable {
  /// The system's clock, which somebody can set.
  package var wall: Instant
  /// Seconds since the machine was started, times of sleep included. Nobody can set it.
  package var uptime: Int64
  /// Which start of the machine `uptime` counts from.
  package var boot: String

  package init(wall: Instant, uptime: Int64, boot: String) {
    self.wall = wall
    self.uptime = uptime
    self.boot = boot
  }
}

/// How far the system's clock may step without being asked why.
package struct ClockBounds: Hashable, Sendable {
  /// Seconds back behind the greatest time seen, 60...86400.
  package var back: Int64 = 3600
  /// Seconds ahead of what has passed, 3600...2592000.
  package var ahead: Int64 = 86_400
  /// Seconds of steady time after which a step can be accepted without an operator.
  package var patience: Int64 = 86_400
  /// How many seconds authenticated hosts may differ from the clock that they are to confirm.
  package var agreement: Int64 = 300

  package init() {}
}

/// A time at which something irreversible may happen: the gateway's clock is not in doubt, or an operator has named the
/// time. Retention, unlisting and removal take no other.
package struct SoundTime: Hashable, Sendable {
  package let instant: Instant

  /// An operator said that this is the time: `--now`.
  package init(toldByOperator instant: Instant) { self.instant = instant }

  fileprivate init(judged instant: Instant) { self.instant = instant }
}

/// Why the clock is not believed.
package struct ClockDoubt: Hashable, Sendable, Codable {
  /// By how many seconds the system's clock is away from what has passed; positive is ahead.
  package var step: Int64
  /// The gateway's time when it began.
  package var since: Instant
  /// Seconds of steady time that it lasts.
  package var lasting: Int64

  /// For people.
  package var reason: String {
    let (far, way) = (step.magnitude, step < 0 ? "behind" : "ahead of")
    let amount =
      switch far {
      case 172_800...: "\(far / 86_400) days"
      case 7200...: "\(far / 3600) hours"
      default: "\(far / 60) minutes"
      }
    return
      "the system's clock is \(amount) \(way) the time that has passed since \(since); nothing is removed or unlisted, and"
      + " the gateway goes on by the steady clock until keyferry clock accept, or until the clock is right again"
  }
}

/// One look at the gateway's clock.
package struct ClockLook: Hashable, Sendable {
  /// The time by which the gateway works.
  package var now: Instant
  /// Not `nil` while the system's clock is not believed.
  package var doubt: ClockDoubt?
  /// What was due at this time may be removed for good: the clock was sound then, is sound now, and a further period lies
  /// between. `nil` where there was no such look.
  package var settled: SoundTime?

  /// Whether an operator has named a time that is still to come.
  private var isAhead = false

  /// `nil` while the clock is in doubt, and for a time that is still to come.
  package var sound: SoundTime? { doubt == nil && !isAhead ? SoundTime(judged: now) : nil }

  /// An operator has said what time it is.
  ///
  /// - Parameter isAhead: whether that time is still to come: windows are closed by it, and nothing is unlisted or removed.
  package init(toldByOperator now: Instant, isAhead: Bool = false) {
    self.now = now
    self.isAhead = isAhead
    settled = isAhead ? nil : SoundTime(toldByOperator: now)
  }

  fileprivate init(now: Instant, doubt: ClockDoubt?, settled: Instant?) {
    self.now = now
    self.doubt = doubt
    self.settled = doubt == nil ? settled.map(SoundTime.init(judged:)) : nil
  }
}

/// Judges the system's clock by what was seen before. It takes readings and asks no clock itself.
package struct ClockJudge: Hashable, Sendable {
  /// What is kept of it from process to process.
  package struct Record: Hashable, Sendable, Codable {
    /// The time that the gateway believed at its last look, and the steady clock then.
    package var last: ClockReading
    /// The greatest time that it ever believed.
    package var greatest: Instant
    package var doubt: ClockDoubt?
    /// What was believed when the present span of a day began: steps add up from there, and a clock that agrees with it
    /// is right again.
    package var anchor: ClockReading?
    /// Looks at a sound clock, an hour apart at least, the oldest first.
    package var soundLooks: [Instant] = []
    /// The operator's last word that was heeded.
    package var heeded: ClockWord?
  }

  /// `nil` before the first look.
  package private(set) var record: Record?
  package var bounds: ClockBounds

  /// Seconds between a look at which something is due and the one that may remove it.
  package static let furtherPeriod: Int64 = 86_400

  package init(_ record: Record? = nil, bounds: ClockBounds = ClockBounds()) {
    self.record = record
    self.bounds = bounds
  }

  package mutating func look(_ reading: ClockReading) -> ClockLook {
    guard var record else {
      let new = Record(last: reading, greatest: reading.wall, anchor: reading, soundLooks: [reading.wall])
      self.record = new
      return ClockLook(now: reading.wall, doubt: nil, settled: nil)
    }
    // Where the system does not say which start it is, a smaller count tells.
    let isSameStart = record.last.boot == reading.boot && reading.uptime >= record.last.uptime
    let passed = isSameStart ? reading.uptime &- record.last.uptime : 0
    let expected = record.last.wall.adding(clamped: passed)
    let ahead = expected.distance(to: reading.wall)
    var anchor = record.anchor.flatMap { isSameStart && $0.boot == reading.boot ? $0 : nil }
    if let begun = anchor, record.doubt == nil, reading.uptime &- begun.uptime >= Self.furtherPeriod {
      anchor = record.last
    }
    let aheadOfAnchor = anchor.map {
      $0.wall.adding(clamped: reading.uptime &- $0.uptime).distance(to: reading.wall)
    }
    // It goes as it went all day; or it was ahead for a while, and is right again.
    let isSteady = aheadOfAnchor.map { $0.magnitude <= UInt64(bounds.agreement) } ?? false
    // Small steps add up, back and ahead.
    let isSound =
      isSteady
      || (max(ahead, aheadOfAnchor ?? ahead) <= bounds.ahead
        && max(expected, record.greatest).distance(to: reading.wall) >= -bounds.back)
    record.anchor = anchor

    if isSound {
      record.anchor = anchor ?? reading
      record.last = reading
      record.greatest = isSteady ? reading.wall : max(record.greatest, reading.wall)
      record.doubt = nil
      // What was looked at by a clock that was ahead is forgotten when it is right again.
      record.soundLooks.removeAll { $0 > reading.wall }
      if record.soundLooks.last.map({ $0.distance(to: reading.wall) >= 3600 }) ?? true {
        record.soundLooks.append(reading.wall)
        let first = record.soundLooks.lastIndex { $0.distance(to: reading.wall) >= Self.furtherPeriod } ?? 0
        record.soundLooks.removeFirst(first)
      }
    } else {
      record.last = ClockReading(wall: expected, uptime: reading.uptime, boot: reading.boot)
      record.greatest = max(record.greatest, expected)
      record.doubt = ClockDoubt(
        step: ahead, since: record.doubt?.since ?? expected,
        lasting: min(record.doubt?.lasting ?? 0, 1 << 40) + min(passed, 1 << 40))
    }
    self.record = record
    return ClockLook(now: record.last.wall, doubt: record.doubt, settled: record.settled)
  }

  /// Which start of the machine the time counts from that a folder shows: none that can come again.
  private static let shownByFolder = "folder"

  /// Takes up a time that the gateway has believed and this record does not know of: the store was lost or restored, and the
  /// folder shows what was published since. It is the last look then. Before the first look of a process.
  package mutating func take(shownByFolder time: Instant) {
    guard record.map({ $0.greatest < time }) ?? true else { return }
    let last = ClockReading(wall: time, uptime: 0, boot: Self.shownByFolder)
    var known = record ?? Record(last: last, greatest: time)
    known.last = last
    known.greatest = time
    known.anchor = nil
    record = known
  }

  /// Hears what authenticated hosts say: how many seconds the system's clock is ahead of theirs, by operator.
  ///
  /// - Returns: whether the step was accepted: it lasts long enough, and hosts of at least two operators agree with the
  ///   system's clock.
  package mutating func hear(hostsDiffer differences: [Int64], at reading: ClockReading) -> Bool {
    guard let doubt = record?.doubt, doubt.lasting >= bounds.patience,
      differences.count(where: { $0.magnitude <= UInt64(bounds.agreement) }) >= 2
    else { return false }
    accept(reading)
    return true
  }

  /// Heeds the operator's word, once.
  ///
  /// - Returns: whether it was new, and about the clock as it is now.
  package mutating func heed(_ word: ClockWord, at reading: ClockReading) -> Bool {
    guard record?.heeded != word else { return false }
    record?.heeded = word
    guard record?.doubt != nil else { return false }
    let passed = word.reading.boot == reading.boot ? max(0, reading.uptime &- word.reading.uptime) : nil
    let said = passed.map { word.reading.wall.adding(clamped: $0) }
    // After a restart the machine alone knows how long it was off.
    guard let said, said.distance(to: reading.wall).magnitude <= UInt64(bounds.agreement) else { return false }
    accept(reading)
    return true
  }

  private mutating func accept(_ reading: ClockReading) {
    guard var record else { return }
    record.last = reading
    record.greatest = reading.wall
    record.doubt = nil
    record.anchor = reading
    record.soundLooks = [reading.wall]
    self.record = record
  }
}

extension ClockJudge.Record {
  fileprivate var settled: Instant? {
    soundLooks.last { $0.distance(to: last.wall) >= ClockJudge.furtherPeriod }
  }
}

/// An operator's word that the system's clock was right when it was said.
package struct ClockWord: Hashable, Sendable, Codable {
  package var reading: ClockReading

  package init(_ reading: ClockReading) { self.reading = reading }
}

extension Instant {
  /// Seconds from here to there; instants are so bounded that it never overflows.
  fileprivate func distance(to other: Instant) -> Int64 { other.secondsSince1970 - secondsSince1970 }

  fileprivate func adding(clamped seconds: Int64) -> Instant {
    let (sum, overflow) = secondsSince1970.addingReportingOverflow(seconds)
    return Instant(secondsSince1970: overflow ? (seconds > 0 ? .max : .min) : sum)
  }
}
