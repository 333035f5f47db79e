internal import FoundationEssentials

/// What the series of a log list: do they list what was logged, and for as long as they say?
struct SeriesLists {
  private let known: [String: LogMemory.Bundle]
  private let now: Int
  private(set) var series: [String: LogMemory.Series]
  private(set) var findings: [LogFinding] = []
  private(set) var notes: [String] = []
  /// By series, the paths that its manifest lists.
  private var listed: [String: Set<String>] = [:]
  private var told: Set<String> = []

  private static let fileLimit = 1 << 26
  /// A list may be as old: caches keep it, and a bundle is logged before a list names it.
  private static let listAge = 3600
  /// For how many days a series can list a bundle.
  private static let days = 1...3650

  /// - Parameters:
  ///   - known: what the log says was published, by paths.
  ///   - series: what they have shown before.
  ///   - now: seconds since 1970.
  init(_ known: [String: LogMemory.Bundle], _ series: [String: LogMemory.Series], now: Int) {
    self.known = known
    self.series = series
    self.now = now
  }

  /// Whether a series has a manifest, and does not list this bundle there.
  func leavesOut(_ path: String, _ bundle: LogMemory.Bundle) -> Bool {
    bundle.series.flatMap { listed[$0] }.map { !$0.contains(path) } ?? false
  }

  /// The lists of every series of which the log has bundles.
  mutating func read(from place: any LogSource) async throws {
    let logged = Dictionary(grouping: known) { $0.value.series ?? "" }
    for (name, bundles) in logged.sorted(by: { $0.key < $1.key }) where LogEntry.isPath(name) {
      try await read(name, bundles.map { ($0.key, $0.value) }, from: place)
    }
  }

  private typealias Logged = (path: String, bundle: LogMemory.Bundle)

  /// The index is written last. So it is read first: what it names, the manifest knows.
  private mutating func read(_ name: String, _ logged: [Logged], from place: any LogSource) async throws {
    var shown: Set<String> = []
    func content(_ file: String) async throws -> [UInt8]? {
      guard let bytes = try await place.content(of: "\(name)/\(file)", limit: Self.fileLimit) else { return nil }
      shown.insert(file)
      return bytes
    }
    let index = try await content(Self.index).map(Self.lines)
    let manifestBytes = try await content(Self.manifest)
    let sums = try await place.content(of: "\(name)/\(Self.sums)", limit: Self.fileLimit).map(Self.lines)
    let before = series[name] ?? LogMemory.Series()
    defer { series[name, default: before].lists = before.lists.union(shown) }

    if shown.isEmpty, before.lists.isEmpty {
      notes.append(
        "\(place.name): \(name) has no \(Self.manifest) and no \(Self.index): what it lists was not looked at")
    }
    for file in before.lists.subtracting(shown).sorted() {
      find(.missingList, nil, "\(name)/\(file)", "\(place.name): \(name)/\(file) is not there any more")
    }
    for path in index ?? [] { look(at: path, named: "\(name)/\(Self.index)", place) }
    look(at: sums ?? [], of: name, place)
    guard let manifestBytes else { return }
    guard let manifest = try? JSONDecoder().decode(Manifest.self, from: Data(manifestBytes)) else {
      return find(.unlogged, nil, "\(name)/\(Self.manifest)", "\(place.name): \(name)/\(Self.manifest) cannot be read")
    }
    let listed = manifest.bundles.filter(\.listed)
    self.listed[name] = Set(listed.map(\.path))
    for bundle in listed { look(at: bundle.path, sha256: bundle.sha256, named: "\(name)/\(Self.manifest)", place) }
    // A series that lists bundles for fewer days than before says so once: what it leaves out is named.
    let days = [before.listedDays, manifest.listedDays].compactMap(\.self).filter(Self.days.contains).max()
    series[name, default: before].listedDays = manifest.listedDays ?? before.listedDays
    lookForEarlyLeavers(logged, of: name, days, place)
    if index != nil || before.lists.contains(Self.index) {
      compare(Set(index ?? []), with: listed, of: name, days, place)
    }
  }

  // MARK: What is wrong

