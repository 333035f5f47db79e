internal import ExposureKeys
package import KeyNormalization

/// How far the agenda of a store has been forgotten: what it noted up to this event for hours up to this one is gone.
///
/// What becomes of a key changes when something is said of it, and again when it is not valid any more, and at no other
/// time. So a store notes the key data of each claim that comes in, is put aside or is read otherwise, with the event and the
/// hour in which the claim ends. A round looks at what was noted since the last one, and at what has ended since, and not at
/// all claims.
package struct AgendaFloor: Hashable, Sendable {
  package var event: EventID
  /// Hours since 1970.
  package var hour: Int64

  package init(event: EventID, hour: Int64) {
    self.event = event
    self.hour = hour
  }

  /// Nothing was forgotten.
  package static let none = AgendaFloor(event: EventID(rawValue: 0), hour: -1)

  /// Where both are forgotten.
  package func raised(to other: AgendaFloor) -> AgendaFloor {
    AgendaFloor(event: max(event, other.event), hour: max(hour, other.hour))
  }

  /// Whether everything is known of what was noted after an event, and of what was noted before it for these hours.
  package func knows(after event: EventID, endingIn hours: ClosedRange<Int64>) -> Bool {
    event >= self.event && hours.lowerBound > hour
  }
}

/// Hours of an agenda.
package enum AgendaHour {
  /// To be looked at as soon as possible, however long the key is valid.
  package static let now: Int64 = 0

  /// The hours for which a claim is noted: the first one that begins when it has ended, and where it is a short one, the
  /// same of a whole day from its start on, as which some policies publish it.
  ///
  /// - Parameters:
  ///   - start: its rolling start.
  ///   - period: its rolling period.
  package static func all(start: Int32, period: Int32) -> (Int64, short: Int64?) {
    let end = after(Int64(start) + Int64(period))
    let day = after(Int64(start) + IntervalNumber.intervalsPerDay)
    return (end, period < IntervalNumber.intervalsPerDay && day != end ? day : nil)
  }

  /// Never before the first one: what cannot have ended is looked at soon.
  private static func after(_ interval: Int64) -> Int64 { max(now, interval >= 0 ? (interval + 5) / 6 : now) }
}

extension Statement {
  /// The hours for which a claim is noted that says this.
  package func agendaHours(from start: Int32) -> (Int64, short: Int64?) {
    AgendaHour.all(start: start, period: rollingPeriod)
  }
}
