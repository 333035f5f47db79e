package import BundleTrust

/// Who has to stand behind what a source sends, before anything of it is admitted. The operator says it for each source;
/// there is no default.
package enum Trust: Sendable {
  /// A key of this ring must have signed each document.
  case ring(TrustRing)
  /// The host must have proved its name by TLS; nothing that it sends is signed, or no signature is asked for.
  case host
  /// Each origin must have signed its own keys.
  /// By a federation's list of certificates, and whatever its allowances let through.
  case origins(FederationTrust, SignatureAllowances)
  /// Whoever runs the gateway vouches for what comes; no proof is asked for.
  case `operator`

  /// Its kind, as `gateway.yaml` spells it.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case ring, host, origins, `operator`
  }

  package var kind: Kind {
    switch self {
    case .ring: .ring
    case .host: .host
    case .origins: .origins
    case .operator: .operator
    }
  }

  package var ring: TrustRing? {
    guard case .ring(let ring) = self else { return nil }
    return ring
  }
}

extension Trust.Kind {
  /// What is written after `trust:`, for faults and for the manual.
  package var spelling: String { self == .ring ? "a ring of public keys (PEM, folder, JSON)" : rawValue }
}
