package import ExposureKeys
package import KeyNormalization

/// A release as a row of a run: what a series has said of a key.
///
/// What was said stands in its place. `origin` has the number of the names whose opinions were in the first release, and
/// the number of revisions in its lowest three bits; `source` the bundle, `regions` the first one where it is another,
/// `arrival` what the first release said before the revision that bundle `recall` has.
package enum ReleaseRow {
  /// The number of the names whose opinions were in the first release; 0 is of none.
  static func names(of row: ClaimRow) -> Int64 { Int64(row.origin >> 3) }

  /// `nil` where it does not fit.
  ///
  /// - Parameter origins: the number of the names.
  package static func row(of released: ReleasedKey, origins: Int64) -> ClaimRow? {
    let key = released.key
    guard let said = try? Statement(StatedFields(key)), said.claim(about: released.subject) == key,
      let bundle = Int32(exactly: released.bundle.rawValue), (0...7).contains(released.revisions), bundle >= 0,
      let numbers = Int32(exactly: origins << 3 | Int64(released.revisions)), numbers >= 0
    else { return nil }
    return ClaimRow(
      key: key.key, rollingStart: key.rollingStartWord, said: Int32(bitPattern: said.bits), origin: numbers,
      source: bundle, regions: 0)
  }

  /// A release as a later bundle says it.
  package static func row(_ row: ClaimRow, releasedAgainAs other: ClaimRow) -> ClaimRow {
    var next = other
    // Whose opinions were in the first release stays.
    next.origin = row.origin & ~7 | other.origin & 7
    next.regions = row.regions == 0 ? row.source : row.regions
    (next.arrival, next.recall) = (row.arrival, row.recall)
    if other.origin & 7 > row.origin & 7 { (next.arrival, next.recall) = (row.said, other.source) }
    return next
  }

  package static func firstBundle(of row: ClaimRow) -> BundleID {
    BundleID(rawValue: Int64(row.regions == 0 ? row.source : row.regions))
  }

  /// The first bundle, the last one, and the one that revised it.
  package static func bundles(of row: ClaimRow) -> Set<BundleID> {
    var bundles: Set = [firstBundle(of: row), BundleID(rawValue: Int64(row.source))]
    if row.recall != 0 { bundles.insert(BundleID(rawValue: Int64(row.recall))) }
    return bundles
  }

  /// - Parameters:
  ///   - bundle: as it was before this one; `nil` is now.
  ///   - origins: looks the names up.
  package static func release(
    of row: ClaimRow, before bundle: BundleID?, _ origins: (Int64) throws -> ReleasingOrigins?
  ) rethrows -> ReleasedKey {
    var (said, revisions) = (row.statement, row.origin & 7)
    if let bundle, row.arrival != 0, Int64(row.recall) >= bundle.rawValue {
      (said, revisions) = (Statement(bits: UInt32(bitPattern: row.arrival)), 0)
    }
    return ReleasedKey(
      key: said.claim(about: row.subject), bundle: BundleID(rawValue: Int64(row.source)), revisions: revisions,
      origins: try origins(names(of: row)))
  }

  /// What the first release said; `nil` where nothing came later.
  package static func earlier(of row: ClaimRow) -> ClaimedKey? {
    row.arrival == 0 ? nil : Statement(bits: UInt32(bitPattern: row.arrival)).claim(about: row.subject)
  }

  /// Which of some releases are new, which change a row that is there, and which are no rows.
  package struct Division {
    package private(set) var new: [ClaimRow] = []
    package private(set) var changed: [ClaimRow] = []
    package private(set) var odd: [ReleasedKey] = []

    /// - Parameters:
    ///   - keys: in the order of key data and rolling start; what is said of one in its order.
    ///   - inTable: those that stand in the table already.
    ///   - there: rows about the key data, in their order.
    ///   - row: a release as a row; `nil` where it does not fit.
    package init(
      _ keys: [ReleasedKey], inTable: Set<KeySubject>, there: [ClaimRow], _ row: (ReleasedKey) throws -> ClaimRow?
    ) rethrows {
      var inTable = inTable
      var next = 0
      for released in keys {
        let subject = released.subject
        guard !inTable.contains(subject), let row = try row(released) else {
          odd.append(released)
          // What is said of it later in this release comes behind it.
          inTable.insert(subject)
          continue
        }
        while next < there.count, there[next].subject < subject { next += 1 }
        if let last = new.last, last.subject == subject {
          new[new.count - 1] = ReleaseRow.row(last, releasedAgainAs: row)
        } else if next < there.count, there[next].subject == subject {
          changed.append(row)
        } else {
          new.append(row)
        }
      }
    }
  }
}

extension ReleasedKey {
  /// What it is about.
  package var subject: KeySubject { KeySubject(key: key.key, rollingStart: key.rollingStartWord) }
}

extension [ReleasedKey] {
  /// Each once, where they stand in its order.
  package var keyData: [TemporaryExposureKey] {
    var keys: [TemporaryExposureKey] = []
    for released in self where keys.last != released.key.key { keys.append(released.key.key) }
    return keys
  }
}
