/// What a series has published: `manifest.json` in its folder. Servers and auditors read it; it is written after every
/// file that it names.
public struct SeriesManifest: Hashable, Sendable, Codable {
  public static let currentVersion = 1

  public var version: Int
  public var series: String
  /// For people.
  public var title: String
  /// The regions whose keys it holds; `nil` is all.
  public var regions: [String]?
  /// What the headers of its bundles say.
  public var headerRegion: String?
  /// The apps that it is signed for.
  public var appBundleID: String?
  public var androidPackage: String?
  /// Seconds of a window.
  public var period: Int64
  /// The public keys of its signatures by the order of their use, the one that signs now last.
  public var keys: [Key]
  /// Seconds since 1970 at which this manifest was written.
  public var written: Int64
  /// Oldest first by kind and ordinal. Expired increments stay for as long as ordinals are counted, without a file.
  public var bundles: [Bundle]

  public struct Key: Hashable, Sendable, Codable {
    public var id: String
    public var version: String
    /// SubjectPublicKeyInfo, PEM.
    public var publicKey: String

    enum CodingKeys: String, CodingKey {
      case id, version
      case publicKey = "public_key"
    }

    public init(id: String, version: String, publicKey: String) {
      self.id = id
      self.version = version
      self.publicKey = publicKey
    }
  }

  public struct Bundle: Hashable, Sendable, Codable {
    /// `increment`, `day` or `since`.
    public var kind: String
    /// Counted from 0 in its kind; never used twice.
    public var ordinal: Int
    /// The path in the publication folder: `NL/1606780800-1606788000-00001.zip`.
    public var path: String
    /// The window in seconds since 1970, as the header states it.
    public var start: Int64
    public var end: Int64
    /// When it was published, in seconds since 1970.
    public var published: Int64
    /// Whether indexes name it; the file of an expired one may be gone.
    public var isListed: Bool
    public var keys: Int
    public var revisedKeys: Int
    public var bytes: Int
    /// Lower-case hexadecimal SHA-256 of the archive and of its `export.bin`.
    public var sha256: String
    public var exportSHA256: String
    public var keyID: String
    public var keyVersion: String

    enum CodingKeys: String, CodingKey {
      case kind, ordinal, path, start, end, published, keys, bytes, sha256
      case isListed = "listed"
      case revisedKeys = "revised_keys"
      case exportSHA256 = "export_sha256"
      case keyID = "key_id"
      case keyVersion = "key_version"
    }

    public init(
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
    case appBundleID = "app_bundle_id"
    case androidPackage = "android_package"
  }

  public init(
    series: String, title: String, regions: [String]?, headerRegion: String?, appBundleID: String?,
    androidPackage: String?, period: Int64, keys: [Key], written: Int64, bundles: [Bundle]
  ) {
    version = Self.currentVersion
    self.series = series
    self.title = title
    self.regions = regions
    self.headerRegion = headerRegion
    self.appBundleID = appBundleID
    self.androidPackage = androidPackage
    self.period = period
    self.keys = keys
    self.written = written
    self.bundles = bundles
  }
}
