package import ExposureKeys

/// What was said: a set of distinct claims. Recording is set union, so neither the order of arrival nor repeated
/// delivery nor loops between gateways change it.
///
/// Built for tens of millions of claims: 32 bytes a claim in segments that never move, and 11 to 21 bytes a claim in a
/// hash table whose hash is seeded anew in each process, because senders choose the keys.
package struct ClaimSet: Sendable, ClaimRecorder {
  /// All claims, in the order in which they were recorded first.
  private(set) var rows = PackedClaims()
  private var slots = ClaimSlots()
  private(set) var names = ClaimNames()

  package init() {}

  package var count: Int { rows.count }
  package var isEmpty: Bool { count == 0 }

  /// Adds the claims that are new.
  ///
  /// - Returns: what became of the batch; its counts add up.
  @discardableResult
  package mutating func record(_ batch: AdmittedBatch) -> ImportReceipt {
    var receipt = ImportReceipt(beforeRecording: batch)
    var voices = BatchClaimants(batch, in: &names)
    receipt.new = insert(batch.claims) { claim, names in
      PackedClaim(claim, voice: voices.number(of: claim, in: &names))
    }
    receipt.known = batch.claims.count - receipt.new
    return receipt
  }

  /// Adds all claims of another set.
  package mutating func formUnion(_ other: ClaimSet) {
    let voices = names.numbers(ofVoicesIn: other.names)
    insert(other.rows) { row, _ in PackedClaim(row, voice: voices[Int(row.voice)]) }
  }

  package func union(_ other: ClaimSet) -> ClaimSet {
    var result = self
    result.formUnion(other)
    return result
  }

  /// The set without the claims for which `isRecalled` holds.
  package func removing(where isRecalled: (StatedClaim) -> Bool) -> ClaimSet {
    keeping { !isRecalled(stated(claim($0))) }
  }

  /// The set without anything that this origin ever said.
  package func recalling(origin name: String) -> ClaimSet {
    guard let origin = names.id(ofKnownOrigin: name.uppercased()) else { return self }
    return keeping { names.voices[Int($0.voice)].origin != origin }
  }

  /// The set without anything that came through this source.
  package func recalling(source name: String) -> ClaimSet {
    let isRecalled = names.sources.map { $0.name == name }
    return keeping { !isRecalled[Int(names.voices[Int($0.voice)].source.rawValue)] }
  }

  /// The set without its copies of uploads about which another set has anything else: whose key a copy is, others say.
  package func withoutCopies(beside all: ClaimSet) -> ClaimSet {
    let isCopy = names.sources.map { $0.upload == .copy }
    guard isCopy.contains(true) else { return self }
    let isElse = all.names.sources.map { $0.upload != .copy }
    let others = Set(
      all.rows.lazy.filter { isElse[Int(all.names.voices[Int($0.voice)].source.rawValue)] }.map(\.subject))
    return keeping { !isCopy[Int(names.voices[Int($0.voice)].source.rawValue)] || !others.contains($0.subject) }
  }

  /// The claim with its names in place of numbers.
  package func stated(_ claim: AdmittedClaim) -> StatedClaim {
    StatedClaim(
      subject: claim.subject, statement: claim.statement,
      origin: claim.origin == .lost ? nil : names.origins[Int(claim.origin.rawValue)],
      visited: names.visited[Int(claim.regions.rawValue)], source: names.sources[Int(claim.source.rawValue)])
  }

  /// Every claim with its names, in no particular order: for small sets, tests and explanations.
  package var statedClaims: [StatedClaim] { rows.map { stated(claim($0)) } }

  /// A row of this set as a claim.
  func claim(_ row: PackedClaim) -> AdmittedClaim { row.claim(by: names.voices[Int(row.voice)]) }

  private func keeping(_ isKept: (PackedClaim) -> Bool) -> ClaimSet {
    var result = ClaimSet()
    let voices = result.names.numbers(ofVoicesIn: names)
    result.insert(rows.lazy.filter(isKept)) { row, _ in PackedClaim(row, voice: voices[Int(row.voice)]) }
    return result
  }

  /// Adds the rows that are new, block by block, and returns how many those are.
  @discardableResult
  @inline(__always)
  private mutating func insert<Claims: Sequence>(
    _ claims: Claims, row: (Claims.Element, inout ClaimNames) -> PackedClaim
  ) -> Int {
    let before = count
    withUnsafeTemporaryAllocation(of: PackedClaim.self, capacity: ClaimSlots.blockSize) { block in
      var size = 0
      for claim in claims {
        block.initializeElement(at: size, to: row(claim, &names))
        size += 1
        if size == block.count {
          slots.insert(UnsafeBufferPointer(block), to: &rows)
          size = 0
        }
      }
      if size > 0 { slots.insert(UnsafeBufferPointer(rebasing: block[..<size]), to: &rows) }
    }
    return count - before
  }

  // MARK: Reading back

  /// The number of an origin in this set, for ``insert(stored:)``; `nil` is the lost one.
  package mutating func id(ofOrigin name: String?) -> OriginID { names.id(ofOrigin: name) }

  /// The number of a set of visited regions, sorted; `nil` where none were named.
  package mutating func id(ofVisited regions: [String]?) -> RegionClaim.ID { names.id(ofVisited: regions) }

  package mutating func id(of source: Source) -> SourceID { names.id(of: source) }

  /// Adds a claim that a store has kept since it was admitted, by its names.
  package mutating func insert(stored claim: StatedClaim) {
    insert(
      stored: AdmittedClaim(
        subject: claim.subject, statement: claim.statement, regions: id(ofVisited: claim.visited),
        origin: id(ofOrigin: claim.origin), source: id(of: claim.source)))
  }

  /// Adds a claim that a store has kept since it was admitted. Its numbers are this set's.
  package mutating func insert(stored claim: AdmittedClaim) {
    let voice = Claimant(origin: claim.origin, regions: claim.regions, source: claim.source)
    slots.insert(PackedClaim(claim, voice: names.number(of: voice)), to: &rows)
  }

  /// Adds a claim of a store that is surely not in this set: nobody searches for it. Its numbers are this set's.
  package mutating func append(distinct claim: AdmittedClaim) {
    let voice = Claimant(origin: claim.origin, regions: claim.regions, source: claim.source)
    rows.append(PackedClaim(claim, voice: names.number(of: voice)))
  }
}

/// A claim with its names in place of numbers.
package struct StatedClaim: Hashable, Sendable {
  package let subject: KeySubject
  package let statement: Statement
  /// `nil` where it is lost.
  package let origin: String?
  /// The visited regions, sorted; `nil` where none were named.
  package let visited: [String]?
  package let source: Source

  /// A claim of a batch, by its names.
  package init(_ claim: AdmittedClaim, of batch: AdmittedBatch) {
    subject = claim.subject
    statement = claim.statement
    origin = claim.origin == .lost ? nil : batch.origins[Int(claim.origin.rawValue)]
    visited = batch.visited[Int(claim.regions.rawValue)]
    source = batch.source
  }

  /// A claim as a store has kept it.
  package init(subject: KeySubject, statement: Statement, origin: String?, visited: [String]?, source: Source) {
    self.subject = subject
    self.statement = statement
    self.origin = origin
    self.visited = visited
    self.source = source
  }

  /// The claim as a key, without regions of its own.
  package var key: ClaimedKey { statement.claim(about: subject) }
}
