/// How many keys a population sends on its busiest day: so many are never a flood, and phones must be able to take them.
///
/// 25 keys of each thousand inhabitants are a continent's bad wave: of 200 million users 450,000 share eleven keys each on one
/// day. Germany sent 0.2 keys of each thousand on 2020-10-25. `Normalizing.md` has the arithmetic.
package enum BusyDay {
  /// Of the inhabitants.
  package static let keysPerThousand = 25
  /// Whose keys are expected if no population is stated.
  package static let assumedPopulation = 400_000
  /// Those of some ninety persons, who may fall ill at once in a small place.
  package static let fewestKeys = 1000
  /// What may be stated.
  package static let populations = 1...2_000_000_000

  /// - Parameter population: inhabitants; `nil` if they are not stated.
  package static func keys(of population: Int?) -> Int {
    let inhabitants = min(max(population ?? assumedPopulation, populations.lowerBound), populations.upperBound)
    return max(fewestKeys, inhabitants * keysPerThousand / 1000)
  }
}
