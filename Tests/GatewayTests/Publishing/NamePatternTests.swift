import BundleTrust
import ExposureKeys
import KeyPublishing
import Testing

/// Some apps read the names in an index, and throw on those of another pattern.
@Suite struct NamePatternTests {
  @Test(arguments: [
    "", "{start}.zip", "{number}.zip", "{start}-{number}", "{start}{number}.zip", "{start}-{start}-{number}.zip",
    "../{start}-{number}.zip", "a/{start}-{number}.zip", "{start}-{number}-{end}{x}.zip", "{start} {number}.zip",
    "{start}-{number}.zip.zip", "{start}-{number}é.zip",
  ]) func noPattern(_ text: String) { #expect(NamePattern(text) == nil) }

  @Test(arguments: ["{start}-{end}-{number}.zip", "{number}_{start}.zip", "keys-{start}-{number}.zip"])
  func aPattern(_ text: String) { #expect(NamePattern(text)?.description == text) }

  /// COVIDWISE on Android: it takes the first number of a name, and throws where the rest is not as it expects.
  @Test func namesThatAnAppReads() async throws {
    let next = makeIdentity("v2")
    let schedule = [ScheduledIdentity(identity: identity), ScheduledIdentity(identity: next, from: at(13))]
    let series = SeriesSettings.sample("exposureKeyExport-US", include: nil, identities: schedule) {
      $0.namePattern = NamePattern("{start}-{number}.zip") ?? .standard
      $0.maximumKeys = 2
    }
    try await Press.run(series) { press in
      try await press.say((1...5).map { key($0) })
      try await press.round(at(10))
      try await press.say([key(6)], now: at(11))
      try await press.round(at(12))
      let before = try press.index("exposureKeyExport-US")
      try await press.round(at(14))
      let after = try press.index("exposureKeyExport-US")
      #expect(before.count == 4 && after.count == 4 && Set(before).isDisjoint(with: after), "signed again")
      for entry in before + after {
        #expect(entry.wholeMatch(of: /exposureKeyExport-[A-Z]{2}\/([0-9]+)-[0-9]+.zip/) != nil, "\(entry)")
      }
      #expect(before.first == "exposureKeyExport-US/\(at(8).secondsSince1970)-00001.zip")
    }
  }
}
