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
  /// The key for another gateway: its days since onset may be any class of ``SymptomStatus``. `regions` belongs to the
  /// ``BelievedKeys/regions`` (or ``Beliefs/regions``) beside it.
  package internal(set) var forFederation: ClaimedKey
  /// -1 is none.
  var appReportType: Int8
  /// `Int8.min` is none.
  var appDaysSinceOnset: Int8
  private var withholdsRisk: Bool
  package internal(set) var notes: PublishingNotes

  init(_ belief: Belief, about key: TemporaryExposureKey) {
    forFederation = belief.said.claim(about: key)
    appReportType = belief.appReportType.map { Int8(truncatingIfNeeded: $0) } ?? -1
    appDaysSinceOnset = belief.appDaysSinceOnset.map { Int8(truncatingIfNeeded: $0) } ?? .min
    withholdsRisk = belief.withholdsRisk
    notes = belief.notes
  }

  package var subject: KeySubject {
    KeySubject(key: forFederation.key, rollingStart: forFederation.rollingStartWord)
  }

  /// The key for an app's bundle: days since onset are -14...14 or absent.
  package var forApps: ClaimedKey {
    var key = forFederation
    key.reportType = appReportType < 0 ? nil : Int32(appReportType)
    key.daysSinceOnset = appDaysSinceOnset == .min ? nil : Int32(appDaysSinceOnset)
    if withholdsRisk { key.transmissionRisk = nil }
    return key
  }
}

/// What is believed about a key, on its way through the publishing rules.
struct Belief {
  var said: StatedFields
  let isRevoked: Bool
  let reachesTarget: Bool
  var appReportType: Int32?
  var appDaysSinceOnset: Int32?
  /// Whether apps are not told the risk level.
  var withholdsRisk = false
  let origin: OriginID
  var notes = PublishingNotes()

  init(_ candidate: Decision.Candidate, isContradicted: Bool, reachesTarget: Bool) {
    said = candidate.claim.said
    said.isRevised = candidate.isRevised
    isRevoked = candidate.isRevoked
    origin = candidate.claim.origin
    self.reachesTarget = reachesTarget
    if isContradicted { notes.insert(.conflictDecided) }
  }

  var reportType: ReportType {
    get { said.reportType.flatMap(ReportType.init(rawValue:)) ?? .unknown }
    set { said.reportType = newValue.rawValue }
  }

  /// The first instant at which the key is not valid any more.
  var expiry: Instant {
    IntervalNumber(Int64(said.rollingStartWord) + Int64(said.rollingPeriodWord)).start
  }
}
