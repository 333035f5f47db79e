internal import ExposureKeys
internal import KeyStorage
internal import TransparencyLog

/// Increments that the log says were published, and that no list will ever name: a store staged and logged them, and was lost
/// before it wrote its lists. The log tells of them that they are withdrawn, so that who follows it need not ask.
struct OrphanedBundles {
  private let folder: any PublicationFolder
  /// Paths that the store knows.
  private let known: Set<String>
  /// By series, the paths that its manifest names; `nil` where it cannot be read. Of the series of the round the store
  /// knows them all.
  private var manifests: [String: Set<String>?]
  /// By path, the series.
  private var orphans: [String: String] = [:]

  /// - Parameter series: whose folder the store has taken over already.
  init(of series: String, _ ledger: Ledger, _ folder: any PublicationFolder) async throws {
    self.folder = folder
    known = Set(
      try await ledger.read { try $0.bundles(of: nil, in: Set(BundleState.allCases)).map(\.bundle.path) })
    manifests = [series: []]
  }

  /// Takes the entries of the log, the first one first.
  mutating func see(_ bytes: [UInt8]) async {
    guard let entry = try? LogEntry(bytes, name: "entry"), let path = entry.text("path") else { return }
    switch entry.kind {
    case .published:
      guard entry.text("bundle") == BundleKind.increment.rawValue, let series = entry.text("series"),
        !known.contains(path), await manifest(of: series)?.contains(path) == false
      else { return }
      orphans[path] = series
    case .withdrawn, .signedAgain: orphans[path] = nil
    default: break
    }
  }

  private mutating func manifest(of series: String) async -> Set<String>? {
    if let paths = manifests[series] { return paths }
    let paths = await Self.paths(of: series, in: folder)
    manifests[series] = .some(paths)
    return paths
  }

  private static func paths(of series: String, in folder: any PublicationFolder) async -> Set<String>? {
    guard LogEntry.isPath(series) else { return nil }
    do {
      let content = try await folder.content(of: SeriesManifest.path(of: series), limit: SeriesManifest.byteLimit)
      return try content.map { Set(try SeriesManifest(document: $0).bundles.map(\.path)) } ?? []
    } catch {
      return nil
    }
  }

  /// What the log says of them.
  func entries(at now: Instant) throws -> [[UInt8]] {
    try orphans.sorted { $0.key < $1.key }.map { path, series in
      try LogEntry(
        .withdrawn,
        [
          "at": .number(Int(now.secondsSince1970)), "path": .text(path), "series": .text(series),
          "reason": .text("its store was lost before a list named it"),
        ]
      ).bytes
    }
  }
}
