package import ExposureKeys
package import KeyNormalization

extension Ledger {
  /// Damaged pieces of the claims were taken out, and what is known otherwise of their content was put back.
  ///
  /// - Parameters:
  ///   - renewsAll: whether filters and agenda are made anew although they look whole.
  ///   - isKept: whether anything changes; otherwise it is said what would.
  ///   - restore: puts back what it can. It may be run again.
  /// - Returns: what `restore` returned; `nil` where nothing is damaged.
  package func repaired<Result: Sendable>(
    renewingAll renewsAll: Bool = false, isKept: Bool = true, by word: OperatorWord, at now: Instant,
    _ restore: @escaping @Sendable (any StoredState, StoreDamage, ClaimRestorer) throws -> Result
  ) async throws -> Result? {
    do {
      return try await transact(.repaired, at: now) { page in
        let stamp = try page.open(.repaired, about: "the store", by: word)
        let damage = try page.transaction.takeOutDamage(renewingAll: renewsAll)
        guard renewsAll || !damage.isEmpty else { throw Undone<Result>(result: nil) }
        let result = try restore(page.transaction, damage, ClaimRestorer(page.transaction))
        guard isKept else { throw Undone(result: result) }
        try page.transaction.setNote(nil, named: UnfinishedRepair.noteName)
        try page.close(stamp, .repaired(lost: damage.lostClaims, word))
        return result
      }
    } catch let undone as Undone<Result> {
      return undone.result
    }
  }
}

/// A body that throws leaves nothing behind.
private struct Undone<Result: Sendable>: Error {
  let result: Result?
}

/// Where claims and releases that were lost are put back. One transaction owns it.
package final class ClaimRestorer {
  private let transaction: any StoreTransaction

  fileprivate init(_ transaction: any StoreTransaction) { self.transaction = transaction }

  /// See ``RepairChanges/arrivals(of:)``.
  package func arrivals(of document: DocumentID) throws -> [ArrivalStamp] { try transaction.arrivals(of: document) }

  /// See ``RepairChanges/putBack(_:of:arrivedIn:asReleased:)``.
  package func putBack(
    _ claims: [StatedClaim], of document: DocumentID, arrivedIn event: EventID, asReleased: Bool = false
  ) throws -> (count: Int, otherStarts: [StatedClaim]) {
    try transaction.putBack(claims, of: document, arrivedIn: event, asReleased: asReleased)
  }

  /// What a series has released, in the order of its bundles.
  package func release(_ keys: [ReleasedKey], by series: String) throws { try transaction.release(keys, by: series) }
}
