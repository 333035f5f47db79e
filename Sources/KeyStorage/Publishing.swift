public import ExposureKeys

/// A bundle's number in the store.
@frozen
public struct BundleID: Hashable, Comparable, Sendable, Codable, BitwiseCopyable {
  public let rawValue: Int64
  public init(rawValue: Int64) { self.rawValue = rawValue }
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Where a bundle stands on its way out.
public enum BundleState: String, Hashable, Sendable, CaseIterable, Codable {
  /// Its bytes and its keys are in the store; the folder may or may not have the file.
  case staged
  /// The file is there, and an index may name it.
  case published
  /// No index names it any more.
  case expired
  /// The file is gone.
  case removed
}

/// What a bundle holds.
public enum BundleKind: String, Hashable, Sendable, CaseIterable, Codable {
  /// What became publishable in one window.
  case increment
  /// Everything of one day's increments.
  case day
  /// Everything since a day's midnight.
  case since
}

/// A bundle that is to be staged.
public struct NewBundle: Hashable, Sendable, Codable {
  public var series: String
  public var kind: BundleKind
  /// The place among the series' bundles of this kind, counted from 0; never used twice.
  public var ordinal: Int
  /// The window, as the header states it.
  public var start: Int64
  public var end: Int64
  /// The file's path in the publication folder.
  public var path: String
  public var keyCount: Int
  public var revisedKeyCount: Int
  public var byteCount: Int
  /// Lower-case hexadecimal SHA-256 of the archive and of its `export.bin`.
  public var archiveDigest: String
  public var exportDigest: String
  /// Id and version of the key that signed it.
  public var keyID: String
  public var keyVersion: String

  public init(
    series: String, kind: BundleKind, ordinal: Int, start: Int64, end: Int64, path: String, keyCount: Int,
    revisedKeyCount: Int, byteCount: Int, archiveDigest: String, exportDigest: String, keyID: String,
    keyVersion: String
  ) {
    self.series = series
    self.kind = kind
    self.ordinal = ordinal
    self.start = start
    self.end = end
    self.path = path
    self.keyCount = keyCount
    self.revisedKeyCount = revisedKeyCount
    self.byteCount = byteCount
    self.archiveDigest = archiveDigest
    self.exportDigest = exportDigest
    self.keyID = keyID
    self.keyVersion = keyVersion
  }
}

/// A bundle in the store.
public struct BundleRecord: Hashable, Sendable {
  public var id: BundleID
  public var bundle: NewBundle
  public var state: BundleState
  /// When it came into this state.
  public var changed: Instant
  /// When it was published first.
  public var published: Instant?

  public init(id: BundleID, bundle: NewBundle, state: BundleState, changed: Instant, published: Instant?) {
    self.id = id
    self.bundle = bundle
    self.state = state
    self.changed = changed
    self.published = published
  }
}

/// A key as a series has released it last. 64 bytes, trivially copyable.
public struct ReleasedKey: Hashable, Sendable, BitwiseCopyable {
  /// As the bundle has it; without regions and unknown fields.
  public var key: ClaimedKey
  public var bundle: BundleID
  /// How often it was revised after its first release.
  public var revisions: Int32

  public init(key: ClaimedKey, bundle: BundleID, revisions: Int32 = 0) {
    self.key = key
    self.bundle = bundle
    self.revisions = revisions
  }
}
