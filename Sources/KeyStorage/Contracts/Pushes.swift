package import ExposureKeys
package import KeyNormalization

/// A batch's number in the store.
@frozen
package struct PushID: Hashable, Comparable, Sendable, Codable, BitwiseCopyable {
  package let rawValue: Int64
  package init(rawValue: Int64) { self.rawValue = rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Where a batch of own keys stands on its way to a destination.
package enum PushState: String, Hashable, Sendable, CaseIterable, Codable {
  /// It is in the store, whole and signed, and may have been sent: nobody knows what became of it.
  case staged
  /// The gateway has answered for each of its keys.
  case settled
  /// Nothing of it was taken, and it is not sent again under its tag; its keys are selected anew.
  case withdrawn
}

/// A batch that is to be staged: what goes over the wire is fixed with it, so that it can be sent again as it was.
package struct NewPush: Hashable, Sendable {
  package var destination: String
  /// 1...64 visible ASCII characters.
  package var tag: String
  /// Base64 of the signature, on one line.
  package var signature: String
  package var mediaType: String
  package var keyCount: Int
  /// Lower-case hexadecimal SHA-256 of the bytes that are signed.
  package var digest: String

  package init(
    destination: String, tag: String, signature: String, mediaType: String, keyCount: Int, digest: String
  ) {
    self.destination = destination
    self.tag = tag
    self.signature = signature
    self.mediaType = mediaType
    self.keyCount = keyCount
    self.digest = digest
  }
}

/// A batch in the store.
package struct PushRecord: Hashable, Sendable {
  package var id: PushID
  package var push: NewPush
  package var state: PushState
  package var staged: Instant
  /// When it came into this state.
  package var changed: Instant

  package init(id: PushID, push: NewPush, state: PushState, staged: Instant, changed: Instant) {
    self.id = id
    self.push = push
    self.state = state
    self.staged = staged
    self.changed = changed
  }
}

/// Where an own key stands with a destination.
package enum PushedKeyState: String, Hashable, Sendable, CaseIterable, Codable {
  /// It was in a batch, and the destination did not take it: it is sent again.
  case pending
  /// It is in a batch that is staged.
  case batched
  /// The destination has it.
  case stored
  /// The destination does not take it; it is not sent again as it is.
  case refused
}

/// An own key as a destination is told of it.
package struct PushedKey: Hashable, Sendable {
  /// What is said of a key, number by number as the batch spells it. It stays the same until the destination has it, so that
  /// a key that is sent again is the same key there.
  package struct Row: Hashable, Sendable {
    /// In ten-minute intervals, 1...144.
    package var rollingPeriod: Int32
    /// 0...8, or 2147483647 where none is given.
    package var transmissionRisk: Int32
    package var reportType: Int32
    package var daysSinceOnset: Int32
    /// In the order in which they are sent; none has a comma.
    package var visited: [String]

    package init(
      rollingPeriod: Int32, transmissionRisk: Int32, reportType: Int32, daysSinceOnset: Int32, visited: [String]
    ) {
      self.rollingPeriod = rollingPeriod
      self.transmissionRisk = transmissionRisk
      self.reportType = reportType
      self.daysSinceOnset = daysSinceOnset
      self.visited = visited
    }
  }

  package var subject: KeySubject
  package var row: Row
  package var state: PushedKeyState
  /// The last batch that it was in, and its place there, from 0.
  package var push: PushID?
  package var position: Int
  /// The report type under which the destination has it; `nil` where it has nothing of it.
  package var storedType: Int32?
  /// How often the destination could not store it, in a row.
  package var failures: Int
  /// Why it is refused, or is sent again.
  package var reason: String?
  package var changed: Instant

  package init(
    subject: KeySubject, row: Row, state: PushedKeyState = .pending, push: PushID? = nil, position: Int = 0,
    storedType: Int32? = nil, failures: Int = 0, reason: String? = nil, changed: Instant
  ) {
    self.subject = subject
    self.row = row
    self.state = state
    self.push = push
    self.position = position
    self.storedType = storedType
    self.failures = failures
    self.reason = reason
    self.changed = changed
  }
}

/// That a destination was told of a key, or is about to be.
package struct KeyPush: Hashable, Sendable {
  package var destination: String
  package var key: PushedKey

  package init(destination: String, key: PushedKey) {
    self.destination = destination
    self.key = key
  }
}

/// What pushing asks.
package protocol PushingState: AnyObject {
  /// In the order in which they were staged; `nil` is all destinations.
  func pushes(to destination: String?, in states: Set<PushState>) throws -> [PushRecord]
  /// How many batches were staged for a destination since an instant, whatever became of them.
  func pushCount(to destination: String, since start: Instant) throws -> Int
  /// The body as it is sent; `nil` once the batch is settled, or where a key in it was erased.
  func content(of push: PushID) throws -> [UInt8]?
  /// The keys that a destination was told of, in the order of key data and rolling start, from `start` on and before `end`,
  /// where there is one.
  func pushedKeys(
    to destination: String, from start: TemporaryExposureKey, before end: TemporaryExposureKey?
  ) throws -> [PushedKey]
  /// The keys of a batch that is staged, in its order.
  func keys(of push: PushID) throws -> [PushedKey]
  /// By destination and rolling start.
  func pushes(of key: TemporaryExposureKey) throws -> [KeyPush]
  /// How many keys stand how.
  func pushedKeyCounts(to destination: String) throws -> [PushedKeyState: Int]
}

/// What pushing changes.
package protocol PushingChanges: AnyObject {
  func stage(_ push: NewPush, _ content: [UInt8], at now: Instant) throws -> PushRecord
  /// Moves a batch to another state; its body is dropped with `staged`.
  func move(_ push: PushID, to state: PushState, at now: Instant) throws
  /// Adds keys, or replaces what was noted of them.
  func note(_ keys: [PushedKey], to destination: String) throws
}

/// How pushing to a destination went last: a note.
package struct PushAttempt: Hashable, Sendable, Codable {
  package var time: Instant
  package var lastSuccess: Instant?
  /// Failures in a row.
  package var failures: Int
  package var faultCode: String?
  package var faultReason: String?
  package var nextAttempt: Instant
  /// What a person should look at although nothing failed; it stays until the destination takes keys again.
  package var warningCode: String?
  package var warningReason: String?

  package init(
    time: Instant, lastSuccess: Instant?, failures: Int, fault: DocumentFault?, warning: DocumentFault? = nil,
    nextAttempt: Instant
  ) {
    self.time = time
    self.lastSuccess = lastSuccess
    self.failures = failures
    faultCode = fault?.code.rawValue
    faultReason = fault?.reason
    warningCode = warning?.code.rawValue
    warningReason = warning?.reason
    self.nextAttempt = nextAttempt
  }

  package var fault: DocumentFault? {
    guard let faultCode, let faultReason else { return nil }
    return DocumentFault(code: FaultCode(rawValue: faultCode), reason: faultReason)
  }

  package var warning: DocumentFault? {
    guard let warningCode, let warningReason else { return nil }
    return DocumentFault(code: FaultCode(rawValue: warningCode), reason: warningReason)
  }
}
