internal import BundleTrust
internal import ExposureKeys
internal import KeyNormalization
internal import KeyStorage

/// Look-alikes for keys of small windows, so that nobody can tell whose keys belong together.
///
/// Every real key is cloned in whole rounds: same rolling start and period, risk, report type and onset under other key
/// data, so each has the same number of look-alikes. The key data comes from a secret of this gateway, the real key and the
/// number of the round, and the number of rounds of each key is kept. So a look-alike is the same in every series and in
/// every round that comes after, and comparing two series does not tell which keys are real. Look-alikes exist in bundles
/// only: they are never claims, and never go to peers.
struct Padding: Sendable {
  private let hash: KeyedHash
  private let rounds: [KeySubject: UInt32]

  static let secretLength = 32

  init(secret: [UInt8], rounds: [KeySubject: UInt32]) {
    hash = KeyedHash(secret: secret)
    self.rounds = rounds
  }

  /// The look-alikes that go out with the first release of keys. Only keys of windows that some series had to pad have any.
  func lookalikes(of keys: KeyRun) throws -> [ClaimedKey] { try lookalikes(of: keys, rounds: rounds) }

  /// Those of keys whose number of rounds is given: for a revision, those that the series has released.
  func lookalikes(of keys: KeyRun, rounds: [KeySubject: UInt32]) throws -> [ClaimedKey] {
    if rounds.isEmpty { return [] }
    var lookalikes: [ClaimedKey] = []
    try keys.read { record in
      let count = rounds[record.key.subject] ?? 0
      if count > 0 { lookalikes += (1...count).map { lookalike(of: record.key, round: $0) } }
    }
    return lookalikes
  }

  /// Those of keys whose number of rounds is given: for a revision, those that the series has released.
  func lookalikes(of keys: [ClaimedKey], rounds: [KeySubject: UInt32]) -> [ClaimedKey] {
    keys.flatMap { key in
      let count = rounds[key.subject] ?? 0
      return count == 0 ? [] : (1...count).map { lookalike(of: key, round: $0) }
    }
  }

  private func lookalike(of key: ClaimedKey, round: UInt32) -> ClaimedKey {
    var other = key
    other.key = keyData(of: key.subject, round: round)
    return other
  }

  private func keyData(of subject: KeySubject, round: UInt32) -> TemporaryExposureKey {
    let message = subject.key.bytes + bigEndian(UInt32(bitPattern: subject.rollingStart)) + bigEndian(round)
    return TemporaryExposureKey(hash.bytes(for: message).prefix(16)) ?? subject.key
  }

  /// How many look-alikes each of these keys goes out with in a series, to be kept.
  func release(
    of keys: KeyRun, by series: String, from state: any PublishingState
  ) throws -> [NoteChange] {
    var padded: [(KeySubject, UInt32)] = []
    try keys.read { record in
      if let count = rounds[record.key.subject] { padded.append((record.key.subject, count)) }
    }
    guard !padded.isEmpty else { return [] }
    var table = try RoundTable(of: keys.days(), of: series, from: state)
    for (subject, count) in padded { table.set(subject, count) }
    return table.changes
  }

  /// How many look-alikes each of these keys went out with in a series.
  static func releasedRounds(
    of keys: KeyRun, by series: String, from state: any PublishingState
  ) throws -> [KeySubject: UInt32] {
    try RoundTable(of: keys.days(), of: series, from: state).rounds
  }

  /// What a series needs.
  struct Request: Sendable {
    var series: String
    var new: KeyRun
    /// 0 where the series is not padded.
    var minimum: Int

    var isShort: Bool { !new.isEmpty && new.count < minimum }
  }

  /// Decides about the rounds of all keys that any series is about to publish. What it decides is kept before anything
  /// is staged: an interrupted round finds the same look-alikes again.
  static func plan(
    _ requests: [Request], in state: any PublishingState, newSecret: [UInt8], now: Instant
  ) throws -> (plan: Padding, notes: [NoteChange]) {
    let known = try state.note(.paddingSecret)
    let secret = known ?? newSecret
    var days: Set<Day> = []
    for request in requests { days.formUnion(try request.new.days()) }
    var table = try RoundTable(of: days, of: nil, from: state)
    try table.raise(requests)
    let notes =
      (known == nil ? [NoteChange(.paddingSecret, secret)] : []) + table.changes
      + (try RoundTable.old(of: requests.map(\.series), in: state, now: now))
    return (Padding(secret: secret, rounds: table.rounds), notes)
  }

