import ExposureKeys

/// Who speaks for whom: what the fold asks about the origins and sources of a claim set.
struct Speakers {
  /// By source: the origins whose keys it may carry where it loses them; `nil` is any.
  private let carried: [Set<OriginID>?]
  /// By source: the origin whose own signature stands behind its documents; `nil` where none does.
  private let signers: [Signer]
  /// By origin: whether the policy gives it precedence.
  private let precedes: [Bool]
  private let hasPrecedence: Bool
  /// By origin: whether it is one of this gateway's own.
  private let owns: [Bool]
  private let hasOwn: Bool

  private enum Signer: Equatable {
    case nobody
    case origin(OriginID)
    /// Each origin signed its own keys.
    case eachOrigin
  }

  /// By source: whether what it uploaded is a copy.
  private let copies: [Bool]
  private let hasCopies: Bool

  /// The claims about a key that decide, and whose opinions are echoes.
  struct Deciding {
    /// Sorted by origin, the lost one first. Copies are among them only where nobody else has claimed the key.
    var claims: ArraySlice<AdmittedClaim>
    /// Copies beside them, sorted by origin. What they say is an echo.
    var copies: ArraySlice<AdmittedClaim> = []
    /// The relays' opinion is an echo.
    var echoesRelays = false
    /// The opinions of all but the own origins are echoes, except revocations: the own origins have revoked the key.
    var echoesOthers = false
  }

  /// - Parameter ownOrigins: the gateway's own origins.
  init(policy: PublishingPolicy, names: ClaimNames, ownOrigins: Set<String> = []) {
    func ids(_ origins: Set<String>) -> Set<OriginID> {
      Set(origins.compactMap { names.id(ofKnownOrigin: $0.uppercased()) })
    }
    carried = names.sources.map { $0.carries.map(ids) }
    signers = names.sources.map { source in
      switch source.provenance {
      case .origins: .eachOrigin
      case .signed:
        source.isRelay
          ? .nobody : source.origin.flatMap { names.id(ofKnownOrigin: $0.uppercased()) }.map(Signer.origin) ?? .nobody
      case .host, .assertedByOperator: .nobody
      }
    }
    let named = Set(policy.precedence.map { $0.uppercased() })
    precedes = names.origins.map(named.contains)
    hasPrecedence = precedes.contains(true)
    let own = Set(ownOrigins.map { $0.uppercased() })
    owns = names.origins.map(own.contains)
    hasOwn = owns.contains(true)
    copies = names.sources.map { $0.upload == .copy }
    hasCopies = copies.contains(true)
  }

  /// Whether the origin is one of this gateway's own.
  func isOwn(_ origin: OriginID) -> Bool { origin != .lost && owns[Int(origin.rawValue)] }

  /// Whether the claim is a copy of an upload that was proven.
  func isCopy(_ claim: AdmittedClaim) -> Bool { hasCopies && copies[Int(claim.source.rawValue)] }

  /// The claims that decide: all, or those of the origins with precedence where one has claimed the key. The revocation of
  /// an own key decides before any precedence: what a copy of it says, its sender has from this gateway.
  ///
  /// - Parameter all: all claims about a key, sorted by origin, the lost one first.
  func deciding(_ all: ArraySlice<AdmittedClaim>) -> Deciding {
    var deciding = Deciding(claims: all)
    if hasCopies, all.contains(where: isCopy), !all.allSatisfy(isCopy) {
      deciding.claims = all.filter { !isCopy($0) }[...]
      deciding.copies = all.filter(isCopy)[...]
    }
    deciding.echoesOthers = isRevokedByOwnOrigins(deciding.claims)
    if hasPrecedence, !deciding.echoesOthers, deciding.claims.contains(where: precedes) {
      deciding.copies = []
      // All of them, and then nothing is copied.
      if !deciding.claims.allSatisfy(precedes) { deciding.claims = deciding.claims.filter(precedes)[...] }
    }
    deciding.echoesRelays = isEchoed(deciding.claims)
    return deciding
  }

  /// Whether an opinion of an origin is an echo.
  @inline(__always)
  func isEcho(_ opinion: Opinion, in deciding: Deciding) -> Bool {
    if opinion.origin == .lost, deciding.echoesRelays { return true }
    return deciding.echoesOthers && !opinion.isRevocation && !isOwn(opinion.origin)
  }

  /// Whether every own origin that has claimed the key revokes it, and at least one has. Only an own source can make such
  /// a claim: admission rejects own origins from every other sender.
  private func isRevokedByOwnOrigins(_ said: ArraySlice<AdmittedClaim>) -> Bool {
    guard hasOwn, said.contains(where: { $0.isRevocation && isOwn($0.origin) }) else { return false }
    let own = said.filter { isOwn($0.origin) }
    let revoking = Set(own.lazy.filter(\.isRevocation).map(\.origin))
    return own.allSatisfy { revoking.contains($0.origin) && $0.said.typeWeight <= ReportType.revoked.weight }
  }

  /// Whether the relays' word may be an echo: they carry the keys of an origin whose own claim is known.
  ///
  /// - Parameter said: all claims about a key, sorted by origin, the lost one first.
  private func isEchoed(_ said: ArraySlice<AdmittedClaim>) -> Bool {
    guard said.first?.origin == .lost, said.last?.origin != .lost else { return false }
    let own = said.drop { $0.origin == .lost }
    return said.prefix(said.count - own.count).contains { relayed in
      guard let origins = carried[Int(relayed.source.rawValue)] else { return true }
      return own.contains { origins.contains($0.origin) }
    }
  }

  /// Whether the claim is the word of an origin with precedence, proved by its own signature.
  func precedes(_ claim: AdmittedClaim) -> Bool {
    guard claim.origin != .lost, precedes[Int(claim.origin.rawValue)] else { return false }
    switch signers[Int(claim.source.rawValue)] {
    case .nobody: return false
    case .origin(let origin): return origin == claim.origin
    case .eachOrigin: return true
    }
  }
}
