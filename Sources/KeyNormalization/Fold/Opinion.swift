import ExposureKeys

/// What one origin says about a key: all its claims together. The relays, whose origin is lost, have one together.
struct Opinion {
  /// The weightiest report type; risk level and symptoms from claims of that type, then of the next type down; the rolling
  /// period that the policy prefers among all of them.
  let said: StatedFields
  let origin: OriginID
  /// The regions of all its claims, "none named" read by the policy first.
  let route: RegionRouter.Route
  /// The relays' word about a key that one of the origins they carry has claimed itself, anyone's word about a key that
  /// the gateway's own origins have revoked, or a copy of an upload that was proven. It publishes the key and gives validity
  /// and regions, and nothing else.
  var isEcho = false
  /// It is said by copies alone, beside others.
  var isCopy = false

  /// What one claim says.
  init(_ claim: AdmittedClaim, routing router: inout RegionRouter) {
    (said, origin) = (claim.said.asOpinion, claim.origin)
    route = router.route(of: claim)
  }

  /// What all claims of one origin say, of which there is at least one.
  init(of claims: ArraySlice<AdmittedClaim>, by order: FieldOrder, routing router: inout RegionRouter) {
    let first = claims[claims.startIndex]
    origin = first.origin
    if claims.count == 1 {
      (said, route) = (first.said.asOpinion, router.route(of: first))
    } else {
      (said, route) = (Self.together(claims, by: order), router.route(of: claims))
    }
  }

  private static func together(_ claims: ArraySlice<AdmittedClaim>, by order: FieldOrder) -> StatedFields {
    var opinion = claims[claims.startIndex].said
    var (risk, symptoms) = (order.risk(of: opinion), order.symptoms(of: opinion))
    for claim in claims.dropFirst() {
      let said = claim.said
      if FieldWeight.reportType(said) > FieldWeight.reportType(opinion) { opinion.reportType = said.reportType }
      if let rank = order.risk(of: said), risk.map({ $0 < rank }) ?? true {
        (opinion.transmissionRisk, risk) = (said.transmissionRisk, rank)
      }
      if let rank = order.symptoms(of: said), symptoms.map({ $0 < rank }) ?? true {
        (opinion.daysSinceOnset, symptoms) = (said.daysSinceOnset, rank)
      }
      let (period, other) = (opinion.rollingPeriodWord, said.rollingPeriodWord)
      opinion.rollingPeriod = order.isWidest ? max(period, other) : min(period, other)
      opinion.isRevised = opinion.isRevised && said.isRevised
    }
    return opinion.asOpinion
  }

  var isRevocation: Bool { said.isRevocation }
}

extension StatedFields {
  /// Whoever reads a revocation has seen the key before.
  fileprivate var asOpinion: StatedFields {
    var said = self
    if isRevocation { said.isRevised = true }
    said.regions = .none
    return said
  }
}

extension AdmittedClaim {
  var isRevocation: Bool { statement.isRevocation }

  /// Whether the numbers are the same, whoever says them and for whichever regions.
  func saysTheSame(as other: AdmittedClaim) -> Bool {
    subject == other.subject && statement.bitsBeyondRevision == other.statement.bitsBeyondRevision
  }
}
