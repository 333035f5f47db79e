package import ExposureKeys

/// What a series has published: `manifest.json` in its folder. Servers and auditors read it; it is written after every
/// file that it names.
package struct SeriesManifest: Hashable, Sendable, Codable {
  package static let currentVersion = 1

  package var version: Int
  package var series: String
  /// For people.
  package var title: String
  /// The regions whose keys it holds; `nil` is all.
  package var regions: [String]?
  /// What the headers of its bundles say.
  package var headerRegion: String?
  /// The apps that it is signed for.
  package var appBundleID: String?
  package var androidPackage: String?
  /// Seconds of a window.
  package var period: Int64
  /// How many editions a day has at most; `nil` where none are made.
  package var editionsPerDay: Int?
  /// For how many days it lists a bundle; `nil` in old manifests and of mirrors.
  package var listedDays: Int?
  /// The public keys of its signatures by the order of their use, the one that signs now last.
  package var keys: [Key]
  /// Seconds since 1970 at which this manifest was written.
  package var written: Int64
  /// Where the last window ended that is over, with or without keys, in seconds since 1970; `nil` in old manifests.
  package var windowEnd: Int64?
  /// Oldest first by kind and ordinal. Expired increments stay for as long as ordinals are counted, without a file.
  package var bundles: [Bundle]

  package struct Key: Hashable, Sendable, Codable {
    package var id: String
    package var version: String
    /// SubjectPublicKeyInfo, PEM.
    package var publicKey: String

    enum CodingKeys: String, CodingKey {
      case id, version
      case publicKey = "public_key"
    }

    package init(id: String, version: String, publicKey: String) {
      self.id = id
      self.version = version
      self.publicKey = publicKey
    }
  }

  package struct Bundle: Hashable, Sendable, Codable {
    /// `increment`, `day`, `since`, `key-day` or `edition`.
    package var kind: String
    /// Counted from 0 in its kind; never used twice.
    package var ordinal: Int
    /// The path in the publication folder: `NL/1606780800-1606788000-00001.zip`.
    package var path: String
    /// The window in seconds since 1970, as the header states it.
    package var start: Int64
    package var end: Int64
    /// When it was published, in seconds since 1970.
    package var published: Int64
    /// Whether indexes name it; the file of an expired one may be gone.
    package var isListed: Bool
    package var keys: Int
    package var revisedKeys: Int
    package var bytes: Int
    /// Lower-case hexadecimal SHA-256 of the archive and of its `export.bin`.
    package var sha256: String
    package var exportSHA256: String
    package var keyID: String
    package var keyVersion: String

    enum CodingKeys: String, CodingKey {
      case kind, ordinal, path, start, end, published, keys, bytes, sha256
      case isListed = "listed"
      case revisedKeys = "revised_keys"
      case exportSHA256 = "export_sha256"
      case keyID = "key_id"
      case keyVersion = "key_version"
    }

    package init(
      kind: String, ordinal: Int, path: String, start: Int64, end: Int64, published: Int64, isListed: Bool, keys: Int,
      revisedKeys: Int, bytes: Int, sha256: String, exportSHA256: String, keyID: String, keyVersion: String
    ) {
      self.kind = kind
      self.ordinal = ordinal
      self.path = path
      self.start = start
      self.end = end
      self.published = published
      self.isListed = isListed
      self.keys = keys
      self.revisedKeys = revisedKeys
      self.bytes = bytes
      self.sha256 = sha256
      self.exportSHA256 = exportSHA256
      self.keyID = keyID
      self.keyVersion = keyVersion
    }
  }

  enum CodingKeys: String, CodingKey {
    case version, series, title, regions, period, keys, written, bundles
    case headerRegion = "header_region"
    case editionsPerDay = "editions_per_day"
    case listedDays = "listed_days"
    case windowEnd = "window_end"
    case appBundleID = "app_bundle_id"
    case androidPackage = "android_package"
  }

  /// What a clock may be ahead without being asked why, and some time until it is set right.
  static let nearSeconds: Int64 = 2 * 86_400

  /// Whether a day lies so far behind the last window that a clock which was ahead has made its bundles. Nothing new goes into
  /// it, and who asks for whole days alone need not wait until it comes.
  package static func isPassedOver(_ day: Day, windowEnd: Int64) -> Bool {
    // A manifest may say anything.
    let (distance, isOverflown) = day.start.secondsSince1970.subtractingReportingOverflow(windowEnd)
    return !isOverflown && distance > nearSeconds
  }

  package init(
    series: String, title: String, regions: [String]?, headerRegion: String?, appBundleID: String?,
    androidPackage: String?, period: Int64, editionsPerDay: Int? = nil, listedDays: Int? = nil, keys: [Key],
    written: Int64,
    windowEnd: Int64? = nil,
    bundles: [Bundle]
  ) {
    version = Self.currentVersion
    self.series = series
    self.title = title
    self.regions = regions
    self.headerRegion = headerRegion
    self.appBundleID = appBundleID
    self.androidPackage = androidPackage
    self.period = period
    self.editionsPerDay = editionsPerDay
    self.listedDays = listedDays
    self.keys = keys
    self.written = written
    self.windowEnd = windowEnd
    self.bundles = bundles
  }
}
