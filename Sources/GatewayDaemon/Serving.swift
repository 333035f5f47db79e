package import ExposureKeys
package import GatewayServer
package import KeyPublishing
package import KeyReceiving
package import KeyStorage
internal import Logging
internal import Synchronization

/// The serving half of a gateway, put together: what is published, the layouts, and the server.
package struct Serving {
  package let publications: PublicationStore
  package let metrics = GatewayMetrics()
  package let readiness = Readiness()
  package let server: ServerService

  /// - Parameters:
  ///   - folder: where bundles are published.
  ///   - uploads: whose uploads are taken, and the ledger that records them; `nil` where there is no door.
  ///   - onListening: is told the address, once it listens.
  /// - Throws: `ServerFault` where the settings cannot be used.
  package init(
    _ settings: ServerSettings, publishedIn folder: String, series: [SeriesSettings],
    uploads: (source: UploadSource, ledger: Ledger)? = nil,
    clock: @escaping @Sendable () -> Instant, onListening: @escaping @Sendable (_ address: String) -> Void
  ) throws {
    publications = PublicationStore(
      folder: folder, order: series.map(\.name),
      defaultSeries: settings.defaultSeries)
    let exposure =
      try settings.exposureConfiguration.map { try ExposureConfiguration(json: Array($0.utf8)).json }
      ?? ExposureConfiguration.defaultJSON
    let layouts = LayoutCatalog(LayoutSettings(settings, exposureConfiguration: exposure))
    let application = try GatewayApplication(
      settings: settings, store: publications, layouts: layouts,
      uploads: uploads.map { UploadRecording(intake: UploadIntake($0.source, ledger: $0.ledger, clock: clock)) },
      metrics: metrics, readiness: readiness,
      clock: ServerClock(now: clock))
    let address = settings.publicURL ?? "\(settings.certificatePEM == nil ? "http" : "https")://\(settings.host)"
    let isPublic = settings.publicURL != nil
    server = ServerService(application) { port in
      onListening(isPublic ? address : "\(address):\(port)/")
    }
  }
}
