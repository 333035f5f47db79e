package import ExposureKeys
internal import KeyNormalization
package import KeyPeers
package import KeyStorage

/// What the store knows about its sources: `keyferry status`. As JSON it is described by `schemas/status.schema.json`.
package struct StatusReport: Sendable {
  package struct Source: Sendable {
    package let name: String
    /// The protocol; `nil` where the configuration does not name the source any more.
    package let peer: String?
    package let record: SourceRecord
    package let summary: SourceSummary
    package let pausedSince: Instant?
    package let quarantine: [DocumentRecord]
    /// When it brought a new key last; `nil` before the first one.
    package let newestKey: Instant?
    /// Whether it answers and has had nothing new for longer than the configuration says.
    package let isBehind: Bool
    /// Whether half of the keys of its newest document with any, or more, were rejected. Own keys that come back are no
    /// reason, unless the source is to speak for an own origin.
    package let isRejecting: Bool
    /// Whether nothing of it is published, as the configuration says.
    package let isRehearsal: Bool
    /// The own origins that the source may speak for and whose keys are rejected as own ones that come back; sorted.
    package let rejectedOwnOrigins: [String]
  }

  /// A series that shows a source's archives as their origin has signed them.
  package struct Mirror: Sendable, Encodable {
    package let name: String
    package let source: String
    /// Those that its index names.
    package let archives: Int
    /// Those that its source lists and that were shown, and that it does not name, since their files are lost.
    package let lost: Int

    package init(name: String, source: String, archives: Int, lost: Int) {
      (self.name, self.source, self.archives, self.lost) = (name, source, archives, lost)
    }
  }

  package let now: Instant
  package let sources: [Source]
  /// Who publishes knows them.
  package var mirrors: [Mirror] = []
  package let pauses: [Pause]
  package let recalls: [Recall]
  package let claimCount: Int
  /// When what had been kept long enough was removed last.
  package let lastRetention: Instant?
  /// New claims by day, origin and source; `nil` where nobody asked.
  package let arrivals: [ArrivedClaims]?
  /// The documents whose bytes are kept, and how many bytes that are.
  package let keptDocuments: Int
  package let keptBytes: Int
  /// The recorded documents with keys that are held until the operator decides.
  package let heldDocuments: Int
  /// Of these the newest whose keys came as a flood.
  package let floods: [HeldFlood]

  /// - Parameters:
  ///   - settings: the sources of the configuration; others that the store knows are listed behind them.
  ///   - uploads: the doors for uploads, which nobody asks.
  ///   - federation: the national back ends that upload, by the names of their sources.
  ///   - rehearsals: the sources of which nothing is published.
  ///   - start: since when the report tells what came; `nil` is not.
  ///   - limit: seconds without a new key after which a source is behind; `nil` is never.
  ///   - ownOrigins: the gateway's.
  package init(
    _ state: any StoredState, settings: [SourceSettings], uploads: [UploadSource] = [], federation: [String] = [],
    rehearsing rehearsals: Set<String> = [], arrivalsSince start: Instant? = nil, behindAfter limit: Int64? = nil,
    ownOrigins: Set<String> = [], now: Instant
  ) throws {
    let records = Dictionary(uniqueKeysWithValues: try state.sources().map { ($0.name, $0) })
    let pauses = try state.pauses()
    let asked = settings.map(\.name)
    let doors = uploads.map(\.name).filter { !asked.contains($0) }
    let configured = asked + doors + federation
    let others = records.keys.filter { !configured.contains($0) }.sorted()
    let newest = try state.newestArrivals()
    func kind(_ name: String) -> String? {
      if doors.contains(name) { return "uploads" }
      return federation.contains(name) ? "federation" : settings.first { $0.name == name }?.peer.rawValue
    }
    sources = try (configured + others).map { name in
      let own = settings.first { $0.name == name }?.rejectedOwn(of: ownOrigins) ?? []
      return Source(
        name: name, peer: kind(name),
        record: records[name] ?? SourceRecord(name: name), summary: try state.summary(of: name),
        pausedSince: pauses.first { $0.subject == .source(name) }?.since,
        quarantine: try state.documents(of: name, in: [.quarantined], limit: 20), newestKey: newest[name],
        isBehind: asked.contains(name) && isBehind(newest[name], after: limit, at: now),
        isRejecting: try asked.contains(name)
          && isRejecting(state.documents(of: name, in: [.recorded], limit: 20), countingOwn: !own.isEmpty),
        isRehearsal: rehearsals.contains(name), rejectedOwnOrigins: own)
    }
    arrivals = try start.map(state.arrivals(since:))
    self.now = now
    self.pauses = pauses
    recalls = try state.recalls()
    claimCount = try state.claimCount()
    lastRetention = try state.lastRetention
    let kept = try state.keptContents()
    keptDocuments = kept.count
    keptBytes = kept.reduce(0) { $0 + $1.byteCount }
    let quarantined = sources.reduce(0) { $0 + ($1.summary.documents[.quarantined] ?? 0) }
    let waiting = try state.waitingDocuments(limit: 50)
    heldDocuments = max(0, waiting.count - quarantined)
    floods = try waiting.newest.compactMap { try state.heldFlood(of: $0, today: now.day) }
  }
}