  /// Once for each path: three files name it.
  private mutating func find(_ code: LogFinding.Code, _ entry: Int?, _ path: String, _ text: String) {
    guard told.insert("\(code.rawValue) \(path)").inserted else { return }
    findings.append(LogFinding(code: code, entry: entry, path: path, text: text))
  }

  /// A bundle that a list names.
  ///
  /// - Parameter sha256: what the list says of it.
  private mutating func look(at path: String, sha256: String? = nil, named list: String, _ place: any LogSource) {
    func text(_ reason: String) -> String { "\(place.name): \(list) lists \(path), \(reason)" }
    guard let bundle = known[path] else {
      return find(.unlogged, nil, path, text("which is not in the log"))
    }
    if let sha256, sha256 != bundle.sha256 {
      find(.unlogged, bundle.entry, path, text("with another SHA-256 than the log"))
    } else if let withdrawn = bundle.withdrawn {
      find(.unlogged, withdrawn, path, text("which entry \(withdrawn) of the log withdrew"))
    }
  }

  /// What `sha256sum --check` reads in the folder of a series.
  private mutating func look(at sums: [String], of name: String, _ place: any LogSource) {
    for line in sums {
      let parts = line.split(separator: "  ", maxSplits: 1)
      let list = "\(name)/\(Self.sums)"
      guard parts.count == 2 else {
        find(.unlogged, nil, list, "\(place.name): \(list) cannot be read")
        return
      }
      look(at: "\(name)/\(parts[1])", sha256: String(parts[0]), named: list, place)
    }
  }

  /// Increments hold every key once, and leave when they are old; roll-ups leave when a newer one is there.
  private mutating func lookForEarlyLeavers(
    _ logged: [Logged], of name: String, _ days: Int?, _ place: any LogSource
  ) {
    guard let days, let listed = listed[name] else { return }
    for (path, bundle) in logged.sorted(by: { $0.bundle.entry < $1.bundle.entry })
    where !listed.contains(path) && !bundle.hasLeft && isDue(bundle, days) {
      find(
        .leftEarly, bundle.entry, path,
        """
        \(place.name): \(name)/\(Self.manifest) does not list \(path) of entry \(bundle.entry), although \(name) lists \
        bundles for \(days) days, and the log has no entry that says why
        """)
    }
  }

  /// Whether a series that lists bundles for so many days has to list this one. The clock of the publisher, and of who looks,
  /// may be wrong by some hours.
  private func isDue(_ bundle: LogMemory.Bundle, _ days: Int) -> Bool {
    guard bundle.kind == "increment", let end = bundle.end, isKnownForLong(bundle) else { return false }
    let slack = min(86_400, days * 43_200)
    return end > now - days * 86_400 + slack
  }

  private func isKnownForLong(_ bundle: LogMemory.Bundle) -> Bool {
    bundle.at.map { $0 <= now - Self.listAge } ?? false
  }

  private mutating func compare(
    _ index: Set<String>, with listed: [Manifest.Bundle], of name: String, _ days: Int?, _ place: any LogSource
  ) {
    for path in listed.map(\.path) where !index.contains(path) {
      guard let bundle = known[path], bundle.kind == "increment", !bundle.hasLeft, isKnownForLong(bundle),
        days.map({ isDue(bundle, $0) }) ?? true
      else { continue }
      find(
        .notListed, bundle.entry, path,
        "\(place.name): \(name)/\(Self.index) does not name \(path), which \(name)/\(Self.manifest) lists")
    }
  }

  // MARK: Files

  private static let index = "index.txt"
  private static let manifest = "manifest.json"
  private static let sums = "SHA256SUMS"

  private static func lines(_ bytes: [UInt8]) -> [String] {
    bytes.split(separator: 0x0a).map { String(decoding: $0, as: UTF8.self) }
  }

  private struct Manifest: Decodable {
    struct Bundle: Decodable {
      let path: String
      let listed: Bool
      let sha256: String
    }

    let listedDays: Int?
    let bundles: [Bundle]

    enum CodingKeys: String, CodingKey {
      case bundles
      case listedDays = "listed_days"
    }
  }
}
