import Crypto
import ExposureKeys
import KeyPublishing

/// The layout of Germany's Corona-Warn-App, also used in Belgium and Slovenia. Below `/version/v1/diagnosis-keys`:
///
/// - `/country` lists the country codes.
/// - `/country/{country}/date` lists the days (`2021-01-03`) before today for which there is a complete roll-up, and
///   `/country/{country}/date/{date}` is that roll-up. Days far in the future that a clock which was ahead has passed over are
///   among them.
/// - `/country/{country}/date/{date}/hour` lists the hours (0...23) of a day for which there is an increment, and
///   `…/hour/{hour}` is that increment. The increment of a window stands under the window's last hour. Hours without
///   an increment are not listed, and neither are those with more than one, which happens where windows are shorter
///   than an hour or were split: the day's roll-up has their keys.
///
/// A series must make roll-ups of days. A day with several roll-ups is not listed. A series that publishes no bundles for empty
/// windows has gaps in its hours.
///
/// `cwa-hash` is the hexadecimal MD5 of the MD5 of `export.bin`: equal for equal keys, though signatures differ.
package struct CoronaWarnAppLayout: Layout {
  package static let name = "corona-warn-app"
  package static let title = "Corona-Warn-App and its kin"
  package static let summary = "by day and hour: Corona-Warn-App"
  package static var templates: [String] { Address.allCases.map(\.rawValue) }
  package static let namesCountries = true

  enum Address: String, AddressTemplates {
    case countries = "/version/v1/diagnosis-keys/country"
    case dates = "/version/v1/diagnosis-keys/country/{country}/date"
    case date = "/version/v1/diagnosis-keys/country/{country}/date/{date}"
    case hours = "/version/v1/diagnosis-keys/country/{country}/date/{date}/hour"
    case hour = "/version/v1/diagnosis-keys/country/{country}/date/{date}/hour/{hour}"
  }

  private static let addresses = AddressTable<Address>()
  private let countries: CountrySeries

  /// - Parameter countries: country codes to the series of each; where it is empty, series are countries.
  package init(_ settings: LayoutSettings) {
    self.init(countries: settings.server.countries[Self.name] ?? [:])
  }

  package init(countries: [String: String] = [:]) { self.countries = CountrySeries(countries) }

  package var sharedAddresses: [ConfiguredAddress] { [.init("Countries", "version/v1/diagnosis-keys/country")] }

  package func addresses(of series: String) -> [ConfiguredAddress] {
    countries.code(of: series).map { [.init("Days", "version/v1/diagnosis-keys/country/\($0)/date")] } ?? []
  }

  package func answer(_ request: LayoutRequest, from publications: Publications) -> LayoutAnswer? {
    guard let (address, values) = Self.addresses.match(request.path) else { return nil }
    switch address {
    case .countries: return list(countries.countries(in: publications).map(\.code))
    case .dates:
      return answer(country: values[0], in: publications) { series in
        list(days(of: series, before: request.now).keys.sorted().map(\.description))
      }
    case .date:
      return answer(country: values[0], date: values[1], in: publications) { series, day in
        archive(days(of: series, before: request.now)[day])
      }
    case .hours:
      return answer(country: values[0], date: values[1], in: publications) { series, day in
        list(hours(of: series, day).keys.sorted())
      }
    case .hour:
      return answer(country: values[0], date: values[1], in: publications) { series, day in
        archive(decimal(values[2]).flatMap { hours(of: series, day)[$0] })
      }
    }
  }

  private func answer(
    country: String, in publications: Publications, _ answer: (PublishedSeries) -> LayoutAnswer
  ) -> LayoutAnswer {
    countries.series(of: country, in: publications).map(answer) ?? countries.missing(in: publications)
  }

  private func answer(
    country: String, date: String, in publications: Publications, _ answer: (PublishedSeries, Day) -> LayoutAnswer
  ) -> LayoutAnswer {
    self.answer(country: country, in: publications) { series in
      Day(date).map { answer(series, $0) } ?? .missing("a date is yyyy-MM-dd")
    }
  }

  /// The only listed roll-up of each day that is over. A day of the future that a clock which was ahead has passed over is, too:
  /// apps ask for the hours of today alone, and would have its keys when they are too old.
  private func days(of series: PublishedSeries, before now: Instant) -> [Day: PublishedBundle] {
    let listed = series.days.filter { $0.facts.isListed && ($0.day < now.day || series.isPassedOver($0.day)) }
    return Dictionary(grouping: listed, by: \.day).compactMapValues { $0.count == 1 ? $0[0] : nil }
      .filter { series.isOver($0.key) }
  }

  /// The only listed increment of each hour.
  private func hours(of series: PublishedSeries, _ day: Day) -> [Int64: PublishedBundle] {
    let increments = series.listedIncrements.filter { $0.day == day }.map { bundle in
      // From the start, because the end of a window that was split is moved.
      let last = bundle.facts.start - day.start.secondsSince1970 + max(series.manifest.period, 1) - 1
      return (hour: min(last / 3600, 23), bundle: bundle)
    }
    return Dictionary(grouping: increments, by: \.hour).compactMapValues { $0.count == 1 ? $0[0].bundle : nil }
  }

  private func list(_ values: some Encodable) -> LayoutAnswer { .json(values, cache: .seconds(300)) }

  private func archive(_ bundle: PublishedBundle?) -> LayoutAnswer {
    guard let bundle else { return .missing("no such archive") }
    return LayoutAnswer(
      .archive(bundle), cache: .seconds(300),
      exportHeaders: [.init(name: "cwa-hash", value: Self.contentHash)])
  }

  private static func contentHash(_ export: [UInt8]) -> String {
    Hexadecimal.encode(Insecure.MD5.hash(data: Array(Insecure.MD5.hash(data: export))))
  }
}
