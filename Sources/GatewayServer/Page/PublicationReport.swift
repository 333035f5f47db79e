internal import BundleTrust
internal import ExposureKeys
internal import KeyPublishing

/// What is published, for people and programs: `/api/series` is this as JSON, the page at `/` a rendering of it.
struct PublicationReport: Encodable, Hashable {
  /// In the order of the configuration.
  var series: [Series]
  /// The name of the one for apps that ask for none.
  var defaultSeries: String?
  /// Addresses that concern all series.
  var addresses: [AppAddress]
  /// `nil` where there is none.
  var log: Log?
  /// All numbers of keys include padding. Their share is not public, since it would tell what padding hides.
  var keysIncludePadding = true

  /// The public log, as it is shown. Who relies on it verifies it, by a key that he was told by another way.
  struct Log: Encodable, Hashable {
    var name: String
    var size: Int
    /// In base64.
    var root: String
    var key: String?
    /// Who else has signed the checkpoint.
    var cosigners: [String]
    var url: String
  }

  struct Series: Encodable, Hashable {
    var name: String
    var title: String
    /// `nil` is all.
    var regions: [String]?
    var headerRegion: String?
    var appBundleID: String?
    var androidPackage: String?
    /// Seconds of a window.
    var period: Int64
    /// RFC 3339: when the manifest was written.
    var updated: String
    var listedBundles: Int
    var listedKeys: Int
    var listedRevisedKeys: Int
    /// The one that signs now last.
    var signingKeys: [SeriesKey]
    /// The last fourteen days in UTC, today last.
    var days: [KeyDay]
    /// What the new keys of the listed increments say; `nil` where they were not counted.
    var keysBy: Shares?
    /// The newest first.
    var latestBundles: [Bundle]
    var addresses: [AppAddress]
    /// Of the ring of public keys; `nil` where none is readable.
    var ring: String?
  }

  struct SeriesKey: Encodable, Hashable {
    var id: String
    var version: String
    /// SHA-256 of the SubjectPublicKeyInfo in lower-case hexadecimal; `nil` where the manifest has no readable key.
    var fingerprint: String?
    /// Whether new bundles are signed with it.
    var isCurrent: Bool
    /// Listed bundles that carry its signature.
    var listedBundles: Int

    enum CodingKeys: String, CodingKey {
      case id, version, fingerprint, listedBundles
      case isCurrent = "current"
    }
  }

  /// Keys of the windows that began on this day.
  struct KeyDay: Encodable, Hashable {
    /// `2020-12-01`.
    var day: String
    var keys: Int
    var revisedKeys: Int
  }

  /// Keys by what they say. Padding counts, too.
  struct Shares: Encodable, Hashable {
    struct Share: Encodable, Hashable {
      /// `2020-12-01`, `3`, `CONFIRMED_TEST`; `none` where nothing is stated.
      var name: String
      var keys: Int
    }

    /// By the UTC day on which they were first in use, the oldest first.
    var keyDay: [Share]
    var transmissionRisk: [Share]
    var reportType: [Share]

    init(_ tally: KeyTally) {
      keyDay = tally.days.sorted { $0.key < $1.key }.map { Share(name: $0.key.description, keys: $0.value) }
      transmissionRisk = tally.risks.sorted { ($0.key ?? .max) < ($1.key ?? .max) }
        .map { Share(name: $0.key.map(String.init) ?? "none", keys: $0.value) }
      reportType = tally.reportTypes.sorted { ($0.key?.rawValue ?? .max) < ($1.key?.rawValue ?? .max) }
        .map { Share(name: $0.key?.name ?? "none", keys: $0.value) }
    }
  }

  struct Bundle: Encodable, Hashable {
    var kind: String
    var path: String
    var url: String
    /// RFC 3339.
    var start: String
    var end: String
    var published: String
    var keys: Int
    var revisedKeys: Int
    var bytes: Int
    var sha256: String
    /// Of its proof and its attestation; `nil` where there is none.
    var proof: String?
    var attestation: String?
  }

  static let days: Int64 = 14
  static let latestBundles = 8

