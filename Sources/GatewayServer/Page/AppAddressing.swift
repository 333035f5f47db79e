/// An address that an app, an operator or an auditor puts into a configuration.
struct AppAddress: Encodable, Hashable {
  /// The layout it belongs to, or `files`.
  var layout: String
  /// What the layout is called among people.
  var title: String
  /// For people: what it is.
  var purpose: String
  var url: String

  private enum CodingKeys: String, CodingKey { case layout, purpose, url }
}

/// What is entered where, for each layout that is served.
struct AppAddressing {
  let layouts: [any Layout]
  let baseURL: String

  /// The addresses that are not of one series.
  var shared: [AppAddress] { layouts.flatMap { addresses($0.sharedAddresses, of: type(of: $0)) } }

  /// What an app that is served this series is configured with.
  func addresses(of series: String) -> [AppAddress] {
    layouts.flatMap { addresses($0.addresses(of: series), of: type(of: $0)) }
      + [
        file("Manifest", "\(series)/manifest.json"),
        file("Public keys for keyferry verify --trust", "\(series)/\(PublicKeyRing.fileName)"),
        file("Digests for sha256sum -c", "\(series)/SHA256SUMS"),
      ]
  }

  private func addresses(_ addresses: [ConfiguredAddress], of layout: any Layout.Type) -> [AppAddress] {
    addresses.map {
      AppAddress(layout: layout.name, title: layout.title, purpose: $0.purpose, url: "\(baseURL)/\($0.path)")
    }
  }

  private func file(_ purpose: String, _ path: String) -> AppAddress {
    AppAddress(layout: "files", title: "Servers and auditors", purpose: purpose, url: "\(baseURL)/\(path)")
  }
}
