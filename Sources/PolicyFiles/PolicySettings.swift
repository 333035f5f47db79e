import ExposureKeys
import KeyNormalization

extension ReadingPolicy {
  mutating func read(_ section: Section) {
    section.section("key-data") { $0.read("uniform") { set(&uniformKeyData, $0.option()) } }
    section.section("rolling-start") { section in
      section.read("earliest") { setting in
        guard let text = setting.text() else { return }
        set(&earliestRollingStart, Day(text) ?? setting.fault("\"\(text.prefix(60))\", allowed a date: 2020-01-01"))
      }
      section.read("future-tolerance") { set(&futureTolerance, $0.number()) }
      section.read("latest") { setting in
        set(&futureLimit, setting.option())
        if futureLimit != .byClock, section.states("future-tolerance") {
          setting.add("\(futureLimit.rawValue), with which future-tolerance has no effect; leave out one of the two")
        }
      }
      section.read("of-day") { set(&startOfDay, $0.option()) }
    }
    section.read("maximum-age-days") { maximumAge = $0.isWord("none") ? nil : $0.number() ?? maximumAge }
    section.read("minimum-age-minutes") {
      minimumAgeMinutes = $0.isWord("none") ? nil : $0.number() ?? minimumAgeMinutes
    }
    section.section("rolling-period") { section in
      section.read("absent") { set(&absentRollingPeriod, $0.option()) }
      section.read("zero") { set(&zeroRollingPeriod, $0.option()) }
      section.read("short") { set(&shortRollingPeriod, $0.option()) }
    }
    section.section("risk") { section in
      section.read("encoding") { set(&riskEncoding, $0.option()) }
      section.read("out-of-range") { set(&riskOutOfRange, $0.option()) }
      section.read("without-onset") { riskByAge = $0.isWord("as-sent") ? nil : $0.riskByAge() ?? riskByAge }
    }
    section.section("onset") { section in
      section.read("codes") { set(&onsetCodes, $0.option()) }
      section.read("undefined") { set(&undefinedOnset, $0.option()) }
      section.read("highest-code") { highestOnsetCode = $0.isWord("none") ? nil : $0.number() ?? highestOnsetCode }
    }
    section.section("report-types") { section in
      section.read("accepted") { setting in
        set(&reportTypes, setting.list().map { Set($0.compactMap { $0.reportType() }) })
      }
      section.read("unrecognized") { set(&unrecognizedReportType, $0.option()) }
    }
    section.read("speaks-for") { setting in
      if setting.isWord("any") {
        speaksFor = .any
      } else if let list = setting.list() {
        speaksFor = .only(Set(list.compactMap { $0.text()?.uppercased() }))
      }
    }
    section.read("excluded-origins") { setting in
      set(&excludedOrigins, setting.list().map { Set($0.compactMap { $0.text()?.uppercased() }) })
    }
    section.section("regions") { section in
      section.read("named") { setting in
        regions = setting.isWord("any") ? nil : setting.list().map { Set($0.compactMap { $0.text()?.uppercased() }) }
      }
      section.read("declared") { setting in
        set(&declaredRegions, setting.list().map { Set($0.compactMap { $0.text()?.uppercased() }) })
      }
    }
    section.section("flood") { section in
      section.read("factor") { floodFactor = $0.isWord("never") ? nil : $0.number() ?? floodFactor }
      section.read("floor") { floodFloor = $0.isWord("by-population") ? nil : $0.number() ?? floodFloor }
      section.read("most-a-day") { mostKeysADay = $0.isWord("none") ? nil : $0.number() ?? mostKeysADay }
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
