package import KeyNormalization

/// What is damaged of the pieces in which a store keeps claims, releases and the agenda.
package struct StoreDamage: Hashable, Sendable {
  package var claims = RunDamage()
  /// By series; only those of which something is damaged.
  package var releases: [String: RunDamage] = [:]
  package var agendaPieces = 0

  package init() {}

  package var isEmpty: Bool { claims.isEmpty && releases.isEmpty && agendaPieces == 0 }
  /// How many claims were in damaged blocks.
  package var lostClaims: Int { max(0, Int(clamping: claims.lost)) }
}

/// What the bundles of a series say about keys of which the store may have lost that they were released.
package struct RecoveredReleases: Sendable {
  /// In the order of the bundles.
  package var keys: [ReleasedKey] = []
  /// Paths of bundles that are not there, and of which nothing is known.
  package var gone: [String] = []

  package init() {}
}

/// A file that was written anew holds what stood on damaged pages as it was read. Until that was looked at nobody else opens it: this
/// note, which the file has from its first moment on, says so.
package enum UnfinishedRepair {
  package static let noteName = "operating/repair"

  /// Whether the task at hand ends it.
  @TaskLocal package static var isBeingEnded = false

  package static func fault(_ place: String) -> StorageFault { StorageFault(.corrupt, "\(place): \(words)") }

  private static let words =
    "a repair is at work, or was interrupted, and then keyferry store repair --yes ends it; until then nothing is read or published"

  /// Whether it is this that a store says.
  package static func isTold(by fault: StorageFault) -> Bool { fault.reason.hasSuffix(words) }
}

/// What repairing a store changes.
package protocol RepairChanges: AnyObject {
  /// Takes damaged blocks out, makes damaged filters anew, and the agenda where one of its pieces is damaged. Series look at all
  /// claims once, where anything was damaged. The event is written down.
  ///
  /// - Parameter renewsAll: whether filters and agenda are made anew although they look whole.
  func takeOutDamage(renewingAll renewsAll: Bool) throws -> StoreDamage

  /// The events in which a document brought claims, the first one first.
  func arrivals(of document: DocumentID) throws -> [ArrivalStamp]

  /// Puts claims back that a document brought in an event and that are not there any more. They are withdrawn where a recall
  /// meant them (`Recall.hasWithdrawn`), and are not counted as having come in another time.
  ///
  /// - Parameters:
  ///   - event: one of ``arrivals(of:)``.
  ///   - asReleased: whether an operator has admitted what names another start than the first origin did.
  /// - Returns: how many were put back, and those that name another start and were not.
  func putBack(
    _ claims: [StatedClaim], of document: DocumentID, arrivedIn event: EventID, asReleased: Bool
  ) throws -> (count: Int, otherStarts: [StatedClaim])
}
