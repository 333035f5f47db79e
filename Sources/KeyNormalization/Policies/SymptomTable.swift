import ExposureKeys

/// A class of ``SymptomStatus``, as policies name it.
package enum SymptomClass: String, Hashable, Sendable, CaseIterable {
  case onset
  case onsetInRange = "onset-in-range"
  case onsetUnknown = "onset-unknown"
  case asymptomatic
  case statusUnknown = "status-unknown"
  /// Nothing was given, or a number without a meaning.
  case notGiven = "not-given"

  package init(_ status: SymptomStatus?) {
    switch status {
    case .onset: self = .onset
    case .onsetInRange: self = .onsetInRange
    case .onsetUnknown: self = .onsetUnknown
    case .asymptomatic: self = .asymptomatic
    case .statusUnknown: self = .statusUnknown
    case .notProvided, .undefined, nil: self = .notGiven
    }
  }
}

/// Risk levels by class of symptom status and day, and for spans of days by their length as well.
package struct SymptomTable: Hashable, Sendable {
  package enum Entry: Hashable, Sendable {
    case level(Int32)
    /// The level that was sent, or none.
    case asSent
    case leaveOut
  }

  /// One class: what holds for -14...14, in this order; `nil` where the table says nothing.
  package struct Days: Hashable, Sendable {
    var entries: [Entry?]

    package init(all entry: Entry? = nil) { entries = Array(repeating: entry, count: DayOffset.allowed.count) }

    package subscript(offset: DayOffset) -> Entry? {
      get { entries[Int(offset.days) - DayOffset.allowed.lowerBound] }
      set { entries[Int(offset.days) - DayOffset.allowed.lowerBound] = newValue }
    }

    /// What holds for a day that may lie beyond -14...14: there, what holds for the day nearest to it.
    func nearest(_ day: Int) -> Entry? {
      let allowed = DayOffset.allowed
      return entries[min(max(day, allowed.lowerBound), allowed.upperBound) - allowed.lowerBound]
    }
  }

  /// Onsets that are known as a span of days, by the length of the span and the day since its last one.
  package struct Spans: Hashable, Sendable {
    private var days: [Days]

    /// The same for every length.
    package init(all days: Days = Days()) { self.days = OnsetRange.allowed.map { _ in days } }

    package subscript(range: OnsetRange) -> Days {
      get { days[Int(range.lengthInDays) - OnsetRange.allowed.lowerBound] }
      set { days[Int(range.lengthInDays) - OnsetRange.allowed.lowerBound] = newValue }
    }

    /// Whether every length has the same entries.
    package var areAlike: Bool { days.allSatisfy { $0 == days.first } }
  }

  package var onset = Days()
  package var onsetInRange = Spans()
  package var onsetUnknown = Days()
  package var asymptomatic = Days()
  package var statusUnknown = Days()
  /// What holds for a key of which nothing is known.
  package var notGiven: Entry = .asSent
  /// The same for keys of these origins, by their names in capitals.
  package var notGivenByOrigin: [String: Entry] = [:]
  /// What holds for given days that the table does not name. A table that does not name all of them needs it.
  package var otherwise: Entry? = nil

  package init() {}

  /// What the table says, and whether it names the day. Where it says nothing at all, what was sent is kept.
  func entry(for status: SymptomStatus?) -> (entry: Entry, isNamed: Bool) {
    let named: Entry?
    switch status {
    case .onset(let offset): named = onset[offset]
    case .onsetInRange(let range, let offset): named = onsetInRange[range][offset]
    case .onsetUnknown(let offset): named = onsetUnknown[offset]
    case .asymptomatic(let offset): named = asymptomatic[offset]
    case .statusUnknown(let offset): named = statusUnknown[offset]
    case .notProvided, .undefined, nil: named = notGiven
    }
    return (named ?? otherwise ?? .asSent, named != nil)
  }

  /// What the table says.
  package subscript(status: SymptomStatus?) -> Entry { entry(for: status).entry }
}

// MARK: Spans of days, judged by the table of exact days

extension SymptomTable.Spans {
  /// How a span of days is judged by what holds for exact days.
  package enum Judgement: String, Hashable, Sendable, CaseIterable {
    /// As an onset on the last day of the span.
    case byLastDay = "by-last-day"
    /// As an onset on its first day.
    case byFirstDay = "by-first-day"
    /// The day that counts from the last one, and as many days before it as the span is long, are all looked up: where one
    /// is left out, the key is; else the highest level holds.
    case byEveryDay = "by-every-day"
  }

