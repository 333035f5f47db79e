import Foundation

/// Random numbers that can be repeated: every sequence is a function of one printed seed.
///
/// `KEYFERRY_SEED=17 swift test` makes every test draw what it drew under seed 17.
package struct SeededRandom: RandomNumberGenerator {
  package let seed: UInt64
  private var state: UInt64

  /// A sequence of its own for each seed.
  package init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  /// Takes the seed from `KEYFERRY_SEED`, or a new one, and prints it beside what it is for.
  package init(for purpose: String) {
    let given = ProcessInfo.processInfo.environment["KEYFERRY_SEED"]
    guard let seed = given.map(UInt64.init) ?? UInt64.random(in: 0..<1_000_000_000) else {
      preconditionFailure("KEYFERRY_SEED is \(given ?? ""), allowed 0...\(UInt64.max)")
    }
    print("\(purpose): KEYFERRY_SEED=\(seed)")
    self.init(seed: seed)
  }

  /// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
    return word ^ word >> 31
  }

  package mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 56) }
  }

  /// True once in `times`.
  package mutating func once(in times: Int) -> Bool { Int.random(in: 0..<times, using: &self) == 0 }

  package mutating func pick<Choices: RandomAccessCollection>(_ choices: Choices) -> Choices.Element {
    choices[choices.index(choices.startIndex, offsetBy: Int.random(in: 0..<choices.count, using: &self))]
  }
}
