package import ExposureKeys

/// A reading and a publishing policy with a name: what a policy file holds.
package struct Policy: Hashable, Sendable {
  /// Lower-case letters, digits and hyphens.
  package var name: String
  /// One line for people.
  package var summary: String
  package var reading: ReadingPolicy
  package var publishing: PublishingPolicy
  /// What holds from a day on, in the order of the days.
  package var changes: [Change] = []

  /// Both halves as they are from a day (UTC) on.
  package struct Change: Hashable, Sendable {
    package var from: Day
    package var reading: ReadingPolicy
    package var publishing: PublishingPolicy

    package init(from: Day, reading: ReadingPolicy, publishing: PublishingPolicy) {
      self.from = from
      self.reading = reading
      self.publishing = publishing
    }
  }

  package init(
    name: String, summary: String = "", reading: ReadingPolicy = ReadingPolicy(),
    publishing: PublishingPolicy = PublishingPolicy()
  ) {
    self.name = name
    self.summary = summary
    self.reading = reading
    self.publishing = publishing
  }

  /// The policy that holds at an instant, which changes no more.
  package func at(_ now: Instant) -> Policy {
    guard !changes.isEmpty else { return self }
    let change = changes.last { $0.from <= now.day }
    return Policy(
      name: name, summary: summary, reading: change?.reading ?? reading, publishing: change?.publishing ?? publishing)
  }

  /// Everything that is wrong with the policy as a whole; empty when it can be used.
  package var faults: [PolicyFault] {
    let first = reading.faults + publishing.faults
    // An entry has what held before, and what is wrong with that is told there.
    var known = Set(first)
    let later = changes.enumerated().flatMap { number, change in
      let faults = change.reading.faults + change.publishing.faults
      defer { known = Set(faults) }
      return faults.filter { !known.contains($0) }.map {
        PolicyFault(place: "changes.\(number).\($0.place)", reason: $0.reason)
      }
    }
    return nameFaults + first + later + changeFaults
  }

  private var changeFaults: [PolicyFault] {
    zip(changes, changes.dropFirst()).enumerated().compactMap { number, pair in
      guard pair.0.from >= pair.1.from else { return nil }
      return PolicyFault(
        place: "changes.\(number + 1).from",
        reason: "\(pair.1.from), not after \(pair.0.from); allowed is the order of time")
    }
  }

  /// What an operator should know, though the policy can be used; sorted by place.
  package var warnings: [PolicyFault] {
    var warnings: [PolicyFault] = []
    let readings = [reading] + changes.map(\.reading)
    let precedence = changes.reduce(publishing.precedence) { $0.union($1.publishing.precedence) }
    if readings.contains(where: { $0.speaksFor == .any }) {
      warnings.append(
        PolicyFault(
          place: "reading.speaks-for", reason: "any: whatever origin a source's keys name is taken to have said so"))
    }
    if !precedence.isEmpty {
      warnings.append(
        PolicyFault(
          place: "publishing.precedence",
          reason: "sets the merge law aside: \(precedence.sorted().joined(separator: ", ")) can leave out, "
            + "revoke and weaken what others say about a key, by claiming it"))
    }
    return warnings
  }

  private var nameFaults: [PolicyFault] {
    let isName =
      !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
      }
    guard !isName else { return [] }
    return [PolicyFault(place: "name", reason: "\"\(name)\", allowed lower-case letters, digits and hyphens")]
  }
}

/// One thing that is wrong with a policy.
package struct PolicyFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// The setting: `publishing.risk.cap`.
  package var place: String
  /// Where that stands in its file, counted from 1; 0 where it is not known.
  package var line: Int
  package var column: Int
  /// What was found and what is allowed.
  package var reason: String

  package init(place: String, line: Int = 0, column: Int = 0, reason: String) {
    self.place = place
    self.line = line
    self.column = column
    self.reason = reason
  }

  /// `12:5: publishing.risk.cap: 9, allowed 0...8`.
  package var description: String { (line > 0 ? "\(line):\(column): " : "") + "\(place): \(reason)" }
}

