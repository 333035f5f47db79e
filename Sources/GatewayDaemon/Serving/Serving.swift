package import ExposureKeys
package import Federation
internal import FoundationEssentials
package import GatewayServer
package import KeyPublishing
package import KeyReceiving
package import KeyStorage
internal import Logging
package import ProgramMetrics
internal import Synchronization

/// The serving half of a gateway, put together: what is published, the layouts, and the server.
package struct Serving {
  package let publications: PublicationStore
  package let metrics = GatewayMetrics()
  package let readiness = Readiness()
  /// For pulling and publishing; whoever only serves does not know.
  package let publishing: Readiness?
  package let server: ServerService
  /// Ends before the server does.
  package let leaving: LameDuckService
  /// Has an element once the server listens.
  package let listening: AsyncStream<Void>
  /// Can be replaced while the server runs.
  let exposure: ServedConfiguration
  /// How uploads are read can change while the server runs.
  let doors: [HeldUploadSource]
  /// The whitelist can be replaced while the server runs.
  let federation: FederationGateway?
  /// What is shown over TLS; can be replaced while the server runs.
  package let certificates: ServedCertificates
  /// Looks at the files of the certificates; `nil` where there is none.
  package let certificateWatch: CertificateWatch?
  /// Sees whether uploads can be recorded; `nil` where none are taken.
  package let probe: StoreProbe?
  /// Looks at the whitelist's file; `nil` where there is none.
  package let watch: TrustWatch?
  /// `nil` where no country is called.
  let callbacks: CallbackSetup?

  /// - Parameters:
  ///   - folder: where bundles are published.
  ///   - uploads: whose uploads are taken, in the order of the settings, and the ledger that records them; `nil` where
  ///     there is no door.
  ///   - stateFolder: holds the store's file that uploads are written to; `nil` where there is none.
  ///   - federation: what countries federate through; `nil` where they do not.
  ///   - callbacks: keeps where countries want to be called; `nil` where nobody is.
  ///   - answersOperators: whether who watches over the gateway is answered at the address of phones.
  ///   - publishing: answers `/ready/publishing`; `nil` where this process neither pulls nor publishes.
  ///   - onListening: is told the address, once it listens.
  /// - Throws: `ServerFault` where the settings cannot be used.
  package init(
    _ settings: ServerSettings, publishedIn folder: String, series: [SeriesSettings],
    mirrors: [MirrorSettings] = [], uploads: (sources: [UploadSource], ledger: Ledger)? = nil,
    storedIn stateFolder: String? = nil, federation: FederationGateway? = nil, callbacks: CallbackSetup? = nil,
    answersOperators: Bool = true, publishing: Readiness? = nil,
    clock: @escaping @Sendable () -> Instant, onListening: @escaping @Sendable (_ address: String) -> Void
  ) throws {
    // A phone waits.
    let uploads = uploads.map { (sources: $0.sources, ledger: $0.ledger.answering) }
    self.publishing = publishing
    self.federation = federation
    self.callbacks = callbacks
    watch = federation.flatMap { federation in
      settings.federationDoor?.trustFile.map { TrustWatch($0, federation.trust, readiness: publishing) }
    }
    publications = PublicationStore(
      folder: folder, order: series.map(\.name) + mirrors.map(\.name),
      defaultSeries: settings.defaultSeries, bell: CopyRefresher())
    readiness.ask {
      FileManager.default.isReadableFile(atPath: folder)
        ? [] : [StandingFault(.publicationUnreadable, because: "the publication folder \(folder) cannot be read")]
    }
    let health = UploadHealth()
    readiness.ask { health.faults }
    probe = uploads.flatMap { uploads in
      uploads.sources.first.map { StoreProbe(uploads.ledger, at: $0.name, for: health, clock: clock) }
    }
    // A full disk is reported before an upload fails, and for as long as it is full.
    if let stateFolder { readiness.ask { FolderRoom.faults(of: [("state", stateFolder)]) } }
    exposure = ServedConfiguration(settings.exposureConfiguration ?? .default)
    let layouts = LayoutCatalog(LayoutSettings(settings, exposureConfiguration: exposure))
    let doors = uploads?.sources.map(HeldUploadSource.init) ?? []
    self.doors = doors
    let application = try GatewayApplication(
      settings: settings, store: publications, layouts: layouts,
      uploads: uploads.map { uploads in
        doors.map { UploadEntrance($0, recordedBy: uploads.ledger, health: health, clock: clock) }
      } ?? [],
      partners: [
        federation.map { [metrics] counter in
          FederationResponder(
            counter.entrance(settings.federationDoor, registrar: callbacks?.registration, metrics: metrics),
            metrics: metrics)
        }
      ].compactMap(\.self),
      caller: OutsideCaller(),
      metrics: metrics, answersOperators: answersOperators, readiness: readiness, publishing: publishing,
      clock: ServerClock(now: clock))
    certificates = application.certificates
    certificateWatch = CertificateWatch(
      settings, certificates, metrics: metrics, readiness: publishing)
    let address = settings.publicURL ?? "\(settings.certificatePEM == nil ? "http" : "https")://\(settings.host)"
    let isPublic = settings.publicURL != nil
    let door = settings.federationDoor
    let (listening, listens) = AsyncStream.makeStream(of: Void.self)
    self.listening = listening
    server = ServerService(application) { port in
      onListening(isPublic ? address : "\(address):\(port)/")
      listens.yield()
    } onFederationBound: { port in
      let isSecure = (door?.certificatePEM ?? settings.certificatePEM) != nil
      onListening("\(isSecure ? "https" : "http")://\(door?.listen?.host ?? ""):\(port)/ for national back ends")
    }
    leaving = LameDuckService(server, for: .seconds(settings.limits.endingSeconds))
  }
}

extension UploadEntrance {
  package init(_ source: UploadSource, recordedBy ledger: Ledger, clock: @escaping @Sendable () -> Instant) {
    self.init(HeldUploadSource(source), recordedBy: ledger, health: UploadHealth(), clock: clock)
  }

  init(
    _ door: HeldUploadSource, recordedBy ledger: Ledger, health: UploadHealth,
    clock: @escaping @Sendable () -> Instant
  ) {
    let source = door.value
    self.init(
      UploadRecording(source, intake: UploadIntake(door, ledger: ledger, clock: clock), health: health),
      for: UploadScope(series: source.series, home: source.origin, regions: source.regions))
  }
}
