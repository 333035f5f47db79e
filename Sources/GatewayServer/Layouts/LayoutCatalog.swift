/// The layouts that a server answers, in the order in which they are asked; ``all`` has those that there are.
package struct LayoutCatalog: Sendable {
  package static let all: [any Layout.Type] = [
    GoogleLayout.self, AppleLayout.self, DP3TLayout.self, CoronaWarnAppLayout.self, ImmuniLayout.self,
  ]

  /// Those of all layouts, by their names.
  static let parameters = Dictionary(
    all.flatMap { $0.parameters }.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

  package let layouts: [any Layout]

  /// - Parameters:
  ///   - layouts: all there are.
  ///   - names: those that are served; `nil` is all.
  package init(_ layouts: [any Layout], serving names: Set<String>? = nil) {
    self.layouts = layouts.filter { names?.contains(type(of: $0).name) ?? true }
  }

  /// The layouts that the operator chose.
  package init(_ settings: LayoutSettings) {
    self.init(Self.all.map { $0.init(settings) }, serving: settings.server.layouts)
  }

  package var names: [String] { layouts.map { type(of: $0).name } }
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
