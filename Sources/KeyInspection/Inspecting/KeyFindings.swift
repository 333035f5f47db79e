import ExposureKeys
internal import KeyIntake

/// The findings about a document's keys.
func keyFindings(_ facts: InspectedDocument, _ keys: KeyFacts) -> [Finding] {
  var findings: [Finding] = []
  if keys.keyCount == 0 {
    findings.append(
      Finding(
        .keysNone, .info,
        keys.rejectedCount == 0 ? "there are no keys" : "every key was rejected, so there are none to judge"))
  }
  if facts.isExport, keys.keyCount > ArchiveLimits.keys {
    findings.append(
      Finding(
        .keysTooMany, .warning, count: keys.keyCount,
        "\(grouped(keys.keyCount)) keys, recommended are at most \(grouped(ArchiveLimits.keys))"))
  }
  for rule in rules where rule.scope != .exportsOnly || facts.isExport {
    let entry = keys.conditions[rule.condition]
    guard entry.count > 0 else { continue }
    let words = entry.count == 1 ? ofOne(rule.text(entry)) : rule.text(entry)
    let text = "\(counted(entry.count, "key")) \(words) (first: key \(entry.first))"
    let severity = rule.scope == .milderElsewhere && !facts.isExport ? .info : rule.severity
    findings.append(Finding(rule.code, severity, count: entry.count, firstPosition: entry.first, text))
  }
  let otherwise = keys.rejectedCount - keys.conditions.count(.keyDataAbsent, .keyDataLength)
  if otherwise > 0 {
    findings.append(
      Finding(
        .keysRejected, .error, count: otherwise,
        "\(counted(otherwise, "key")) could not be read; see the rejections"))
  }
  if keys.distinctKeys == nil {
    findings.append(
      Finding(
        .keysNotCompared, .info, count: keys.keyCount - keys.comparedKeys,
        "only the first \(grouped(keys.comparedKeys)) keys were searched for repetitions"))
  }
  if let padding = keys.paddingMultiplier, padding.multiplier > 1 {
    findings.append(
      Finding(
        .paddingSuspected, .info, count: keys.keyCount,
        "the size of each of \(padding.groups) groups with one rolling start and risk level is a multiple of "
          + "\(padding.multiplier): each real key seems to have been cloned"))
  }
  return findings
}

/// One condition as a finding. The text goes on after "3 keys".
private struct KeyRule {
  let condition: KeyCondition
  let code: Finding.Code
  let severity: Finding.Severity
  let scope: Scope
  let text: @Sendable (ConditionCounts.Entry) -> String

  /// Federations and uploads say some things on purpose that no device may be told.
  enum Scope { case everywhere, exportsOnly, milderElsewhere }

  init(
    _ condition: KeyCondition, _ code: Finding.Code, _ severity: Finding.Severity, scope: Scope = .everywhere,
    _ text: @escaping @Sendable (ConditionCounts.Entry) -> String
  ) {
    self.condition = condition
    self.code = code
    self.severity = severity
    self.scope = scope
    self.text = text
  }

  init(
    _ condition: KeyCondition, _ code: Finding.Code, _ severity: Finding.Severity, scope: Scope = .everywhere,
    _ text: String
  ) {
    self.init(condition, code, severity, scope: scope) { _ in text }
  }
}

/// "that repeat an earlier key" of one key.
private func ofOne(_ text: String) -> String {
  for verb in ["repeat", "stand", "begin"] where text.hasPrefix("that \(verb) ") {
    return "that \(verb)s " + text.dropFirst("that \(verb) ".count)
  }
  return text
}

private func instant(_ interval: Int64) -> String { IntervalNumber(interval).start.description }

