import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyPeers
import KeyReceiving
import Testing

@testable import GatewaySettings

/// The setting `population`: whose first busy day is no flood.
@Suite struct PopulationTests {
  private func plan(_ population: String) throws -> GatewayPlan? {
    let text = """
      state: state
      own-origins: [NL]
      \(population)
      sources:
        - {name: drop, protocol: files, location: drop, trust: operator, origin: NL, speaks-for: [NL]}
        - {name: be, protocol: files, location: be, trust: operator, origin: BE, speaks-for: [BE]}
      """
    let reader = GatewayReader(
      path: "/etc/k/gateway.yaml", files: Fixture.files, environment: Fixture.environment, now: Fixture.now,
      layouts: Fixture.layouts)
    let plan = reader.plan(text)
    return reader.faults.contains { $0.severity == .error } ? nil : plan
  }

  @Test("sources of own origins have the floor of the population, others the default")
  func floors() throws {
    let stated = try #require(try plan("population: 17500000"))
    #expect(stated.sources.map(\.population) == [17_500_000, nil])
    let limits = stated.sources.map { $0.admissionPolicy(at: Fixture.now).volumeLimit(usual: 0)?.keys }
    #expect(limits == [437_500, 10_000])
    let silent = try #require(try plan(""))
    #expect(silent.sources.map(\.population) == [nil, nil])
  }

  @Test("a population is a whole number of people", arguments: ["0", "-1", "2000000001", "many", "1.5", "17 500 000"])
  func faults(value: String) throws { #expect(try plan("population: \(value)") == nil) }
}
