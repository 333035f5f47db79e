import ExposureKeys

/// One condition that a claim meets to be admitted. Pure: it may read the claim leniently and say so, and it returns a
/// verdict; the caller counts.
///
/// A rule owns everything that is particular to it: the reasons that it gives, with their words, and the settings that it
/// obeys. Policy files, their schema, the rules page and the messages derive from the list of rules.
package struct AdmissionRule: Sendable {
  package let documentation: RuleDocumentation
  /// Why it rejects a claim.
  package let rejects: [AdmissionReason]
  /// Why it holds a claim for the operator.
  package let holds: [AdmissionReason]
  /// What a policy file may set.
  package let settings: [ReadingSetting]
  /// What a policy sets it to, for the rule table.
  let value: @Sendable (ReadingPolicy) -> String
  let apply: Question

  /// - Parameter allows: the values that it reads as others.
  init(
    documentation: RuleDocumentation, allows: [Allowance] = [], rejects: [AdmissionReason] = [],
    holds: [AdmissionReason] = [], settings: [ReadingSetting] = [],
    value: @escaping @Sendable (ReadingPolicy) -> String, apply: Question
  ) {
    var documentation = documentation
    documentation.outcome = [
      ("allow", allows.map(\.code)), ("reject", rejects.map(\.rawValue)),
      ("hold for an operator", holds.map(\.rawValue)),
    ].filter { !$0.1.isEmpty }.map { "\($0): \($1.joined(separator: ", "))" }.joined(separator: "; ")
    (self.documentation, self.rejects, self.holds, self.settings) = (documentation, rejects, holds, settings)
    (self.value, self.apply) = (value, apply)
  }

  /// What a rule is asked about. Each kind is given what it may look at and no more, so a rule that looks at something
  /// else does not compile.
  enum Question: Sendable {
    /// One key: its data, and the rolling start under which it was stated. Asked of every key, before all others.
    case toKeys(@Sendable (TemporaryExposureKey, _ rollingStart: Int32?, AdmissionContext) -> AdmissionVerdict)
    /// What is said, whichever the key. Asked once for all claims of a document that say the same of one origin: the
    /// answer is remembered.
    case toStatements(@Sendable (inout Reading, AdmissionContext) -> AdmissionVerdict)
    /// How much an origin has sent. Asked of every claim that the others admit.
    case toVolumes(@Sendable (OriginVolume, AdmissionContext) -> AdmissionVerdict)
  }
}

/// What a rule is about, where it comes from, and what becomes of a key that breaks it. The rule table is made of this.
package struct RuleDocumentation: Hashable, Sendable {
  /// The stable code.
  package let name: String
  /// What it does.
  package let rule: String
  /// Why it exists.
  package let why: String
  /// Where that is defined or was observed.
  package let source: String
  /// What happens to a key that breaks it.
  package internal(set) var outcome = ""
}

/// What an admission rule says.
enum AdmissionVerdict: Hashable {
  case admit
  /// `value` is what broke the rule, where it is a number.
  case reject(AdmissionReason, value: Int32? = nil)
  /// Neither admitted nor rejected: an operator decides.
  case holdForOperator(AdmissionReason)

  /// Takes in what the next rule says. A rejection is the last word; where one rule holds a claim, those after it are
  /// asked all the same, so that an operator is shown no claim that another rule rejects.
  @inline(__always)
  mutating func add(_ next: AdmissionVerdict) {
    switch next {
    case .admit: break
    case .holdForOperator: if self == .admit { self = next }
    case .reject: self = next
    }
  }

  var isRejection: Bool {
    if case .reject = self { true } else { false }
  }
}

/// A claim while it is being read. It has no key data, and nothing that differs between two claims of a document that
/// say the same of one origin.
struct Reading {
  var said: StatedFields
  var allowances = AllowanceSet()
  let origin: OriginStanding
  let regions: RegionStanding
}

/// What the rules ask about a claim's origin.
struct OriginStanding {
  /// There can be an origin of its name.
  var isKnown = true
  /// The source may speak for it.
  var isAllowed = true
  /// It is taken from nobody.
  var isExcluded = false
  /// It is one of the gateway's own.
  var isOwn = false
}

/// What the rules ask about the visited regions of a claim.
struct RegionStanding {
  /// How many it names.
  var count = 0
  /// It names some, and none of them can be a region.
  var areUnknown = false
  /// It names some, and the source may name none of them.
  var areNotAllowed = false
}

/// How much of an origin has come.
struct OriginVolume {
  /// How many new claims of this origin were admitted today before this one.
  var admitted = 0
  var limit: VolumeLimit?
}

