import BundleTrust
import ExposureKeys
import Foundation
import HTTPTypes
import HummingbirdTesting
import KeyFormats
import ProgramMetrics
import Testing

@testable import GatewayServer

/// The SDK of DP-3T in both generations, in its order: keys, then the key of the day, then fake ones.
@Suite("DP-3T uploads")
struct DP3TUploadTests {
  private static let today = 2_678_400 / 144 * 144

  private func nextDay(start: Int, token: String?, fake: Int = 0, to app: GatewayApplication) async throws
    -> TestResponse
  {
    var fields: HTTPFields = [.contentType: "application/json"]
    fields[.authorization] = token
    let body =
      "{\"delayedKey\":{\"keyData\":\"AQIDBAUGBwgJCgsMDQ4PEA==\",\"rollingStartNumber\":\(start),\"rollingPeriod\":72,"
      + "\"transmissionRiskLevel\":0,\"fake\":\(fake)},\"fake\":\(fake)}"
    return try await app.ask("/v1/gaen/exposednextday", .post, headers: fields, body: Array(body.utf8))
  }

  private func start(of vector: String) throws -> Int {
    let body = try JSONSerialization.jsonObject(with: Data(try UploadVector(vector).body.utf8)) as? [String: Any]
    return try #require(body?["delayedKeyDate"] as? Int)
  }

  @Test("Keys since the onset are kept; the answer lets the key of the day in, once")
  func exposed() async throws {
    let gateway = try ConfiguredGateway()
    let app = try gateway.application()
    let vector = try UploadVector("dp3t_exposed")
    let response = try await vector.post(to: app)
    #expect(response.code == 200 && response.text == "OK")
    // Of fourteen keys, those of the days since 2020-11-27.
    #expect(try await gateway.keptCount == 4)
    let token = try #require(response.headers[.authorization])
    #expect(token.hasPrefix("Bearer "))
    // A token of a diagnosis lets in once.
    #expect(try await vector.post(to: app).code == 401)
    let day = try start(of: "dp3t_exposed")
    let wrong = try await nextDay(start: day - 144, token: nil, to: app)
    #expect(wrong.code == 401)
    #expect(try await nextDay(start: day, token: token, to: app).code == 200)
    #expect(try await gateway.keptCount == 5)
    #expect(try await nextDay(start: day, token: token, to: app).code == 401, "the token is used")
    #expect(try await gateway.keptCount == 5)
  }

  @Test("A key of another day than the token says is not kept")
  func otherDay() async throws {
    let gateway = try ConfiguredGateway()
    let app = try gateway.application()
    let token = try await UploadVector("dp3t_exposed").post(to: app).headers[.authorization]
    let count = try await gateway.keptCount
    #expect(try await nextDay(start: try start(of: "dp3t_exposed") - 144, token: token, to: app).code == 200)
    #expect(try await gateway.keptCount == count)
    // The operator sees what nobody else is told.
    for line in [
      #"keyferry_uploads_total{door="dp3t-next-day",outcome="accepted"} 1"#,
      #"keyferry_uploaded_keys_total{door="dp3t-next-day",outcome="dropped"} 1"#,
      #"keyferry_uploaded_keys_total{door="dp3t",outcome="dropped"} 10"#,
    ] {
      #expect(gateway.metrics.text.contains(line + "\n"), "\(line)")
    }
  }

  @Test("A fake request is answered like a real one, and counted apart")
  func fake() async throws {
    let gateway = try ConfiguredGateway()
    let app = try gateway.application()
    let real = try await UploadVector("dp3t_exposed").post(to: app)
    let count = try await gateway.keptCount
    let fake = try await UploadVector("dp3t_exposed_fake").post(to: app)
    #expect(fake.code == real.code && fake.bytes == real.bytes)
    #expect(fake.headers[.authorization]?.utf8.count == real.headers[.authorization]?.utf8.count)
    #expect(Set(fake.headers.map(\.name)) == Set(real.headers.map(\.name)))
    let later = try await nextDay(
      start: try start(of: "dp3t_exposed_fake"), token: fake.headers[.authorization], fake: 1, to: app)
    #expect(later.code == 200 && later.text == "OK")
    #expect(try await UploadVector("dp3t_v2_fake").post(to: app).code == 200)
    #expect(try await gateway.keptCount == count)
    for line in [
      #"keyferry_uploads_total{door="dp3t",outcome="accepted"} 1"#,
      #"keyferry_uploads_total{door="dp3t",outcome="chaff"} 1"#,
      #"keyferry_uploads_total{door="dp3t-next-day",outcome="chaff"} 1"#,
      #"keyferry_uploads_total{door="dp3t-v2",outcome="chaff"} 1"#,
    ] {
      #expect(gateway.metrics.text.contains(line + "\n"), "\(line)")
    }
  }

  @Test("Under the address of a series keys are taken where that has them")
  func series() async throws {
    let gateway = try ConfiguredGateway()
    let app = try gateway.application()
    var vector = try UploadVector("dp3t_v2_federated")
    for (series, status) in [("CA", 404), ("VA", 200)] {
      vector.path = "/dp3t/\(series)/v2/gaen/exposed"
      #expect(try await vector.post(to: app).code == status)
    }
    #expect(try await gateway.keptCount == 4)
  }

  @Test("The second generation sends thirty keys, of which the filling ones are left out")
  func second() async throws {
    let gateway = try ConfiguredGateway()
    let app = try gateway.application()
    #expect(try await UploadVector("dp3t_v2_federated").post(to: app).code == 200)
    #expect(try await gateway.keptCount == 4)
    #expect(try await app.ask("/v2/gaen/exposed", .put)["Allow"] == "GET, HEAD, POST, OPTIONS")
  }

  @Test("The configuration has what the operator states, and the rest from the defaults")
  func configuration() async throws {
    let gateway = try ConfiguredGateway(server: "dp3t-configuration: config.json\n    roaming: {US: US}")
    let app = try gateway.application()
    let response = try await app.ask("/v1/config?appversion=1.0&osversion=iOS13.5&buildnr=1")
    #expect(response.code == 200)
    #expect(response.json["forceUpdate"] as? Bool == true)
    #expect(
      ((response.json["infoBox"] as? [String: Any])?["deInfoBox"] as? [String: Any])?["title"] as? String == "Hallo")
    let thresholds = try #require(response.json["iOSGaenSdkConfig"] as? [String: Any])
    #expect(thresholds["factorHigh"] as? Double == 0.75 && thresholds["lowerThreshold"] as? Int == 55)
    #expect((response.json["androidGaenSdkConfig"] as? [String: Any])?["factorHigh"] as? Double == 0.5)
    #expect(response.json["interOpsCountries"] as? [String] == ["US"])
  }

  @Test(
    "A configuration that no app could use is refused",
    arguments: [
      "[]", #"{"forceUpdate": 1}"#, #"{"iOSGaenSdkConfig": {"lowerThreshold": 70}}"#,
      #"{"iOSGaenSdkConfig": {"factor": 1}}"#,
      #"{"androidGaenSdkConfig": {"triggerThreshold": -1}}"#, #"{"interOpsCountries": [1]}"#,
      #"{"iOSGaenSdkConfig": {"higherThreshold": 60.5}}"#,
    ])
  func badConfiguration(text: String) {
    #expect(throws: DP3TConfigurationFault.self) { try DP3TApplicationSettings(json: Array(text.utf8)) }
  }
}
