import ExposureKeys
import KeyNormalization

extension ReadingPolicy {
  /// Reads what the admission rules declare; a section is opened at its first setting.
  mutating func read(_ section: Section) {
    var left = ReadingSetting.all[...]
    while let first = left.first {
      let (outer, name) = first.names
      guard let outer else {
        section.read(name) { put(first, $0) }
        left = left.dropFirst()
        continue
      }
      section.section(outer) { inner in
        for setting in left where setting.names.section == outer {
          inner.read(setting.names.setting) { stated in
            put(setting, stated)
            if setting.path == "rolling-start.latest", futureLimit != .byClock, inner.states("future-tolerance") {
              stated.add("\(futureLimit.rawValue), with which future-tolerance has no effect; leave out one of the two")
            }
          }
        }
      }
      left = left.filter { $0.names.section != outer }[...]
    }
  }

  private mutating func put(_ setting: ReadingSetting, _ stated: Setting) {
    if let value = stated.value(of: setting.form) { setting.put(value, &self) }
  }
}

extension ReadingSetting {
  /// The section around it, and its name there.
  fileprivate var names: (section: String?, setting: String) {
    guard let dot = path.firstIndex(of: ".") else { return (nil, path) }
    return (String(path[..<dot]), String(path[path.index(after: dot)...]))
  }
}

extension Setting {
  /// `nil` adds a fault.
  fileprivate func value(of form: ReadingSetting.Form) -> ReadingSetting.Value? {
    switch form {
    case .number(_, let word?) where isWord(word), .codes(let word?) where isWord(word),
      .riskByAge(let word) where isWord(word):
      return .word(word)
    case .words(let allowed):
      guard let text = word, allowed.contains(text) else {
        return fault("\(shown), allowed \(allowed.joined(separator: ", "))")
      }
      return .word(text)
    case .number(let allowed, _):
      guard let number = number(Int64.self) else { return nil }
      guard allowed.contains(number) else {
        return fault("\(number), allowed \(allowed.lowerBound)...\(allowed.upperBound)")
      }
      return .number(number)
    case .day:
      return text().flatMap { text in
        Day(text).map(ReadingSetting.Value.day) ?? fault("\"\(text.prefix(60))\", allowed a date: 2020-01-01")
      }
    case .codes: return list().map { .codes(Set($0.compactMap { $0.text()?.uppercased() })) }
    case .reportTypes: return list().map { .reportTypes(Set($0.compactMap { $0.reportType() })) }
    case .riskByAge: return riskByAge().map(ReadingSetting.Value.riskByAge)
    }
  }
}

extension PublishingPolicy {
  mutating func read(_ section: Section) {
    section.read("precedence") { setting in
      set(&precedence, setting.list().map { Set($0.compactMap { $0.text()?.uppercased() }) })
    }
    section.section("prefer") { section in
      section.read("rolling-period") { set(&rollingPeriodPreference, $0.option()) }
      section.read("risk") { set(&riskPreference, $0.option()) }
      section.read("symptoms") { set(&symptomPreference, $0.option()) }
      // Not a setting: whoever looks for it is told why.
      if section.states("between-origins") {
        section.read("between-origins") { setting in
          setting.add(
            "\(setting.text().map { printable($0) } ?? "stated"): between origins the widest period, the highest risk and "
              + "the most infectious onset are published always, so that none takes anything from another")
        }
      }
    }
    section.read("hold-minutes") { set(&holdMinutes, $0.number()) }
    section.read("hold-to-next") { holdToNextMinutes = $0.isWord("none") ? nil : $0.number() ?? holdToNextMinutes }
    section.read("maximum-age-days") { set(&maximumAgeDays, $0.number()) }
    section.read("short-periods") { set(&expandsShortPeriods, $0.choice("full-day", "as-stated")) }
    section.section("report-types") { section in
      for type in ReportType.allCases {
        section.read(type.code) { if let outcome = $0.reportTypeOutcome() { reportTypes[type] = outcome } }
      }
    }
    section.section("report-types-of") { section in
      section.readAll { name, setting in
        guard let section = setting.section() else { return }
        var outcomes: [ReportType: ReportTypeOutcome] = [:]
        for type in ReportType.allCases {
          section.read(type.code) { if let outcome = $0.reportTypeOutcome() { outcomes[type] = outcome } }
        }
        section.finish()
        reportTypesByOrigin[name.uppercased()] = outcomes
      }
    }
    section.section("risk") { risk.read($0) }
    section.section("onset") { section in
      section.read("default") { setting in
        defaultDaysSinceOnset = setting.isWord("none") ? nil : setting.dayOffset() ?? defaultDaysSinceOnset
      }
      section.section("by-class") { section in
        for name in SymptomClass.allCases {
          section.read(name.rawValue) { if let days = $0.onsetForApps(of: name) { daysSinceOnsetByClass[name] = days } }
        }
      }
    }
    section.read("not-for-apps") { setting in
      set(&withheldFromApps, setting.list().map { Set($0.compactMap { $0.option() }) })
    }
    section.section("regions") { section in
      section.read("named") { set(&ignoresVisited, $0.choice("ignored", "as-stated")) }
      section.read("none-named") { set(&emptyVisited, $0.option()) }
      section.read("origin") { set(&includesOrigin, $0.choice("included", "excluded")) }
    }
    section.read("risk-encoding") { set(&riskEncoding, $0.option()) }
  }
}

