package import ExposureKeys
package import GatewayServer
package import KeyStorage
internal import Logging
package import ProgramMetrics

/// A federation gateway, put together: what comes in from countries, and what they download.
package struct FederationGateway: FederationBackend {
  let settings: FederationGatewaySettings
  package let trust: HeldFederationTrust
  private let intake: FederationIntake
  private let downloads: FederationDownloads
  private let clock: @Sendable () -> Instant

  /// - Parameters:
  ///   - ledger: of the gateway's own store, or of one that is opened beside it as an operator.
  ///   - ownOrigins: the gateway's own, whose keys come back.
  ///   - evidenceDays: how long received bytes are kept.
  package init(
    _ settings: FederationGatewaySettings, ledger: Ledger, ownOrigins: Set<String>, evidenceDays: Int64,
    clock: @escaping @Sendable () -> Instant
  ) {
    // A national back end waits.
    let ledger = ledger.answering
    self.settings = settings
    self.clock = clock
    trust = HeldFederationTrust(settings.trust)
    intake = FederationIntake(
      settings, trust: trust, ledger: ledger, ownOrigins: ownOrigins, evidenceDays: evidenceDays, clock: clock)
    downloads = FederationDownloads(ledger: ledger, keptDays: settings.keptDays, clock: clock)
  }

  /// - Parameters:
  ///   - door: how countries are known; `nil` is by a proxy's fields.
  ///   - registrar: keeps where they want to be called; `nil` where nobody is.
  package func entrance(
    _ door: FederationListenerSettings?, registrar: (any CallbackRegistrar)? = nil, metrics: GatewayMetrics
  ) -> FederationEntrance {
    let doorkeeper = CertificateAuthenticator(
      door ?? FederationListenerSettings(settings.clientCertificates == .tls ? .tls : .proxy), trust: trust,
      metrics: metrics)
    var entrance = FederationEntrance(settings, desk: self, doorkeeper: doorkeeper)
    entrance.registrar = registrar
    return entrance
  }

  package func accept(_ delivery: FederationDelivery) async throws -> FederationOutcome {
    try await whileAway(from: delivery.client.country) { try await intake.accept(delivery) }
  }

  package func batch(
    of day: Day, tagged tag: String?, for client: FederationClient
  ) async throws -> FederationDownload {
    try await whileAway(from: client.country) {
      try await downloads.batch(of: day, tagged: tag, for: client.country)
    }
  }

  package func audit(of day: Day, tagged tag: String, for client: FederationClient) async throws -> [UInt8] {
    try await whileAway(from: client.country) {
      try await downloads.audit(of: day, tagged: tag, for: client.country)
    }
  }

  /// Of the last four weeks.
  package func statistics() async throws -> [FederationStatistics] {
    let first = Day(daysSince1970: clock().day.daysSince1970 - 27)
    return try await whileAway { try await downloads.statistics(since: first) }.map {
      FederationStatistics(day: "\($0.day)", country: $0.country, uploads: $0.uploads, keys: $0.keys)
    }
  }
}

/// While a store is away, each country asks again and again.
private let awayLimit = LogLimit()

/// What a store that is away for a while means for who asks: it is told so, and may ask again; the log has why.
func whileAway<Result>(from country: String = "", _ body: () async throws -> Result) async throws -> Result {
  do {
    return try await body()
  } catch let fault as StorageFault where fault.mayPass {
    let logger = Logger(label: "keyferry.federation")
    logger.log(
      .error, "a country could not be answered, the store is away", within: awayLimit, reason: country,
      metadata: ["country": .string(country), "reason": .string(fault.reason)])
    throw FederationRefusal(.away, "store-away", "nothing can be kept or read now; try again later")
  }
}
