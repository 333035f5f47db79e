package import ExposureKeys

/// What became of the claims of one import. `received = new + known + rejected + heldForOperator`; nothing is held for
/// an operator in normal times.
package struct ImportReceipt: Hashable, Sendable {
  package var received = 0
  /// Claims that nobody had made through this source before.
  package var new = 0
  /// Claims that were there already, each as it stands.
  package var known = 0
  package var heldForOperator = 0
  /// How many claims were rejected, by reason.
  package var rejections: [AdmissionReason: Int] = [:]
  /// How many of the others needed each allowance.
  package var allowances: [Allowance: Int] = [:]

  /// The receipt of nothing.
  package init() {}

  /// What admission decided; whoever records the claims counts those that are new and those that are known.
  package init(beforeRecording batch: AdmittedBatch) {
    received = batch.received
    heldForOperator = batch.held.count
    allowances = batch.allowances
    for rejection in batch.rejected { rejections[rejection.reason, default: 0] += 1 }
  }

  package var rejected: Int { rejections.values.reduce(0, +) }

  /// Whether the counts add up.
  package var isBalanced: Bool { received == new + known + rejected + heldForOperator }

  package static func + (left: Self, right: Self) -> Self {
    var sum = left
    sum.received += right.received
    sum.new += right.new
    sum.known += right.known
    sum.heldForOperator += right.heldForOperator
    sum.rejections.merge(right.rejections, uniquingKeysWith: +)
    sum.allowances.merge(right.allowances, uniquingKeysWith: +)
    return sum
  }

  package static func += (left: inout Self, right: Self) { left = left + right }
}

/// How many new keys of each origin one source sends a day, by the origin's name in capitals; an upload endpoint is a source.
/// Each source counts by itself: no source uses up what another one may send. Keys whose origin is lost count under
/// ``lostOrigin(of:)``.
package struct OriginVolumes: Hashable, Sendable {
  /// On an average day with any, those before today.
  package var usual: [String: Int]
  package var today: VolumesToday

  package init(usual: [String: Int] = [:], today: VolumesToday = VolumesToday()) {
    self.usual = usual
    self.today = today
  }

  /// What keys of a source are counted under whose origin is lost. No origin has such a name: theirs are in capitals.
  package static func lostOrigin(of source: String) -> String { "lost:\(source)" }
}

/// What one source has sent today, and what an operator lets it send.
package struct VolumesToday: Hashable, Sendable {
  /// New keys so far, by the names of ``OriginVolumes``.
  package var keys: [String: Int]
  /// Up to how many keys of each origin an operator has raised today's limit; `nil` if no operator has.
  package var raisedLimit: Int?

  package init(keys: [String: Int] = [:], raisedLimit: Int? = nil) {
    (self.keys, self.raisedLimit) = (keys, raisedLimit)
  }
}

/// Where admitted claims go: a transaction of a store, or a set in memory.
package protocol ClaimRecorder {
  /// How many keys of each origin a source has sent on this day, as far as the recorder knows.
  func volumes(on day: Day, of source: String) throws -> VolumesToday
  /// Adds the claims that are new.
  ///
  /// - Returns: what became of each key of the batch.
  mutating func record(_ batch: AdmittedBatch) throws -> ImportReceipt
}

extension ClaimRecorder {
  package func volumes(on day: Day, of source: String) -> VolumesToday { VolumesToday() }
}

