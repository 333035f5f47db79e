public import ExposureKeys

/// What the operator chose for fields that keys do not state.
public struct FieldDefaults: Sendable, Hashable {
  public var rollingPeriod: Int32?
  public var transmissionRisk: Int32?
  public var reportType: Int32?
  public var daysSinceOnset: Int32?
  public var origin: String?
  public var visitedRegions: [String]?

  public init(
    rollingPeriod: Int32? = nil, transmissionRisk: Int32? = nil, reportType: Int32? = nil,
    daysSinceOnset: Int32? = nil, origin: String? = nil, visitedRegions: [String]? = nil
  ) {
    self.rollingPeriod = rollingPeriod
    self.transmissionRisk = transmissionRisk
    self.reportType = reportType
    self.daysSinceOnset = daysSinceOnset
    self.origin = origin
    self.visitedRegions = visitedRegions
  }
}

/// A part of a key that a target may not be able to carry.
public enum KeyPart: String, Sendable, Hashable, CaseIterable {
  case rollingStart = "rolling start"
  case rollingPeriod = "rolling period"
  case transmissionRisk = "transmission risk level"
  case reportType = "report type"
  case daysSinceOnset = "days since onset"
  case origin
  case visitedRegions = "visited regions"
  case revision = "mark as revised"
  case unknownFields = "unknown fields"
}

/// Makes claims fit a target format: fills what it requires, drops what it cannot carry, rejects what it refuses, and
/// counts each. Nothing is lost in silence.
public struct Fitting {
  public let target: FormatCapabilities
  public let defaults: FieldDefaults
  public private(set) var report = FittingReport()

  /// What the keys were read from. Fields that readers do not know are dropped where the target has another schema.
  public var source: KeyFormat?

  /// What the first key says, for a target that says it once for all keys.
  private var commonRegions: RegionClaim?

  private let targetName: String
  private let targetSchema: KeyFormatDefinition.Schema?
  private let rules: [NumberRule]
  private let untouched: UntouchedKeys
  /// What the target takes for its own among the fields that others do not know; `nil` where it takes none.
  private let ownFields: OwnFields?

  /// One numeric field, with everything the hot loop needs.
  fileprivate struct NumberRule {
    let part: KeyPart
    let field: KeyFields
    let rule: FormatCapabilities.FieldRule
    let filling: Int32?
    let isChosen: Bool
  }

  /// What became of one number, in keys.
  fileprivate struct NumberCount {
    var notCarried = 0
    var outOfRange = 0
    var filled = 0
  }

  public init(to format: KeyFormat, target: FormatCapabilities, defaults: FieldDefaults) {
    self.target = target
    self.defaults = defaults
    targetName = format.rawValue
    targetSchema = format.definition.schema
    ownFields = format.definition.ownFields
    func number(
      _ part: KeyPart, _ field: KeyFields, _ rule: FormatCapabilities.FieldRule, _ chosen: Int32?
    ) -> NumberRule {
      NumberRule(
        part: part, field: field, rule: rule,
        filling: rule.presence == .notCarried ? nil : chosen ?? rule.builtInDefault, isChosen: chosen != nil)
    }
    rules = [
      number(.rollingStart, .rollingStart, target.rollingStart, nil),
      number(.rollingPeriod, .rollingPeriod, target.rollingPeriod, defaults.rollingPeriod),
      number(.transmissionRisk, .transmissionRisk, target.transmissionRisk, defaults.transmissionRisk),
      number(.reportType, .reportType, target.reportType, defaults.reportType),
      number(.daysSinceOnset, .daysSinceOnset, target.daysSinceOnset, defaults.daysSinceOnset),
    ]
    untouched = UntouchedKeys(rules, target, defaults)
  }

  /// Fits the chunk's keys in place. Keys that the target refuses move to the chunk's rejections.
  public mutating func fit(_ chunk: inout KeyChunk, regions: inout RegionTable) {
    var kept = 0
    var refused: [(offset: Int, reason: RejectionReason, detail: String)] = []
    var report = report
    var commonRegions = commonRegions
    defer { self.commonRegions = commonRegions }
    // One entry a rule: a look into the report's tables for each key would cost more than all else.
    var counts = [NumberCount](repeating: NumberCount(), count: rules.count)
    let regionFitting = RegionFitting(target: target, defaults: defaults)
    let unknownFields = chunk.unknownFields
    let dropsUnknown = !target.carriesUnknownFields || crossesSchemas
    chunk.keys.withMutableKeys { keys in
      for offset in keys.indices {
        var claim = keys[offset]
        if untouched.contain(claim) {
          if kept < offset { keys[kept] = claim }
          kept += 1
          continue
        }
        // A refused key is counted as such, and nothing else is said about it.
        if let (reason, detail) = refusal(of: claim) ?? regionFitting.refusal(of: claim, regions, targetName)
          ?? regionFitting.difference(of: claim, from: &commonRegions, regions, targetName)
        {
          refused.append((offset, reason, detail))
          continue
        }
        fitNumbers(&claim, &counts)
        regionFitting.fit(&claim, &regions, &report)
        dropMarks(&claim, unknownFields, dropsUnknown, &report)
        keys[kept] = claim
        kept += 1
      }
    }
    report.written += kept
    for (number, count) in zip(rules, counts) { report.add(count, of: number) }
    self.report = report
    guard !refused.isEmpty else { return }
    let positions = refused.map { chunk.documentIndex(ofKeyAt: $0.offset) }
    chunk.keys.truncate(to: kept)
    for (position, refusal) in zip(positions, refused) {
      chunk.rejections.append(
        Rejection(
          position: KeyPosition(index: position, byteOffset: -1), reason: refusal.reason, detail: refusal.detail))
    }
  }

