import ExposureKeys
internal import KeyIntake

/// The rules about keys. Each switch says what the clients do with keys that break the rule.
extension DeviceProfile {
  func keyRows(_ evidence: ProfileEvidence) -> [ProfileReport.Row] {
    let counts = evidence.keys.conditions
    return [
      keyData(counts), negativeNumbers(counts), repeatedKeys(counts), keyEntropy(counts), rollingPeriod(counts),
      rollingStart(counts), stillValid(counts), age(counts), alignment(counts), riskLevel(counts),
      reportType(counts), daysSinceOnset(counts), revisedKeys(evidence.keys),
    ]
  }

  private func row(
    _ rule: ProfileRule, _ counts: ConditionCounts, _ conditions: [KeyCondition], _ what: String,
    _ outcome: ProfileReport.Outcome, _ text: String
  ) -> ProfileReport.Row {
    let count = conditions.reduce(0) { $0 + counts[$1].count }
    let first = conditions.filter { counts[$0].count > 0 }.map { counts[$0].first }.min()
    return .init(
      rule, broken: count, first: first, what: "\(counted(count, "key")) \(what)", Reaction(outcome, text))
  }

  private func keyData(_ counts: ConditionCounts) -> ProfileReport.Row {
    let what = "without 16 bytes of key data"
    switch self {
    case .strict:
      return row(.keyData, counts, [.keyDataAbsent, .keyDataLength], what, .refuseFile, "none may be there")
    case .google:
      if counts.count(.keyDataLength) > 0 {
        return row(
          .keyData, counts, [.keyDataAbsent, .keyDataLength], what, .refuseFile,
          "more than 16 bytes break the decoder for the rest of the file; fewer are filled with zeros")
      }
      return row(.keyData, counts, [.keyDataAbsent], what, .skipKey, "read as zeros, and never matched")
    case .iosV1, .ios125, .ios137:
      return row(.keyData, counts, [.keyDataAbsent, .keyDataLength], what, .refuseCall, "detection fails as a whole")
    case .microg:
      if counts.count(.keyDataAbsent) > 0 {
        return row(.keyData, counts, [.keyDataAbsent, .keyDataLength], what, .refuseFile, "the whole file is skipped")
      }
      return row(.keyData, counts, [.keyDataLength], what, .skipKey, "stored, and never matched")
    }
  }

  private func negativeNumbers(_ counts: ConditionCounts) -> ProfileReport.Row {
    let conditions: [KeyCondition] = [.rollingStartNegative, .rollingPeriodNegative, .riskNegative]
    let what = "with a negative number"
    switch self {
    case .strict: return row(.negativeNumbers, counts, conditions, what, .refuseFile, "none may be there")
    case .google: return row(.negativeNumbers, counts, conditions, what, .warn, "the call fails if one of them matches")
    case .iosV1, .ios125, .ios137:
      return row(
        .negativeNumbers, counts, conditions, what, .refuseFile, "ten bytes long on the wire, which is a format error")
    case .microg: return row(.negativeNumbers, counts, conditions, what, .info, "stored as they are")
    }
  }

  private func repeatedKeys(_ counts: ConditionCounts) -> ProfileReport.Row {
    let conditions: [KeyCondition] = [
      .repeatedAlike, .repeatedDifferently, .repeatedWithOtherStart, .repeatedNotCompared,
    ]
    let what = "with the key data of an earlier one"
    switch self {
    case .strict: return row(.repeatedKeys, counts, conditions, what, .refuseFile, "key data must not repeat")
    case .google: return row(.repeatedKeys, counts, conditions, what, .skipKey, "the second match is skipped")
    case .iosV1, .ios125, .ios137:
      return row(
        .repeatedKeys, counts, conditions, what, .warn, "within 256 keys in a row the last one replaces the others")
    case .microg: return row(.repeatedKeys, counts, conditions, what, .info, "stored once")
    }
  }

  private func keyEntropy(_ counts: ConditionCounts) -> ProfileReport.Row {
    row(
      .keyEntropy, counts, self == .strict ? [.keyDataZero, .keyDataLowEntropy] : [],
      "whose data is visibly not random", .warn, "test keys do not belong in a bundle")
  }

  private func rollingPeriod(_ counts: ConditionCounts) -> ProfileReport.Row {
    switch self {
    case .strict:
      return row(
        .rollingPeriod, counts,
        [.rollingPeriodAbsent, .rollingPeriodZero, .rollingPeriodNegative, .rollingPeriodTooLong],
        "whose rolling period is not stated as 1...144", .refuseFile, "some client trips over each of these")
    case .google:
      return row(
        .rollingPeriod, counts, [.rollingPeriodZero, .rollingPeriodTooLong],
        "with rolling period 0 or above 144", .warn, "the call fails if one of them matches")
    case .iosV1, .ios125, .ios137:
      return row(
        .rollingPeriod, counts, [.rollingPeriodTooLong], "with a rolling period above 144", .skipKey, "skipped")
    case .microg:
      if counts.count(.rollingPeriodAbsent) > 0 {
        return row(
          .rollingPeriod, counts, [.rollingPeriodAbsent], "without rolling period", .refuseFile,
          "the whole file is skipped")
      }
      return row(
        .rollingPeriod, counts, [.rollingPeriodZero], "with rolling period 0", .skipKey, "valid for no time at all")
    }
  }

