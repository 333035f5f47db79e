/// What one block will be made of: matches, literals, and how often each symbol occurs.
///
/// A block is a row of steps. A step is what stands between two keys (the rest of a record and the head of the next)
/// and then sixteen bytes of key data. Nearly always one match or two cover the first part, so a step is one word, and a
/// writer needs no branch for it. Steps whose first part is anything else refer to a list of single tokens.
struct KeyBlockPlan {
  /// A word a step, see ``Step``.
  let steps: UnsafeMutablePointer<UInt64>
  var stepCount = 0
  /// Matches and runs of literals of the steps that have no form of their own.
  let tokens: UnsafeMutablePointer<UInt32>
  var tokenCount = 0

  /// By length, 0...511; 0 counts what is no match.
  let lengthCounts: UnsafeMutablePointer<UInt32>
  /// By distance symbol, 0...31; 31 counts what is no match.
  let distanceCounts: UnsafeMutablePointer<UInt32>
  let literalCounts: UnsafeMutablePointer<UInt32>

  /// How long the first of two matches best is, by the length of both together. The codes of the last block say so.
  let splits: UnsafeMutablePointer<UInt8>

  /// Keys in the block, and those whose first half equals that of the key that their match leads to.
  var keyCount = 0
  var repeatedKeys = 0
  /// Keys whose first part was planned by a long front, and by single tokens.
  var longFrontCount = 0
  var listedCount = 0
  var usesLongFronts = true

  static let literalSample = 8

  init(blockBytes: Int) {
    // The shortest step but the last has twenty bytes; the shortest pair of literals and a match has five.
    steps = .allocate(capacity: blockBytes / 20 + 2)
    tokens = .allocate(capacity: blockBytes / 5 * 2 + 8)
    lengthCounts = .allocate(capacity: 512)
    distanceCounts = .allocate(capacity: 32)
    literalCounts = .allocate(capacity: 256)
    splits = .allocate(capacity: 32)
    for length in 0..<32 { splits[length] = UInt8(max(7, length / 2)) }
  }

  func deallocate() {
    steps.deallocate()
    tokens.deallocate()
    lengthCounts.deallocate()
    distanceCounts.deallocate()
    literalCounts.deallocate()
    splits.deallocate()
  }

  /// Counts a match and makes its token.
  @inline(__always)
  func match(_ length: Int, _ distance: UInt32) -> UInt32 {
    let token = MatchToken.make(length: length, distance: distance)
    lengthCounts[length] += 1
    distanceCounts[MatchToken.symbol(token)] += 1
    return token
  }

  /// A step of the tokens since `firstToken`.
  mutating func addListedStep(from firstToken: Int, _ reach: Int) {
    steps[stepCount] = UInt64(tokenCount - firstToken) | UInt64(reach) << 27 | Step.isListed
    stepCount += 1
  }

  mutating func addToken(_ token: UInt32) {
    tokens[tokenCount] = token
    tokenCount += 1
  }

  mutating func addLiterals(_ count: Int) {
    if count > 0 { addToken(LiteralToken.flag | UInt32(count)) }
  }

  mutating func reset() {
    stepCount = 0
    tokenCount = 0
    keyCount = 0
    repeatedKeys = 0
    longFrontCount = 0
    listedCount = 0
    lengthCounts.initialize(repeating: 0, count: 512)
    distanceCounts.initialize(repeating: 0, count: 32)
    literalCounts.initialize(repeating: 0, count: 256)
  }
}

/// A match in 27 bits, and above them five bits that belong to the step.
///
/// Bits 0–12 are the extra bits of the distance, 13–17 its symbol, 18–26 the length. ``none`` is a match of no bytes,
/// which is written as no bits.
enum MatchToken {
  static let none: UInt32 = 31 << 13

  @inline(__always)
  static func make(length: Int, distance: UInt32) -> UInt32 {
    let (symbol, extraBits) = DeflateSymbols.distance(lessOne: distance &- 1)
    let extra = (distance &- 1) & (1 &<< extraBits &- 1)
    return extra | symbol << 13 | UInt32(truncatingIfNeeded: length) << 18
  }

  @inline(__always)
  static func length(_ token: UInt32) -> Int { Int(token >> 18 & 0x1ff) }

  @inline(__always)
  static func symbol(_ token: UInt32) -> Int { Int(token >> 13 & 31) }

  @inline(__always)
  static func extra(_ token: UInt32) -> UInt64 { UInt64(token & 0x1fff) }
}

/// Two matches, of which the second may be none, and how many bytes of the key data they reach into.
///
/// Or, with the highest bit set, in place of the matches the number of tokens in the plan's list.
enum Step {
  /// The most bytes of key data that a match takes: beyond that a literal more or less is not worth a branch.
  static let longestReach = 4
  /// In place of the reach: no key follows.
  static let noKey: UInt64 = 16
  static let isListed: UInt64 = 1 << 63

  @inline(__always)
  static func make(_ first: UInt32, _ second: UInt32, _ reach: Int) -> UInt64 {
    UInt64(first) | UInt64(second) << 32 | UInt64(truncatingIfNeeded: reach) << 27
  }

  @inline(__always)
  static func reach(_ step: UInt64) -> UInt64 { step >> 27 & 31 }
}

/// A run of literals in the list of tokens.
enum LiteralToken {
  static let flag: UInt32 = 1 << 31
}
