import Foundation
import FoundationNetworking
import GatewayTesting
import Testing

/// What a configuration that is read again changes of a gateway that runs.
@Suite("Reading the configuration again") struct ReloadTests {
  private static func upload(_ key: String, to address: URL) async throws -> Int? {
    var request = URLRequest(url: address.appending(path: "apple/all/keys"))
    request.httpMethod = "POST"
    let day = 18_594
    request.httpBody = Data(
      "[{\"keyData\":\"\(key)\",\"rollingStartNumber\":\(day * 144),\"rollingPeriod\":144,\"transmissionRiskLevel\":1}]"
        .utf8)
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    request.setValue("Bearer a-token-of-the-door", forHTTPHeaderField: "Authorization")
    return (try await URLSession.shared.data(for: request).1 as? HTTPURLResponse)?.statusCode
  }

  @Test("an upload endpoint reads keys by the policy that a reload names", .timeLimit(.minutes(2)))
  func reading() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      let file = "nl/gateway.yaml"
      let settings = try String(contentsOfFile: place.path(file), encoding: .utf8).replacing(
        "server: {listen: \"127.0.0.1:0\"}",
        with:
          "server: {listen: \"127.0.0.1:0\", uploads: {origin: NL, token: {file: token}, rate: none, answer-after: 1s, reading: door.yaml}}"
      )
      try place.write(settings, file)
      try place.write("a-token-of-the-door\n", "nl/token")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: place.path("nl/token"))
      try place.write("name: open\n", "nl/door.yaml")
      try await place.running("nl") { process, address in
        #expect(try await Self.upload("AQIDBAUGBwgJCgsMDQ4PEA==", to: address) == 200)
        // The file has the same name and says something else.
        try place.write("name: open\nreading: {excluded-origins: [NL]}\n", "nl/door.yaml")
        kill(process.processIdentifier, SIGHUP)
        var status: Int? = 200
        for number in 0..<10 where status == 200 {
          status = try await Self.upload("AQIDBAUGBwgJCgsMDQ4P\(number)A==", to: address)
        }
        #expect(status == 400)
        let log = try String(contentsOfFile: place.path("run.log"), encoding: .utf8)
        #expect(log.contains("configuration read again") && !log.contains("until a restart"), "\(log)")
        try place.write("name: open\n", "nl/door.yaml")
        kill(process.processIdentifier, SIGHUP)
        for number in 0..<10 where status != 200 {
          status = try await Self.upload("BQIDBAUGBwgJCgsMDQ4P\(number)A==", to: address)
        }
        #expect(status == 200)
      }
    }
  }
}