extension StatusReport.Source {
  /// Seconds since the last success; `nil` before the first one.
  package func lag(at now: Instant) -> Int64? {
    record.lastSuccess.map { now.secondsSince1970 - $0.secondsSince1970 }
  }

  /// When it is due, while nobody has paused it.
  package var nextAttempt: Instant? { pausedSince == nil ? record.nextAttempt : nil }

  /// `paused`, `failing`, `never asked`, `rejecting`, `behind`, `rehearsal` or `fine`; a door for uploads, or for a country, is
  /// `open`.
  package var state: String {
    if pausedSince != nil { return "paused" }
    if peer == "uploads" || peer == "federation" { return isRehearsal ? "rehearsal" : "open" }
    if record.lastFault != nil { return "failing" }
    if record.lastSuccess == nil { return "never asked" }
    if isRejecting { return "rejecting" }
    if isBehind { return "behind" }
    return isRehearsal ? "rehearsal" : "fine"
  }
}

extension SourceSettings {
  /// The own origins that it is to speak for, and is not the server of.
  fileprivate func rejectedOwn(of ownOrigins: Set<String>) -> [String] {
    guard case .only(let allowed) = speaksFor, !isRelay else { return [] }
    return ownOrigins.intersection(allowed).subtracting([origin ?? ""]).sorted()
  }
}

/// Whether half or more of the keys of the newest document that had any were rejected.
///
/// - Parameter isCounting: whether own keys that came back count; a federation passes them on in normal times.
private func isRejecting(_ documents: [DocumentRecord], countingOwn isCounting: Bool) -> Bool {
  guard let facts = documents.last(where: { ($0.facts?.received ?? 0) > 0 })?.facts else { return false }
  let own = isCounting ? 0 : facts.rejections[AdmissionReason.ownKeyReturned.rawValue] ?? 0
  return (facts.rejected - own) * 2 >= facts.received && facts.rejected > own
}

/// Whether a source that brought its newest key at this time has had nothing new for too long. One that never brought any
/// is not: there may be none.
package func isBehind(_ newest: Instant?, after limit: Int64?, at now: Instant) -> Bool {
  guard let newest, let limit else { return false }
  return now.secondsSince1970 - newest.secondsSince1970 > limit
}

// MARK: JSON

extension StatusReport: Encodable {
  private enum CodingKeys: String, CodingKey {
    case now, sources, mirrors, claims, arrivals, reportVersion, pausedOrigins, lastRetention, keptDocuments,
      keptBytes
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(1, forKey: .reportVersion)
    try members.encode(now.description, forKey: .now)
    try members.encode(sources.map { Row($0, now: now) }, forKey: .sources)
    try members.encode(mirrors, forKey: .mirrors)
    try members.encode(
      pauses.compactMap { if case .origin(let name) = $0.subject { name } else { nil } }, forKey: .pausedOrigins)
    try members.encode(claimCount, forKey: .claims)
    try members.encodeIfPresent(lastRetention?.description, forKey: .lastRetention)
    try members.encodeIfPresent(arrivals?.map(ArrivalRow.init), forKey: .arrivals)
    try members.encode(keptDocuments, forKey: .keptDocuments)
    try members.encode(keptBytes, forKey: .keptBytes)
  }

