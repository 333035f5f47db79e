internal import ExposureKeys

/// Hears what happens, inside the transaction in which it happens.
///
/// What a listener throws undoes the whole transaction. It may hear the same event again with the same or another number,
/// since a transaction may be run again, so all that it does is to queue entries.
package protocol LedgerListener: Sendable {
  /// Hears an event after everything that belongs to it was written.
  ///
  /// - Parameter facts: `nil` where the public log does not speak of such an event.
  func hear(_ kind: EventKind, _ facts: PublicFacts?, _ stamp: EventStamp, _ queue: LogQueue) throws
}

/// Where a listener puts what a transparency log is to have. The log numbers entries when it takes them, so that no
/// counter is contended here.
package struct LogQueue {
  private let transaction: any StoreTransaction
  private let event: EventID

  init(_ transaction: any StoreTransaction, event: EventID) {
    self.transaction = transaction
    self.event = event
  }

  /// - Parameter kind: what the log is told that the bytes are.
  package func append(_ bytes: [UInt8], kind: String) throws {
    try transaction.enqueue(bytes, kind: kind, event: event)
  }
}

/// A queued entry's number in its store. It is not the one that the log gives.
package struct QueuedEntryID: Hashable, Comparable, Sendable, Codable {
  package let rawValue: Int64
  package init(rawValue: Int64) { self.rawValue = rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// An entry that waits for the transparency log.
package struct QueuedEntry: Hashable, Sendable {
  package var id: QueuedEntryID
  package var event: EventID
  package var kind: String
  package var bytes: [UInt8]

  package init(id: QueuedEntryID, event: EventID, kind: String, bytes: [UInt8]) {
    self.id = id
    self.event = event
    self.kind = kind
    self.bytes = bytes
  }
}