/// From how many keys of an origin on the operator is asked.
package struct VolumeLimit: Hashable, Sendable {
  package let keys: Int
  /// Why, as an operator reads it.
  package let reason: AdmissionReason

  /// The same, or what an operator has raised it to.
  package func raised(to keys: Int?) -> VolumeLimit {
    VolumeLimit(keys: max(self.keys, keys ?? 0), reason: reason)
  }
}

/// Which limit an origin's keys have exceeded that are held for the operator.
package struct ExceededLimit: Hashable, Sendable {
  /// By the names of ``OriginVolumes``.
  package let origin: String
  package let limit: VolumeLimit

  package init(of origin: String, _ limit: VolumeLimit) { (self.origin, self.limit) = (origin, limit) }
}

/// What the rules know besides the claim. A class, so that it is handed from rule to rule without copying.
final class AdmissionContext: Sendable {
  let policy: ReadingPolicy
  /// Rolling starts lie in this range.
  let rollingStarts: ClosedRange<Int64>
  /// Whether the source may send each report type.
  let isAccepted: ByReportType<Bool>
  /// Keys that ended before this interval are too old; `nil` is none.
  let oldestEnd: Int64?
  /// Keys that end later are too young; `nil` is none.
  let youngestEnd: Int64?
  /// Keys that start before this interval have the level of older ones; 0 where it makes no difference.
  let oldestYoungStart: Int64

  init(policy: ReadingPolicy, now: Instant) {
    self.policy = policy
    rollingStarts = policy.rollingStarts(at: now)
    isAccepted = ByReportType { policy.reportTypes.contains($0) }
    let oldest = policy.maximumAge.map {
      IntervalNumber(containing: Instant(secondsSince1970: now.secondsSince1970 - Int64($0) * 86_400)).rawValue
    }
    oldestEnd = [oldest, policy.earliestEnd?.rawValue].compactMap(\.self).max()
    oldestYoungStart =
      policy.riskByAge.map { Day(daysSince1970: now.day.daysSince1970 - Int64($0.days)).firstInterval.rawValue } ?? 0
    youngestEnd = policy.minimumAgeMinutes.map {
      IntervalNumber(containing: Instant(secondsSince1970: now.secondsSince1970 - Int64($0) * 60)).rawValue
    }
  }
}

/// Which claims are admitted, in the order in which it is asked: what is asked of keys first, then what is asked of
/// statements, then what is asked of volumes, whatever their order here.
package struct AdmissionRules: Sendable {
  package static let standard = AdmissionRules([
    .wellFormedKey,
    .reencodedRisk,
    .rollingStart,
    .rollingPeriod,
    .keyAge,
    .riskLevel,
    .reportType,
    .daysSinceOnset,
    .levelByAge,
    .originAllowed,
    .regionsNamed,
    .ownKey,
    .flood,
  ])

  /// All of them, as they are asked.
  package let all: [AdmissionRule]

  // The rules without their documentation, which need not be carried from key to key. Functions in structs, because one
  // that is an array's element is called through another and counted as a reference.

  struct KeyJudge: Sendable {
    let apply: @Sendable (TemporaryExposureKey, Int32?, AdmissionContext) -> AdmissionVerdict
  }

  struct StatementJudge: Sendable {
    let apply: @Sendable (inout Reading, AdmissionContext) -> AdmissionVerdict
  }

  struct VolumeJudge: Sendable {
    let apply: @Sendable (OriginVolume, AdmissionContext) -> AdmissionVerdict
  }

  let ofKeys: [KeyJudge]
  let ofStatements: [StatementJudge]
  let ofVolumes: [VolumeJudge]

  /// Places each rule by what it is asked about; those of one kind keep their order.
  init(_ rules: [AdmissionRule]) {
    var ofKeys: [(AdmissionRule, KeyJudge)] = []
    var ofStatements: [(AdmissionRule, StatementJudge)] = []
    var ofVolumes: [(AdmissionRule, VolumeJudge)] = []
    for rule in rules {
      switch rule.apply {
      case .toKeys(let apply): ofKeys.append((rule, KeyJudge(apply: apply)))
      case .toStatements(let apply): ofStatements.append((rule, StatementJudge(apply: apply)))
      case .toVolumes(let apply): ofVolumes.append((rule, VolumeJudge(apply: apply)))
      }
    }
    all = ofKeys.map(\.0) + ofStatements.map(\.0) + ofVolumes.map(\.0)
    self.ofKeys = ofKeys.map(\.1)
    self.ofStatements = ofStatements.map(\.1)
    self.ofVolumes = ofVolumes.map(\.1)
  }
}
