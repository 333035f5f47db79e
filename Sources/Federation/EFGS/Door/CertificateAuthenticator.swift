internal import BundleTrust
package import ExposureKeys
package import GatewayServer
package import Logging
package import ProgramMetrics

/// Knows national back ends by the certificates that their TLS clients show, to this program or to a proxy of ours.
///
/// TLS proves that a client has the key of its certificate, and nothing else; the whitelist says whose it is. A certificate
/// may be signed by anybody, or by itself. Each request is asked about: the operator's signature under the row, its use,
/// whether it was revoked, and the time. So who is revoked does not come in by a connection that is open already.
package struct CertificateAuthenticator: ClientAuthenticator {
  private let settings: FederationListenerSettings
  private let trust: HeldFederationTrust
  private let metrics: GatewayMetrics
  private let logger: Logger
  private let limit = LogLimit()

  package init(
    _ settings: FederationListenerSettings, trust: HeldFederationTrust, metrics: GatewayMetrics,
    logger: Logger = Logger(label: "keyferry.federation")
  ) {
    self.settings = settings
    self.trust = trust
    self.metrics = metrics
    self.logger = logger
  }

  package func client(_ caller: PartnerCaller, at now: Instant) throws(FederationRefusal) -> FederationClient {
    do throws(AuthenticationRefusal) {
      let certificate = try certificate(of: caller)
      guard let country = certificate.countries.first, certificate.countries.count == 1 else {
        throw .country(
          certificate.countries.isEmpty
            ? "Client Certificate must contain country property: one C in its subject"
            : "the client certificate has \(certificate.countries.count) countries, allowed is one C in its subject")
      }
      do throws(CertificateRefusal) {
        return FederationClient(
          try trust.value.certificate(
            thumbprint: certificate.thumbprint, country: country, use: .authentication, at: now))
      } catch {
        throw .whitelist(error)
      }
    } catch {
      metrics.refusedAtFederation.increment([error.code])
      logger.log(
        .warning, "a client was refused at the federation's door", within: limit, reason: error.code,
        metadata: [
          "code": .string(error.code), "reason": .string(error.reason), "address": .string(caller.address ?? "none"),
        ])
      throw error.refusal
    }
  }

  private func certificate(of caller: PartnerCaller) throws(AuthenticationRefusal) -> PresentedCertificate {
    let isForwarded = settings.fields.stand(in: caller.fields)
    switch settings.certificates {
    case .tls:
      guard !isForwarded else {
        throw .forged("fields about a client certificate are a proxy's, and here TLS itself says who asks")
      }
      guard let der = caller.certificate else {
        throw .noCertificate(
          "a client certificate is needed: its country's for authentication, as the whitelist has it")
      }
      do throws(FederationFault) {
        return PresentedCertificate(try FederationCertificate(der: der))
      } catch {
        throw .unreadable("the client certificate cannot be read: \(error.reason)")
      }
    case .proxy:
      guard caller.isThroughProxy else {
        guard isForwarded else {
          throw .noCertificate("who asks is known by a proxy that sees its certificate; this did not come through one")
        }
        throw .forged("fields about a client certificate are taken from the proxies of this gateway alone")
      }
      guard let told = try settings.fields.certificate(in: caller.fields) else {
        throw .noCertificate("the proxy has seen no client certificate")
      }
      return told
    }
  }
}