extension Setting {
  fileprivate func onsetForApps(of name: SymptomClass) -> PublishingPolicy.OnsetForApps? {
    if isWord("none") { return PublishingPolicy.OnsetForApps.none }
    if name == .onset, isWord("as-sent") { return .asSent }
    return dayOffset().map(PublishingPolicy.OnsetForApps.days)
  }
}

extension Setting {
  fileprivate func riskByAge() -> ReadingPolicy.RiskByAge? {
    guard let section = section() else { return nil }
    let days = section.need("days", "0...60")?.number(Int.self)
    let level = section.need("level", "\(RiskPolicy.allowed)")?.number(Int32.self)
    let older = section.need("older", "\(RiskPolicy.allowed)")?.number(Int32.self)
    section.finish()
    guard let days, let level, let older else { return nil }
    return ReadingPolicy.RiskByAge(days: days, level: level, olderLevel: older)
  }
}

private enum RiskSource: String, CaseIterable {
  case asSent = "as-sent"
  case fromReportType = "from-report-type"
  case fromSymptoms = "from-symptoms"
}

extension RiskPolicy {
  fileprivate mutating func read(_ section: Section) {
    var source = RiskSource.asSent
    section.read("derive") { set(&source, $0.option()) }
    switch source {
    case .asSent: break
    case .fromReportType:
      var levels: [ReportType: Int32] = [:]
      var replacement = Replacement.always
      section.section("report-types") { section in
        for type in ReportType.allCases { section.read(type.code) { levels[type] = $0.number() } }
      }
      section.read("replacing") { set(&replacement, $0.option()) }
      derivation = .fromReportType(levels, replacing: replacement)
    case .fromSymptoms:
      var table = SymptomTable()
      section.section("symptoms") { table.read($0) }
      derivation = .fromSymptoms(table)
    }
    section.read("default") { fallback = $0.optionalLevel() }
    section.read("cap") { cap = $0.optionalLevel() }
    section.read("minimum") { minimum = $0.optionalLevel() }
  }
}

extension Setting {
  fileprivate func reportType() -> ReportType? {
    guard let text = text() else { return nil }
    let allowed = ReportType.allCases.map(\.code).joined(separator: ", ")
    return ReportType(code: text) ?? fault("\"\(text.prefix(60))\", allowed \(allowed)")
  }

  fileprivate func reportTypeOutcome() -> PublishingPolicy.ReportTypeOutcome? {
    isWord("leave-out") ? .leaveOut : reportType().map(PublishingPolicy.ReportTypeOutcome.publish)
  }

  fileprivate func optionalLevel() -> Int32? { isWord("none") ? nil : number() }

  fileprivate func dayOffset() -> DayOffset? {
    number(Int.self).flatMap { DayOffset($0) ?? fault("\($0), allowed none, -14...14") }
  }
}

/// Keeps the default where the file's value is at fault.
func set<Value>(_ target: inout Value, _ value: Value?) {
  if let value { target = value }
}
