import ExposureKeys
import Foundation
import HTTPTypes
import KeyFormats
import Testing

@testable import GatewayServer

@Suite("Where uploads go")
struct UploadRegionTests {
  private static let authorized: HTTPFields = [
    .contentType: "application/json", .authorization: "Bearer secret-token-of-all",
  ]
  private static let key = Array(
    #"[{"keyData":"AQIDBAUGBwgJCgsMDQ4PEA==","rollingStartNumber":2677680,"rollingPeriod":144,"transmissionRiskLevel":2}]"#
      .utf8)

  @Test("A series that does not exist, or publishes none of its keys, takes none")
  func series() async throws {
    let gateway = try ConfiguredGateway()
    let app = try gateway.application()
    for (series, status) in [("XX", 404), ("CA", 404), ("VA", 200), ("va", 200), ("travel", 200), ("US", 200)] {
      let response = try await app.ask("/apple/\(series)/keys", .post, headers: Self.authorized, body: Self.key)
      #expect(response.code == status, "\(series)")
      if status == 404 {
        #expect(response.problem == "no-such-series")
        #expect(try await gateway.keptCount == 0)
      }
    }
    let stated = try ConfiguredGateway(
      doors: "origin: US-VA\n      token: {file: token}\n      series: [US]")
    for (series, status) in [("VA", 404), ("US", 200)] {
      let response = try await stated.application().ask(
        "/apple/\(series)/keys", .post, headers: Self.authorized, body: Self.key)
      #expect(response.code == status, "\(series)")
    }
  }

  @Test(
    "Whose person has not travelled, his keys are his own region's alone",
    arguments: [
      ("publish_confirmed", ["VA"]), ("publish_traveler", ["US", "VA", "travel"]),
      ("covidwise_good", ["US", "VA", "travel"]),
      ("v1alpha1_regions", ["US", "VA", "travel"]), ("dp3t_v2_home", ["VA"]),
      ("dp3t_v2_federated", ["US", "VA", "travel"]),
      ("dp3t_exposed", ["US", "VA", "travel"]),
    ])
  func regions(name: String, series: [String]) async throws {
    let gateway = try ConfiguredGateway()
    #expect(try await UploadVector(name).post(to: try gateway.application()).code == 200)
    let published = try await gateway.publish()
    #expect(published.filter { !$0.value.isEmpty }.keys.sorted() == series)
  }

  @Test("An empty post of the sample is an upload of no keys")
  func empty() async throws {
    let gateway = try ConfiguredGateway()
    for body in ["[]", " [ ]\n"] {
      let response = try await gateway.application().ask(
        "/apple/VA/keys", .post, headers: Self.authorized, body: Array(body.utf8))
      #expect(response.code == 200)
      #expect(response.json["accepted"] as? Int == 0)
      #expect((response.json["rejected"] as? [String])?.isEmpty == true)
    }
    #expect(try await gateway.keptCount == 0)
  }

  @Test(
    "The sample's keys of all three generations, and of its relatives, as JSON encoders write them",
    arguments: [
      // The beta: no rolling period.
      #"[{"keyData":"AQIDBAUGBwgJCgsMDQ4P\/w==","rollingStartNumber":2677680,"transmissionRiskLevel":0}]"#,
      // iOS 13.5 and later.
      #"[{"keyData":"AQIDBAUGBwgJCgsMDQ4P\/w==","rollingPeriod":144,"rollingStartNumber":2677680,"transmissionRiskLevel":0}]"#,
      #"[{"key":"AQIDBAUGBwgJCgsMDQ4P\/w==","rollingPeriod":144,"rollingStartNumber":2677680,"transmissionRisk":0}]"#,
      #"[{"key":"AQIDBAUGBwgJCgsMDQ4P\/w==","rollingStart":2677680,"rollingDuration":144,"transmissionRisk":0}]"#,
      #"[{"keyData":"AQIDBAUGBwgJCgsMDQ4P\/w==","rollingStartIntervalNumber":2677680,"rollingPeriod":144,"transmissionRiskLevel":0}]"#,
      #"{"keyData":"AQIDBAUGBwgJCgsMDQ4P\/w==","rollingPeriod":144,"rollingStartNumber":2677680,"transmissionRiskLevel":0}"#,
      #"{"keys":[{"keyData":"AQIDBAUGBwgJCgsMDQ4P\/w==","rollingPeriod":144,"rollingStartNumber":2677680,"transmissionRiskLevel":0}]}"#,
    ])
  func generations(body: String) async throws {
    let gateway = try ConfiguredGateway()
    let response = try await gateway.application().ask(
      "/apple/VA/keys", .post, headers: Self.authorized, body: Array(body.utf8))
    #expect(response.code == 200, "\(response.text)")
    #expect(response.json["accepted"] as? Int == 1)
    let key = try #require(try await gateway.publish()["VA"]?.first)
    #expect(key.key.bytes == (1...15).map { UInt8($0) } + [0xFF])
    #expect(key.rollingStart == 2_677_680 && key.rollingPeriod == 144)
  }
}
