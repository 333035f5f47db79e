package import ExposureKeys

/// What came in by an upload door in one hour. Uploads are single persons': only who is shown the salt can be shown this.
package struct UploadHour: Hashable, Sendable, Codable {
  package var door: String
  /// When the hour began; a multiple of 3600 seconds.
  package var start: Instant
  /// How many uploads.
  package var count: Int
  /// The numbers of the first and the last event with some of them; `nil` where there was none.
  package var first: EventID?
  package var last: EventID?
  /// 32 random bytes.
  package var salt: [UInt8]
  /// How long all this is kept.
  package var until: Instant

  package init(
    door: String, start: Instant, count: Int, first: EventID?, last: EventID?, salt: [UInt8], until: Instant
  ) {
    self.door = door
    self.start = start
    self.count = count
    self.first = first
    self.last = last
    self.salt = salt
    self.until = until
  }

  /// What is committed to, a line each.
  package var text: String {
    let numbers = first.flatMap { first in last.map { "\(first.rawValue)-\($0.rawValue)" } } ?? "none"
    return "\(door)\n\(start.secondsSince1970)\n\(count)\n\(numbers)\n"
  }
}

/// The uploads of a door that no entry of the log covers yet.
private struct OpenUploads: Hashable, Codable {
  struct Tally: Hashable, Codable {
    var count: Int
    var first: EventID
    var last: EventID

    mutating func add(_ other: Tally) {
      count += other.count
      (first, last) = (min(first, other.first), max(last, other.last))
    }
  }

  /// The last hour that has an entry, in hours since 1970; `nil` before the first one.
  var closed: Int?
  var hours: [Int: Tally] = [:]

  /// Counts what came. A clock that went back counts for the first hour without an entry.
  mutating func add(_ tally: Tally, at hour: Int) {
    let hour = max(hour, closed.map { $0 + 1 } ?? hour)
    if hours[hour] == nil { hours[hour] = tally } else { hours[hour]?.add(tally) }
  }

  /// Counts everything before `first` for it, and everything after `last` for that one: a clock was ahead.
  mutating func fold(into range: ClosedRange<Int>) {
    for (hour, tally) in hours where !range.contains(hour) {
      hours[hour] = nil
      let place = hour < range.lowerBound ? range.lowerBound : range.upperBound
      if hours[place] == nil { hours[place] = tally } else { hours[place]?.add(tally) }
    }
  }
}

extension Ledger {
  /// Hours that are told of after a standstill; what came before counts for the first of them.
  private static let mostHours = 14 * 24
  private static let hoursAtOnce = 48

  /// Closes the hours that are over: one entry a door and hour for the log, whether something came or not.
  ///
  /// - Parameters:
  ///   - doors: their names.
  ///   - days: how long what opens an entry is kept.
  ///   - time: a clock that is in doubt closes nothing.
  package func uploadsCounted(at doors: [String], keptFor days: Int64, at time: SoundTime) async throws {
    let hour = time.instant.hour
    while case let waiting = try await read({ state in
      try doors.filter { try state.openUploads($0).closed.map { $0 < hour - 1 } ?? true }
    }), !waiting.isEmpty {
      try await count(waiting, before: hour, keptFor: days, at: time.instant)
    }
  }

  private func count(_ doors: [String], before now: Int, keptFor days: Int64, at time: Instant) async throws {
    // Drawn here, since a transaction may run again.
    let salts = (0..<Self.hoursAtOnce).map { _ in ReceivedMark.newSalt() }
    let until = Instant(secondsSince1970: time.secondsSince1970 + days * 86_400)
    try await transact(.uploadsCounted, at: time) { page in
      var counted: [UploadHour] = []
      for door in doors {
        var open = try page.transaction.openUploads(door)
        let start = max((open.closed ?? now - 2) + 1, now - Self.mostHours)
        open.fold(into: start...max(start, now))
        open.closed = start - 1
        var kept = try page.transaction.uploadHours(of: door)
        for hour in start..<max(start, now) where counted.count < salts.count {
          let tally = open.hours.removeValue(forKey: hour)
          let closed = UploadHour(
            door: door, start: Instant(secondsSince1970: Int64(hour) * 3600), count: tally?.count ?? 0,
            first: tally?.first,
            last: tally?.last, salt: salts[counted.count], until: until)
          counted.append(closed)
          kept.append(closed)
          open.closed = hour
        }
        try page.change([
          NoteChange(.openUploads(door: door), try encoded(open)),
          NoteChange(.uploadHours(door: door), try encoded(kept.filter { $0.until > time })),
        ])
      }
      guard !counted.isEmpty else { return }
      try page.enter(.uploadsCounted, about: doors.joined(separator: ", "), saying: .uploadsCounted(counted))
    }
  }
}

extension LedgerPage {
  /// Uploads came by a door in this event. Nothing is counted where nobody listens.
  func count(_ uploads: Int, at door: String, in stamp: EventStamp) throws {
    guard hasListeners, uploads > 0 else { return }
    var open = try transaction.openUploads(door)
    open.add(OpenUploads.Tally(count: uploads, first: stamp.id, last: stamp.id), at: stamp.time.hour)
    try change([NoteChange(.openUploads(door: door), try encoded(open))])
  }

  /// What opens entries goes when its time is over.
  func forgetUploadHours(at now: Instant) throws {
    for source in try transaction.sources() {
      let kept = try transaction.uploadHours(of: source.name)
      let left = kept.filter { $0.until > now }
      if left.count < kept.count {
        try change([NoteChange(.uploadHours(door: source.name), left.isEmpty ? nil : try encoded(left))])
      }
    }
  }
}

extension PublishingState {
  /// The hours of a door that the log was told of, as long as they are kept.
  package func uploadHours(of door: String) throws -> [UploadHour] { try decoded(.uploadHours(door: door)) ?? [] }

  fileprivate func openUploads(_ door: String) throws -> OpenUploads {
    try decoded(.openUploads(door: door)) ?? OpenUploads()
  }
}

extension Instant {
  /// Hours since 1970, downwards.
  fileprivate var hour: Int {
    let (hour, rest) = secondsSince1970.quotientAndRemainder(dividingBy: 3600)
    return Int(rest < 0 ? hour - 1 : hour)
  }
}
