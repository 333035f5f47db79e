/// An address that an app, an operator or an auditor puts into a configuration.
struct AppAddress: Encodable, Hashable {
  /// The layout it belongs to, or `files`.
  var layout: String
  /// For people: what it is.
  var purpose: String
  var url: String
}

/// What is entered where, for each layout that is served.
struct AppAddressing {
  let settings: ServerSettings
  let layouts: [String]
  let baseURL: String

  /// The addresses that are not of one series.
  var shared: [AppAddress] {
    layouts.flatMap { layout in
      switch layout {
      case "google": [address(layout, "Roaming map of the Android app", "roaming.json")]
      case "corona-warn-app": [address(layout, "Countries", "version/v1/diagnosis-keys/country")]
      default: [AppAddress]()
      }
    }
  }

  /// What an app that is served this series is configured with.
  func addresses(of series: String) -> [AppAddress] {
    let ofLayouts = layouts.flatMap { layout in
      switch layout {
      case "google":
        [
          address(layout, "Index file", "\(series)/index.txt"),
          AppAddress(layout: layout, purpose: "Base address of its lines", url: "\(baseURL)/"),
        ]
      case "apple":
        [
          address(layout, "Files for getDiagnosisKeyFileURLs", "apple/\(series)/files?startingAt=0"),
          address(layout, "Exposure configuration", "apple/\(series)/configuration"),
          address(layout, "Pages of keys for the beta", "apple/\(series)/keys?index=0"),
        ]
      case "dp3t": [address(layout, "Bucket and config address", "dp3t/\(series)")]
      case "corona-warn-app":
        country(of: series, in: layout).map {
          [address(layout, "Days", "version/v1/diagnosis-keys/country/\($0)/date")]
        } ?? []
      case "immuni":
        country(of: series, in: layout).map { [address(layout, "Index", "v1/keys/eu/\($0)/index")] } ?? []
      default: [AppAddress]()
      }
    }
    return ofLayouts + [
      address("files", "Manifest", "\(series)/manifest.json"),
      address("files", "Public keys for keyferry verify --trust", "\(series)/\(PublicKeyRing.fileName)"),
      address("files", "Digests for sha256sum -c", "\(series)/SHA256SUMS"),
    ]
  }

  /// The first country of a layout that is served this series; `nil` where none is.
  private func country(of series: String, in layout: String) -> String? {
    guard let countries = settings.countries[layout], !countries.isEmpty else { return series }
    return countries.filter { $0.value == series }.map(\.key).sorted().first
  }

  private func address(_ layout: String, _ purpose: String, _ path: String) -> AppAddress {
    AppAddress(layout: layout, purpose: purpose, url: "\(baseURL)/\(path)")
  }

  /// What a layout is called among people.
  static func title(of layout: String) -> String {
    switch layout {
    case "google": "Google apps and Exposure Notifications Express"
    case "apple": "Apps from Apple’s sample"
    case "dp3t": "DP-3T apps"
    case "corona-warn-app": "Corona-Warn-App and its kin"
    case "immuni": "Immuni"
    case "files": "Servers and auditors"
    default: layout
    }
  }
}
