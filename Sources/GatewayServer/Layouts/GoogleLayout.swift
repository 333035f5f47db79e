internal import ExposureKeys
internal import KeyPublishing

/// The layout of Google's key server, for its apps and Exposure Notifications Express.
///
/// - `/{series}/index.txt` names every listed increment, oldest first, one path a line, relative to the base address
///   `/`. `/index.txt` is the one of the default series. Lines are only added at the end and only removed from the
///   front, so that an app that remembers the last line finds everything new behind it. Empty when nothing is listed.
/// - `/{series}/{file}.zip` is an archive, of whichever kind.
/// - `/roaming.json` is the roaming map of Google's Android app: for each country the pairs `{"index", "base"}` that
///   an app adds after a visit. The pair of the travel series follows the country's own.
package struct GoogleLayout: Layout {
  package static let name = "google"
  package static let title = "Google apps and Exposure Notifications Express"
  package static let summary = "index.txt and archives: Google's apps, EN Express"
  package static var templates: [String] { Address.allCases.map(\.rawValue) }

  enum Address: String, AddressTemplates {
    case defaultIndex = "/index.txt"
    case index = "/{series}/index.txt"
    case archive = "/{series}/{file}.zip"
    case roaming = "/roaming.json"
  }

  private static let addresses = AddressTable<Address>()
  private let countries: CountrySeries
  private let travelSeries: String?

  /// - Parameters:
  ///   - roaming: country codes (ISO 3166-1 alpha-2) to the series of each; where it is empty, each series but the
  ///     travel series is a country of its name.
  ///   - travelSeries: the series of the merged keys for travellers.
  package init(_ settings: LayoutSettings) {
    self.init(roaming: settings.server.roaming, travelSeries: settings.server.travelSeries)
  }

  package init(roaming: [String: String] = [:], travelSeries: String? = nil) {
    countries = CountrySeries(roaming)
    self.travelSeries = travelSeries
  }

  package var sharedAddresses: [ConfiguredAddress] { [.init("Roaming map of the Android app", "roaming.json")] }

  package func addresses(of series: String) -> [ConfiguredAddress] {
    [.init("Index file", "\(series)/index.txt"), .init("Base address of its lines", "")]
  }

  package func answer(_ request: LayoutRequest, from publications: Publications) -> LayoutAnswer? {
    guard let (address, values) = Self.addresses.match(request.path) else { return nil }
    switch address {
    case .roaming: return .json(roamingMap(request.baseURL, publications))
    case .defaultIndex: return publications[nil].map(index) ?? .noSeries(publications)
    case .index: return publications[values[0]].map(index) ?? .noSeries(publications)
    case .archive:
      guard let series = publications[values[0]] else { return .noSeries(publications) }
      guard let bundle = series[fileName: values[1] + ".zip"] else { return .missing("no such archive") }
      return LayoutAnswer(.archive(bundle), cache: .immutable)
    }
  }

  private func index(of series: PublishedSeries) -> LayoutAnswer {
    let folder = PercentEncoding.encode(series.manifest.series)
    let text = series.listedIncrements.map { "\(folder)/\(PercentEncoding.encode($0.fileName))" }.joined(
      separator: "\n")
    return LayoutAnswer(.bytes(Array(text.utf8), mediaType: "text/plain; charset=utf-8"), cache: .list)
  }

  private struct Pair: Encodable {
    let index: String
    let base: String

    init(_ series: PublishedSeries, _ baseURL: String) {
      index = "\(baseURL)/\(PercentEncoding.encode(series.manifest.series))/index.txt"
      base = baseURL
    }
  }

  private func roamingMap(_ baseURL: String, _ publications: Publications) -> [String: [Pair]] {
    let travel = travelSeries.flatMap { publications[$0] }
    var map: [String: [Pair]] = [:]
    for (code, series) in countries.countries(in: publications) {
      if let travel, series.manifest.series == travel.manifest.series {
        // A country whose series is the merged one has no other; the merged series as such is no country.
        if !countries.isStated { continue }
        map[code] = [Pair(series, baseURL)]
      } else {
        map[code] = [Pair(series, baseURL)] + (travel.map { [Pair($0, baseURL)] } ?? [])
      }
    }
    return map
  }
}