  /// - Parameters:
  ///   - layouts: those that are served.
  ///   - baseURL: what apps see as the beginning of every address.
  ///   - log: what is shown of the public log; `nil` where there is none.
  ///   - hasBeside: whether there is a file of this path, beside a bundle.
  init(
    _ publications: Publications, settings: ServerSettings, layouts: [any Layout], baseURL: String, now: Instant,
    log: ShownLog? = nil, hasBeside: (String) -> Bool = { _ in false }
  ) {
    self.log = log.map {
      Log(
        name: $0.name, size: $0.size, root: $0.root, key: $0.key, cosigners: $0.cosigners,
        url: "\(baseURL)/\(settings.logFolder ?? "")")
    }
    defaultSeries = publications[nil]?.manifest.series
    let addressing = AppAddressing(layouts: layouts, baseURL: baseURL)
    addresses = addressing.shared
    series = publications.series.map { Series($0, addressing: addressing, now: now, hasBeside: hasBeside) }
  }
}

extension PublicationReport.Series {
  init(
    _ series: PublishedSeries, addressing: AppAddressing, now: Instant,
    hasBeside: (String) -> Bool = { _ in false }
  ) {
    let manifest = series.manifest
    let listed = series.increments.filter(\.facts.isListed)
    let all = series.bundles.filter(\.facts.isListed)
    self.init(
      name: manifest.series, title: manifest.title, regions: manifest.regions, headerRegion: manifest.headerRegion,
      appBundleID: manifest.appBundleID, androidPackage: manifest.androidPackage, period: manifest.period,
      updated: Instant(secondsSince1970: manifest.written).description, listedBundles: all.count,
      listedKeys: listed.reduce(0) { $0 + $1.facts.keys },
      listedRevisedKeys: listed.reduce(0) { $0 + $1.facts.revisedKeys },
      signingKeys: manifest.keys.enumerated().map { index, key in
        PublicationReport.SeriesKey(
          id: key.id, version: key.version, fingerprint: (try? P256PublicKey(text: key.publicKey))?.fingerprint,
          isCurrent: index == manifest.keys.count - 1,
          listedBundles: all.count { $0.facts.keyID == key.id && $0.facts.keyVersion == key.version })
      },
      days: Self.days(of: series, until: now.day), keysBy: series.tally.map(PublicationReport.Shares.init),
      latestBundles: all.sorted { ($0.facts.published, $0.facts.end) > ($1.facts.published, $1.facts.end) }
        .prefix(PublicationReport.latestBundles).map {
          PublicationReport.Bundle($0.facts, baseURL: addressing.baseURL, hasBeside: hasBeside)
        },
      addresses: addressing.addresses(of: manifest.series),
      ring: PublicKeyRing(manifest).map { _ in "\(addressing.baseURL)/\(manifest.series)/\(PublicKeyRing.fileName)" })
  }

  private static func days(of series: PublishedSeries, until today: Day) -> [PublicationReport.KeyDay] {
    var sums: [Day: (keys: Int, revised: Int)] = [:]
    for bundle in series.increments {
      sums[Instant(secondsSince1970: bundle.facts.start).day, default: (0, 0)].keys += bundle.facts.keys
      sums[Instant(secondsSince1970: bundle.facts.start).day, default: (0, 0)].revised += bundle.facts.revisedKeys
    }
    return (0..<PublicationReport.days).reversed().map { age in
      let day = Day(daysSince1970: today.daysSince1970 - age)
      return PublicationReport.KeyDay(
        day: day.description, keys: sums[day]?.keys ?? 0, revisedKeys: sums[day]?.revised ?? 0)
    }
  }
}

extension PublicationReport.Bundle {
  init(_ facts: SeriesManifest.Bundle, baseURL: String, hasBeside: (String) -> Bool) {
    func address(_ ending: String) -> String? {
      hasBeside(facts.path + ending) ? "\(baseURL)/\(facts.path)\(ending)" : nil
    }
    self.init(
      kind: facts.kind, path: facts.path, url: "\(baseURL)/\(facts.path)",
      start: Instant(secondsSince1970: facts.start).description,
      end: Instant(secondsSince1970: facts.end).description,
      published: Instant(secondsSince1970: facts.published).description, keys: facts.keys,
      revisedKeys: facts.revisedKeys, bytes: facts.bytes, sha256: facts.sha256,
      proof: address(LogFiles.proofEnding),
      attestation: address(LogFiles.attestationEnding))
  }
}
