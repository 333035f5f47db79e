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

  private enum Signer: Equatable {
    case nobody
    case origin(OriginID)
    /// Each origin signed its own keys.
    case eachOrigin
  }

  init(policy: PublishingPolicy, names: ClaimNames) {
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
  }

  /// Whether the relays' word may be an echo: they carry the keys of an origin whose own claim is known.
  ///
  /// - Parameter said: all claims about a key, sorted by origin, the lost one first.
  func isEchoed(_ said: ArraySlice<AdmittedClaim>) -> Bool {
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