private let rules: [KeyRule] = [
  KeyRule(.keyDataAbsent, .keyDataAbsent, .error, "without key data; one makes iOS fail the whole detection"),
  KeyRule(
    .keyDataLength, .keyDataLength, .error, "with key data that is not 16 bytes; one makes iOS fail the whole detection"
  ),
  KeyRule(
    .outOfOrder, .keysUnsorted, .info, scope: .exportsOnly, "before their predecessors in the order of raw bytes"),
  KeyRule(.keyDataZero, .keyDataZero, .warning, "with 16 zero bytes as key data"),
  KeyRule(
    .keyDataLowEntropy, .keyDataLowEntropy, .warning,
    "with key data that is visibly not random (text, zeros, or a pattern)"),
  KeyRule(.repeatedAlike, .keyRepeated, .warning, "that repeat an earlier key in every field"),
  KeyRule(.repeatedDifferently, .keyRepeatedDifferently, .warning, "that repeat an earlier key with other fields"),
  KeyRule(
    .repeatedWithOtherStart, .keyRepeatedWithOtherStart, .warning,
    "that repeat an earlier key's data with another rolling start"),
  KeyRule(.repeatedNotCompared, .keyRepeatedNotCompared, .warning, "that repeat an earlier key's data"),
  KeyRule(.revisedToo, .keyRevisedToo, .info, "that stand among the keys and among the revised keys"),
  KeyRule(.unknownFields, .keyUnknownFields, .info, "with fields that no schema defines; they are kept"),
  KeyRule(.rollingStartAbsent, .rollingStartAbsent, .error, "without rolling start; no device can match them"),
  KeyRule(.rollingStartNegative, .rollingStartNegative, .error) {
    "with a negative rolling start, such as \($0.value)"
  },
  KeyRule(.rollingStartUnaligned, .rollingStartUnaligned, .info) {
    "with a rolling start that is not midnight UTC, such as \($0.value) (\(instant($0.value)))"
  },
  KeyRule(.startsAfterEnd, .rollingStartFuture, .error) {
    "that begin after the end of the file's window, such as \($0.value) (\(instant($0.value)))"
  },
  KeyRule(
    .rollingPeriodAbsent, .rollingPeriodAbsent, .warning, scope: .milderElsewhere,
    "without rolling period (144 is meant); microG skips the file"),
  KeyRule(
    .rollingPeriodZero, .rollingPeriodZero, .warning,
    "with rolling period 0, allowed 1...144; iOS reads 144, others match nothing"),
  KeyRule(.rollingPeriodNegative, .rollingPeriodNegative, .error) {
    "with rolling period \($0.value), allowed 1...144"
  },
  KeyRule(.rollingPeriodTooLong, .rollingPeriodTooLong, .error) { "with rolling period \($0.value), allowed 1...144" },
  KeyRule(.stillValidAtEnd, .keyStillValid, .warning) {
    "valid until less than two hours before the end of the window, or longer; such as the key from \(instant($0.value))"
  },
  KeyRule(.tooOldAtEnd, .keyTooOld, .warning) {
    "that expired more than 14 days before the end of the window, such as the key from \(instant($0.value))"
  },
  KeyRule(.riskEight, .riskLevelEight, .info, "with transmission risk level 8; iOS reads 7"),
  KeyRule(.riskOutside, .riskLevelOutside, .error) { "with transmission risk level \($0.value), allowed 0...8" },
  KeyRule(.riskNegative, .riskLevelOutside, .error) { "with transmission risk level \($0.value), allowed 0...8" },
  KeyRule(
    .reportTypeAbsent, .reportTypeAbsent, .info, scope: .exportsOnly,
    "without report type; apps of the second generation may ignore them"),
  KeyRule(
    .reportTypeUnknown, .reportTypeUnknown, .warning,
    "with report type UNKNOWN; apps of the second generation may ignore them"),
  KeyRule(.reportTypeUnrecognized, .reportTypeUnrecognized, .warning) {
    "with report type \($0.value), defined are 0...5"
  },
  KeyRule(
    .reportTypeRecursive, .reportTypeRecursive, .warning, "with report type RECURSIVE, which devices never match"),
  KeyRule(.reportTypeRevoked, .reportTypeRevoked, .warning, "with report type REVOKED outside the revised keys"),
  KeyRule(.onsetAbsent, .daysSinceOnsetAbsent, .info, scope: .exportsOnly, "without days since onset of symptoms"),
  KeyRule(.onsetOutside, .daysSinceOnsetOutside, .warning, scope: .milderElsewhere) {
    "with \($0.value) days since onset of symptoms, devices accept -14...14"
  },
]
