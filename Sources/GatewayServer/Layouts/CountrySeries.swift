import KeyPublishing

/// Which series an app gets that asks for a country.
struct CountrySeries: Sendable {
  private let stated: [String: String]
  /// Whether countries were named, or the series are the countries.
  var isStated: Bool { !stated.isEmpty }

  /// - Parameter stated: country codes to the names of series. Where it is empty, a series is asked for by its own name.
  init(_ stated: [String: String]) {
    self.stated = Dictionary(
      stated.map { ($0.key.uppercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// By its code in any case.
  func series(of country: String, in publications: Publications) -> PublishedSeries? {
    if stated.isEmpty { return publications[country] }
    return stated[country.uppercased()].flatMap { publications[$0] }
  }

  /// The first country that is served this series; `nil` where none is.
  func code(of series: String) -> String? {
    stated.isEmpty ? series : stated.filter { $0.value == series }.keys.min()
  }

  /// 404, with the countries that there are.
  func missing(in publications: Publications) -> LayoutAnswer {
    stated.isEmpty
      ? .noSeries(publications)
      : .missing("no such country; there are: \(countries(in: publications).map(\.code).joined(separator: ", "))")
  }

  /// The countries whose series is published, in the order of their codes.
  func countries(in publications: Publications) -> [(code: String, series: PublishedSeries)] {
    if stated.isEmpty {
      return publications.series.map { ($0.manifest.series, $0) }.sorted { $0.0 < $1.0 }
    }
    return stated.sorted { $0.key < $1.key }.compactMap { code, name in publications[name].map { (code, $0) } }
  }
}
