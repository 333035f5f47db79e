package import ExposureKeys

// What every store does alike.

extension DocumentState {
  /// Whether a document in this state has a reason for being there.
  package var keepsFault: Bool {
    switch self {
    case .quarantined, .givenUp: true
    case .discovered, .fetching, .recorded: false
    }
  }
}

extension SourceRecord {
  package mutating func note(_ attempt: SourceAttempt) {
    lastAttempt = attempt.time
    nextAttempt = attempt.nextAttempt
    lastFault = attempt.fault
    if attempt.fault == nil {
      lastSuccess = attempt.time
      failures = 0
    } else {
      failures += 1
    }
  }
}

extension Pause.Subject: Comparable {
  /// Origins are in upper case, as admission has them.
  package var normalized: Self {
    switch self {
    case .source: self
    case .origin(let name): .origin(name.uppercased())
    }
  }

  /// Sources before origins, then by name.
  package static func < (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.source(let left), .source(let right)), (.origin(let left), .origin(let right)): left < right
    case (.source, .origin): true
    case (.origin, .source): false
    }
  }
}

extension RecallRequest {
  /// Whether a claim is withdrawn that came with this document of a source at this time.
  package func means(origin name: String?, document number: DocumentID, of sender: String?, at time: Instant) -> Bool {
    name == origin.uppercased() && since.map { time >= $0 } ?? true && document.map { number == $0 } ?? true
      && source.map { sender == $0 } ?? true
  }
}

extension Recall {
  /// Whether it has withdrawn a claim of this origin that came with the document: it happened behind the claim, or the claim came by
  /// another reading of a document that is no newer than the recall. Whose clock went which way does not matter: events are counted.
  package func hasWithdrawn(
    _ origin: String?, of document: DocumentID, by source: String?, thatCameIn arrival: ArrivalStamp
  ) -> Bool {
    request.means(origin: origin, document: document, of: source, at: arrival.time)
      && (event > arrival.id || arrival.isRereading && time >= arrival.time)
  }
}

extension ReleasedKey {
  /// The key without numbers that belong to a table elsewhere.
  package var withoutTables: Self {
    var released = self
    released.key.regions = .none
    released.key.unknownFields = 0
    return released
  }
}
