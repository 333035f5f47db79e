import Foundation
import GatewayTesting
import Testing

@testable import GatewaySettings

/// Where the keys of a series come from.
@Suite struct SupplyTests {
  private func supplies(of series: String) throws -> [String] {
    let text = """
      state: /s/state
      policies: [policies/mine.yaml]
      sources:
        - {name: north, protocol: files, location: north, trust: operator, origin: NL}
        - {name: south, protocol: files, location: south, trust: operator, origin: be, speaks-for: [BE]}
        - {name: both, protocol: files, location: both, trust: operator, speaks-for: [NL, BE]}
        - {name: any, protocol: files, location: any, trust: operator, speaks-for: any}
        - {name: relay, protocol: files, location: relay, trust: operator, relay: true}
        - {name: trial, protocol: files, location: trial, trust: operator, origin: NL, rehearsal: true}
      series: [{name: one, sign: [{key: {file: a.key}, id: "204", version: v1}], \(series)}]
      publication: {folder: /s/public}
      server:
        listen: 127.0.0.1:8080
        default-series: one
        uploads: {origin: NL, token: {file: token}}
      """
    let plan = try Fixture.parse(text).plan
    return plan.supplies(of: try #require(plan.series.first), at: Fixture.now).map {
      "\($0.share.rawValue): \($0.sources.joined(separator: " "))"
    }
  }

  /// By the default policy a key that names no region is for all, so `include` alone keeps no origin out.
  @Test(arguments: [
    ("every: 2 hours", ["all: north south both any relay uploads"]),
    ("include: [NL]", ["all: north uploads", "included-or-unnamed: south both any relay"]),
    ("include: [NL, BE]", ["all: north south both uploads", "included-or-unnamed: any relay"]),
    ("include: [NL], origins: [NL]", ["all: north both any uploads"]),
    ("include: [nl], origins: [be]", ["included-or-unnamed: south both any"]),
    ("origins: [FR]", ["all: any"]),
    ("exclude: [NL]", ["unnamed: north uploads", "not-excluded: south both any relay"]),
    ("travellers-only: true", ["travellers-or-unnamed: north south both any relay uploads"]),
    (
      "include: [NL], publishing: mine",
      ["all: north uploads", "included: south relay", "included-or-unnamed: both any"]
    ),
  ]) func whoSuppliesASeries(series: String, expected: [String]) throws {
    #expect(try supplies(of: series) == expected)
  }
}
