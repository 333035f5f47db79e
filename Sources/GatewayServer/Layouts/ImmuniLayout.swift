internal import KeyPublishing

/// The layout of Italy's Immuni: increments by number, the first ever is 1.
///
/// - `/v1/keys/index` is `{"oldest":n,"newest":m}` of the default series, 404 while nothing is listed. Every number from
///   `oldest` to `newest` is there.
/// - `/v1/keys/{number}` is an archive. A number always means the same archive.
/// - `/v1/keys/eu/{country}/index` and `/v1/keys/eu/{country}/{number}` are the same for the series of a country.
package struct ImmuniLayout: Layout {
  package static let name = "immuni"
  package static let title = "Immuni"
  package static let summary = "by number: Immuni"
  package static var templates: [String] { Address.allCases.map(\.rawValue) }
  package static let namesCountries = true

  enum Address: String, AddressTemplates {
    case index = "/v1/keys/index"
    case archive = "/v1/keys/{number}"
    case countryIndex = "/v1/keys/eu/{country}/index"
    case countryArchive = "/v1/keys/eu/{country}/{number}"
  }

  private static let addresses = AddressTable<Address>()
  private let countries: CountrySeries

  /// - Parameter countries: country codes to the series of each; where it is empty, series are countries.
  package init(_ settings: LayoutSettings) {
    self.init(countries: settings.server.countries[Self.name] ?? [:])
  }

  package init(countries: [String: String] = [:]) { self.countries = CountrySeries(countries) }

  package func addresses(of series: String) -> [ConfiguredAddress] {
    countries.code(of: series).map { [.init("Index", "v1/keys/eu/\($0)/index")] } ?? []
  }

  package func answer(_ request: LayoutRequest, from publications: Publications) -> LayoutAnswer? {
    guard let (address, values) = Self.addresses.match(request.path) else { return nil }
    switch address {
    case .index: return publications[nil].map(index) ?? .noSeries(publications)
    case .archive: return publications[nil].map { archive(values[0], of: $0) } ?? .noSeries(publications)
    case .countryIndex:
      return countries.series(of: values[0], in: publications).map(index) ?? countries.missing(in: publications)
    case .countryArchive:
      return countries.series(of: values[0], in: publications).map { archive(values[1], of: $0) }
        ?? countries.missing(in: publications)
    }
  }

  private struct Range: Encodable {
    let oldest: Int
    let newest: Int
  }

  /// The newest run of listed increments: apps fetch every number between the two, and stop at one that is not there.
  private func index(of series: PublishedSeries) -> LayoutAnswer {
    let ordinals = series.listedIncrements.map(\.facts.ordinal)
    guard let newest = ordinals.last else { return .missing("nothing is published") }
    var oldest = newest
    for ordinal in ordinals.reversed().dropFirst() where ordinal == oldest - 1 { oldest = ordinal }
    return .json(Range(oldest: oldest + 1, newest: newest + 1), cache: .seconds(1800))
  }

  private func archive(_ number: String, of series: PublishedSeries) -> LayoutAnswer {
    guard let number = decimal(number), let bundle = series.increment(ordinal: number - 1) else {
      return .missing("no such archive")
    }
    return LayoutAnswer(.archive(bundle), cache: .seconds(Int(15 * secondsPerDay)))
  }
}
