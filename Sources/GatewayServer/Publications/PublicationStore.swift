internal import Crypto
internal import ExposureKeys
internal import FoundationEssentials
internal import KeyPublishing
package import Logging
internal import NIOCore
internal import Synchronization

/// What is published at this moment, as the manifests in the publication folder say.
///
/// A request sees one state from beginning to end. A new state is taken over series by series, and only when its
/// manifest is whole and every file that it lists is there; until then, and when it is not, the last good one is served.
/// The folder is looked at when a request comes, at most once a second, or when the publisher in this process says
/// ``reload()``.
package final class PublicationStore: Sendable {
  private let folder: PublicationReader
  private let order: [String]
  private let defaultSeries: String?
  private let checkInterval: Double
  private let logger: Logger
  /// Owns the state that requests see.
  private let state: Mutex<State>
  /// Where the folder is a copy that others go on with: asks for a look at what it is a copy of.
  package let bell: CopyRefresher?
  /// Held while the folder is read, so that two checks do not cross.
  private let checking = Mutex(())

  private struct State {
    var snapshot = PublicationSnapshot()
    var series: [String: LoadedSeries] = [:]
    var refused: [String: [PublicationReader.Stamp?]] = [:]
    var lastCheck = -Double.infinity
  }

  /// - Parameters:
  ///   - folder: has a folder for each series with its `manifest.json`.
  ///   - order: the series by name that come first, in this order; the others follow by name.
  ///   - defaultSeries: for apps that ask for none; the first, where `nil`.
  ///   - checkInterval: seconds between two looks at the folder; 0 is at every request.
  ///   - bell: where the folder is a copy, asks for a look at what it is a copy of.
  package init(
    folder: String, order: [String] = [], defaultSeries: String? = nil, checkInterval: Double = 1,
    bell: CopyRefresher? = nil, logger: Logger = Logger(label: "keyferry.publications")
  ) {
    self.bell = bell
    self.folder = PublicationReader(path: folder)
    self.order = order
    self.defaultSeries = defaultSeries
    self.checkInterval = checkInterval
    self.logger = logger
    state = Mutex(State())
    reload()
  }

  /// Where nothing is ever published.
  static let empty = PublicationStore(folder: "", checkInterval: .infinity)

  /// What is published now.
  package var publications: Publications { current().publications }

  /// Looks at the folder at once: the publisher calls it when it has written a manifest.
  package func reload() { check(force: true) }

  /// The generation of what ``current()`` would return; `nil` where it would look at the folder first.
  var settledGeneration: Int? {
    let now = monotonicSeconds()
    return state.withLock { now - $0.lastCheck < checkInterval ? $0.snapshot.generation : nil }
  }

  /// Whether a look at what the folder is a copy of was made since this was asked, for what the folder does not have.
  func hasLookedAgain(for path: [String], isKnownToLayout: Bool) async -> Bool {
    guard let bell, isKnownToLayout || path.contains(where: order.contains) else { return false }
    return await bell.look()
  }

  func current() -> PublicationSnapshot {
    let now = monotonicSeconds()
    let isDue = state.withLock { state in
      guard now - state.lastCheck >= checkInterval else { return false }
      state.lastCheck = now
      return true
    }
    if isDue { check(force: false) }
    return state.withLock { $0.snapshot }
  }

  func read(_ bundle: PublishedBundle) throws(PublicationReader.Fault) -> [UInt8] {
    try folder.read(bundle.facts.path, limit: bundle.facts.bytes).bytes
  }

  /// Whether there is a file beside the bundles.
  func hasFile(_ path: String) -> Bool { folder.status(path) != nil }

  /// A file beside the bundles, as it is now; `nil` where there is none.
  func file(_ path: String, limit: Int) throws(PublicationReader.Fault) -> (bytes: [UInt8], modified: Instant)? {
    do {
      let (bytes, stamp) = try folder.read(path, limit: limit)
      return (bytes, Instant(secondsSince1970: stamp.seconds))
    } catch .missing {
      return nil
    } catch {
      throw error
    }
  }

  private func check(force: Bool) {
    // A request does not wait for another one's look at the folder; it is served what is known.
    if force {
      checking.withLock { _ in look() }
    } else {
      _ = checking.withLockIfAvailable { _ in look() }
    }
  }

  private func look() {
    let (known, refused) = state.withLock { ($0.series, $0.refused) }
    var series: [String: LoadedSeries] = [:]
    var newlyRefused: [String: [PublicationReader.Stamp?]] = [:]
    var changed = false
    let names = folder.seriesNames()
    for name in names {
      let stamps = LoadedSeries.fileNames.map { folder.status("\(name)/\($0)") }
      if let old = known[name], old.stamps == stamps {
        series[name] = old
        continue
      }
      do {
        series[name] = try LoadedSeries(name, in: folder, after: known[name])
        changed = true
      } catch {
        // It is tried again at every look, since a missing file may come back, and told of once.
        if refused[name] != stamps {
          logger.error(
            "a series cannot be served as it stands in its folder",
            metadata: ["series": .string(name), "reason": .string("\(error)")])
        }
        series[name] = known[name]
        newlyRefused[name] = stamps
      }
    }
    // A folder that cannot be listed for a moment takes nothing from those who are served.
    if names.isEmpty, !known.isEmpty { series = known }
    changed = changed || Set(series.keys) != Set(known.keys)
    state.withLock { state in
      state.refused = newlyRefused
      state.lastCheck = monotonicSeconds()
      guard changed || state.snapshot.generation == 0 else { return }
      state.series = series
      state.snapshot = snapshot(of: series, generation: state.snapshot.generation + 1)
    }
  }

  private func snapshot(of series: [String: LoadedSeries], generation: Int) -> PublicationSnapshot {
    let names = order.filter { series[$0] != nil } + series.keys.filter { !order.contains($0) }.sorted()
    let inOrder = names.compactMap { series[$0] }
    var files: [String: PublishedFile] = [:]
    for loaded in inOrder {
      for bundle in loaded.series.bundles {
        files[bundle.facts.path] = .archive(bundle)
      }
      for (path, document) in loaded.documents { files[path] = .document(document) }
    }
    return PublicationSnapshot(
      publications: Publications(series: inOrder.map(\.series), defaultSeries: defaultSeries, configured: order),
      files: files,
      generation: generation)
  }
}