  /// Whether a field that readers do not know would mean something else in the target.
  public var crossesSchemas: Bool {
    guard let targetSchema, let schema = source?.definition.schema else { return false }
    return schema != targetSchema
  }

  /// Unknown fields of a header were dropped before, since they are of another schema.
  public mutating func countHeaderFields() { report.headerFieldsLost = true }

  /// The header as the target can carry it: without unknown fields that its readers would take for their own.
  public mutating func fit(_ header: ExportHeader) -> ExportHeader {
    guard let ownFields else { return header }
    var header = header
    if !ownFields.file.areForeign(header.unknownFields) {
      header.unknownFields = []
      report.headerFieldsLost = true
    }
    for index in header.signatureInfos.indices
    where !MessageFields.signatureInfo.areForeign(header.signatureInfos[index].unknownFields) {
      header.signatureInfos[index].unknownFields = []
      report.headerFieldsLost = true
    }
    return header
  }

  @inline(__always)
  private func refusal(of claim: ClaimedKey) -> (RejectionReason, String)? {
    for number in rules where number.rule.presence == .required {
      let rule = number.rule
      if claim.fields.contains(number.field) {
        let value = rule.value(of: claim[number.field])
        guard !rule.allowed.contains(value) else { continue }
        return (
          .valueNotAllowed,
          "\(number.part.rawValue) \(value), \(targetName) allows "
            + "\(rule.allowed.lowerBound)...\(rule.allowed.upperBound)"
        )
      } else if number.filling == nil {
        return (.fieldRequired, "\(number.part.rawValue) absent, \(targetName) requires it")
      }
    }
    return nil
  }

  /// Adds what became of each rule's number to `counts`.
  @inline(__always)
  private func fitNumbers(_ claim: inout ClaimedKey, _ counts: inout [NumberCount]) {
    for index in rules.indices {
      let number = rules[index]
      let rule = number.rule
      if claim.fields.contains(number.field) {
        if rule.presence == .notCarried {
          claim[number.field] = nil
          counts[index].notCarried += 1
        } else if !rule.allowed.contains(rule.value(of: claim[number.field])) {
          claim[number.field] = nil
          counts[index].outOfRange += 1
        }
      } else if let filling = number.filling {
        claim[number.field] = filling
        counts[index].filled += 1
      }
    }
  }

  @inline(__always)
  private func dropMarks(
    _ claim: inout ClaimedKey, _ table: UnknownFieldTable, _ dropsUnknown: Bool, _ report: inout FittingReport
  ) {
    if claim.isRevised, !target.carriesRevision {
      claim.isRevised = false
      report.lost[.revision, default: LossCount()].notCarried += 1
    }
    if claim.unknownFields != 0,
      dropsUnknown || ownFields?.key.areForeign(table[claim.unknownFields]) == false
    {
      claim.unknownFields = 0
      report.lost[.unknownFields, default: LossCount()].notCarried += 1
    }
  }
}

/// The keys that fit a target as they are: nearly all, and told from the others without a look at each rule.
private struct UntouchedKeys {
  /// The bits of ``KeyFields`` that must be there, and those that may.
  private let needed: KeyFields
  private let carried: KeyFields
  /// Fields of which the target takes some values only.
  private let limited: [(field: KeyFields, rule: FormatCapabilities.FieldRule)]
  /// Whether keys without regions stay so.
  private let areRegionsOptional: Bool

  init(_ rules: [Fitting.NumberRule], _ target: FormatCapabilities, _ defaults: FieldDefaults) {
    var needed = KeyFields()
    var carried: KeyFields = target.carriesRevision ? .revised : []
    for number in rules where number.rule.presence != .notCarried {
      carried.insert(number.field)
      if number.rule.presence == .required || number.filling != nil { needed.insert(number.field) }
    }
    self.needed = needed
    self.carried = carried
    limited = rules.filter { !$0.rule.takesAnyWord }.map { ($0.field, $0.rule) }
    areRegionsOptional =
      target.origin != .required && !target.statesRegionsOnce && defaults.origin == nil
      && defaults.visitedRegions == nil
  }

  @inline(__always)
  func contain(_ claim: ClaimedKey) -> Bool {
    guard claim.fields.isSuperset(of: needed), claim.fields.isSubset(of: carried), claim.unknownFields == 0,
      claim.regions == .none, areRegionsOptional
    else { return false }
    // Fields that are not stated are zero and may fail here; then the long way decides.
    for (field, rule) in limited where !rule.allowed.contains(rule.value(of: claim[field])) { return false }
    return true
  }
}

