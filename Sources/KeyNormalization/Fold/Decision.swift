import ExposureKeys

/// What the claims about one key come to, before any publishing rule: which claim is to be published.
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
        claim: only, isRevoked: isRevoked, isRevised: isRevoked || only.statement.isRevised,
        regions: router.route(of: only))
      return Decision(first: candidate, isContradicted: false)
    }
    var standing: ClaimOrder.Ranked?
    var revoked: ClaimOrder.Ranked?
    forEachOrigin(of: claims) { said in
      let best = greatest(of: said, by: order)
      if best.claim.isRevocation {
        revoked = revoked.map { order.isLess($0, best) ? best : $0 } ?? best
      } else {
        standing = standing.map { order.isLess($0, best) ? best : $0 } ?? best
      }
    }
    guard let winner = standing ?? revoked else { preconditionFailure("a decision is about at least one claim") }
    let common = Common(of: claims, areRevocations: standing == nil, by: order, routing: &router)
    return Decision(
      first: Candidate(
        claim: winner.claim, isRevoked: standing == nil, isRevised: common.isRevised, regions: common.regions),
      isContradicted: claims.contains { !$0.saysTheSame(as: winner.claim) })
  }

  /// The other origins' claims, the greatest first, and revocations last. They are asked in this order while the policy
  /// leaves out what was asked before, so that no origin suppresses a key that another one stands behind.
  static func others(
    _ claims: ArraySlice<AdmittedClaim>, by order: ClaimOrder, routing router: inout RegionRouter
  ) -> [Candidate] {
    let claims = counted(claims)
    var all: [ClaimOrder.Ranked] = []
    forEachOrigin(of: claims) { all.append(greatest(of: $0, by: order)) }
    guard all.count > 1 else { return [] }
    var candidates: [Candidate] = []
    for areRevocations in [false, true] {
      let side = all.filter { $0.claim.isRevocation == areRevocations }.sorted { order.isLess($1, $0) }
      guard !side.isEmpty else { continue }
      let common = Common(of: claims, areRevocations: areRevocations, by: order, routing: &router)
      candidates += side.map {
        Candidate(
          claim: $0.claim, isRevoked: areRevocations, isRevised: common.isRevised, regions: common.regions)
      }
    }
    return Array(candidates.dropFirst())
  }

  /// What the origins that stand behind a key share, or those that revoked it.
  private struct Common {
    var isRevised = true
    var regions: RegionRouter.Route

    init(
      of claims: ArraySlice<AdmittedClaim>, areRevocations: Bool, by order: ClaimOrder,
      routing router: inout RegionRouter
    ) {
      var regions: RegionRouter.Route?
      var further: [RegionRouter.Route] = []
      var isRevised = true
      forEachOrigin(of: claims) { said in
        let best = greatest(of: said, by: order)
        guard best.claim.isRevocation == areRevocations else { return }
        let route = router.route(of: best.claim)
        // Most origins of a key agree, and then nothing is allocated.
        if regions == nil { regions = route } else if regions != route { further.append(route) }
        isRevised = isRevised && (areRevocations || said.allSatisfy { $0.statement.isRevised })
      }
      guard let regions else { preconditionFailure("a decision is about at least one claim") }
      self.regions = further.isEmpty ? regions : router.union(of: [regions] + further) ?? regions
      self.isRevised = isRevised
    }
  }

  /// The claims that count: those without an origin only where no origin's own claim is known.
  static func counted(_ claims: ArraySlice<AdmittedClaim>) -> ArraySlice<AdmittedClaim> {
    guard claims.first?.origin == .lost, claims.last?.origin != .lost else { return claims }
    return claims.drop { $0.origin == .lost }
  }

  private static func forEachOrigin(
    of claims: ArraySlice<AdmittedClaim>, _ body: (ArraySlice<AdmittedClaim>) -> Void
  ) {
    var start = claims.startIndex
    while start < claims.endIndex {
      var end = start + 1
      while end < claims.endIndex, claims[end].origin == claims[start].origin { end += 1 }
      body(claims[start..<end])
      start = end
    }
  }

  /// The greatest of one origin's claims, of which there is at least one.
  static func greatest(of claims: ArraySlice<AdmittedClaim>, by order: ClaimOrder) -> ClaimOrder.Ranked {
    var best = order.ranked(claims[claims.startIndex])
    for claim in claims.dropFirst() {
      let ranked = order.ranked(claim)
      if order.isLess(best, ranked) { best = ranked }
    }
    return best
  }
}

extension AdmittedClaim {
  var isRevocation: Bool { said.isRevocation }

  /// Whether the numbers are the same, whoever says them and for whichever regions.
  func saysTheSame(as other: AdmittedClaim) -> Bool {
    subject == other.subject && statement.bitsBeyondRevision == other.statement.bitsBeyondRevision
  }
}
