internal import ExposureKeys
internal import KeyNormalization

/// What bundles say, the oldest first.
struct BundleUnion: ~Copyable {
  var sorter = KeySorter()
  private var number: UInt32 = 0

  /// Another bundle follows.
  mutating func begin() { number += 1 }

  /// Of the bundle that was begun last.
  mutating func add(_ key: ClaimedKey) throws { try sorter.add(key, number: number) }

  /// All keys of another bundle.
  mutating func add(_ keys: KeyShare) throws {
    begin()
    try sorter.add(keys, number: number)
  }

  /// What a day says, and then later days: each key data once.
  static func of(_ day: KeyRun, before later: KeyRun) throws -> KeyRun {
    var both = BundleUnion()
    try both.add(KeyShare(run: day))
    try both.add(KeyShare(run: later))
    return try both.sorter.union(oncePerKeyData: true)
  }

  /// The keys by the UTC day on which they began to be used, each key data once in a day. Nothing is left behind.
  mutating func keyDays(where isWanted: (Day) -> Bool) throws -> [Day: KeyRun] {
    var days: [Day: KeyRun] = [:]
    try sorter.drainUnion { key in
      if isWanted(key.day) { try days[key.day, default: KeyRun()].appendOnce(key) }
    }
    return days
  }
}

extension KeyRun {
  /// The keys of a window in the order of their subjects.
  func together(with revised: KeyRun, _ lookalikes: [ClaimedKey]) throws -> KeyRun {
    if revised.isEmpty, lookalikes.isEmpty { return self }
    if isEmpty, lookalikes.isEmpty { return revised }
    var sorter = KeySorter()
    try read { try sorter.add($0.key, number: $0.number) }
    try revised.read { try sorter.add($0.key, number: $0.number) }
    for key in lookalikes { try sorter.add(key, number: OriginNumbers.none) }
    var all = KeyRun()
    try sorter.drain { try all.append($0.key, number: $0.number) }
    return all
  }
}

extension ClaimedKey {
  /// The UTC day on which it began to be used.
  var day: Day { IntervalNumber(Int64(rollingStartWord)).day }
}