  /// What one series would get now, without keeping it.
  static func estimate(_ request: Request, from state: any PublishingState) throws -> Int {
    var table = try RoundTable(of: request.new.days(), of: nil, from: state)
    try table.raise([request])
    if table.rounds.isEmpty { return 0 }
    var count = 0
    try request.new.read { count += Int(table.rounds[$0.key.subject] ?? 0) }
    return count
  }
}

/// How many rounds of look-alikes each key has, kept by the day of its rolling start.
private struct RoundTable {
  private(set) var rounds: [KeySubject: UInt32] = [:]
  private let series: String?
  private var changed: Set<Day> = []

  /// - Parameters:
  ///   - days: those of keys that began to be used on them are read.
  ///   - series: as this series has released them; `nil` is what holds for all series.
  init(of days: Set<Day>, of series: String?, from state: any PublishingState) throws {
    self.series = series
    for day in days {
      guard let note = try state.note(.paddingRounds(day, series: series)) else { continue }
      for start in stride(from: 0, to: note.count - Self.entryLength + 1, by: Self.entryLength) {
        let entry = note[start..<start + Self.entryLength]
        guard let key = TemporaryExposureKey(entry.prefix(16)) else { continue }
        let subject = KeySubject(key: key, rollingStart: Int32(bitPattern: word(entry.dropFirst(16))))
        rounds[subject] = word(entry.dropFirst(20))
      }
    }
  }

  mutating func set(_ subject: KeySubject, _ count: UInt32) {
    rounds[subject] = count
    changed.insert(subject.day)
  }

  /// Raises keys to what the smallest series that have them need, until every series has enough.
  mutating func raise(_ requests: [Padding.Request]) throws {
    // They have fewer keys than the minimum of a series.
    let short = try requests.filter(\.isShort).sorted { ($0.new.count, $0.series) < ($1.new.count, $1.series) }
      .map { (keys: try $0.new.keys(), minimum: $0.minimum) }
    var isStable = false
    while !isStable {
      isStable = true
      for request in short {
        let needed = roundsNeeded(by: request.keys, minimum: request.minimum)
        for key in request.keys where (rounds[key.subject] ?? 0) < needed {
          set(key.subject, needed)
          isStable = false
        }
      }
    }
  }

  /// The fewest whole rounds with which the series has its minimum.
  private func roundsNeeded(by keys: [ClaimedKey], minimum: Int) -> UInt32 {
    var needed: UInt32 = 0
    while keys.reduce(0, { $0 + 1 + Int(max(needed, rounds[$1.subject] ?? 0)) }) < minimum {
      needed += 1
    }
    return needed
  }

  /// What has to be kept of what was set.
  var changes: [NoteChange] {
    changed.map { day in
      let entries = rounds.filter { $0.key.day == day }.sorted { $0.key < $1.key }
      let note = entries.flatMap { subject, count in
        subject.key.bytes + bigEndian(UInt32(bitPattern: subject.rollingStart)) + bigEndian(count)
      }
      return NoteChange(.paddingRounds(day, series: series), note)
    }
  }

  /// No key is kept for longer than sixty days after its expiry: the tables that are to go.
  static func old(of series: [String], in state: any PublishingState, now: Instant) throws -> [NoteChange] {
    let days = (Int64(63)...70).map { Day(daysSince1970: now.day.daysSince1970 - $0) }
    let notes = ([nil] + series).flatMap { series in days.map { StoredNote.paddingRounds($0, series: series) } }
    return try notes.filter { try state.note($0) != nil }.map { NoteChange($0, nil) }
  }

  /// Key data, rolling start, rounds.
  private static let entryLength = 24
}

extension KeyRun {
  /// The UTC days on which the keys began to be used.
  fileprivate func days() throws -> Set<Day> {
    var days: Set<Day> = []
    try read { days.insert($0.key.subject.day) }
    return days
  }
}

extension KeySubject {
  /// The UTC day on which the key began to be used.
  var day: Day { IntervalNumber(Int64(rollingStart)).day }
}

private func bigEndian(_ word: UInt32) -> [UInt8] { withUnsafeBytes(of: word.bigEndian) { Array($0) } }
private func word(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
