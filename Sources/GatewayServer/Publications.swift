package import KeyPublishing

/// What is published at one moment: the manifests of all series, and where their files are. A value; the server makes a
/// new one when a manifest changes.
package struct Publications: Sendable {
  /// In the order of the configuration, or by name.
  package let series: [PublishedSeries]
  /// For apps that ask for no series.
  package let defaultSeries: String?

  /// - Parameter configured: the names of all series that are to be published, or are already.
  package init(series: [PublishedSeries], defaultSeries: String? = nil, configured: [String] = []) {
    self.series = series
    self.defaultSeries = defaultSeries
    self.configured = Set(configured.map { $0.lowercased() })
    byName = Dictionary(series.map { ($0.manifest.series.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
  }

  private let byName: [String: PublishedSeries]
  private let configured: Set<String>

  /// Whether there is a series of this name, in any case, or there will be when something of it is published.
  func knows(_ name: String) -> Bool { byName[name.lowercased()] != nil || configured.contains(name.lowercased()) }

  /// By its name in any case; `nil` asks for the default one.
  package subscript(name: String?) -> PublishedSeries? {
    guard let name = name ?? defaultSeries else { return series.first }
    return byName[name.lowercased()]
  }
}

/// One series and its bundles by kind, each oldest first.
package struct PublishedSeries: Sendable {
  package let manifest: SeriesManifest
  /// Every increment ever, by ordinal; those that are not listed may have no file any more.
  package let increments: [PublishedBundle]
  /// Days by their window; of one day the newest last.
  package let days: [PublishedBundle]
  /// Everything since a midnight, by start and end.
  package let since: [PublishedBundle]
  /// Everything about the keys of one day, by day and end.
  package let keyDays: [PublishedBundle]
  /// Everything published in a day or a part of it, by ordinal.
  package let editions: [PublishedBundle]
  /// What the new keys of the listed increments say; `nil` where they were not counted.
  var tally: KeyTally?

  package init(_ manifest: SeriesManifest) {
    self.manifest = manifest
    let all = manifest.bundles.map { PublishedBundle(series: manifest.series, $0) }
    increments = all.filter { $0.facts.kind == "increment" }.sorted { $0.facts.ordinal < $1.facts.ordinal }
    let byWindow = { (left: PublishedBundle, right: PublishedBundle) in
      (left.facts.start, left.facts.end, left.facts.ordinal) < (right.facts.start, right.facts.end, right.facts.ordinal)
    }
    days = all.filter { $0.facts.kind == "day" }.sorted(by: byWindow)
    since = all.filter { $0.facts.kind == "since" }.sorted(by: byWindow)
    keyDays = all.filter { $0.facts.kind == "key-day" }.sorted(by: byWindow)
    editions = all.filter { $0.facts.kind == "edition" }.sorted { $0.facts.ordinal < $1.facts.ordinal }
    byFileName = Dictionary(all.map { ($0.fileName, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// All kinds.
  package var bundles: [PublishedBundle] { increments + days + since + keyDays + editions }

  private let byFileName: [String: PublishedBundle]

  /// The bundle of any kind whose path ends in this name.
  package subscript(fileName fileName: String) -> PublishedBundle? { byFileName[fileName] }
}

/// One published bundle.
package struct PublishedBundle: Hashable, Sendable {
  package let series: String
  package let facts: SeriesManifest.Bundle
  /// The last part of its path; unique among all bundles of a series.
  package let fileName: String

  package init(series: String, _ facts: SeriesManifest.Bundle) {
    self.series = series
    self.facts = facts
    fileName = facts.path.split(separator: "/").last.map(String.init) ?? facts.path
  }
}
