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

  /// Whose opinions about a key are echoes.
  struct Echoes {
    /// The relays' opinion.
    var ofRelays = false
    /// The opinions of all but the own origins, except revocations: the own origins have revoked the key.
    var ofOthers = false
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
  }

  /// Whether the origin is one of this gateway's own.
  func isOwn(_ origin: OriginID) -> Bool { origin != .lost && owns[Int(origin.rawValue)] }

  /// - Parameter said: all claims about a key, sorted by origin, the lost one first.
  func echoes(in said: ArraySlice<AdmittedClaim>) -> Echoes {
    Echoes(ofRelays: isEchoed(said), ofOthers: isRevokedByOwnOrigins(said))
  }

  /// Whether every own origin that has claimed the key revokes it, and at least one has. Only an own source can make such
  /// a claim: admission rejects own origins from every other sender.
  private func isRevokedByOwnOrigins(_ said: ArraySlice<AdmittedClaim>) -> Bool {
    guard hasOwn, said.contains(where: { isOwn($0.origin) && $0.isRevocation }) else { return false }
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

  /// The claims that decide: all, or those of the origins with precedence where one has claimed the key.
  func deciding(_ said: ArraySlice<AdmittedClaim>) -> ArraySlice<AdmittedClaim> {
    guard hasPrecedence, said.contains(where: precedes) else { return said }
    // All of them, and then nothing is copied.
    return said.allSatisfy(precedes) ? said : said.filter(precedes)[...]
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
