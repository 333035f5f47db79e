public import Gateway

/// The layouts that a server answers, in the order in which they are asked; ``all`` describes those that there are.
public struct LayoutCatalog: Sendable {
  public static let all: [LayoutDescription] = [
    describe(GoogleLayout.self, GoogleLayout.Address.self, "index.txt and archives: Google's apps, EN Express") {
      GoogleLayout(roaming: $0.server.roaming, travelSeries: $0.server.travelSeries)
    },
    describe(AppleLayout.self, AppleLayout.Address.self, "lists of files and pages of keys: Apple's sample app") {
      AppleLayout(configuration: $0.exposureConfiguration)
    },
    describe(DP3TLayout.self, DP3TLayout.Address.self, "a bundle a day or since a tag, signed answers: DP-3T") {
      DP3TLayout(
        national: $0.server.defaultSeries, federated: $0.server.travelSeries, application: $0.dp3tApplication)
    },
    describe(CoronaWarnAppLayout.self, CoronaWarnAppLayout.Address.self, "by day and hour: Corona-Warn-App") {
      CoronaWarnAppLayout(countries: $0.server.roaming)
    },
    describe(ImmuniLayout.self, ImmuniLayout.Address.self, "by number: Immuni") {
      ImmuniLayout(countries: $0.server.roaming)
    },
  ]

  public let layouts: [any Layout]

  /// - Parameters:
  ///   - layouts: all there are.
  ///   - names: those that are served; `nil` is all.
  public init(_ layouts: [any Layout], serving names: Set<String>? = nil) {
    self.layouts = layouts.filter { names?.contains(type(of: $0).name) ?? true }
  }

  /// The layouts that the operator chose.
  public init(_ settings: LayoutSettings) {
    self.init(Self.all.map { $0.make(settings) }, serving: settings.server.layouts)
  }

  public var names: [String] { layouts.map { type(of: $0).name } }

  private static func describe<Made: Layout, Address: AddressTemplates>(
    _ layout: Made.Type, _ addresses: Address.Type, _ summary: String,
    _ make: @escaping @Sendable (LayoutSettings) -> Made
  ) -> LayoutDescription {
    LayoutDescription(
      name: layout.name, summary: summary, addresses: addresses.allCases.map(\.rawValue), make: { make($0) })
  }
}

/// One layout of the catalogue.
public struct LayoutDescription: Sendable {
  /// As the configuration names it.
  public let name: String
  /// For people.
  public let summary: String
  /// Templates of every address that it answers: `/{series}/index.txt`. Where two fit, the one that comes first.
  public let addresses: [String]
  public let make: @Sendable (LayoutSettings) -> any Layout
}

/// What layouts are made from.
public struct LayoutSettings: Sendable {
  public var server: ServerSettings
  /// JSON.
  public var exposureConfiguration: [UInt8]
  public var dp3tApplication: DP3TApplicationSettings

  /// `interOpsCountries` of the DP-3T layout are the countries of the roaming map.
  public init(_ server: ServerSettings, exposureConfiguration: [UInt8]) {
    self.server = server
    self.exposureConfiguration = exposureConfiguration
    dp3tApplication = DP3TApplicationSettings()
    dp3tApplication.interOpsCountries = server.roaming.keys.sorted()
  }
}