/// One state of what is published.
struct PublicationSnapshot: Sendable {
  var publications = Publications(series: [])
  /// By path, without a slash at the front.
  var files: [String: PublishedFile] = [:]
  var generation = 0
}

enum PublishedFile: Sendable {
  case archive(PublishedBundle)
  case document(PublishedDocument)
}

/// A small file that changes under its name.
struct PublishedDocument: Sendable {
  var content: ByteBuffer
  /// Lower-case hexadecimal SHA-256.
  var digest: String
  var mediaType: String
  var modified: Instant
}

/// One series as it was read from its folder.
struct LoadedSeries: Sendable {
  static let fileNames = ["manifest.json", "index.txt", "SHA256SUMS"]
  private static let mediaTypes = ["application/json", "text/plain; charset=utf-8", "text/plain; charset=utf-8"]
  private static let byteLimit = SeriesManifest.byteLimit

  var series: PublishedSeries
  var documents: [String: PublishedDocument] = [:]
  /// Of the files in the order of ``fileNames``.
  var stamps: [PublicationReader.Stamp?] = []
  private var tallies: BundleTallies

  /// - Parameter old: the same series as it was before; what was counted of it is not counted again.
  init(_ name: String, in folder: PublicationReader, after old: LoadedSeries? = nil) throws {
    tallies = old?.tallies ?? BundleTallies()
    var manifest: SeriesManifest?
    for (file, mediaType) in zip(Self.fileNames, Self.mediaTypes) {
      let path = "\(name)/\(file)"
      do {
        let (bytes, stamp) = try folder.read(path, limit: Self.byteLimit)
        if file == Self.fileNames[0] { manifest = try JSONDecoder().decode(SeriesManifest.self, from: Data(bytes)) }
        documents[path] = PublishedDocument(
          content: ByteBuffer(bytes: bytes), digest: Hexadecimal.encode(SHA256.hash(data: bytes)), mediaType: mediaType,
          modified: Instant(secondsSince1970: stamp.seconds))
        stamps.append(stamp)
      } catch PublicationReader.Fault.missing where file != Self.fileNames[0] {
        stamps.append(nil)
      } catch let error as DecodingError {
        throw ManifestFault(path: path, reason: "it is not a manifest: \(Self.words(error))")
      }
    }
    guard let manifest else { throw PublicationReader.Fault.missing("\(name)/manifest.json") }
    try Self.check(manifest, name, folder)
    series = PublishedSeries(manifest)
    series.tally = tallies.sum(of: series.increments.filter(\.facts.isListed)) { bundle in
      try folder.read(bundle.facts.path, limit: bundle.facts.bytes).bytes
    }
  }

