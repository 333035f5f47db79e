package import ExposureKeys

/// One way of laying out published bundles for apps: what each address of it answers. A pure function of the request
/// and of what is published; the server does the rest (caching, ranges, validators, HEAD, compression, limits).
package protocol Layout: Sendable {
  /// The name under which the configuration and the catalogue know it: `google`, `apple`, `dp3t`, `corona-warn-app`,
  /// `immuni`.
  static var name: String { get }
  /// What it is called among people.
  static var title: String { get }
  /// One line for people: what its addresses are, and whose apps ask.
  static var summary: String { get }
  /// Templates of every address that it answers: `/{series}/index.txt`. Where two fit, the one that comes first.
  static var templates: [String] { get }
  /// The parameters of a query that it reads. The server forgets every other one, which clients invent and no answer depends on.
  static var parameters: [QueryParameter] { get }
  /// Whether its addresses name a country, so that `server.countries` can have a map for it.
  static var namesCountries: Bool { get }

  /// - Parameter settings: what the operator wants.
  init(_ settings: LayoutSettings)

  /// What apps are configured with that do not ask for one series.
  var sharedAddresses: [ConfiguredAddress] { get }
  /// What an app is configured with that is served this series.
  func addresses(of series: String) -> [ConfiguredAddress]

  /// - Returns: `nil` where the address is none of this layout's.
  func answer(_ request: LayoutRequest, from publications: Publications) -> LayoutAnswer?
}

extension Layout {
  package static var parameters: [QueryParameter] { [] }
  package static var namesCountries: Bool { false }
  package var sharedAddresses: [ConfiguredAddress] { [] }
}

/// An address that is entered into an app's configuration.
package struct ConfiguredAddress: Sendable {
  /// For people: what it is.
  let purpose: String
  /// Below the base address.
  let path: String

  init(_ purpose: String, _ path: String) { (self.purpose, self.path) = (purpose, path) }
}

/// A parameter of a query that a layout reads. Each layout declares its own.
package struct QueryParameter: Hashable, Sendable {
  package let name: String

  init(_ name: String) { self.name = name }

  /// - Parameter name: as a client has written it; `nil` where no layout reads such a one.
  package init?(named name: String) {
    guard let known = LayoutCatalog.parameters[name] else { return nil }
    self = known
  }
}

/// A GET (or HEAD) request as layouts see it.
package struct LayoutRequest: Sendable {
  /// The path's segments, percent-decoded; `/v1/keys/index` is `["v1", "keys", "index"]`.
  package var path: [String]
  /// The last value of each.
  package var query: [QueryParameter: String]
  /// What apps see as the beginning of every address, without a slash at the end: `https://keys.example.org`.
  package var baseURL: String
  package var now: Instant

  package init(path: [String], query: [QueryParameter: String] = [:], baseURL: String, now: Instant) {
    self.path = path
    self.query = query
    self.baseURL = baseURL
    self.now = now
  }
}

package struct LayoutAnswer: Sendable {
  package var content: Content
  package var cache: Cache
  package var headers: [(name: String, value: String)]
  /// Headers whose values follow from the `export.bin` of the bundle that is answered.
  package var exportHeaders: [ExportHeader]
  /// Whether the answer is to be signed as the DP-3T response JWT.
  package var isSignedResponse: Bool

  package init(
    _ content: Content, cache: Cache = .list, headers: [(name: String, value: String)] = [],
    exportHeaders: [ExportHeader] = [], isSignedResponse: Bool = false
  ) {
    self.content = content
    self.cache = cache
    self.headers = headers
    self.exportHeaders = exportHeaders
    self.isSignedResponse = isSignedResponse
  }

  package enum Content: Sendable {
    /// A published archive; 404 when its file is gone.
    case archive(PublishedBundle)
    /// `export.bin` or `export.sig` of a published archive; 404 when its file is gone.
    case member(PublishedBundle, Member)
    case bytes([UInt8], mediaType: String)
    /// Computed from the `export.bin` of these bundles, which `render` is given in this order; it throws when they are
    /// not what the manifest says. Nothing but the bundles and the parameters may change what it makes: the server keeps
    /// one page for the same ones.
    case page(
      of: [PublishedBundle], parameters: String, mediaType: String,
      render: @Sendable (_ exports: [[UInt8]]) throws -> [UInt8])
    /// 204.
    case nothing
    case notFound(String)
    case badRequest(String)
  }

  package enum Member: String, Sendable {
    case export = "export.bin"
    case signature = "export.sig"
  }

  package struct ExportHeader: Sendable {
    package var name: String
    /// Its value for these bytes of `export.bin`.
    package var value: @Sendable (_ export: [UInt8]) -> String

    package init(name: String, value: @escaping @Sendable (_ export: [UInt8]) -> String) {
      self.name = name
      self.value = value
    }
  }

  package enum Cache: Hashable, Sendable {
    /// Never changes under this address.
    case immutable
    /// Likewise, for caches that keep it this many seconds.
    case immutableFor(Int)
    /// An index or a list: revalidate after this many seconds, 300 by default.
    case list
    case seconds(Int)
    case never
  }
}
