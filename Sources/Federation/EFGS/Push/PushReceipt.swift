package import ExposureKeys
internal import KeyStorage

/// What one push to a destination did; as JSON it is described by `schemas/push.schema.json`.
package struct PushReceipt: Hashable, Sendable {
  package enum Outcome: Hashable, Sendable {
    case done
    /// Everything was selected, signed and told, and nothing was sent.
    case rehearsed
    /// Its operator has paused it, or the own origin.
    case paused
    /// By its schedule, or after a failure, it is not asked before this instant.
    case waiting(until: Instant)
    /// What the destination had taken before the fault is noted, and the rest is sent by the next push.
    case failed(DocumentFault)
  }

  /// One batch and what the gateway made of it.
  package struct Batch: Hashable, Sendable, Encodable {
    package let tag: String
    package let keys: Int
    /// SHA-256 of the bytes that are signed.
    package let digest: String
    /// `stored`, `partly-known`, `tag-taken`, `key-refused`, `too-large`, `refused`, `not-sent`, `unknown`, `rehearsed`,
    /// `erased`, `too-old`.
    package let outcome: String
    package let fault: DocumentFault?
    /// Whether it was staged by an earlier push, and sent again as it was.
    package let isSentAgain: Bool

    private enum CodingKeys: String, CodingKey {
      case tag, keys, digest, outcome, fault
      case isSentAgain = "sent_again"
    }
  }

  package let destination: String
  package internal(set) var outcome = Outcome.done
  package internal(set) var selection = PushSelection.Counts()
  package internal(set) var nextRelease: Instant?
  package internal(set) var batches: [Batch] = []
  /// Keys that the gateway took now, that it said it had, and that it does not take.
  package internal(set) var stored = 0
  package internal(set) var known = 0
  package internal(set) var refused = 0
  /// Keys that wait for the next push, those in batches without an answer included.
  package internal(set) var pending = 0
  /// What a person should look at although nothing failed.
  package internal(set) var warning: DocumentFault?
  /// Who signed, for people.
  package let signer: String

  init(destination: String, signer: String) {
    self.destination = destination
    self.signer = signer
  }
}

extension PushReceipt: Encodable {
  private enum CodingKeys: String, CodingKey {
    case destination, outcome, fault, warning, selection, batches, stored, known, refused, pending, signer,
      waitingUntil, nextRelease
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(destination, forKey: .destination)
    switch outcome {
    case .done: try members.encode("done", forKey: .outcome)
    case .rehearsed: try members.encode("rehearsed", forKey: .outcome)
    case .paused: try members.encode("paused", forKey: .outcome)
    case .waiting(let instant):
      try members.encode("waiting", forKey: .outcome)
      try members.encode(instant.description, forKey: .waitingUntil)
    case .failed(let fault):
      try members.encode("failed", forKey: .outcome)
      try members.encode(fault, forKey: .fault)
    }
    try members.encodeIfPresent(warning, forKey: .warning)
    try members.encode(signer, forKey: .signer)
    try members.encode(selection, forKey: .selection)
    try members.encodeIfPresent(nextRelease?.description, forKey: .nextRelease)
    try members.encode(batches, forKey: .batches)
    try members.encode(stored, forKey: .stored)
    try members.encode(known, forKey: .known)
    try members.encode(refused, forKey: .refused)
    try members.encode(pending, forKey: .pending)
  }
}
