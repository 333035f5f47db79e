package import ExposureKeys
package import KeyStorage

/// How long things are kept.
package struct Retention: Hashable, Sendable {
  /// Days after their expiry that keys are kept, 1...60.
  package var keyDays: Int64 = 14
  /// Days that received bytes are kept as evidence, 0...3650.
  package var evidenceDays: Int64 = 14
  /// Days that the bytes of refused documents are kept, 0...3650.
  package var quarantineDays: Int64 = 14

  /// All received bytes that are kept take at most so many, 1 MB...1 PB: the oldest evidence goes first, then the oldest
  /// bytes of refused documents.
  package var evidenceBytes = 20 << 30

  /// Whether series are published, which ask the agenda what there is to be looked at. Where none is, nobody would ever forget
  /// what it notes.
  package var keepsAgenda = true

  package init() {}

  private static let pause: Int64 = 3600

  /// Keys that had expired by then are not kept; see ``KeySubject/expiry``.
  package func keysEnd(at now: Instant) -> Instant {
    Instant(secondsSince1970: now.secondsSince1970 - keyDays * 86_400)
  }

  /// Removes what has been kept long enough, at most once an hour: whoever pulls, publishes or runs does it, so that it does
  /// not depend on how a gateway is run.
  ///
  /// - Parameter settled: ``ClockLook/settled``.
  /// - Returns: `nil` where it was done less than an hour ago.
  package func carryOut(in ledger: Ledger, at settled: SoundTime) async throws -> ExpiryReceipt? {
    let now = settled.instant
    // A time that lies ahead was noted by a clock that was wrong.
    let last = try await ledger.read { try $0.lastRetention }
    if let last, last <= now, now.secondsSince1970 - last.secondsSince1970 < Self.pause { return nil }
    let limit = keysEnd(at: now)
    var receipt = try await expire(before: limit, in: ledger, at: settled)
    // Others have their turn in between.
    while receipt.isUnfinished { receipt.add(try await expire(before: limit, in: ledger, at: settled)) }
    return receipt
  }

  private func expire(before limit: Instant, in ledger: Ledger, at settled: SoundTime) async throws -> ExpiryReceipt {
    try await ledger.expired(
      keysExpiredBefore: limit, contentBytes: evidenceBytes, forgetsAgenda: !keepsAgenda, at: settled)
  }
}

extension StoredState {
  /// When retention was carried out last; `nil` before the first time.
  package var lastRetention: Instant? {
    get throws {
      try note(.retention).flatMap { Int64(String(decoding: $0, as: UTF8.self)) }.map(Instant.init(secondsSince1970:))
    }
  }
}