  private struct ArrivalRow: Encodable {
    let day: String
    let origin: String
    let source: String
    let new: Int

    init(_ arrived: ArrivedClaims) {
      (day, origin, source, new) = (arrived.day.description, arrived.origin, arrived.source, arrived.claims)
    }
  }

  private struct Row: Encodable {
    let source: StatusReport.Source
    let now: Instant

    init(_ source: StatusReport.Source, now: Instant) {
      self.source = source
      self.now = now
    }

    enum CodingKeys: String, CodingKey {
      case name, state, fault, failures, cursor, documents, received, new, known, held, rejections, quarantine,
        lastAttempt, lastSuccess, lagSeconds, nextAttempt, newestKey
      case peer = "protocol"
    }

    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: CodingKeys.self)
      // What is uploaded is dated by the end of its day.
      let newest = source.newestKey.map { $0 > now ? now : $0 }
      try members.encodeIfPresent(newest?.description, forKey: .newestKey)
      try members.encode(source.name, forKey: .name)
      try members.encodeIfPresent(source.peer, forKey: .peer)
      try members.encode(source.state, forKey: .state)
      try members.encodeIfPresent(source.record.lastFault, forKey: .fault)
      try members.encode(source.record.failures, forKey: .failures)
      try members.encodeIfPresent(source.record.cursor, forKey: .cursor)
      try members.encodeIfPresent(source.record.lastAttempt?.description, forKey: .lastAttempt)
      try members.encodeIfPresent(source.record.lastSuccess?.description, forKey: .lastSuccess)
      try members.encodeIfPresent(source.lag(at: now), forKey: .lagSeconds)
      try members.encodeIfPresent(source.nextAttempt?.description, forKey: .nextAttempt)
      try members.encode(
        Dictionary(uniqueKeysWithValues: source.summary.documents.map { ($0.key.rawValue, $0.value) }),
        forKey: .documents)
      try members.encode(source.summary.counts.received, forKey: .received)
      try members.encode(source.summary.counts.new, forKey: .new)
      try members.encode(source.summary.counts.known, forKey: .known)
      try members.encode(source.summary.counts.held, forKey: .held)
      try members.encode(source.summary.counts.rejections, forKey: .rejections)
      try members.encode(source.quarantine.map(QuarantineRow.init), forKey: .quarantine)
    }
  }
}

/// A document in quarantine, as JSON.
package struct QuarantineRow: Sendable, Encodable {
  package let id: Int64
  package let source: String
  package let document: String
  package let state: String
  package let fault: DocumentFault?
  package let attempts: Int
  package let since: String
  package let nextAttempt: String?
  /// Its held claims by the code of the reason.
  package let held: [String: Int]?
  package let flood: Flood?

  /// Which limit held its keys.
  package struct Flood: Sendable, Encodable {
    package let day: String
    package let origin: String
    package let limit: Int
    package let command: String?

    fileprivate init(_ exceeded: VolumeRecord.Held, raisedBy command: String?) {
      (day, origin) = ("\(Day(daysSince1970: numericCast(exceeded.day)))", exceeded.origin)
      (limit, self.command) = (exceeded.limit, command)
    }
  }

  enum CodingKeys: String, CodingKey {
    case id, source, document, state, fault, attempts, since, held, flood, nextAttempt
  }

  package init(_ document: WaitingDocument, _ flood: HeldFlood?) {
    self.init(
      document.record, held: document.holds, flood?.exceeded.map { Flood($0, raisedBy: flood?.raising) })
  }

  package init(_ record: DocumentRecord) { self.init(record, held: [:], nil) }

  private init(_ record: DocumentRecord, held: [String: Int], _ flood: Flood?) {
    (self.held, self.flood) = (held.isEmpty ? nil : held, flood)
    id = record.id.rawValue
    source = record.source
    document = record.name
    state = record.state.rawValue
    fault = record.fault
    attempts = record.attempts
    since = record.changed.description
    nextAttempt = record.nextAttempt?.description
  }
}
