import KeyNormalization

// Levels by class of symptom status and day, as a policy file spells them:
//
//     symptoms:
//       onset: { -14...-3: leave-out, -2: 2, -1...2: 3, from 3: 1 }
//       onset-in-range: by-first-day          # or a table for all lengths, or one for each: { 1: {…}, 2...18: {…} }
//       asymptomatic: { above 0: leave-out, else: as-sent }
//       otherwise: 1

extension SymptomTable {
  mutating func read(_ section: Section) {
    section.section("onset") { onset.read($0) }
    section.read("onset-in-range") { onsetInRange.read($0, onset: onset) }
    section.section("onset-unknown") { onsetUnknown.read($0) }
    section.section("asymptomatic") { asymptomatic.read($0) }
    section.section("status-unknown") { statusUnknown.read($0) }
    section.read("not-given") { notGiven = $0.entry() }
    section.section("not-given-of") { section in
      section.readAll { notGivenByOrigin[$0.uppercased()] = $1.entry() }
    }
    section.read("otherwise") { otherwise = $0.entry() }
  }
}

extension SymptomTable.Spans {
  fileprivate mutating func read(_ setting: Setting, onset: SymptomTable.Days) {
    guard !setting.isText else {
      if let judgement = setting.option(Judgement.self) { self = Self(judgement, of: onset) }
      return
    }
    guard let section = setting.section() else { return }
    if section.holdsMappings {
      readByLength(section)
    } else {
      var days = SymptomTable.Days()
      days.read(section)
      self = Self(all: days)
    }
    section.finish()
  }

  /// Names are lengths, `2`, or spans of them, `3...19`.
  private mutating func readByLength(_ section: Section) {
    var named: Set<Int> = []
    section.readAll { name, setting in
      guard let lengths = span(name), OnsetRange.allowed.contains(lengths.lowerBound),
        OnsetRange.allowed.contains(lengths.upperBound)
      else {
        setting.add("allowed a length of 1...19 days or a span of them: 3...19")
        return
      }
      guard let section = setting.section() else { return }
      var days = SymptomTable.Days()
      days.read(section)
      section.finish()
      for length in lengths {
        if !named.insert(length).inserted { setting.add("length \(length) is named twice") }
        if let range = OnsetRange(lengthInDays: length) { self[range] = days }
      }
    }
  }
}

extension SymptomTable.Days {
  /// Names are days, `-3`, spans of them, `-14...-4`, comparisons, `above 14`, and `else`. A comparison holds for the days
  /// that are not named before it.
  fileprivate mutating func read(_ section: Section) {
    section.readAll { name, setting in
      guard let days = DayCondition(name) else {
        setting.add(
          "allowed a day of -14...14, a span of them as -14...-4, above, from, below or up-to a day, and else")
        return
      }
      let entry = setting.entry()
      let offsets = DayOffset.allowed.filter(days.holds).compactMap(DayOffset.init)
      let rest = offsets.filter { self[$0] == nil }
      if days.isComparison {
        if rest.isEmpty { setting.add("has no effect: every day of it is named before") }
      } else {
        for day in offsets where self[day] != nil { setting.add("day \(day.days) is named twice") }
      }
      for day in days.isComparison ? rest : offsets { self[day] = entry }
    }
  }
}

/// Which days an entry is about.
private enum DayCondition {
  case days(ClosedRange<Int>)
  case above(Int)
  case from(Int)
  case below(Int)
  case upTo(Int)
  case other

  init?(_ name: String) {
    let words = name.split(separator: " ")
    switch words.count {
    case 1 where name == "else": self = .other
    case 1:
      guard let days = span(name), DayOffset(days.lowerBound) != nil, DayOffset(days.upperBound) != nil else {
        return nil
      }
      self = .days(days)
    case 2:
      guard let day = Int(words[1]), DayOffset(day) != nil else { return nil }
      switch words[0] {
      case "above": self = .above(day)
      case "from": self = .from(day)
      case "below": self = .below(day)
      case "up-to": self = .upTo(day)
      default: return nil
      }
    default: return nil
    }
  }

  var isComparison: Bool { if case .days = self { false } else { true } }

  func holds(_ day: Int) -> Bool {
    switch self {
    case .days(let days): days.contains(day)
    case .above(let limit): day > limit
    case .from(let limit): day >= limit
    case .below(let limit): day < limit
    case .upTo(let limit): day <= limit
    case .other: true
    }
  }
}

/// `3`, `-14...-4`.
private func span(_ text: String) -> ClosedRange<Int>? {
  if let number = Int(text) { return number...number }
  guard let dots = text.utf8.firstIndex(of: UInt8(ascii: ".")), text[dots...].hasPrefix("..."),
    let first = Int(text[..<dots]), let last = Int(text[dots...].dropFirst(3)), first <= last
  else { return nil }
  return first...last
}

extension Setting {
  /// What is at fault counts as read, so that it leaves no hole to be told of as well.
  fileprivate func entry() -> SymptomTable.Entry {
    if isWord("leave-out") { return .leaveOut }
    if isWord("as-sent") { return .asSent }
    let allowed = RiskPolicy.allowed
    guard let level = Int32(word ?? ""), allowed.contains(level) else {
      add("\(Int32(word ?? "").map(String.init) ?? shown), allowed \(allowed), as-sent, leave-out")
      return .asSent
    }
    return .level(level)
  }
}
