package import ExposureKeys
internal import KeyIntake
package import KeyStorage

/// How the download batches of a federation gateway stand: what `keyferry status` tells of them. As JSON it is the member
/// `federation` of `schemas/status.schema.json`.
package struct FederationStanding: Hashable, Sendable {
  /// Uploads that are in no batch yet.
  package struct Pile: Hashable, Sendable, Encodable {
    package var uploads = 0
    package var keys = 0
  }

  /// The newest batch that was closed; `nil` before the first one.
  package let lastBatch: FederationBatch?
  /// What the next batches take.
  package let waiting: Pile
  /// When the oldest of these came.
  package let waitingSince: Instant?
  /// What no batch takes, since its country is paused or rehearsed, or an operator has to look at it.
  package let keptBack: Pile
  /// Whether an upload has waited for longer than three times the schedule.
  package let isOverdue: Bool

  package init(of settings: FederationGatewaySettings, in state: any StoredState, now: Instant) throws {
    lastBatch = try state.lastFederationBatch()
    let waiting = try state.waitingFederationUploads(limit: .max).filter { !settings.rehearsals.contains($0.country) }
    let all = try state.unbatchedFederationUploads()
    self.waiting = Pile(uploads: waiting.count, keys: waiting.reduce(0) { $0 + $1.keyCount })
    keptBack = Pile(uploads: all.uploads - self.waiting.uploads, keys: all.keys - self.waiting.keys)
    let oldest = waiting.map(\.time).min()
    waitingSince = oldest
    isOverdue = oldest.map { now.secondsSince1970 - $0.secondsSince1970 > 3 * settings.batchSeconds + 60 } ?? false
  }
}

extension FederationStanding: Encodable {
  private enum CodingKeys: String, CodingKey {
    case waiting, overdue, lastBatch, lastBatchMade, waitingSince, keptBack
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encodeIfPresent(lastBatch?.tag, forKey: .lastBatch)
    try members.encodeIfPresent(lastBatch?.made.description, forKey: .lastBatchMade)
    try members.encode(waiting, forKey: .waiting)
    try members.encodeIfPresent(waitingSince?.description, forKey: .waitingSince)
    try members.encode(keptBack, forKey: .keptBack)
    try members.encode(isOverdue, forKey: .overdue)
  }
}

/// What became of an upload of a national back end: whether other countries could download it.
package struct FederationPassage: Hashable, Sendable {
  package let upload: FederationUpload
  /// The download batch that it is in.
  package let batch: FederationBatch?

  /// - Returns: `nil` for a document that no national back end uploaded, or that is not kept any more.
  package init?(of document: DocumentID, in state: any StoredState) throws {
    guard let upload = try state.federationUpload(of: document) else { return nil }
    self.upload = upload
    batch = try upload.batch.flatMap { try state.federationBatch($0) }
  }

  /// `passed-on`, `waiting`, or `withdrawn`, which those that downloaded the batch before have all the same.
  package var state: String {
    if upload.withdrawal != nil { return "withdrawn" }
    return upload.batch == nil ? "waiting" : "passed-on"
  }
}
