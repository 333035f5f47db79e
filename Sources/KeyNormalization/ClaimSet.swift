public import ExposureKeys

/// What was said: a set of distinct claims. Recording is set union, so neither the order of arrival nor repeated
/// delivery nor loops between gateways change it.
///
/// Built for tens of millions of claims: 56 bytes a claim in segments that never move, and 8 to 21 bytes a claim in a
/// hash table whose hash is seeded anew in each process, because senders choose the keys.
public struct ClaimSet: Sendable {
  /// All claims, in the order in which they were recorded first.
  private(set) var storage = SegmentedClaims()
  private var slots = ClaimSlots()

  /// The first one is the lost origin.
  private(set) var origins: [String] = [""]
  private var originNumbers: [String: UInt32] = [:]
  private(set) var sources: [Source] = []
  private var sourceNumbers: [Source: UInt32] = [:]
  /// Sets of visited regions, sorted; the first stands for none named.
  private(set) var visited: [[String]?] = [nil]
  private var visitedNumbers: [[String]: UInt32] = [:]

  public init() {}

  public var count: Int { storage.count }
  public var isEmpty: Bool { count == 0 }

  /// Adds the claims that are new.
  ///
  /// - Returns: what became of the batch; its counts add up.
  @discardableResult
  public mutating func record(_ batch: AdmittedBatch) -> ImportReceipt {
    var receipt = ImportReceipt(beforeRecording: batch)
    let numbers = Renumbering(
      origins: batch.origins.enumerated().map { $0 == 0 ? 0 : number(ofOrigin: $1) },
      visited: batch.visited.map { number(ofVisited: $0) },
      sources: [number(of: batch.source)])
    for claim in batch.claims {
      if insert(numbers.apply(to: claim)) { receipt.new += 1 } else { receipt.known += 1 }
    }
    return receipt
  }

  /// Adds all claims of another set.
  public mutating func formUnion(_ other: ClaimSet) {
    let numbers = Renumbering(
      origins: other.origins.enumerated().map { $0 == 0 ? 0 : number(ofOrigin: $1) },
      visited: other.visited.map { number(ofVisited: $0) },
      sources: other.sources.map { number(of: $0) })
    for claim in other.storage { insert(numbers.apply(to: claim)) }
  }

  public func union(_ other: ClaimSet) -> ClaimSet {
    var result = self
    result.formUnion(other)
    return result
  }

  /// The set without the claims for which `isRecalled` holds.
  public func removing(where isRecalled: (StatedClaim) -> Bool) -> ClaimSet {
    keeping { !isRecalled(stated($0)) }
  }

  /// The set without anything that this origin ever said.
  public func recalling(origin name: String) -> ClaimSet {
    guard let number = originNumbers[name.uppercased()] else { return self }
    return keeping { $0.origin.rawValue != number }
  }

  /// The set without anything that came through this source.
  public func recalling(source name: String) -> ClaimSet {
    let isRecalled = sources.map { $0.name == name }
    return keeping { !isRecalled[Int($0.source.rawValue)] }
  }

  /// The claim with its names in place of numbers.
  public func stated(_ claim: AdmittedClaim) -> StatedClaim {
    var key = claim.key
    key.regions = .none
    return StatedClaim(
      key: key, origin: claim.origin == .lost ? nil : origins[Int(claim.origin.rawValue)],
      visited: visited[Int(claim.key.regions.rawValue)], source: sources[Int(claim.source.rawValue)])
  }

  /// Every claim with its names, in no particular order: for small sets, tests and explanations.
  public var statedClaims: [StatedClaim] { storage.map { stated($0) } }

  private func keeping(_ isKept: (AdmittedClaim) -> Bool) -> ClaimSet {
    var result = ClaimSet()
    let numbers = Renumbering(
      origins: origins.enumerated().map { $0 == 0 ? 0 : result.number(ofOrigin: $1) },
      visited: visited.map { result.number(ofVisited: $0) },
      sources: sources.map { result.number(of: $0) })
    for claim in storage where isKept(claim) { result.insert(numbers.apply(to: claim)) }
    return result
  }