extension ReadingPolicy {
  var faults: [PolicyFault] {
    var faults = FaultList(prefix: "reading")
    for setting in ReadingSetting.all {
      guard case .number(let allowed, _) = setting.form, case .number(let number)? = setting.value(self) else {
        continue
      }
      faults.check(number, in: allowed, setting.path)
    }
    if reportTypes.isEmpty { faults.add("report-types.accepted", "empty: no key would be admitted") }
    var spoken: Set<String> = []
    if case .only(let origins) = speaksFor {
      spoken = origins
      if origins.isEmpty { faults.add("speaks-for", "empty: no key would be admitted") }
    }
    faults.checkRegions(spoken, "speaks-for")
    faults.checkRegions(excludedOrigins, "excluded-origins")
    if regions?.isEmpty == true { faults.add("regions.named", "empty: no key that names a region would be admitted") }
    faults.checkRegions((regions ?? []).subtracting(declaredRegions), "regions.named")
    for origin in excludedOrigins.intersection(spoken).sorted() {
      faults.add("excluded-origins", "\(origin) stands under speaks-for, too")
    }
    if let riskByAge {
      faults.check(riskByAge.days, in: RiskByAge.daysAllowed, "risk.without-onset.days")
      faults.check(riskByAge.level, in: RiskPolicy.allowed, "risk.without-onset.level")
      faults.check(riskByAge.olderLevel, in: RiskPolicy.allowed, "risk.without-onset.older")
    }
    if riskEncoding == .coronaWarnApp, !reportTypes.contains(.unknown) {
      faults.add(
        "report-types.accepted",
        "lacks unknown, but the encoding corona-warn-app leaves every key without a report type")
    }
    return faults.all
  }
}

extension PublishingPolicy {
  var faults: [PolicyFault] {
    var faults = FaultList(prefix: "publishing")
    let allowed = Self.holdMinutesAllowed
    if !allowed.contains(holdMinutes) {
      faults.add(
        "hold-minutes",
        "\(holdMinutes), allowed \(allowed.lowerBound)...\(allowed.upperBound)"
          + (holdMinutes < allowed.lowerBound
            ? ": clocks differ by two hours, and no key is told while it is in use" : ""))
    }
    faults.check(maximumAgeDays, in: Self.maximumAgeDaysAllowed, "maximum-age-days")
    if let minutes = holdToNextMinutes, minutes < 1 || 1440 % minutes != 0 {
      faults.add(
        "hold-to-next", "\(minutes), allowed none, or minutes of which a day is a multiple, such as 60 and 120")
    }
    if holdMinutes > maximumAgeDays * 1440 {
      faults.add("hold-minutes", "\(holdMinutes), longer than the maximum age: no key would be published")
    }
    faults.checkRegions(precedence, "precedence")
    checkReportTypes(&faults)
    risk.check(&faults, mustBeStated: riskEncoding == .coronaWarnApp)
    checkFieldsForApps(&faults)
    return faults.all
  }

  private func checkFieldsForApps(_ faults: inout FaultList) {
    if riskEncoding == .coronaWarnApp {
      let reason = "has no effect: the encoding corona-warn-app writes the risk level there"
      if defaultDaysSinceOnset != nil { faults.add("onset.default", reason) }
      if !daysSinceOnsetByClass.isEmpty { faults.add("onset.by-class", reason) }
      if !withheldFromApps.isEmpty {
        faults.add(
          "not-for-apps", "has no place beside the encoding corona-warn-app, which writes the risk level there")
      }
    }
    if withheldFromApps.contains(.onset), defaultDaysSinceOnset != nil || !daysSinceOnsetByClass.isEmpty {
      faults.add("onset", "has no effect: not-for-apps names onset")
    }
    if case .days = daysSinceOnsetByClass[.onset], defaultDaysSinceOnset == nil, daysSinceOnsetByClass.count == 1 {
      faults.add("onset.by-class.onset", "replaces what is known exactly, while other keys are given no onset")
    }
    if ignoresVisited, emptyVisited != .all {
      faults.add(
        "regions.none-named", "\(emptyVisited.rawValue), but where names are ignored every key goes to all regions")
    }
  }

