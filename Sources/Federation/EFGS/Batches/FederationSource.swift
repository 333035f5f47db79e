internal import KeyIntake
internal import KeyNormalization
package import KeyPeers

extension FederationGatewaySettings {
  /// The uploads of a country as a source, for how they are read. Nobody asks it: what comes in by it was verified at the
  /// door, and `explain` reads its evidence as it was read there.
  package func readingSource(of country: String) -> SourceSettings {
    var source = SourceSettings(
      name: Self.source(of: country), peer: .efgs, location: "", trust: .operator, reading: reading)
    source.origin = country
    source.speaksFor = .only([country])
    source.declaredRegions = [country]
    return source
  }
}
