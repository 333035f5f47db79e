/// What came of one seed.
package struct SeedRun: Codable, Sendable {
  package let seed: UInt64
  /// The laws that did not hold, the first one that was seen first; empty where all held.
  package let broken: [String]
  /// What happened, in order.
  package let history: [String]
  /// Why keys are not with phones, as the gateway says, with how many: these break no law.
  package let excuses: [String: Int]

  /// Turns of trouble, where nobody says how many. A seed is worth what its number of steps is.
  package static let usualSteps = 24

  /// Lets so many turns of trouble happen, then some days without, and judges.
  ///
  /// Takes some hundred milliseconds, and leaves nothing on the disk. It does not throw: that the simulation itself ended is
  /// a law that did not hold.
  package static func of(seed: UInt64, steps: Int = usualSteps) async -> SeedRun {
    do {
      let world = try World(seed: seed)
      var end: [String] = []
      do {
        try await world.run(steps: steps)
      } catch {
        end = ["the simulation ended: \(error)"]
      }
      return SeedRun(
        seed: seed, broken: world.laws.broken + end, history: world.history, excuses: world.laws.excuses)
    } catch {
      return SeedRun(seed: seed, broken: ["the simulation cannot start: \(error)"], history: [], excuses: [:])
    }
  }
}
