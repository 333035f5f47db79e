package import ExposureKeys

/// What the gateway believes about one key and does with it.
package enum BeliefOutcome: Hashable, Sendable {
  case publish(BelievedKey)
  /// Not yet: decide again at this instant.
  case hold(until: Instant, HoldReason)
  case leaveOut(LeaveOutReason)
}

/// A key as it is published. Only the fold makes one. 56 bytes, trivially copyable.
@frozen
package struct BelievedKey: Hashable, Sendable, BitwiseCopyable {
  /// The key for another gateway, as it was said: what the policy makes of it for apps does not go on, and its days since
  /// onset may be any class of ``SymptomStatus``. `regions` belongs to the ``BelievedKeys/regions`` (or
  /// ``Beliefs/regions``) beside it.
  package internal(set) var forFederation: ClaimedKey
  /// -1 is none.
  private var appReportType: Int8
  /// -1 is none.
  private var appRisk: Int8
  /// `Int8.min` is none.
  private var appDaysSinceOnset: Int8
  package internal(set) var notes: PublishingNotes

  /// Spells what apps are told; the last step.
  init(_ together: Together, about key: TemporaryExposureKey, regions: RegionClaim.ID) {
    var said = together.said
    said.regions = regions
    forFederation = said.claim(about: key)
    let apps = together.apps
    appReportType = apps.reportType.map { Int8(truncatingIfNeeded: $0) } ?? -1
    appRisk = apps.transmissionRisk.map { Int8(truncatingIfNeeded: $0) } ?? -1
    appDaysSinceOnset = apps.daysSinceOnset.map { Int8(truncatingIfNeeded: $0) } ?? .min
    notes = together.notes
    if notes.contains(.riskReencoded), let fields = apps.transmissionRisk.flatMap(AdmissionRule.reencode) {
      appReportType = Int8(truncatingIfNeeded: fields.reportType.rawValue)
      appDaysSinceOnset = Int8(truncatingIfNeeded: fields.daysSinceOnset)
    }
  }

  package var subject: KeySubject {
    KeySubject(key: forFederation.key, rollingStart: forFederation.rollingStartWord)
  }

  /// The key for an app's bundle, as the policy spells it: days since onset are -14...14 or absent.
  package var forApps: ClaimedKey {
    var key = forFederation
    if notes.contains(.rollingPeriodExpanded) { key.rollingPeriod = RollingPeriod.fullDay }
    key.transmissionRisk = appRisk < 0 ? nil : Int32(appRisk)
    key.reportType = appReportType < 0 ? nil : Int32(appReportType)
    key.daysSinceOnset = appDaysSinceOnset == .min ? nil : Int32(appDaysSinceOnset)
    return key
  }
}

extension BelievedKey {
  /// The key for an app that has seen nothing of it before: devices take a revision only of a key that they know, so only
  /// a revocation is one.
  var forFirstBundle: ClaimedKey {
    var key = forApps
    if key.reportType != ReportType.revoked.rawValue { key.isRevised = false }
    return key
  }
}

/// One origin's opinion on its way through the publishing rules.
struct Belief {
  /// What apps would be told, if it were the only opinion.
  var said: StatedFields
  let origin: OriginID
  let isRevoked: Bool
  let reachesTarget: Bool
  /// The longest rolling period that anybody states for the key, whether it counts for anything else or not.
  var longestPeriod: Int32
  var notes = PublishingNotes()

  init(_ opinion: Opinion, longestPeriod: Int32, reachesTarget: Bool) {
    said = opinion.said
    origin = opinion.origin
    isRevoked = opinion.isRevocation
    self.reachesTarget = reachesTarget
    self.longestPeriod = longestPeriod
  }

  var reportType: ReportType {
    get { said.reportType.flatMap(ReportType.init(rawValue:)) ?? .unknown }
    set { said.reportType = newValue.rawValue }
  }

  /// The first instant at which nobody says that the key is valid.
  var expiry: Instant {
    IntervalNumber(Int64(said.rollingStartWord) + Int64(longestPeriod)).start
  }
}

/// What the published opinions about a key come to, each field by itself: nothing that one of them says takes anything
/// away from another.
struct Together {
  /// As it was said, for other gateways.
  private(set) var said: StatedFields
  /// As each opinion would be told to apps.
  private(set) var apps: StatedFields
  private(set) var notes: PublishingNotes
  /// Who gave the report type; of several, the first by name.
  private(set) var origin: OriginID
  private(set) var route: RegionRouter.Route
  /// The other routes: most origins of a key agree, and then there are none.
  private(set) var furtherRoutes: [RegionRouter.Route] = []
  private(set) var hold: (until: Instant, reason: HoldReason)?
  /// Only an echo is in it so far.
  private var isEcho: Bool

  init(_ opinion: Opinion, _ belief: Belief, hold: (until: Instant, reason: HoldReason)?) {
    (said, apps, notes) = (opinion.said, belief.said, belief.notes)
    (origin, route) = (opinion.origin, opinion.route)
    self.hold = hold
    isEcho = opinion.isEcho
    if isEcho { (said, apps, notes, origin) = (said.ofEcho, apps.ofEcho, notes.ofEcho, .lost) }
  }

  mutating func add(_ other: Together, origins: [String]) {
    said.rollingPeriod = max(said.rollingPeriodWord, other.said.rollingPeriodWord)
    // No list is made where both agree.
    if other.route != route { furtherRoutes.append(other.route) }
    for further in other.furtherRoutes where further != route { furtherRoutes.append(further) }
    notes.formUnion(other.notes)
    if other.isEcho {
      if isEcho { said.isRevised = said.isRevised && other.said.isRevised }
      return
    }
    if isEcho {
      let (period, routes, notes) = (said.rollingPeriod, [route] + furtherRoutes, notes)
      self = other
      (said.rollingPeriod, self.notes) = (period, notes)
      furtherRoutes = routes.filter { $0 != route }
      return
    }
    let weights = (FieldWeight.reportType(said), FieldWeight.reportType(other.said))
    if weights.0 < weights.1 || weights.0 == weights.1 && other.isNamedBefore(self, origins) { origin = other.origin }
    said.combine(other.said)
    apps.combine(other.apps)
  }

  private func isNamedBefore(_ other: Together, _ origins: [String]) -> Bool {
    guard origin != .lost, other.origin != .lost else { return other.origin == .lost }
    return origins[Int(origin.rawValue)] < origins[Int(other.origin.rawValue)]
  }

  mutating func note(_ note: PublishingNote) { notes.insert(note) }
}

extension StatedFields {
  /// The weightiest report type, the highest risk level, the most infectious onset.
  fileprivate mutating func combine(_ other: StatedFields) {
    if FieldWeight.reportType(self) < FieldWeight.reportType(other) { reportType = other.reportType }
    if FieldWeight.risk(self) < FieldWeight.risk(other) { transmissionRisk = other.transmissionRisk }
    if FieldWeight.onset(self) < FieldWeight.onset(other) { daysSinceOnset = other.daysSinceOnset }
    isRevised = isRevised && other.isRevised
  }

  /// What an echo gives: validity and nothing about the person.
  fileprivate var ofEcho: StatedFields {
    var said = self
    (said.reportType, said.transmissionRisk, said.daysSinceOnset) = (nil, nil, nil)
    return said
  }
}

extension PublishingNotes {
  /// What may be noted of an echo: that it is published for longer than it says.
  fileprivate var ofEcho: PublishingNotes {
    var notes = PublishingNotes()
    if contains(.rollingPeriodExpanded) { notes.insert(.rollingPeriodExpanded) }
    return notes
  }
}
