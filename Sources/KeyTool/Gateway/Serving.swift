internal import ArgumentParser
internal import ExposureKeys
internal import GatewayServer
internal import GatewaySettings
internal import KeyPublishing
internal import Logging
internal import Synchronization

/// The serving half of a gateway, put together: what is published, the layouts, and the server.
struct Serving {
  let publications: PublicationStore
  let metrics = GatewayMetrics()
  let readiness = Readiness()
  let server: GatewayServer

  /// - Throws: `ValidationError` where the configuration has no server, `ServerFault` where its settings cannot be used.
  init(_ plan: GatewayPlan, of config: String, clock: @escaping @Sendable () -> Instant, port: Int?) throws {
    guard var settings = plan.server else {
      throw ValidationError("\(config) has no server: say where to listen with server: {listen: 127.0.0.1:8080}")
    }
    if let port { settings.port = port }
    publications = PublicationStore(
      folder: try plan.requirePublicationFolder(of: config), order: plan.series.map(\.name),
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
      Console.note("serving at " + (isPublic ? address : "\(address):\(port)/"))
    }
  }
}

/// How a service writes what happens.
struct LogOptions: ParsableArguments {
  @Option(help: "How log lines look.")
  var logFormat = LogStyle.text

  @Option(help: "The least level that is logged.")
  var logLevel = LogLevel.info

  /// Once in a process.
  func bootstrap() { logFormat.format.bootstrap(level: logLevel.level) }
}

enum LogStyle: String, ExpressibleByArgument, CaseIterable {
  case json, text

  var format: LogFormat {
    switch self {
    case .json: .json
    case .text: .text
    }
  }
}

enum LogLevel: String, ExpressibleByArgument, CaseIterable {
  case debug, info, warning, error

  var level: Logger.Level { Logger.Level(rawValue: rawValue) ?? .info }
}
