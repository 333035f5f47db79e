package import BundleTrust
internal import ExposureKeys
package import KeyNormalization

/// A federation gateway, as its operator wants it.
package struct FederationGatewaySettings: Hashable, Sendable {
  /// Who says who a client is.
  package enum ClientCertificates: String, CaseIterable, Hashable, Sendable {
    /// The TLS connection, which this program ends.
    case tls
    /// A proxy that ends it, by two fields of the request.
    case proxy
  }

  /// Before it is read again.
  package var trust: FederationTrust
  package var clientCertificates: ClientCertificates
  /// What stands before every address: `/federation`, or nothing.
  package var path = ""
  /// The policy by which uploads are read, and published to this gateway's own apps.
  package var reading: Policy
  /// Keys of an upload, 1...100000.
  package var uploadKeys = 5000
  /// Keys of a download batch, from ``uploadKeys`` on.
  package var batchKeys = 5000
  /// Seconds between two looks for uploads that wait for a batch.
  package var batchSeconds: Int64 = 300
  /// Days before today that can be downloaded.
  package var keptDays = 2
  /// Whether all countries share the tags of uploads.
  package var sharesTags = false
  /// Whether everybody may read how much each country uploaded.
  package var showsStatistics = false
  package var allowances: SignatureAllowances = []
  /// Countries whose uploads are verified, recorded and told as all others, and neither passed on nor published.
  package var rehearsals: Set<String> = []
  /// How national back ends are called; `nil` where none is.
  package var callbacks: FederationCallbackSettings?

  package init(trust: FederationTrust, clientCertificates: ClientCertificates, reading: Policy) {
    self.trust = trust
    self.clientCertificates = clientCertificates
    self.reading = reading
  }

  /// Bytes of an upload's body. In JSON, with thirty countries, a key takes some 500.
  package var uploadBytes: Int { uploadKeys * 1024 + 1024 }

  /// What claims call the uploads of a country.
  package static func source(of country: String) -> String { "federation/\(country)" }

  /// The countries that may upload, in their order.
  package var countries: [String] {
    Set(trust.rows.lazy.filter { $0.use == .authentication && !$0.isRevoked }.map(\.country)).sorted()
  }
}
