import Foundation
import GatewayTesting
import Testing

/// What is kept does not depend on how a gateway is run.
@Suite struct RetentionTests {
  /// Keys of 2020-11, and what is left of them six weeks later.
  @Test(arguments: ["pull", "publish"]) func aCommandCarriesItOut(_ command: String) async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      let config = "nl/gateway.yaml"
      try place.drop(50, seed: 1, in: "nl", as: "1.csv")
      try place.keyferry("pull", "--config", config, "--now", "2020-12-01T12:00:00Z")
      let before = try place.keyferry("status", "--config", config, "--now", "2020-12-01T12:30:00Z")
      #expect(!before.text.contains("\n0 claims in the store"), "\(before.text)")
      #expect(before.text.contains("removed last at 2020-12-01T12:00:00Z, 30 min ago"), "\(before.text)")

      try place.keyferry(command, "--config", config, "--now", "2021-01-15T12:00:00Z")
      let after = try place.keyferry("status", "--config", config, "--now", "2021-01-15T14:00:00Z")
      #expect(after.text.contains("\n0 claims in the store"), "\(after.text)")
      #expect(after.text.contains("removed last at 2021-01-15T12:00:00Z, 2 h ago"))

      // Within the hour it is not done again.
      try place.keyferry(command, "--config", config, "--now", "2021-01-15T12:59:00Z")
      let json = try place.keyferry("status", "--json", "--config", config, "--now", "2021-01-15T14:00:00Z")
      #expect(json.text.contains("\"last_retention\" : \"2021-01-15T12:00:00Z\""))
      #expect(try DocumentSchema(named: "status.schema.json").faults(in: Data(json.output)) == [])
    }
  }
}