  @discardableResult
  private mutating func insert(_ claim: AdmittedClaim) -> Bool {
    if slots.isFull(count: storage.count) { slots.grow() }
    guard slots.insert(claim, number: storage.count, among: storage) else { return false }
    storage.append(claim)
    return true
  }

  // MARK: Reading back

  /// The number of an origin in this set, for ``insert(stored:)``; `nil` is the lost one.
  package mutating func id(ofOrigin name: String?) -> OriginID {
    name.map { OriginID(rawValue: number(ofOrigin: $0)) } ?? .lost
  }

  /// The number of a set of visited regions, sorted; `nil` where none were named.
  package mutating func id(ofVisited regions: [String]?) -> RegionClaim.ID {
    RegionClaim.ID(rawValue: number(ofVisited: regions))
  }

  package mutating func id(of source: Source) -> SourceID { SourceID(rawValue: number(of: source)) }

  /// Adds a claim that a store has kept since it was admitted. Its numbers are this set's.
  package mutating func insert(stored claim: AdmittedClaim) { insert(claim) }

  // MARK: Names

  private mutating func number(ofOrigin name: String) -> UInt32 {
    if let number = originNumbers[name] { return number }
    let number = UInt32(origins.count)
    origins.append(name)
    originNumbers[name] = number
    return number
  }

  private mutating func number(of source: Source) -> UInt32 {
    if let number = sourceNumbers[source] { return number }
    let number = UInt32(sources.count)
    sources.append(source)
    sourceNumbers[source] = number
    return number
  }

  private mutating func number(ofVisited regions: [String]?) -> UInt32 {
    guard let regions else { return 0 }
    if let number = visitedNumbers[regions] { return number }
    let number = UInt32(visited.count)
    visited.append(regions)
    visitedNumbers[regions] = number
    return number
  }

  /// From the numbers of a batch or another set to this set's.
  private struct Renumbering {
    let origins: [UInt32]
    let visited: [UInt32]
    let sources: [UInt32]

    func apply(to claim: AdmittedClaim) -> AdmittedClaim {
      var key = claim.key
      key.regions = RegionClaim.ID(rawValue: visited[Int(key.regions.rawValue)])
      return AdmittedClaim(
        key: key, origin: OriginID(rawValue: origins[Int(claim.origin.rawValue)]),
        source: SourceID(rawValue: sources[Int(claim.source.rawValue)]))
    }
  }
}

/// A claim with its names in place of numbers. `key` has no regions of its own.
public struct StatedClaim: Hashable, Sendable {
  public let key: ClaimedKey
  /// `nil` where it is lost.
  public let origin: String?
  /// The visited regions, sorted; `nil` where none were named.
  public let visited: [String]?
  public let source: Source

  /// A claim of a batch, by its names.
  package init(_ claim: AdmittedClaim, of batch: AdmittedBatch) {
    var key = claim.key
    key.regions = .none
    self.key = key
    origin = claim.origin == .lost ? nil : batch.origins[Int(claim.origin.rawValue)]
    visited = batch.visited[Int(claim.key.regions.rawValue)]
    source = batch.source
  }

  init(key: ClaimedKey, origin: String?, visited: [String]?, source: Source) {
    self.key = key
    self.origin = origin
    self.visited = visited
    self.source = source
  }
}

/// Claims in segments of fixed size: growing never copies, and never needs twice the memory.
struct SegmentedClaims: Sendable {
  private static let shift = 14
  private static let segmentSize = 1 << shift
  private var segments: [ContiguousArray<AdmittedClaim>] = []
  private(set) var count = 0

  subscript(number: Int) -> AdmittedClaim { segments[number >> Self.shift][number & (Self.segmentSize - 1)] }

  mutating func append(_ claim: AdmittedClaim) {
    if count & (Self.segmentSize - 1) == 0 {
      var segment = ContiguousArray<AdmittedClaim>()
      // The first segment grows as it needs; the later ones are filled in all likelihood.
      if count > 0 { segment.reserveCapacity(Self.segmentSize) }
      segments.append(segment)
    }
    segments[count >> Self.shift].append(claim)
    count += 1
  }
}