/// Fits origin and visited regions, remembering what became of each entry of the region table.
private struct RegionFitting {
  let target: FormatCapabilities
  let defaults: FieldDefaults

  @inline(__always)
  func refusal(of claim: ClaimedKey, _ regions: RegionTable, _ targetName: String) -> (RejectionReason, String)? {
    guard target.origin == .required, defaults.origin == nil, regions[claim.regions].origin == nil else { return nil }
    return (.fieldRequired, "origin absent, \(targetName) requires it")
  }

  /// Whether a key says other regions than the first one, where the target says them once for all.
  @inline(__always)
  func difference(
    of claim: ClaimedKey, from common: inout RegionClaim?, _ regions: RegionTable, _ targetName: String
  ) -> (RejectionReason, String)? {
    guard target.statesRegionsOnce else { return nil }
    var sent = regions[claim.regions]
    sent.origin = sent.origin ?? defaults.origin
    sent.visited = sent.visited ?? defaults.visitedRegions
    // None at all and an empty list are spelled alike.
    if sent.visited?.isEmpty == true { sent.visited = nil }
    guard let first = common else {
      common = sent
      return nil
    }
    guard sent != first else { return nil }
    return (
      .valueNotAllowed,
      "\(Self.words(sent)), and the first key is \(Self.words(first)); \(targetName) says it once for all keys"
    )
  }

  private static func words(_ claim: RegionClaim) -> String {
    let origin = claim.origin.map { "of origin \(printable($0))" } ?? "of no origin"
    guard let visited = claim.visited else { return origin }
    return "\(origin), visited \(visited.prefix(8).map { printable($0) }.joined(separator: " "))"
      + (visited.count > 8 ? " …" : "")
  }

  func fit(_ claim: inout ClaimedKey, _ regions: inout RegionTable, _ report: inout FittingReport) {
    if claim.regions == .none, defaults.origin == nil, defaults.visitedRegions == nil { return }
    let sent = regions[claim.regions]
    var fitted = sent
    if target.origin == .notCarried {
      if sent.origin != nil { report.lost[.origin, default: LossCount()].notCarried += 1 }
      fitted.origin = nil
    } else if sent.origin == nil, defaults.origin != nil {
      fitted.origin = defaults.origin
      report.originDefaulted += 1
    }
    if target.visitedRegions == .notCarried {
      if sent.visited?.isEmpty == false { report.lost[.visitedRegions, default: LossCount()].notCarried += 1 }
      fitted.visited = nil
    } else if sent.visited == nil, let visited = defaults.visitedRegions {
      fitted.visited = visited
      report.visitedDefaulted += 1
    }
    if fitted != sent, let id = regions.intern(fitted) { claim.regions = id }
  }
}

/// What fitting did, in keys.
public struct FittingReport: Sendable, Hashable {
  public internal(set) var written = 0
  public internal(set) var lost: [KeyPart: LossCount] = [:]
  public internal(set) var defaulted: [KeyPart: DefaultCount] = [:]
  public internal(set) var originDefaulted = 0
  public internal(set) var visitedDefaulted = 0
  /// Whether unknown fields of a header were dropped, because the target would read them as something else.
  public internal(set) var headerFieldsLost = false

  public init() {}

  fileprivate mutating func add(_ count: Fitting.NumberCount, of number: Fitting.NumberRule) {
    if count.notCarried + count.outOfRange > 0 {
      lost[number.part, default: LossCount()].notCarried += count.notCarried
      lost[number.part, default: LossCount()].outOfRange += count.outOfRange
    }
    if count.filled > 0, let filling = number.filling {
      defaulted[number.part, default: DefaultCount(value: filling, isChosen: number.isChosen)].keys += count.filled
    }
  }
}

public struct LossCount: Sendable, Hashable {
  /// Keys whose value the format has no place for.
  public internal(set) var notCarried = 0
  /// Keys whose value is outside what the format's readers accept.
  public internal(set) var outOfRange = 0
}

public struct DefaultCount: Sendable, Hashable {
  public let value: Int32
  /// Whether the operator chose the value; otherwise it is the format's own.
  public let isChosen: Bool
  public internal(set) var keys = 0

  init(value: Int32, isChosen: Bool) {
    self.value = value
    self.isChosen = isChosen
  }
}

extension ClaimedKey {
  /// The word of one field, whether stated or not.
  @inline(__always)
  fileprivate subscript(field: KeyFields) -> Int32 {
    switch field {
    case .rollingStart: rollingStartWord
    case .rollingPeriod: rollingPeriodWord
    case .transmissionRisk: transmissionRiskWord
    case .reportType: reportTypeWord
    default: daysSinceOnsetWord
    }
  }

  @inline(__always)
  fileprivate subscript(field: KeyFields) -> Int32? {
    get { fields.contains(field) ? (self[field] as Int32) : nil }
    set {
      switch field {
      case .rollingStart: rollingStart = newValue
      case .rollingPeriod: rollingPeriod = newValue
      case .transmissionRisk: transmissionRisk = newValue
      case .reportType: reportType = newValue
      default: daysSinceOnset = newValue
      }
    }
  }
}