/// What became of the keys of one document or of many: `received = new + known + held + rejected`. The one set of counts
/// that stores, receipts and reports share; reasons stand by their codes.
package struct KeyCounts: Hashable, Sendable {
  /// Keys that came, those included that could not be decoded.
  package var received = 0
  /// Claims that nobody had made through this source before.
  package var new = 0
  /// Claims that were there already.
  package var known = 0
  /// Claims that wait for the operator.
  package var held = 0
  /// How many keys were rejected, by the code of the reason.
  package var rejections: [String: Int] = [:]
  /// How many of the others needed each allowance, by its code.
  package var allowances: [String: Int] = [:]

  /// The counts of nothing.
  package init() {}

  package init(
    received: Int, new: Int = 0, known: Int = 0, held: Int = 0, rejections: [String: Int] = [:],
    allowances: [String: Int] = [:]
  ) {
    self.received = received
    self.new = new
    self.known = known
    self.held = held
    self.rejections = rejections
    self.allowances = allowances
  }

  package var rejected: Int { rejections.values.reduce(0, +) }
  /// Whether the counts add up.
  package var isBalanced: Bool { received == new + known + held + rejected }

  /// A key that could not be decoded.
  package mutating func reject(_ reason: String, count: Int = 1) {
    received += count
    rejections[reason, default: 0] += count
  }

  package mutating func add(_ receipt: ImportReceipt) {
    received += receipt.received
    new += receipt.new
    known += receipt.known
    held += receipt.heldForOperator
    for (reason, count) in receipt.rejections { rejections[reason.rawValue, default: 0] += count }
    for (allowance, count) in receipt.allowances { allowances[allowance.code, default: 0] += count }
  }

  /// The held keys were admitted; those that were not new are known.
  package mutating func heldWasReleased(new count: Int) {
    new += count
    known += max(0, held - count)
    held = 0
  }

  /// So many of the keys that are known came with an earlier piece of the same document: they were new.
  package mutating func knownWasNew(_ count: Int) {
    let count = max(0, min(count, known))
    new += count
    known -= count
  }

  /// The held keys were refused.
  ///
  /// - Parameter reasons: why they were held, by the code of the reason; what is missing is of older times.
  package mutating func heldWasDiscarded(_ reasons: [String: Int]) {
    for (reason, count) in reasons { rejections[reason, default: 0] += count }
    let rest = held - reasons.values.reduce(0, +)
    if rest > 0 { rejections[AdmissionReason.flood.rawValue, default: 0] += rest }
    held = 0
  }

  package static func += (left: inout Self, right: Self) {
    left.received += right.received
    left.new += right.new
    left.known += right.known
    left.held += right.held
    left.rejections.merge(right.rejections, uniquingKeysWith: +)
    left.allowances.merge(right.allowances, uniquingKeysWith: +)
  }
}

/// What became of the keys that the gateway believes. `believed = published + held + leftOut`.
package struct BeliefReceipt: Hashable, Sendable {
  package internal(set) var believed = 0
  package internal(set) var published = 0
  /// How many keys are held, by reason.
  package internal(set) var holds: [HoldReason: Int] = [:]
  /// How many keys are left out, by reason.
  package internal(set) var omissions: [LeaveOutReason: Int] = [:]
  /// How many of the published keys each note is about.
  package internal(set) var notes: [PublishingNote: Int] = [:]

  /// The receipt of nothing.
  package init() {}

  package var held: Int { holds.values.reduce(0, +) }
  package var leftOut: Int { omissions.values.reduce(0, +) }

  /// Whether the counts add up.
  package var isBalanced: Bool { believed == published + held + leftOut }
}

/// Counts outcomes, in numbers that need no hashing.
struct BeliefTally {
  private var published = 0
  private var holds = [Int](repeating: 0, count: HoldReason.allCases.count)
  private var omissions = [Int](repeating: 0, count: LeaveOutReason.allCases.count)
  private var notes = [Int](repeating: 0, count: PublishingNote.allCases.count)

  @inline(__always)
  mutating func count(_ outcome: BeliefOutcome) {
    switch outcome {
    case .publish(let key):
      published += 1
      var rest = key.notes.rawValue
      while rest != 0 {
        notes[rest.trailingZeroBitCount] += 1
        rest &= rest - 1
      }
    case .hold(_, let reason): holds[reason.place] += 1
    case .leaveOut(let reason): omissions[reason.place] += 1
    }
  }

  var receipt: BeliefReceipt {
    var receipt = BeliefReceipt()
    receipt.published = published
    for reason in HoldReason.allCases where holds[reason.place] > 0 { receipt.holds[reason] = holds[reason.place] }
    for reason in LeaveOutReason.allCases where omissions[reason.place] > 0 {
      receipt.omissions[reason] = omissions[reason.place]
    }
    for note in PublishingNote.allCases where notes[Int(note.rawValue)] > 0 {
      receipt.notes[note] = notes[Int(note.rawValue)]
    }
    receipt.believed = published + receipt.held + receipt.leftOut
    return receipt
  }
}

extension HoldReason {
  fileprivate var place: Int {
    switch self {
    case .stillValid: 0
    }
  }
}

extension LeaveOutReason {
  /// Its place in an order that means nothing else.
  var place: Int {
    switch self {
    case .reportTypeNotPublished: 0
    case .revoked: 1
    case .tooOld: 2
    case .otherRegion: 3
    case .riskNotPublished: 4
    case .revocationOutvoted: 5
    }
  }
}
