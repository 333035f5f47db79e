internal import ExposureKeys
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyStorage

extension PeerVisit {
  /// Keys that began in the future when their document came were rejected: our clock may have been behind, or the sender's
  /// ahead. Their time comes, so the document is read again then, by the same policy, as long as its bytes are kept. What it
  /// says otherwise stays as it was recorded.
  func admitWhatHasBegun() async throws {
    let (name, now) = (source.name, clock())
    let waiting = try await ledger.read { state in
      try state.documents(of: name, rejecting: AdmissionReason.rollingStartInFuture.rawValue)
    }
    if waiting.isEmpty { return }
    let mark = source.readingMark(ownOrigins: ownOrigins, at: now)
    for document in waiting.filter({ $0.isToBeReadAgain(by: mark, at: now) }).prefix(Self.rechecksPerPull) {
      guard let facts = document.facts, let bytes = try await ledger.read({ try $0.content(of: document.id) }) else {
        continue
      }
      try await admit(document, facts, bytes, mark, now)
    }
  }

  private func admit(
    _ document: DocumentRecord, _ facts: DocumentFacts, _ bytes: [UInt8], _ mark: ReadingMark, _ now: Instant
  ) async throws {
    var facts = facts
    facts.reading = mark
    let (policy, intake) = (
      source.admissionPolicy(at: now), Intake(ownOrigins: ownOrigins, usualVolumes: usualVolumes)
    )
    do {
      let verified = try source.arrival(of: document.name, kept: bytes, at: now, isVerified: true).examine().verify()
      var collector = ReadingCollector()
      let summary = try intake.accept(verified, by: policy, into: &collector)
      guard summary.futureKeys < facts.counts.futureKeys else {
        return try await ledger.unchanged(document.id, facts, cursor: nil, at: now)
      }
      // Bytes in memory, which nobody but the body reads now.
      nonisolated(unsafe) let arrival = verified
      _ = try await ledger.recorded(document.id, evidence: nil, cursor: nil, at: now) { [facts] in
        var recorder = $0
        var facts = facts
        facts.counts.admitFutureKeys(by: try intake.accept(arrival, by: policy, into: &recorder).counts)
        return facts
      }
    } catch {
      // Nobody stands behind it any more, say: it stays as it was recorded.
      guard DocumentFault(refusing: error) != nil else { throw error }
      try await ledger.unchanged(document.id, facts, cursor: nil, at: now)
    }
  }
}

extension DocumentRecord {
  /// Another policy is a matter of ``Rereading``. The longer a key's time is off, the rarer its document is read.
  fileprivate func isToBeReadAgain(by mark: ReadingMark, at now: Instant) -> Bool {
    guard let last = facts?.reading, last.digest == mark.digest else { return false }
    let waited = max(0, last.time.secondsSince1970 - discovered.secondsSince1970)
    return now.secondsSince1970 - last.time.secondsSince1970 >= max(7200, waited / 4)
  }
}

extension IntakeSummary {
  fileprivate var futureKeys: Int { counts.futureKeys }
}

extension KeyCounts {
  fileprivate var futureKeys: Int { rejections[AdmissionReason.rollingStartInFuture.rawValue] ?? 0 }

  /// Moves the keys whose time has come from the rejected ones to those that they are now.
  ///
  /// - Parameter counts: of the whole document, as it is read now.
  fileprivate mutating func admitFutureKeys(by counts: KeyCounts) {
    let begun = futureKeys - counts.futureKeys
    guard begun > 0 else { return }
    let left = counts.futureKeys
    rejections[AdmissionReason.rollingStartInFuture.rawValue] = left > 0 ? left : nil
    let (fresh, aside) = (min(begun, counts.new), min(begun - min(begun, counts.new), counts.held))
    new += fresh
    held += aside
    known += begun - fresh - aside
  }
}
