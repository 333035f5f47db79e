import ExposureKeys
import KeyFormats
internal import KeyPublishing

/// The layout for apps that were made from Apple's sample, which has a server only as a stub: the answers have the
/// meaning of its methods. Without `{series}` the default series is meant.
///
/// - `/apple/{series}/files?startingAt=N` is what `getDiagnosisKeyFileURLs(startingAt:)` returns: a JSON array of one
///   absolute URL an archive, oldest first. Archives are the series' editions, since iOS 13.5 takes fifteen files in 24
///   hours and a new phone is given all of them in one call; where a series makes no editions they are its windows. The sample counts files, two an archive (`.bin` and `.sig`), so archive
///   *k* has the places 2*k* and 2*k* + 1, and N is rounded up to an even number; with `unit=archives` archives are
///   counted. An expired archive keeps its places but is not listed. `x-next-index` is where to go on. An app that
///   adds two for each archive instead comes to the same number unless archives had expired before it came; then it
///   gets some archives again, and never misses one.
/// - `/apple/{series}/archives/{name}` is an archive, and with `.bin` or `.sig` behind the name a file of it. Names are
///   unique over all series, because an app names local files after them and phones pair files by name.
/// - `/apple/{series}/keys?index=N&maximumCount=M` is a page of keys for the apps of the beta:
///   `{"keys":[CodableDiagnosisKey…],"done":…,"nextIndex":…}`. A key's place is counted over the released keys of all
///   increments by ordinal, those of expired ones included; revised keys have no place, because these apps know of no
///   revision. A page has exactly M keys, or all that are left and `done`: the sample goes on at N + M, whatever it was
///   given, so that a shorter page would lose keys for ever. A larger M than is allowed is refused.
/// - `/apple/{series}/configuration` is the exposure configuration for every generation.
package struct AppleLayout: Layout {
  package static let name = "apple"
  package static let title = "Apps from Apple’s sample"
  package static let summary = "lists of files and pages of keys: Apple's sample app"
  package static var templates: [String] { Address.allCases.map(\.rawValue) }
  package static let parameters: [QueryParameter] = [.index, .maximumCount, .startingAt, .unit]

  /// The most keys that a page may be asked for.
  package static let maximumPage: Int64 = 10_000

  enum Address: String, AddressTemplates {
    case defaultFiles = "/apple/files"
    case defaultKeys = "/apple/keys"
    case defaultConfiguration = "/apple/configuration"
    case files = "/apple/{series}/files"
    case keys = "/apple/{series}/keys"
    case configuration = "/apple/{series}/configuration"
    case export = "/apple/{series}/archives/{name}.bin"
    case signature = "/apple/{series}/archives/{name}.sig"
    case archive = "/apple/{series}/archives/{name}"
  }

  private static let addresses = AddressTable<Address>()
  private let configuration: ServedConfiguration

  package init(_ settings: LayoutSettings) {
    self.init(configuration: settings.exposureConfiguration)
  }

  package init(configuration: ServedConfiguration) { self.configuration = configuration }

  /// - Parameter configuration: the JSON of the exposure configuration.
  package init(configuration: [UInt8]) { self.init(configuration: ServedConfiguration(configuration)) }

  package func addresses(of series: String) -> [ConfiguredAddress] {
    [
      .init("Files for getDiagnosisKeyFileURLs", "apple/\(series)/files?startingAt=0"),
      .init("Exposure configuration", "apple/\(series)/configuration"),
      .init("Pages of keys for the beta", "apple/\(series)/keys?index=0"),
    ]
  }

  package func answer(_ request: LayoutRequest, from publications: Publications) -> LayoutAnswer? {
    guard let (address, values) = Self.addresses.match(request.path) else { return nil }
    // It is the same for every series, and apps ask for it before anything is published.
    if address == .defaultConfiguration || (address == .configuration && publications.knows(values[0])) {
      return LayoutAnswer(.bytes(configuration.json, mediaType: "application/json"), cache: .list)
    }
    guard let series = publications[values.first] else { return .noSeries(publications) }
    switch address {
    case .defaultFiles, .files: return files(of: series, request)
    case .defaultKeys, .keys: return keys(of: series, request)
    case .defaultConfiguration, .configuration: return .noSeries(publications)
    case .archive: return bundle(values[1], of: series) { .archive($0) }
    case .export: return bundle(values[1], of: series) { .member($0, .export) }
    case .signature: return bundle(values[1], of: series) { .member($0, .signature) }
    }
  }

  // MARK: Archives

  private func files(of series: PublishedSeries, _ request: LayoutRequest) -> LayoutAnswer {
    guard let start = request.count(.startingAt, absent: 0) else {
      return .invalid("startingAt is the number of the first file, allowed 0...\(Int64.max)")
    }
    let filesOfArchive: Int64
    switch request.query[.unit] ?? "files" {
    case "files": filesOfArchive = 2
    case "archives": filesOfArchive = 1
    default: return .invalid("unit is what startingAt counts, allowed files, archives")
    }
    let first = start / filesOfArchive + (start % filesOfArchive == 0 ? 0 : 1)
    let archives = series.manifest.editionsPerDay == nil ? series.increments : series.editions
    let urls = archives.filter { $0.facts.isListed && $0.facts.ordinal >= first }.map { bundle in
      let folder = PercentEncoding.encode(series.manifest.series)
      return "\(request.baseURL)/apple/\(folder)/archives/\(PercentEncoding.encode(Self.archiveName(of: bundle)))"
    }
    var next = Int64((archives.last?.facts.ordinal ?? -1) + 1)
    // Editions that are gone are counted on; where there is none yet, an app may have been given windows before.
    if series.manifest.editionsPerDay != nil { next = max(next, min(first, Int64.max / filesOfArchive)) }
    next *= filesOfArchive
    return .json(urls, headers: [("x-next-index", String(next))])
  }

  /// Unique over all series, without an ending.
  private static func archiveName(of bundle: PublishedBundle) -> String {
    "\(bundle.series)-\(bundle.fileName.hasSuffix(".zip") ? String(bundle.fileName.dropLast(4)) : bundle.fileName)"
  }

  private func bundle(
    _ name: String, of series: PublishedSeries, _ content: (PublishedBundle) -> LayoutAnswer.Content
  ) -> LayoutAnswer {
    let prefix = series.manifest.series + "-"
    guard name.hasPrefix(prefix), let bundle = series[fileName: name.dropFirst(prefix.count) + ".zip"] else {
      return .missing("no such archive")
    }
    return LayoutAnswer(content(bundle), cache: .immutable)
  }

  // MARK: Pages of keys

  private func keys(of series: PublishedSeries, _ request: LayoutRequest) -> LayoutAnswer {
    guard let index = request.count(.index, absent: 0) else {
      return .invalid("index is the place of the first key, allowed 0...\(Int64.max)")
    }
    guard let maximum = request.count(.maximumCount, absent: 1000), (1...Self.maximumPage).contains(maximum) else {
      return .invalid("maximumCount is how many keys the page has, allowed 1...\(Self.maximumPage)")
    }
    let page = KeyPage(of: series, from: index, count: maximum)
    return LayoutAnswer(
      .page(of: page.parts.map(\.bundle), parameters: page.parameters, mediaType: "application/json") {
        try page.render($0)
      }, cache: .list)
  }
}

