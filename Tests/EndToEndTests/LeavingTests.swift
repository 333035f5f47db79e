import Foundation
import FoundationNetworking
import GatewayTesting
import Testing

/// Who stands in front of several gateways asks `/ready` once in a while, and goes on sending until it says no.
@Suite("A gateway that ends behind a load balancer", .timeLimit(.minutes(3))) struct LeavingTests {
  private static let every = Duration.milliseconds(500)

  private struct Answer {
    var status: Int
    var closes: Bool
  }

  private static func ask(_ address: URL, _ path: String, over session: URLSession) async throws -> Answer {
    let (_, response) = try await session.data(from: address.appending(path: path))
    let http = response as? HTTPURLResponse
    return Answer(
      status: http?.statusCode ?? 0, closes: http?.value(forHTTPHeaderField: "Connection")?.lowercased() == "close")
  }

  private func gateway(_ place: Neighbourhood, ending: String) throws {
    try place.gateway("nl", origin: "NL")
    try place.drop(40, seed: 1, in: "nl", as: "a.csv")
    let config = try String(contentsOfFile: place.path("nl/gateway.yaml"), encoding: .utf8)
      .replacing("listen: \"127.0.0.1:0\"", with: "listen: \"127.0.0.1:0\", connections: {ending: \(ending)}")
    try place.write(config, "nl/gateway.yaml")
    for command in ["pull", "publish"] {
      try place.keyferry(command, "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
    }
  }

  @Test("answers each request until the balancer has seen that it goes", arguments: ["run", "serve"])
  func nothingIsLost(_ command: String) async throws {
    try await Neighbourhood.visit { place in
      try gateway(place, ending: "4 s")
      try await place.running("nl", command) { process, address in
        let session = URLSession(configuration: .ephemeral)
        var ready = false
        for _ in 0..<100 where !ready {
          ready = try await Self.ask(address, "ready", over: session).status == 200
          if !ready { try await Task.sleep(for: .milliseconds(50)) }
        }
        #expect(ready)
        let told = ContinuousClock.now
        var (answered, next, isGone) = (0, told, false)
        kill(process.processIdentifier, SIGTERM)
        while !isGone, told.duration(to: .now) < .seconds(20) {
          let answer = try await Self.ask(address, "all/index.txt", over: session)
          #expect(answer.status == 200)
          answered += 1
          if ContinuousClock.now >= next {
            isGone = try await Self.ask(address, "ready", over: session).status == 503
            next = .now + Self.every
          }
          try await Task.sleep(for: .milliseconds(20))
        }
        #expect(isGone && answered > 0)
        // Each connection is told to go.
        let closing = try await Self.ask(address, "all/index.txt", over: session)
        #expect(closing.status == 200 && closing.closes)
        while process.isRunning, told.duration(to: .now) < .seconds(30) { try await Task.sleep(for: .milliseconds(50)) }
        let took = told.duration(to: .now)
        #expect(!process.isRunning && process.terminationStatus == 0)
        #expect(took > .seconds(3.9) && took < .seconds(15), "\(took)")
      }
    }
  }

  @Test("ends at once where nothing is said of that") func atOnce() async throws {
    try await Neighbourhood.visit { place in
      try gateway(place, ending: "0 s")
      try await place.running("nl") { process, _ in
        let told = ContinuousClock.now
        kill(process.processIdentifier, SIGTERM)
        while process.isRunning, told.duration(to: .now) < .seconds(30) { try await Task.sleep(for: .milliseconds(50)) }
        #expect(told.duration(to: .now) < .seconds(3.5) && process.terminationStatus == 0)
      }
    }
  }
}