  package init(_ judgement: Judgement, of onset: SymptomTable.Days) {
    self.init()
    for length in OnsetRange.allowed {
      guard let range = OnsetRange(lengthInDays: length) else { continue }
      for day in DayOffset.allowed {
        guard let offset = DayOffset(day) else { continue }
        self[range][offset] =
          switch judgement {
          case .byLastDay: onset[offset]
          case .byFirstDay: onset.nearest(day + length - 1)
          case .byEveryDay: SymptomTable.highest((day - length + 1...day).map { onset.nearest($0) })
          }
      }
    }
  }
}

extension SymptomTable {
  /// What holds where all of these do: nothing, where one of them is nothing.
  fileprivate static func highest(_ entries: [Entry?]) -> Entry? {
    var highest: Int32?
    for entry in entries {
      switch entry {
      case .leaveOut: return .leaveOut
      case .level(let level): highest = max(highest ?? level, level)
      case .asSent: break
      case nil: return entries.contains(.leaveOut) ? .leaveOut : nil
      }
    }
    return highest.map(Entry.level) ?? .asSent
  }
}

// MARK: The table as a whole

extension SymptomTable {
  /// What is said of one class, or of the spans of some lengths.
  struct Part {
    /// `onset`, `onset-in-range.2`.
    let name: String
    let days: Days
  }

  /// All of it but what is not given, in the order of the classes. Spans stand apart by their lengths where these differ.
  var parts: [Part] {
    var parts = [Part(name: SymptomClass.onset.rawValue, days: onset)]
    let lengths = OnsetRange.allowed.compactMap(OnsetRange.init)
    let name = SymptomClass.onsetInRange.rawValue
    if let first = lengths.first, onsetInRange.areAlike {
      parts.append(Part(name: name, days: onsetInRange[first]))
    } else {
      parts += lengths.map { Part(name: "\(name).\($0.lengthInDays)", days: onsetInRange[$0]) }
    }
    return parts + [
      Part(name: SymptomClass.onsetUnknown.rawValue, days: onsetUnknown),
      Part(name: SymptomClass.asymptomatic.rawValue, days: asymptomatic),
      Part(name: SymptomClass.statusUnknown.rawValue, days: statusUnknown),
    ]
  }

  /// Whether spans of days fare differently by their lengths.
  var isByLength: Bool { !onsetInRange.areAlike }

  /// One line for each part, `onset: -14...-3 leave out, -2 level 2`, and what holds for the rest.
  package var lines: [String] {
    let rows: [String] = parts.map { part in
      let runs = part.days.runs { $0 ?? otherwise }
      return "\(part.name): "
        + runs.map { days, entry in "\(Days.text(days)) \(entry?.text ?? "not named")" }.joined(separator: ", ")
    }
    let notGiven = notGivenByOrigin.sorted { $0.key < $1.key }.map { ", of \($0): \($1.text)" }.joined()
    return rows + ["not given: \(self.notGiven.text)\(notGiven)"] + (otherwise.map { ["other days: \($0.text)"] } ?? [])
  }
}

extension SymptomTable.Days {
  /// Days in a row that fare alike.
  func runs<Value: Equatable>(_ value: (SymptomTable.Entry?) -> Value) -> [(ClosedRange<Int>, Value)] {
    var runs: [(ClosedRange<Int>, Value)] = []
    for (day, entry) in zip(DayOffset.allowed, entries) {
      let value = value(entry)
      if let last = runs.last, last.1 == value {
        runs[runs.count - 1].0 = last.0.lowerBound...day
      } else {
        runs.append((day...day, value))
      }
    }
    return runs
  }

  /// `-3`, `-14...-3`.
  static func text(_ days: ClosedRange<Int>) -> String {
    days.count == 1 ? "\(days.lowerBound)" : "\(days.lowerBound)...\(days.upperBound)"
  }
}

extension SymptomTable.Entry {
  package var text: String {
    switch self {
    case .level(let level): "level \(level)"
    case .asSent: "as sent"
    case .leaveOut: "leave out"
    }
  }
}
