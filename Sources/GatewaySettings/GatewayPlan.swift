package import Federation
package import GatewayServer
internal import KeyIntake
package import KeyPeers
package import KeyPublishing
package import KeyReceiving
package import KeyStorage
package import S3Publications

/// Everything the operator says: `gateway.yaml`, read and checked as a whole.
package struct GatewayPlan: Sendable {
  /// The folder of the store and of what is being fetched.
  package var stateFolder: String
  /// The database that has the store; `nil` where it is in the folder.
  package var database: DatabaseAccess?
  package var sources: [SourceSettings]
  package var series: [SeriesSettings]
  /// Federation gateways that own keys are handed to.
  package var destinations: [DestinationSettings] = []
  /// What is shown as its origin has signed it.
  package var mirrors: [MirrorSettings] = []
  /// Where bundles are published on this machine, or where the copy of the bucket lies; `nil` where the gateway only receives.
  package var publicationFolder: String?
  /// The bucket that is published into; `nil` where it is the folder.
  package var publicationBucket: BucketSettings?
  /// The gateway's own origins: their keys are recognised when they come back.
  /// The public log of what is published; `nil` where there is none.
  package var log: EvidenceSettings?
  package var ownOrigins: Set<String>
  package var retention: Retention
  /// Seconds after which it is an alarm that no source could be pulled, 60...2592000.
  package var silenceLimit: Int64 = 21_600
  /// Seconds without a new key after which a source that answers is behind; `nil` is never.
  package var behindLimit: Int64?
  /// How far the system's clock may step.
  package var clock = ClockBounds()
  /// `nil` where the gateway does not serve.
  package var server: ServerSettings?
  /// Where operators are answered; `nil` is at the address of phones.
  package var operators: OperatorsSettings?
  /// Whose keys come in by the server's doors, in the order of its settings.
  package var uploads: [UploadSource]
  /// `nil` where this is no gateway for national back ends.
  package var federation: FederationGatewaySettings?

  package init(
    stateFolder: String, sources: [SourceSettings] = [], series: [SeriesSettings] = [],
    publicationFolder: String? = nil, ownOrigins: Set<String> = [], retention: Retention = Retention(),
    server: ServerSettings? = nil, uploads: [UploadSource] = []
  ) {
    self.stateFolder = stateFolder
    self.sources = sources
    self.series = series
    self.publicationFolder = publicationFolder
    self.ownOrigins = ownOrigins
    self.retention = retention
    self.server = server
    self.uploads = uploads
  }

  /// What this process is called among those that share its store, and for how long it takes a piece of work.
  package var replica: (name: ReplicaName, lease: Duration) {
    (database?.replica ?? .ofMachine, .seconds(database?.leaseSeconds ?? 15))
  }

  /// Whose clock it is; `nil` where the store has one owner.
  package var clockOwner: ReplicaName? { database?.replica }

  /// Where the store is.
  package var store: StoreAddress { database.map(StoreAddress.postgresql) ?? .folder(stateFolder) }

  /// Series whose folders are among the published ones, and that are configured no more; by name.
  package var leftSeries: [String] {
    publicationFolder.map { LeftSeries.names(in: $0, except: Set(series.map(\.name) + mirrors.map(\.name))) } ?? []
  }

  /// What claims call their sources: those that are asked, the doors for uploads, and national back ends.
  package var sourceNames: [String] {
    let asked = sources.map(\.name)
    return asked + uploads.map(\.name).filter { !asked.contains($0) } + federationSources
  }

  /// How evidence is read: sources that are asked, and what national back ends upload.
  package var readSources: [SourceSettings] {
    sources + (federation.map { settings in settings.countries.map(settings.readingSource) } ?? [])
  }

  /// The sources of which nothing is published, as the configuration says.
  package var rehearsals: Set<String> {
    Set(sources.filter(\.isRehearsal).map(\.name))
      .union((federation?.rehearsals ?? []).map(FederationGatewaySettings.source))
  }

  /// What claims call the uploads of national back ends; no source has a slash in its name.
  package var federationSources: [String] {
    (federation?.countries ?? []).map(FederationGatewaySettings.source)
  }
}

/// What the operator says, without its secrets: nobody is asked with it, and nothing is signed.
package struct OperatorsPlan: Sendable {
  private let plan: GatewayPlan

  /// Every region and origin that the configuration names anywhere.
  package let namedCodes: Set<String>

  init(_ plan: GatewayPlan, namedCodes: Set<String>) {
    self.plan = plan
    self.namedCodes = namedCodes
  }

  package var stateFolder: String { plan.stateFolder }
  package var clockOwner: ReplicaName? { plan.clockOwner }
  /// Where the store is; whoever asks it has to reach it.
  package var store: StoreAddress { plan.store }
  package var publicationFolder: String? { plan.publicationFolder }
  /// Nobody signs requests with it.
  package var publicationBucket: BucketSettings? { plan.publicationBucket }
  package var log: EvidenceSettings? { plan.log }
  package var sources: [SourceSettings] { plan.sources }
  package var sourceNames: [String] { plan.sourceNames }
  package var ownOrigins: Set<String> { plan.ownOrigins }
  package var retention: Retention { plan.retention }
  package var leftSeries: [String] { plan.leftSeries }
  package var uploads: [UploadSource] { plan.uploads }
  package var federationSources: [String] { plan.federationSources }
  package var federation: FederationGatewaySettings? { plan.federation }
  package var rehearsals: Set<String> { plan.rehearsals }
  package var mirrors: [MirrorSettings] { plan.mirrors }
  /// Nobody signs with them.
  package var destinations: [DestinationSettings] { plan.destinations }
  package var clock: ClockBounds { plan.clock }
  package var behindLimit: Int64? { plan.behindLimit }
  /// The files of our TLS certificates, by the address that shows each.
  package var certificateFiles: [(address: String, file: String)] { plan.certificateFiles }
  /// Their identities have names and times, and keys of nobody.
  package var series: [SeriesSettings] { plan.series }
}

extension GatewayPlan {
  /// The files of our TLS certificates, by the address that shows each.
  package var certificateFiles: [(address: String, file: String)] {
    [("server", server?.certificateFile), ("federation", server?.federationDoor?.certificateFile)]
      .compactMap { name, file in file.map { (name, $0) } }
  }
}
