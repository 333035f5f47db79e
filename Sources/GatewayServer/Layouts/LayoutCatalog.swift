/// The layouts that a server answers, in the order in which they are asked; ``all`` describes those that there are.
package struct LayoutCatalog: Sendable {
  package static let all: [LayoutDescription] = [
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
      CoronaWarnAppLayout(countries: $0.server.countries[CoronaWarnAppLayout.name] ?? [:])
    },
    describe(ImmuniLayout.self, ImmuniLayout.Address.self, "by number: Immuni") {
      ImmuniLayout(countries: $0.server.countries[ImmuniLayout.name] ?? [:])
    },
  ]

  /// Layouts whose addresses name a country, so that `server.countries` can have a map for each.
  package static let layoutsOfCountries = [CoronaWarnAppLayout.name, ImmuniLayout.name]

  package let layouts: [any Layout]

  /// - Parameters:
  ///   - layouts: all there are.
  ///   - names: those that are served; `nil` is all.
  package init(_ layouts: [any Layout], serving names: Set<String>? = nil) {
    self.layouts = layouts.filter { names?.contains(type(of: $0).name) ?? true }
  }

  /// The layouts that the operator chose.
  package init(_ settings: LayoutSettings) {
    self.init(Self.all.map { $0.make(settings) }, serving: settings.server.layouts)
  }

  package var names: [String] { layouts.map { type(of: $0).name } }

  private static func describe<Made: Layout, Address: AddressTemplates>(
    _ layout: Made.Type, _ addresses: Address.Type, _ summary: String,
    _ make: @escaping @Sendable (LayoutSettings) -> Made
  ) -> LayoutDescription {
    LayoutDescription(
      name: layout.name, summary: summary, addresses: addresses.allCases.map(\.rawValue), make: { make($0) })
  }
}

/// One layout of the catalogue.
package struct LayoutDescription: Sendable {
  /// As the configuration names it.
  package let name: String
  /// For people.
  package let summary: String
  /// Templates of every address that it answers: `/{series}/index.txt`. Where two fit, the one that comes first.
  package let addresses: [String]
  package let make: @Sendable (LayoutSettings) -> any Layout
}

/// What layouts are made from.
package struct LayoutSettings: Sendable {
  package var server: ServerSettings
  package var exposureConfiguration: ServedConfiguration
  package var dp3tApplication: DP3TApplicationSettings

  /// `interOpsCountries` of the DP-3T layout are the countries of the roaming map.
  package init(_ server: ServerSettings, exposureConfiguration: ServedConfiguration) {
    self.server = server
    self.exposureConfiguration = exposureConfiguration
    dp3tApplication = DP3TApplicationSettings()
    dp3tApplication.interOpsCountries = server.roaming.keys.sorted()
    // What was read was checked then.
    if let stated = server.dp3tConfiguration, let settings = try? DP3TApplicationSettings(json: Array(stated.utf8)) {
      let countries = dp3tApplication.interOpsCountries
      dp3tApplication = settings
      if settings.interOpsCountries.isEmpty { dp3tApplication.interOpsCountries = countries }
    }
  }

  /// - Parameter exposureConfiguration: JSON.
  package init(_ server: ServerSettings, exposureConfiguration: [UInt8]) {
    self.init(server, exposureConfiguration: ServedConfiguration(exposureConfiguration))
  }
}
