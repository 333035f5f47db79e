package import ExposureKeys

/// A bundle's number in the store.
@frozen
package struct BundleID: Hashable, Comparable, Sendable, Codable, BitwiseCopyable {
  package let rawValue: Int64
  package init(rawValue: Int64) { self.rawValue = rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Where a bundle stands on its way out.
package enum BundleState: String, Hashable, Sendable, CaseIterable, Codable {
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
package enum BundleKind: String, Hashable, Sendable, CaseIterable, Codable {
  /// What became publishable in one window.
  case increment
  /// Everything of one day's increments.
  case day
  /// Everything since a day's midnight.
  case since
  /// Everything about the keys of one day: those that began to be used on it, whenever they were published.
  case keyDay = "key-day"
  /// Everything that was published in a day or a part of it, made once when that is over.
  case edition
}

/// A bundle that is to be staged.
package struct NewBundle: Hashable, Sendable, Codable {
  package var series: String
  package var kind: BundleKind
  /// The place among the series' bundles of this kind, counted from 0; never used twice.
  package var ordinal: Int
  /// The window, as the header states it.
  package var start: Int64
  package var end: Int64
  /// The file's path in the publication folder.
  package var path: String
  package var keyCount: Int
  package var revisedKeyCount: Int
  package var byteCount: Int
  /// Lower-case hexadecimal SHA-256 of the archive and of its `export.bin`.
  package var archiveDigest: String
  package var exportDigest: String
  /// Id and version of the key that signed it.
  package var keyID: String
  package var keyVersion: String

  package init(
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
package struct BundleRecord: Hashable, Sendable {
  package var id: BundleID
  package var bundle: NewBundle
  package var state: BundleState
  /// When it came into this state.
  package var changed: Instant
  /// When it was published first.
  package var published: Instant?

  package init(id: BundleID, bundle: NewBundle, state: BundleState, changed: Instant, published: Instant?) {
    self.id = id
    self.bundle = bundle
    self.state = state
    self.changed = changed
    self.published = published
  }
}

/// Whose opinions were in a key's first release.
package struct ReleasingOrigins: Hashable, Sendable {
  /// The names in their order, with commas between them; `-` is the lost origin. Most are a few bytes.
  package let text: String

  package init(text: String) { self.text = text }

  /// - Parameter names: the lost origin's is empty.
  package init(_ names: Set<String>) {
    text = names.map { $0.isEmpty ? "-" : $0 }.sorted().joined(separator: ",")
  }

  /// - Parameter name: `nil` is the lost origin.
  package func contains(_ name: String?) -> Bool {
    let name = name ?? "-"
    return text == name || text.split(separator: ",").contains { $0 == name }
  }
}

/// A key as a series has released it last.
package struct ReleasedKey: Hashable, Sendable {
  /// As the bundle has it; without regions and unknown fields.
  package var key: ClaimedKey
  package var bundle: BundleID
  /// How often it was revised after its first release.
  package var revisions: Int32
  /// Whose opinions were in its first release, which stays; `nil` for a key that was found in the published files after the store was lost.
  package var origins: ReleasingOrigins?

  package init(key: ClaimedKey, bundle: BundleID, revisions: Int32 = 0, origins: ReleasingOrigins? = nil) {
    self.key = key
    self.bundle = bundle
    self.revisions = revisions
    self.origins = origins
  }
}
