import Foundation
import FoundationNetworking
import GatewayTesting
import Testing

/// While versions change, the program that is installed and the store are not of one version.
@Suite("A store of another version", .enabled(if: Tool(named: "python3") != nil, "needs python3"))
struct UpgradeTests {
  /// Does to the list of steps that lead to the store's form what another version has done.
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

  @Test(.timeLimit(.minutes(2))) func isNoFaultOfTheConfigurationAndServedBeside() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      try place.drop(40, seed: 1, in: "nl", as: "a.csv")
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", "2020-12-01T10:00:00Z")
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)

      // The new program before its first start.
      try change(
        place, "DELETE FROM grdb_migrations WHERE rowid = (SELECT max(rowid) FROM grdb_migrations)")
      let earlier = try place.keyferry("check", "--config", "nl/gateway.yaml")
      #expect(earlier.text.contains("warning: state: "), "\(earlier.text)")
      #expect(earlier.text.contains("an earlier version of Keyferry has written this store"), "\(earlier.text)")
      #expect(try await isServed(place))
      // What asks the store alone says what to do.
      let status = try place.keyferry("status", "--config", "nl/gateway.yaml", status: 2)
      #expect(status.errors.contains("keyferry run brings it up to date"), "\(status.errors)")

      // The old program after a step back.
      try change(place, "INSERT INTO grdb_migrations VALUES ('of a later version')")
      let later = try place.keyferry("check", "--config", "nl/gateway.yaml", status: 2)
      #expect(later.text.contains("error: state: "), "\(later.text)")
      #expect(later.text.contains("a later version of Keyferry has written this store"), "\(later.text)")
      #expect(try await isServed(place))
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon, status: 2)
    }
  }
}
