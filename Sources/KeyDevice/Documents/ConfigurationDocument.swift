/// An app's configuration in a file: what it tells phones of both versions of the API.
///
/// Forms: the sample app's of Apple (first version, and both), Google's of the first version, COCOA's in blocks, the
/// Corona-Warn-App's as its servers and tests write it, and EN Express's, whose map of days is a hexadecimal number. Names may be
/// spelled with capitals or underscores.
package struct ConfigurationDocument: Decodable, Sendable {
  /// For phones that give windows; `nil` if the file has nothing for them.
  package var windows: AppRules.Judgement?
  /// For phones of the first version.
  package var summary: AppRules.Judgement?

  /// Seconds from which on a day's sum is an alarm, where the configuration does not state it: fifteen minutes.
  package static let usualAlarm = 900.0

  package init(from decoder: any Decoder) throws {
    let members = try SpelledMembers(decoder)
    if members.has("minutesAtAttenuationWeights") {
      let configuration = try CoronaWarnConfiguration(from: decoder)
      windows = .windows(.coronaWarn, .coronaWarn(configuration, rounding: .android))
      return
    }
    if members.has("googleDailySummariesConfig") || members.has("appleExposureConfigV1") {
      try readBlocks(members)
      return
    }
    if members.has("attenuationLevelValues") || members.has("attenuationScores") {
      summary = try FirstMembers(from: decoder).judgement
    }
    if members.has("immediateDurationWeight") || members.has("attenuationBucketWeights")
      || members.has("symptomOnsetToInfectiousnessMap")
    {
      windows = try SecondMembers(from: decoder).judgement
    }
    guard windows != nil || summary != nil else {
      throw members.fault(
        "attenuationLevelValues",
        "no configuration is recognised; expected members such as attenuationLevelValues or immediateDurationWeight")
    }
  }

  private mutating func readBlocks(_ members: SpelledMembers) throws {
    if let daily = try members.read(SecondMembers.self, "googleDailySummariesConfig", "appleExposureConfigV2") {
      var second = daily
      if let mapping = try members.read(SecondMembers.self, "googleDiagnosisKeysDataMappingConfig") {
        second.mapping = mapping.mapping
      }
      windows = second.judgement
    }
    summary = try members.read(FirstMembers.self, "appleExposureConfigV1", "googleExposureConfig")?.judgement
  }

  /// Members of the first version.
  private struct FirstMembers: Decodable {
    var configuration = FirstConfiguration()

    init(from decoder: any Decoder) throws {
      let members = try SpelledMembers(decoder)
      func eight(_ spellings: [String], _ members: SpelledMembers) throws -> [Int] {
        for spelling in spellings {
          guard let list = try members.read([Double].self, spelling) else { continue }
          guard list.count == 8, list.allSatisfy({ (0...8).contains($0) }) else {
            throw members.fault(spelling, "must be eight numbers, 0...8")
          }
          return list.map { Int($0) }
        }
        throw members.fault(spellings[0], "is missing")
      }
      configuration.attenuation = try eight(["attenuationLevelValues", "attenuationScores"], members)
      configuration.days = try eight(["daysSinceLastExposureLevelValues", "daysSinceLastExposureScores"], members)
      configuration.duration = try eight(["durationLevelValues", "durationScores"], members)
      configuration.transmission = try eight(["transmissionRiskLevelValues", "transmissionRiskScores"], members)
      configuration.minimumScore = try members.number(0...4096, "minimumRiskScore") ?? 0
      let thresholds =
        try members.read([Double].self, "attenuationDurationThresholds", "durationAtAttenuationThresholds")
        ?? [50, 74]
      guard (2...4).contains(thresholds.count), thresholds.allSatisfy({ (0...255).contains($0) }),
        thresholds == thresholds.sorted()
      else { throw members.fault("attenuationDurationThresholds", "must be two numbers that increase, 0...255") }
      configuration.thresholds = thresholds.prefix(2).map { Int($0) }
    }

    var judgement: AppRules.Judgement { .summary(configuration, .maximumScore(max(1, configuration.minimumScore))) }
  }

  /// Members of the second version: a mapping, weights and thresholds. Apple's weights are in percent.
  private struct SecondMembers: Decodable {
    var mapping = KeyMapping.always(.standard)
    var daily = DailyConfiguration()
    var classes: [ExposureClass] = []

    var judgement: AppRules.Judgement {
      guard classes.isEmpty else { return .windows(mapping, .classes(daily, classes), asksForSummaries: true) }
      let alarm = ThresholdTest(.atLeast, max(ConfigurationDocument.usualAlarm, daily.minimumWindowScore))
      return .windows(mapping, .dailySum(daily, alarm: alarm), asksForSummaries: true)
    }

    init(from decoder: any Decoder) throws {
      let members = try SpelledMembers(decoder)
      try readMapping(members)
      try readWeights(members)
      if let thresholds = try members.read(
        [Double].self, "attenuationBucketThresholdDb", "attenuationDurationThresholds", "attenuationThresholds")
      {
        guard (2...4).contains(thresholds.count), thresholds.allSatisfy({ (0...255).contains($0) }),
          thresholds == thresholds.sorted()
        else { throw members.fault("attenuationDurationThresholds", "must be three numbers that increase, 0...255") }
        // Of two the third is where nothing is nearer than anything else.
        daily.thresholds = (thresholds + [255]).prefix(3).map { Int($0) }
      }
      daily.minimumWindowScore = try members.read(Double.self, "minimumWindowScore") ?? 0
      daily.daysSinceExposureThreshold =
        try members.number(0...36_500, "daysSinceExposureThreshold", "daysSinceLastExposureThreshold") ?? 0
      for (number, thresholds) in try members.read([String: ClassMembers].self, "classificationThresholds") ?? [:] {
        guard let number = Int(number), (1...100).contains(number) else {
          throw members.fault("classificationThresholds", "the names of classes must be 1...100")
        }
        classes.append(thresholds.exposureClass(number))
      }
      classes.sort { $0.number < $1.number }
    }

    private mutating func readMapping(_ members: SpelledMembers) throws {
      if let text = try members.read(String.self, "symptomOnsetToInfectiousnessMap") {
        guard let map = KeyMapping(hexadecimal: text) else {
          throw members.fault("symptomOnsetToInfectiousnessMap", "must be a hexadecimal number of 60 bits at most")
        }
        mapping = map
      }
      if let map = try members.read([String: Double].self, "infectiousnessForDaysSinceOnsetOfSymptoms") {
        var days = [Infectiousness](repeating: .none, count: 29)
        for (name, number) in map {
          guard (0...2).contains(number), let value = Infectiousness(rawValue: Int(number)) else {
            throw members.fault("infectiousnessForDaysSinceOnsetOfSymptoms", "\(name) must be 0, 1 or 2")
          }
          if let day = Int(name), (-14...14).contains(day) {
            days[day + 14] = value
          } else if name == "unknown" {
            mapping.whenOnsetMissing = value
          } else {
            throw members.fault("infectiousnessForDaysSinceOnsetOfSymptoms", "names must be -14...14 or unknown")
          }
        }
        mapping.days = days
      }
      if let missing = try members.number(0...2, "infectiousnessWhenDaysSinceOnsetMissing") {
        mapping.whenOnsetMissing = Infectiousness(rawValue: missing) ?? .none
      }
      mapping.reportTypeWhenMissing =
        try members.number(0...5, "reportTypeWhenMissing", "reportTypeNoneMap") ?? mapping.reportTypeWhenMissing
    }

    private mutating func readWeights(_ members: SpelledMembers) throws {
      if let weights = try members.read([Double].self, "attenuationBucketWeights") {
        guard weights.count == 4, weights.allSatisfy({ (0...2.5).contains($0) }) else {
          throw members.fault("attenuationBucketWeights", "must be four numbers, 0...2.5")
        }
        daily.attenuationWeights = weights
      }
      func percent(_ spelling: String, _ weight: inout Double) throws {
        guard let value = try members.read(Double.self, spelling) else { return }
        guard (0...250).contains(value) else { throw members.fault(spelling, "must be 0...250 percent") }
        weight = value / 100
      }
      try percent("immediateDurationWeight", &daily.attenuationWeights[0])
      try percent("nearDurationWeight", &daily.attenuationWeights[1])
      try percent("mediumDurationWeight", &daily.attenuationWeights[2])
      try percent("otherDurationWeight", &daily.attenuationWeights[3])
      try percent("reportTypeConfirmedTestWeight", &daily.reportTypeWeights[0])
      try percent("reportTypeConfirmedClinicalDiagnosisWeight", &daily.reportTypeWeights[1])
      try percent("reportTypeSelfReportedWeight", &daily.reportTypeWeights[2])
      try percent("reportTypeRecursiveWeight", &daily.reportTypeWeights[3])
      try percent("infectiousnessStandardWeight", &daily.infectiousnessWeights[0])
      try percent("infectiousnessHighWeight", &daily.infectiousnessWeights[1])
      func named(_ spelling: String, _ names: [String], _ weights: inout [Double]) throws {
        for (name, value) in try members.read([String: Double].self, spelling) ?? [:] {
          guard let place = names.firstIndex(of: name.lowercased()), (0...2.5).contains(value) else {
            throw members.fault(spelling, "\(name) \(value): expected \(names.joined(separator: ", ")), each 0...2.5")
          }
          weights[place] = value
        }
      }
      try named(
        "reportTypeWeights", ["confirmedtest", "confirmedclinicaldiagnosis", "selfreport", "recursive"],
        &daily.reportTypeWeights)
      try named("infectiousnessWeights", ["standard", "high"], &daily.infectiousnessWeights)
    }
  }

  private struct ClassMembers: Decodable {
    var sums: [Int: Double] = [:]
    var perDaySum = 0.0
    var perDayMaximum = 0.0
    var weightedDuration = 0.0

    init(from decoder: any Decoder) throws {
      let members = try SpelledMembers(decoder)
      for (type, name) in [
        (1, "confirmedTestPerDaySum"), (2, "clinicalDiagnosisPerDaySum"), (3, "selfReportPerDaySum"),
        (4, "recursivePerDaySum"),
      ] {
        if let value = try members.read(Double.self, name) { sums[type] = value }
      }
      perDaySum = try members.read(Double.self, "perDaySum") ?? 0
      perDayMaximum = try members.read(Double.self, "perDayMax") ?? 0
      weightedDuration = try members.read(Double.self, "weightedDuration") ?? 0
    }

    func exposureClass(_ number: Int) -> ExposureClass {
      var found = ExposureClass(number: number)
      found.sumByReportType = sums
      found.perDaySum = perDaySum
      found.perDayMaximum = perDayMaximum
      found.weightedDuration = weightedDuration
      return found
    }
  }
}

extension KeyMapping {
  /// EN Express's map: two bits a day from -14 on, the lowest first, and two for an onset that is not known.
  ///
  /// - Parameter hexadecimal: with or without `0x`.
  package init?(hexadecimal text: String) {
    let digits = text.hasPrefix("0x") || text.hasPrefix("0X") ? String(text.dropFirst(2)) : text
    guard let bits = UInt64(digits, radix: 16), bits < 1 << 60, !digits.hasPrefix("+") else { return nil }
    let values = (0..<30).map { Infectiousness(rawValue: Int(bits >> (2 * UInt64($0)) & 3)) ?? .none }
    self.init(days: Array(values[0..<29]), whenOnsetMissing: values[29], reportTypeWhenMissing: 1)
  }
}