  private func rollingStart(_ counts: ConditionCounts) -> ProfileReport.Row {
    switch self {
    case .strict:
      return row(
        .rollingStart, counts, [.rollingStartAbsent, .rollingStartNegative] + future(counts),
        "whose rolling start is absent, negative or in the future", .refuseFile, "none may be there")
    case .google, .iosV1, .ios125, .ios137:
      return row(
        .rollingStart, counts, [.rollingStartAbsent], "without rolling start", .skipKey, "read as 1970, never matched")
    case .microg:
      return row(
        .rollingStart, counts, [.rollingStartAbsent], "without rolling start", .refuseFile, "the whole file is skipped")
    }
  }

  /// Against the time passed in, or the end of the window where none was.
  private func future(_ counts: ConditionCounts) -> [KeyCondition] {
    counts.count(.startsAfterNow) > 0 ? [.startsAfterNow] : [.startsAfterEnd]
  }

  private func stillValid(_ counts: ConditionCounts) -> ProfileReport.Row {
    row(
      .stillValid, counts, self == .strict ? [.stillValidAtEnd] : [],
      "still valid at the end of the window, or until less than two hours before it", .refuseFile,
      "a published key must have expired two hours ago")
  }

  private func age(_ counts: ConditionCounts) -> ProfileReport.Row {
    row(
      .age, counts, counts.count(.tooOldNow) > 0 ? [.tooOldNow] : [.tooOldAtEnd], "that expired more than 14 days ago",
      self == .strict ? .warn : .info, "no phone remembers a sighting of them")
  }

  private func alignment(_ counts: ConditionCounts) -> ProfileReport.Row {
    row(
      .alignment, counts, self == .strict ? [.rollingStartUnaligned] : [], "that do not begin at midnight UTC", .info,
      "older phones and test data do so; no client minds")
  }

  private func riskLevel(_ counts: ConditionCounts) -> ProfileReport.Row {
    switch self {
    case .strict:
      if counts.count(.riskOutside, .riskNegative) > 0 {
        return row(
          .riskLevel, counts, [.riskOutside, .riskNegative], "with a transmission risk level outside 0...8",
          .refuseFile,
          "no client has a meaning for it")
      }
      return row(
        .riskLevel, counts, [.riskEight], "with transmission risk level 8", .warn, "iOS reads 7")
    case .google:
      return row(
        .riskLevel, counts, [.riskOutside], "with a transmission risk level above 8", .warn,
        "the call fails if one of them matches")
    case .iosV1, .ios125, .ios137:
      return row(
        .riskLevel, counts, [.riskEight, .riskOutside], "with a transmission risk level above 7", .info, "read as 7")
    case .microg:
      return row(.riskLevel, counts, [.riskOutside], "with a transmission risk level above 8", .info, "stored as it is")
    }
  }

  private func reportType(_ counts: ConditionCounts) -> ProfileReport.Row {
    switch self {
    case .strict:
      return row(
        .reportType, counts,
        [.reportTypeAbsent, .reportTypeUnknown, .reportTypeUnrecognized, .reportTypeRecursive, .reportTypeRevoked],
        "whose report type is not 1...3", .warn, "apps of the second generation may ignore them")
    case .google:
      if counts.count(.reportTypeRecursive) > 0 {
        return row(.reportType, counts, [.reportTypeRecursive], "with report type RECURSIVE", .skipKey, "skipped")
      }
      return row(
        .reportType, counts, [.reportTypeRevoked], "with report type REVOKED", .info, "taken as a revocation")
    case .ios125, .ios137:
      if counts.count(.reportTypeRecursive) > 0 {
        return row(.reportType, counts, [.reportTypeRecursive], "with report type RECURSIVE", .skipKey, "never matched")
      }
      return row(
        .reportType, counts, [.reportTypeAbsent, .reportTypeUnknown], "without report type", .warn,
        "the app's configuration decides, and may ignore them")
    case .iosV1, .microg:
      return row(.reportType, counts, [], "", .ok, "")
    }
  }

  private func daysSinceOnset(_ counts: ConditionCounts) -> ProfileReport.Row {
    let what = "whose days since onset lie outside -14...14"
    switch self {
    case .strict:
      return row(.daysSinceOnset, counts, [.onsetOutside], what, .refuseFile, "stated days must be -14...14")
    case .google:
      return row(.daysSinceOnset, counts, [.onsetOutside], what, .refuseFile, "the whole file is ignored")
    case .ios125, .ios137:
      return row(.daysSinceOnset, counts, [.onsetOutside], what, .info, "taken as an onset that is not known")
    case .iosV1, .microg: return row(.daysSinceOnset, counts, [], "", .ok, "")
    }
  }

  private func revisedKeys(_ keys: KeyFacts) -> ProfileReport.Row {
    let reaction: Reaction =
      switch self {
      case .strict: Reaction(.ok, "")
      case .google: Reaction(.info, "applied to keys that matched before")
      case .iosV1: Reaction(.info, "the list is not read")
      case .ios125, .ios137: Reaction(.info, "applied to keys that matched before")
      case .microg: Reaction(.info, "applied only where key data, rolling start and period matched before")
      }
    return .init(
      .revisedKeys, broken: self == .strict ? 0 : keys.revisedCount,
      what: counted(keys.revisedCount, "revised key"), reaction)
  }
}