extension SegmentedClaims: Sequence {
  func makeIterator() -> Iterator { Iterator(claims: self) }

  struct Iterator: IteratorProtocol {
    let claims: SegmentedClaims
    var number = 0

    mutating func next() -> AdmittedClaim? {
      guard number < claims.count else { return nil }
      defer { number += 1 }
      return claims[number]
    }
  }
}

/// An open-addressing hash table of claim numbers. A slot holds 32 bits of the hash beside the number, so that growing
/// reads no claim and most probes of others' slots read none either.
struct ClaimSlots: Sendable {
  private struct Slot: Sendable, BitwiseCopyable {
    var hash: UInt32 = 0
    /// The claim's number plus one; 0 is empty.
    var number: UInt32 = 0
  }

  private var slots: ContiguousArray<Slot>
  private let seed: HashSeed

  init() {
    slots = ContiguousArray(repeating: Slot(), count: 16)
    seed = HashSeed()
  }

  func isFull(count: Int) -> Bool { count >= slots.count / 4 * 3 }

  /// - Returns: `false` when the claim is there already.
  mutating func insert(_ claim: AdmittedClaim, number: Int, among claims: SegmentedClaims) -> Bool {
    let hash = claim.hash(seed: seed)
    let mask = slots.count - 1
    var position = Int(hash) & mask
    while true {
      let slot = slots[position]
      if slot.number == 0 { break }
      if slot.hash == hash, claims[Int(slot.number) - 1] == claim { return false }
      position = (position + 1) & mask
    }
    precondition(number < UInt32.max - 1, "a claim set holds fewer than 4,294,967,295 claims")
    slots[position] = Slot(hash: hash, number: UInt32(number) + 1)
    return true
  }

  mutating func grow() {
    let old = slots
    slots = ContiguousArray(repeating: Slot(), count: old.count * 2)
    let mask = slots.count - 1
    for slot in old where slot.number != 0 {
      var position = Int(slot.hash) & mask
      while slots[position].number != 0 { position = (position + 1) & mask }
      slots[position] = slot
    }
  }
}

/// Two secret words, anew in each process.
private struct HashSeed: Sendable {
  let first: UInt64
  let second: UInt64

  init() {
    // The standard library seeds its hasher in each process.
    func word(_ number: Int) -> UInt64 {
      var hasher = Hasher()
      hasher.combine(number)
      return UInt64(bitPattern: Int64(hasher.finalize()))
    }
    first = word(1)
    second = word(2)
  }
}

extension AdmittedClaim {
  /// A keyed hash of all fields: products of two words, each with a secret in it, folded from 128 bits to 64.
  fileprivate func hash(seed: HashSeed) -> UInt32 {
    var state = mix(key.key.high ^ seed.first, key.key.low ^ seed.second)
    state = mix(state ^ words(key.rollingStartWord, key.rollingPeriodWord), seed.first ^ 0xbf58_476d_1ce4_e5b9)
    state = mix(state ^ words(key.transmissionRiskWord, key.reportTypeWord), seed.second ^ 0x94d0_49bb_1331_11eb)
    state = mix(
      state ^ words(key.daysSinceOnsetWord, Int32(bitPattern: key.fields.rawValue)), seed.first ^ 0xd6e8_feb8_6659_fd93)
    let names = UInt64(key.regions.rawValue) << 32 ^ UInt64(origin.rawValue) << 16 ^ UInt64(source.rawValue)
    state = mix(state ^ names, seed.second ^ 0xa076_1d64_78bd_642f)
    return UInt32(truncatingIfNeeded: state ^ state >> 32)
  }
}

private func words(_ high: Int32, _ low: Int32) -> UInt64 {
  UInt64(UInt32(bitPattern: high)) << 32 | UInt64(UInt32(bitPattern: low))
}

private func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
  let product = left.multipliedFullWidth(by: right)
  return product.high ^ product.low
}
