import Foundation
import FoundationNetworking
import GatewayTesting
import Testing

/// While versions change, the program that is installed and the store are not of one version.
@Suite("A store of another version", .enabled(if: Tool(named: "python3") != nil, "needs python3"))
struct UpgradeTests {
  /// Has the store say that another version has made it.
  private func change(_ place: Neighbourhood, _ statement: String) throws {
    // The change stays in the write-ahead log, as after a kill.
    let script = """
      import os, sqlite3
      base = sqlite3.connect("nl/state/keyferry.sqlite")
      base.execute("\(statement)")
      base.commit()
      os._exit(0)
      """
    let outcome = try #require(Tool(named: "python3")).run(["-c", script], in: place.folder)
    try #require(outcome.status == 0, "\(outcome.errors)")
  }

  /// Whether what is published is served beside the store, by the system's clock.
  private func isServed(_ place: Neighbourhood) async throws -> Bool {
    let process = try place.start(["serve", "--config", "nl/gateway.yaml"], log: "serve.log")
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    for _ in 0..<200 where process.isRunning {
      let log = try String(contentsOfFile: place.path("serve.log"), encoding: .utf8)
      if let line = log.split(separator: "\n").first(where: { $0.contains("serving at http") }),
        let address = line.split(separator: " ").last.flatMap({ URL(string: String($0)) })
      {
        let (_, response) = try await URLSession.shared.data(from: address.appending(path: "ready"))
        return (response as? HTTPURLResponse)?.statusCode == 200
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    return false
  }

  @Test(.timeLimit(.minutes(2))) func isRefusedAndServedBeside() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      try place.drop(40, seed: 1, in: "nl", as: "a.csv")
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", "2020-12-01T10:00:00Z")
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)

      for (version, words) in [(1, "an earlier version"), (1000, "a later version")] {
        try change(place, "PRAGMA user_version = \(version)")
        let check = try place.keyferry("check", "--config", "nl/gateway.yaml", status: 2)
        #expect(check.text.contains("error: state: "), "\(check.text)")
        #expect(check.text.contains("\(words) of Keyferry has written this store"), "\(check.text)")
        // What is published is served all the same.
        #expect(try await isServed(place))
        let status = try place.keyferry("status", "--config", "nl/gateway.yaml", status: 2)
        #expect(status.errors.contains("\(words) of Keyferry has written this store"), "\(status.errors)")
      }
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon, status: 2)
    }
  }
}