  /// A manifest is believed only when it speaks of its own folder and every file that it lists is there.
  private static func check(_ manifest: SeriesManifest, _ name: String, _ folder: PublicationReader) throws {
    func fault(_ reason: String) -> ManifestFault { ManifestFault(path: "\(name)/manifest.json", reason: reason) }
    guard manifest.version == SeriesManifest.currentVersion else {
      throw fault("version \(manifest.version), supported is \(SeriesManifest.currentVersion)")
    }
    guard manifest.series == name else { throw fault("it is of another series") }
    guard periods.contains(manifest.period) else {
      throw fault("the period \(manifest.period) is not within \(periods.lowerBound)...\(periods.upperBound) seconds")
    }
    guard times.contains(manifest.written) else { throw fault("it was not written within the years 1970...9999") }
    var paths: Set<String> = []
    for bundle in manifest.bundles {
      let parts = bundle.path.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count >= 2, parts.count <= 8, parts.first.map(String.init) == name,
        parts.allSatisfy(PublicationReader.isSafe), !fileNames.contains(parts.dropFirst().joined(separator: "/"))
      else {
        throw fault("a bundle's path leads out of the folder, or has characters besides letters, digits, . - _ +")
      }
      guard paths.insert(bundle.path).inserted else { throw fault("\(bundle.path) is named twice") }
      guard isDigest(bundle.sha256), isDigest(bundle.exportSHA256) else {
        throw fault("\(bundle.path): a digest is not 64 lower-case hexadecimal digits")
      }
      // Sums over all bundles cannot overflow, and times have a calendar.
      guard [bundle.ordinal, bundle.bytes, bundle.keys, bundle.revisedKeys].allSatisfy((0...1 << 32).contains) else {
        throw fault("\(bundle.path): a count is not within 0...\(1 << 32)")
      }
      guard [bundle.start, bundle.end, bundle.published].allSatisfy(times.contains) else {
        throw fault("\(bundle.path): a time is not within the years 1970...9999")
      }
      guard bundle.isListed else { continue }
      guard let stamp = folder.status(bundle.path) else { throw fault("\(bundle.path) is listed and not there") }
      guard stamp.byteCount == bundle.bytes else {
        throw fault("\(bundle.path) has \(stamp.byteCount) bytes, the manifest says \(bundle.bytes)")
      }
    }
  }

  private static let times: ClosedRange<Int64> = 0...253_402_300_799
  /// Windows divide a day.
  private static let periods: ClosedRange<Int64> = 1...86_400

  private static func isDigest(_ text: String) -> Bool {
    text.utf8.count == 64 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  private static func words(_ error: DecodingError) -> String {
    switch error {
    case .keyNotFound(let key, _): "member \(key.stringValue) is missing"
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      "member \(context.codingPath.map(\.stringValue).joined(separator: ".")) is of another type"
    default: "it is not JSON"
    }
  }
}

/// Why a manifest is not believed.
struct ManifestFault: Error, Hashable, CustomStringConvertible {
  var path: String
  var reason: String
  var description: String { "\(path): \(reason)" }
}
