package import ExposureKeys
internal import FoundationEssentials

extension PublishingState {
  /// What the gateway's clock has seen; `nil` in a new store.
  ///
  /// - Parameter replica: whose clock, where several share the store.
  package func clockRecord(of replica: ReplicaName? = nil) throws -> ClockJudge.Record? {
    try decoded(.clock(replica: replica))
  }

  /// The operator's last word about the clock.
  package func clockWord() throws -> ClockWord? { try decoded(.clockWord) }

  /// Which replicas are to have no work, by name.
  package func drainedReplicas() throws -> [DrainedReplica] { try decoded(.drainedReplicas) ?? [] }

  /// How this store began beside what was published before; `nil` where it did not.
  package func beginning() throws -> StoreBeginning? { try decoded(.begun) }

  /// Which keys were erased, and when.
  package func erasures() throws -> Erasures { try decoded(.erasures) ?? Erasures() }

  /// How pushing to a destination went last; `nil` where it was never tried.
  package func pushAttempt(to destination: String) throws -> PushAttempt? {
    try decoded(.push(destination: destination))
  }

  func decoded<Value: Decodable>(_ note: StoredNote) throws -> Value? {
    guard let bytes = try self.note(note) else { return nil }
    do {
      return try JSONDecoder().decode(Value.self, from: Data(bytes))
    } catch {
      throw StorageFault(.corrupt, "the note \(note.name) cannot be read")
    }
  }
}

extension DrainedReplica {
  /// As the note has them.
  package static func all(in note: [UInt8]) throws -> [DrainedReplica] {
    do {
      return try JSONDecoder().decode([DrainedReplica].self, from: Data(note))
    } catch {
      throw StorageFault(.corrupt, "the note \(StoredNote.drainedReplicas.name) cannot be read")
    }
  }
}

/// A replica that is to have no work, since when, and who says so.
package struct DrainedReplica: Hashable, Sendable, Codable {
  package let name: ReplicaName
  package let since: Instant
  package let by: String
  package let reason: String?

  package init(_ name: ReplicaName, since: Instant, by word: Attribution) {
    self.name = name
    self.since = since
    by = word.by
    reason = word.reason
  }
}

/// That a store began beside series that were published before, when, and who says so.
package struct StoreBeginning: Hashable, Sendable, Codable {
  package let series: [String]
  package let since: Instant
  package let by: String
  package let reason: String?
  /// Nothing is published or pushed before the operator says that all words were said again.
  package internal(set) var waits = true

  init(beside series: [String], since: Instant, by word: Attribution) {
    self.series = series
    self.since = since
    by = word.by
    reason = word.reason
  }
}

/// Keys that were erased: the SHA-256 of each in lower-case hexadecimal, and when.
package struct Erasures: Hashable, Sendable, Codable {
  package var moments: [String: Instant] = [:]
  /// The documents whose bytes were dropped for it, by number, and when.
  private var documents: [String: Instant] = [:]

  package init() {}

  /// When the bytes of a document were erased; `nil` where they were not.
  package func moment(of document: DocumentID) -> Instant? { documents[String(document.rawValue)] }

  /// Notes an erasure, and forgets those that are older than 400 days: no archive lists keys for that long.
  ///
  /// - Parameter digest: the SHA-256 of the key data.
  package mutating func note(_ digest: String, contents: [DocumentID], at now: Instant) {
    func isRecent(_ moment: Instant) -> Bool { now.secondsSince1970 - moment.secondsSince1970 < 400 * 86_400 }
    moments = moments.filter { isRecent($0.value) }
    moments[digest] = now
    documents = documents.filter { isRecent($0.value) }
    for document in contents { documents[String(document.rawValue)] = now }
  }
}

func encoded(_ value: some Encodable) throws -> [UInt8] {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys]
  return Array(try encoder.encode(value))
}
