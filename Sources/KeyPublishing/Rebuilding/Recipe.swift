internal import BundleTrust
internal import ExposureKeys
internal import FoundationEssentials
internal import KeyNormalization
internal import KeyStorage

/// What the bundles of one round have in common: everything that selects what they hold, beside the claims that were known.
/// It is kept with them, and it is what an attestation names. No key is in it.
struct RoundRecipe: Hashable, Sendable, Codable {
  var version = Self.currentVersion
  /// Name and version of what made them.
  var program: String
  /// The clock of the round, in seconds since 1970.
  var clock: Int64
  /// SHA-256 of the policy's file, lower-case hexadecimal; `nil` where it was read from none.
  var policy: String?
  var settings: OutputSettings
  /// `nil` where nothing was selected: the bundles say again what others said.
  var selection: Selection?

  static let currentVersion = 1

  /// What was asked of the claims.
  struct Selection: Hashable, Sendable, Codable {
    /// The last event that was known.
    var known: Int64
    /// What "still valid" and "too old" referred to, in seconds since 1970.
    var instant: Int64
    /// Whether claims were withdrawn since the round before.
    var followsRecall: Bool
    /// Whether the new keys went out; there may have been too few of them.
    var releasesNew: Bool
    /// What stood still, in order.
    var pausedSources: [String]
    var pausedOrigins: [String]
  }
}

/// How one bundle was made.
struct BundleRecipe: Hashable, Sendable, Codable {
  enum Source: String, Hashable, Sendable, Codable, CaseIterable {
    /// What was selected of the claims.
    case claims
    /// What increments of the series hold.
    case bundles
    /// A bundle without keys, of a window that had none.
    case nothing
    /// Another bundle of this kind, which another key signed.
    case copy
    /// What the store had released, in the place of a file that was lost.
    case replacement
  }

  var source: Source
  /// Every `parts`-th key of what was made, from `part` on.
  var part = 0
  var parts = 1
  /// Of which increments, by their numbers: `3-17,20`. Each of several is united with all before it.
  var increments: [String]?
  /// The number of the bundle that it says again.
  var copied: Int?

  static let claims = BundleRecipe(source: .claims)
  static let nothing = BundleRecipe(source: .nothing)
  static let replacement = BundleRecipe(source: .replacement)

  static func union(_ steps: [[Int]]) -> BundleRecipe {
    BundleRecipe(source: .bundles, increments: steps.map(NumberList.text))
  }

  static func copy(_ bundle: NewBundle) -> BundleRecipe { BundleRecipe(source: .copy, copied: bundle.ordinal) }
}

/// Numbers that go up, as text: `3-17,20`.
enum NumberList {
  static func text(_ numbers: [Int]) -> String {
    var ranges: [(first: Int, last: Int)] = []
    for number in numbers {
      if let last = ranges.last, last.last + 1 == number {
        ranges[ranges.count - 1].last = number
      } else {
        ranges.append((number, number))
      }
    }
    return ranges.map { $0.first == $0.last ? "\($0.first)" : "\($0.first)-\($0.last)" }.joined(separator: ",")
  }

  /// `nil` for what is none, and for more numbers than a series has.
  static func numbers(in text: String) -> [Int]? {
    var numbers: [Int] = []
    for part in text.split(separator: ",") {
      let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
      guard let first = ends.first ?? nil, let last = ends.last ?? nil, ends.count <= 2, 0 <= first, first <= last,
        last - first < 1 << 20, numbers.count < 1 << 20
      else { return nil }
      numbers += first...last
    }
    return numbers
  }
}

/// The settings of a series that select what its bundles hold.
struct OutputSettings: Hashable, Sendable, Codable {
  var include: [String]?
  var exclude: [String]
  var origins: [String]?
  var travellersOnly: Bool
  var headerRegion: String?
  var period: Int64
  var minimumKeys: Int
  var pads: Bool
  var publishesEmptyWindows: Bool
  var maximumKeys: Int
  var maximumBytes: Int
  var mostKeys: Int
  var editionsPerDay: Int
  var listedDays: Int64

  init(_ settings: SeriesSettings) {
    include = settings.selection.include?.sorted()
    exclude = settings.selection.exclude.sorted()
    origins = settings.selection.origins?.sorted()
    travellersOnly = settings.selection.travellersOnly
    headerRegion = settings.headerRegion
    period = settings.period
    minimumKeys = settings.minimumKeys
    pads = settings.pads
    publishesEmptyWindows = settings.publishesEmptyWindows
    maximumKeys = settings.maximumKeys
    maximumBytes = settings.maximumBytes
    mostKeys = settings.mostKeys
    editionsPerDay = settings.editionsPerDay
    listedDays = settings.listedDays
  }

  /// The settings as they were, for what only makes bundles again: nothing signs with them.
  func settings(of series: String, publishing policy: Policy) -> SeriesSettings {
    SeriesSettings(
      name: series,
      selection: RegionSelection(
        include: include.map(Set.init), exclude: Set(exclude), origins: origins.map(Set.init),
        travellersOnly: travellersOnly),
      publishing: policy, headerRegion: headerRegion, identities: [], period: period, minimumKeys: minimumKeys,
      pads: pads, publishesEmptyWindows: publishesEmptyWindows, maximumKeys: maximumKeys, maximumBytes: maximumBytes,
      mostKeys: mostKeys, editionsPerDay: editionsPerDay, listedDays: listedDays)
  }

  /// By the names that `gateway.yaml` has for them.
  var named: [(name: String, value: String)] {
    func list(_ names: [String]?) -> String { names?.joined(separator: " ") ?? "any" }
    return [
      ("include", list(include)), ("exclude", list(exclude)), ("origins", list(origins)),
      ("travellers-only", "\(travellersOnly)"), ("region", headerRegion ?? ""), ("every", "\(period)"),
      ("minimum.keys", "\(minimumKeys)"), ("minimum.too-few", pads ? "pad" : "wait"),
      ("empty-windows", publishesEmptyWindows ? "publish" : "skip"), ("split.keys", "\(maximumKeys)"),
      ("split.bytes", "\(maximumBytes)"), ("split.window", "\(mostKeys)"),
      ("editions", editionsPerDay == 0 ? "none" : "\(editionsPerDay)"), ("listed", "\(listedDays)"),
    ]
  }

  /// What became of settings since: `split.window 1000, now 2000`.
  func changes(to now: OutputSettings) -> [String] {
    zip(named, now.named).filter { $0.value != $1.value }.map { "\($0.name) \($0.value), now \($1.value)" }
  }
}

extension StagedRecipe {
  /// - Throws: ``StorageFault`` `corrupt`, also for a version that is not known.
  func read() throws -> (round: RoundRecipe, bundle: BundleRecipe) {
    do {
      let decoder = JSONDecoder()
      let round = try decoder.decode(RoundRecipe.self, from: Data(self.round))
      guard round.version == RoundRecipe.currentVersion else {
        throw StorageFault(
          .unsupported, "a recipe of version \(round.version), supported is \(RoundRecipe.currentVersion)")
      }
      return (round, try decoder.decode(BundleRecipe.self, from: Data(bundle)))
    } catch let fault as StorageFault {
      throw fault
    } catch {
      throw StorageFault(.corrupt, "how event \(event.id.rawValue) made its bundles cannot be read")
    }
  }
}

extension NewRecipe {
  init(_ round: RoundRecipe, _ bundles: [BundleRecipe]) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    self.init(round: Array(try encoder.encode(round)), bundles: try bundles.map { Array(try encoder.encode($0)) })
  }
}