/// A run of released keys that stand next to each other in the count over all increments of a series.
struct KeyPage: Sendable {
  struct Part: Sendable {
    let bundle: PublishedBundle
    /// Places among the bundle's released keys.
    let keys: Range<Int64>
  }

  private(set) var parts: [Part] = []
  /// The place behind the last key.
  private(set) var nextIndex: Int64
  /// Whether there is no listed key behind.
  private(set) var isLast = true

  /// The first `count` keys that are still listed from `start` on, or all of them where there are fewer. Those of expired
  /// bundles are passed over.
  init(of series: PublishedSeries, from start: Int64, count: Int64) {
    var place: Int64 = 0
    var left = count
    var end: Int64?
    for bundle in series.increments {
      let keys = place..<place + Int64(max(bundle.facts.keys, 0))
      place = keys.upperBound
      guard bundle.facts.isListed, keys.upperBound > start, !keys.isEmpty else { continue }
      guard left > 0 else {
        isLast = false
        break
      }
      let first = max(start, keys.lowerBound)
      let taken = first..<min(keys.upperBound, first + left)
      parts.append(
        Part(bundle: bundle, keys: taken.lowerBound - keys.lowerBound..<taken.upperBound - keys.lowerBound))
      left -= Int64(taken.count)
      end = taken.upperBound
      if taken.upperBound < keys.upperBound {
        isLast = false
        break
      }
    }
    nextIndex = end ?? place
  }

  /// All of it but the bundles: whatever ``render(_:)`` looks at.
  var parameters: String {
    let keys = parts.map { "\($0.bundle.fileName) \($0.bundle.facts.keys) \($0.keys)" }.joined(separator: "\n")
    return "\(AppleLayout.name) keys \(isLast) \(nextIndex)\n\(keys)"
  }

  /// - Throws: ``FormatError`` when the exports do not hold the keys that the manifest says.
  func render(_ exports: [[UInt8]]) throws -> [UInt8] {
    guard exports.count == parts.count else {
      throw FormatError(.malformed, "a page of \(parts.count) bundles was given \(exports.count)")
    }
    let sink = MemorySink()
    let output = OutputBuffer(sink)
    try output.append("{\"keys\":")
    let encoder = CodableJSONEncoder(output)
    try encoder.begin(ExportHeader())
    for (part, export) in zip(parts, exports) { try Self.write(part, of: export, encoder) }
    try encoder.finish(ExportHeader())
    try output.append(",\"done\":\(isLast),\"nextIndex\":\(nextIndex)}")
    try output.flush()
    return sink.bytes
  }

  private static func write(_ part: Part, of export: [UInt8], _ encoder: CodableJSONEncoder) throws {
    let decoder = ExportDecoder(InputWindow(MemorySource(export)), place: part.bundle.fileName)
    var chunk = KeyChunk()
    var page = KeyBuffer()
    var place: Int64 = 0
    while place < part.keys.upperBound, try decoder.decode(into: &chunk) {
      chunk.keys.withKeys { keys in
        for var key in keys where !key.isRevised {
          if part.keys.contains(place) {
            key.rollingPeriod = key.rollingPeriod ?? 144
            key.transmissionRisk = key.transmissionRisk ?? 0
            page.append(key)
          }
          place += 1
        }
      }
      let (regions, unknownFields) = (decoder.regions, chunk.unknownFields)
      try page.withKeys { try encoder.encode($0, regions: regions, unknownFields: unknownFields) }
      page.removeAll()
      chunk.advance()
    }
    guard place >= part.keys.upperBound else {
      throw FormatError(
        .malformed, place: part.bundle.fileName,
        "it has \(place) released keys, the manifest says \(part.bundle.facts.keys)")
    }
  }
}

extension QueryParameter {
  static let index = QueryParameter("index")
  static let maximumCount = QueryParameter("maximumCount")
  static let startingAt = QueryParameter("startingAt")
  static let unit = QueryParameter("unit")
}
