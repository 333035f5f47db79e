package import BundleTrust
internal import ProgramMetrics

/// How the gateway serves its publications.
package struct ServerSettings: Hashable, Sendable {
  package var host: String
  package var port: Int
  /// What apps see as the beginning of every address: `https://keys.example.org`; `nil` is what a request says.
  package var publicURL: String?
  /// PEM; `nil` is plain HTTP.
  package var certificatePEM: String?
  package var privateKeyPEM: Secret?
  /// The files that both were read from, which are read again when they change; `nil` is not looked at.
  package var certificateFile: String?
  package var privateKeyFile: String?
  /// PEM of the P-256 key that signs the answers of the DP-3T layout.
  package var responseKeyPEM: Secret?
  /// Layouts by name; `nil` is all.
  package var layouts: Set<String>?
  /// The series for an app that asks for none: the first, where `nil`.
  package var defaultSeries: String?
  /// The series of the merged keys for travellers, in the roaming map.
  package var travelSeries: String?
  /// Country codes (ISO 3166-1 alpha-2) to the series of each, for the roaming map of Google's app.
  package var roaming: [String: String]
  /// Codes to the series of each, by the name of a layout whose addresses name a country; in a layout without a map of its
  /// own, series are countries.
  package var countries: [String: [String: String]]
  /// The exposure configuration to serve; `nil` is the default.
  package var exposureConfiguration: ExposureConfiguration?
  /// JSON with what the DP-3T layout tells apps instead of the defaults.
  package var dp3tConfiguration: String?
  /// Requests a minute from one client; `nil` is without a limit.
  package var requestsPerMinute: Int?
  /// Proxies in front of the server, whose word about the client is believed.
  package var proxies: TrustedProxies
  /// Who is answered at the address of the metrics.
  package var metricsClients = AddressBlock.ofThisMachine
  package var limits = ServerLimits()
  /// The folder of the publication folder that has the transparency log; `nil` where there is none.
  package var logFolder: String?
  /// The doors for uploads: each entry those of one origin, with names of their own; empty is closed.
  package var uploads: [UploadSettings] = []
  /// How national back ends are known; `nil` where this is no gateway for them.
  package var federationDoor: FederationListenerSettings?
  /// How they are called when there is a new batch; `nil` where nobody is.

  package init(host: String = "127.0.0.1", port: Int = 8080) {
    self.host = host
    self.port = port
    layouts = nil
    roaming = [:]
    countries = [:]
    proxies = TrustedProxies()
  }
}
