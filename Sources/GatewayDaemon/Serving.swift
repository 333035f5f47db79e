package import ExposureKeys
package import GatewayServer
package import KeyPublishing
internal import Logging
internal import Synchronization

/// The serving half of a gateway, put together: what is published, the layouts, and the server.
package struct Serving {
  package let publications: PublicationStore
  package let metrics = GatewayMetrics()
  package let readiness = Readiness()
  package let server: GatewayServer

  /// - Parameters:
  ///   - folder: where bundles are published.
  ///   - onListening: is told the address, once it listens.
  /// - Throws: `ServerFault` where the settings cannot be used.
  package init(
    _ settings: ServerSettings, publishedIn folder: String, series: [SeriesSettings],
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
      settings: settings, store: publications, layouts: layouts, metrics: metrics, readiness: readiness,
      clock: ServerClock(now: clock))
    let address = settings.publicURL ?? "\(settings.certificatePEM == nil ? "http" : "https")://\(settings.host)"
    let isPublic = settings.publicURL != nil
    server = GatewayServer(application) { port in
      onListening(isPublic ? address : "\(address):\(port)/")
    }
  }
}
