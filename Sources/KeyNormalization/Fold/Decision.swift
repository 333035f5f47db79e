import ExposureKeys

/// What the claims about one key come to, before any publishing rule: which claim is to be published, and which ones
/// instead if the policy leaves that out.
struct Decision {
  /// A claim that won its origin as a whole.
  struct Candidate {
    var claim: AdmittedClaim
    /// No origin stands behind the key any more.
    var isRevoked: Bool
    /// It was said by revisions alone, so whoever reads it has seen the key before.
    var isRevised: Bool
    var regions: RegionRouter.Route
  }

  var first: Candidate
  /// The other origins' claims, the greatest first, and revocations last. They are asked in this order while the
  /// policy leaves out what was asked before, so that no origin suppresses a key that another one stands behind.
  var others: [Candidate]
  /// The claims that count did not all say the same.
  var isContradicted: Bool

  /// Decides about the claims of one key, sorted by origin (the lost one first). There is at least one.
  static func decide(
    _ claims: ArraySlice<AdmittedClaim>, by order: ClaimOrder, routing router: inout RegionRouter
  ) -> Decision {
    let claims = counted(claims)
    if claims.count == 1, let only = claims.first {
      let isRevoked = only.isRevocation
      let candidate = Candidate(
        claim: only, isRevoked: isRevoked, isRevised: isRevoked || only.key.isRevised, regions: router.route(of: only))
      return Decision(first: candidate, others: [], isContradicted: false)
    }
    var standing = Side()
    var revoked = Side()
    var isRevised = true
    for said in byOrigin(claims) {
      guard let best = greatest(of: said, by: order) else { continue }
      if best.claim.isRevocation {
        revoked.add(best, route: router.route(of: best.claim), routing: &router)
      } else {
        standing.add(best, route: router.route(of: best.claim), routing: &router)
        isRevised = isRevised && said.allSatisfy { $0.key.isRevised }
      }
    }
    var candidates = standing.candidates(isRevoked: false, isRevised: isRevised, by: order)
    candidates += revoked.candidates(isRevoked: true, isRevised: true, by: order)
    let first = candidates.removeFirst()
    return Decision(
      first: first, others: candidates, isContradicted: claims.contains { !$0.saysTheSame(as: first.claim) })
  }

  /// The claims that count: those without an origin only where no origin's own claim is known.
  static func counted(_ claims: ArraySlice<AdmittedClaim>) -> ArraySlice<AdmittedClaim> {
    guard claims.first?.origin == .lost, claims.last?.origin != .lost else { return claims }
    return claims.drop { $0.origin == .lost }
  }

  /// The runs of claims from one origin.
  static func byOrigin(_ claims: ArraySlice<AdmittedClaim>) -> [ArraySlice<AdmittedClaim>] {
    var runs: [ArraySlice<AdmittedClaim>] = []
    var rest = claims
    while let origin = rest.first?.origin {
      let end = rest.firstIndex { $0.origin != origin } ?? rest.endIndex
      runs.append(rest[rest.startIndex..<end])
      rest = rest[end...]
    }
    return runs
  }

  static func greatest(of claims: ArraySlice<AdmittedClaim>, by order: ClaimOrder) -> ClaimOrder.Ranked? {
    guard let first = claims.first else { return nil }
    return claims.dropFirst().reduce(order.ranked(first)) { best, claim in
      let ranked = order.ranked(claim)
      return order.isLess(best, ranked) ? ranked : best
    }
  }

  /// The origins that stand behind the key, or those that revoked it.
  private struct Side {
    var claims: [ClaimOrder.Ranked] = []
    var route: RegionRouter.Route?

    mutating func add(
      _ claim: ClaimOrder.Ranked, route new: RegionRouter.Route, routing router: inout RegionRouter
    ) {
      claims.append(claim)
      route = route.map { router.union($0, new) } ?? new
    }

    func candidates(isRevoked: Bool, isRevised: Bool, by order: ClaimOrder) -> [Candidate] {
      guard let route else { return [] }
      return claims.sorted { order.isLess($1, $0) }.map {
        Candidate(claim: $0.claim, isRevoked: isRevoked, isRevised: isRevised, regions: route)
      }
    }
  }
}

extension AdmittedClaim {
  var isRevocation: Bool { key.reportType == ReportType.revoked.rawValue }

  /// Whether the numbers are the same, whoever says them and for whichever regions.
  func saysTheSame(as other: AdmittedClaim) -> Bool {
    var (mine, others) = (key, other.key)
    mine.regions = .none
    others.regions = .none
    mine.isRevised = false
    others.isRevised = false
    return mine == others
  }
}
