package import ExposureKeys

/// What stands behind a federation gateway's addresses. Whoever does it knows policies and stores; the server knows neither.
///
/// Each function throws ``FederationRefusal`` for what is the client's to mend.
package protocol FederationBackend: Sendable {
  /// Takes an upload. When this returns, it is durable.
  func accept(_ delivery: FederationDelivery) async throws -> FederationOutcome
  /// The batch of a tag, or the first one since a day.
  func batch(of day: Day, tagged tag: String?, for client: FederationClient) async throws -> FederationDownload
  /// The audit entries of a batch, as a JSON array.
  func audit(of day: Day, tagged tag: String, for client: FederationClient) async throws -> [UInt8]
  /// How much each country uploaded, as JSON.
  func statistics() async throws -> [FederationStatistics]
}

/// What one country uploaded on one day.
package struct FederationStatistics: Hashable, Sendable, Encodable {
  package var day: String
  package var country: String
  package var uploads: Int
  package var keys: Int

  package init(day: String, country: String, uploads: Int, keys: Int) {
    self.day = day
    self.country = country
    self.uploads = uploads
    self.keys = keys
  }
}

/// A federation gateway that is to be served.
package struct FederationEntrance: Sendable {
  package var settings: FederationGatewaySettings
  package var desk: any FederationBackend
  package var doorkeeper: any ClientAuthenticator
  /// Where countries say that they want to be called; `nil` where nobody is.
  package var registrar: (any CallbackRegistrar)?

  package init(
    _ settings: FederationGatewaySettings, desk: any FederationBackend, doorkeeper: any ClientAuthenticator
  ) {
    self.settings = settings
    self.desk = desk
    self.doorkeeper = doorkeeper
  }
}