  private func checkReportTypes(_ faults: inout FaultList) {
    for type in ReportType.allCases where reportTypes[type] == nil { faults.add("report-types.\(type.code)", "absent") }
    check(reportTypes, of: nil, &faults, "report-types")
    faults.checkRegions(Set(reportTypesByOrigin.keys), "report-types-of")
    for (origin, outcomes) in reportTypesByOrigin.sorted(by: { $0.key < $1.key }) {
      check(outcomes, of: origin, &faults, "report-types-of.\(origin)")
    }
  }

  private func check(
    _ stated: [ReportType: ReportTypeOutcome], of origin: String?, _ faults: inout FaultList, _ place: String
  ) {
    let all = ReportType.allCases.map { outcome(of: $0, from: origin) }
    if !all.contains(where: { $0 != .leaveOut }) { faults.add(place, "all are left out: no key would be published") }
    for type in ReportType.allCases {
      let place = "\(place).\(type.code)"
      guard case .publish(let published) = stated[type], published != type else { continue }
      if type == .revoked || published == .revoked {
        faults.add(place, "\(published.code): a revocation and a report are not published as each other")
      } else if outcome(of: published, from: origin) != .publish(as: published) {
        faults.add(place, "\(published.code) itself is not published as such, so publishing twice would differ")
      }
    }
  }
}

extension RiskPolicy {
  fileprivate func check(_ faults: inout FaultList, mustBeStated: Bool) {
    let place = "risk"
    for (level, name) in [(fallback, "default"), (cap, "cap"), (minimum, "minimum")] {
      if let level { faults.check(level, in: Self.allowed, "\(place).\(name)") }
    }
    if let cap, let minimum, cap < minimum {
      faults.add("\(place).cap", "\(cap) is below the minimum \(minimum): no key would be published")
    }
    if fallback == nil, minimum != nil {
      faults.add("\(place).minimum", "needs a default: keys without a level could not be compared")
    }
    if mustBeStated, fallback == nil {
      faults.add("\(place).default", "absent, but the encoding corona-warn-app needs a level for every key")
    }
    switch derivation {
    case .asSent: break
    case .fromReportType(let levels, _):
      for (type, level) in levels.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
        faults.check(level, in: Self.allowed, "\(place).report-types.\(type.code)")
      }
    case .fromSymptoms(let table): table.check(&faults, "\(place).symptoms")
    }
  }
}

extension SymptomTable {
  fileprivate func check(_ faults: inout FaultList, _ place: String) {
    for part in parts {
      for (days, entry) in part.days.runs({ $0 }) {
        check(entry, &faults, "\(place).\(part.name).\(Days.text(days))")
      }
      let holes = part.days.runs { $0 == nil }.filter(\.1).map { Days.text($0.0) }
      guard otherwise == nil, !holes.isEmpty else { continue }
      faults.add(
        "\(place).\(part.name)",
        "has no entry for \(holes.joined(separator: ", ")); name these days, or state otherwise")
    }
    check(otherwise, &faults, "\(place).otherwise")
    check(notGiven, &faults, "\(place).not-given")
    faults.checkRegions(Set(notGivenByOrigin.keys), "\(place).not-given-of")
  }

  private func check(_ entry: Entry?, _ faults: inout FaultList, _ place: String) {
    if case .level(let level) = entry { faults.check(level, in: RiskPolicy.allowed, place) }
  }
}

private struct FaultList {
  let prefix: String
  private(set) var all: [PolicyFault] = []

  init(prefix: String) { self.prefix = prefix }

  mutating func add(_ place: String, _ reason: String) {
    all.append(PolicyFault(place: "\(prefix).\(place)", reason: reason))
  }

  mutating func checkRegions(_ names: Set<String>, _ place: String) {
    for name in names.sorted() where !RegionName.isPossible(name) {
      add(
        place,
        "\"\(name.prefix(20))\" cannot be a region: two letters of ISO 3166-1, a part of a country as GB-SCT, or a mobile "
          + "country code")
    }
  }

  mutating func check<Number: FixedWidthInteger>(_ value: Number, in allowed: ClosedRange<Number>, _ place: String) {
    if !allowed.contains(value) {
      add(place, "\(value), allowed \(allowed.lowerBound)...\(allowed.upperBound)")
    }
  }
}
