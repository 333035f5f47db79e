import Foundation
import FoundationNetworking
import GatewayTesting
import Testing

/// What operators are told at an address of their own by a gateway that runs.
@Suite("The address of operators of a gateway that runs") struct RunningOperatorsTests {
  private static func text(_ address: URL, _ path: String = "") async throws -> (status: Int, text: String) {
    let (data, response) = try await URLSession.shared.data(from: address.appending(path: path))
    return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
  }

  /// The address that a line of the log ends with.
  private static func address(behind words: String, of place: Neighbourhood, log: String) async throws -> URL {
    for _ in 0..<200 {
      let lines = (try? String(contentsOfFile: place.path(log), encoding: .utf8)) ?? ""
      if let line = lines.split(separator: "\n").first(where: { $0.contains(words) }),
        let url = line.split(separator: " ").last.flatMap({ URL(string: String($0)) })
      {
        return url
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw NoAddress(log: (try? String(contentsOfFile: place.path(log), encoding: .utf8)) ?? "")
  }

  private struct NoAddress: Error { var log: String }

  @Test(.timeLimit(.minutes(2))) func theyAreToldThereAndNoWhereElse() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway(
        "nl", origin: "NL",
        sources: "  - {name: gone, protocol: files, location: nowhere, trust: operator, origin: NL, speaks-for: [NL]}",
        extra: "operators: {listen: \"127.0.0.1:0\"}")
      try place.drop(40, seed: 1, in: "nl", as: "a.csv")
      try place.write("<!DOCTYPE html><html>not found</html>", "nl/drop/page.html")
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: place.path("nl/drop/page.html"))
      try place.keyferry(
        "pull", "--config", "nl/gateway.yaml", "--now", "2020-12-01T10:00:00Z", status: 2)
      try place.drop(30, seed: 2, in: "nl", as: "b.csv")
      try await place.running("nl") { _, phones in
        let operators = try await Self.address(behind: "operators are answered at", of: place, log: "run.log")
        for path in ["metrics", "health", "ready", "ready/publishing"] {
          #expect(try await Self.text(phones, path).status == 404, "\(path)")
        }
        #expect(try await Self.text(operators, "all/index.txt").status == 404)
        #expect(try await Self.text(operators, "health").status == 200)
        #expect(try await Self.text(operators, "metrics").text.contains("keyferry_http_requests_total"))
        var page = ""
        for _ in 0..<100
        where !page.contains("page.html") || !page.contains("In quarantine") || page.contains(">due<")
          || !page.contains("counted at")
        {
          page = try await Self.text(operators).text
          try await Task.sleep(for: .milliseconds(100))
        }
        for words in [
          // `keyferry status` exits with 1 for it, too.
          "<li>source drop has 1 document in quarantine</li>", "source gone is failing", "page.html",
          "keyferry quarantine show", "310, version v1", "counted at",
          "believed", "keyferry ",
        ] {
          #expect(page.contains(words), "\(words)\n\(page)")
        }
      }
    }
  }

  /// A gateway that only receives has no address of phones.
  @Test(.timeLimit(.minutes(2))) func aGatewayThatServesNothingTellsThem() async throws {
    try await Neighbourhood.visit { place in
      try place.write(
        """
        state: state
        sources: [{name: drop, protocol: files, location: drop, trust: operator, origin: NL, speaks-for: [NL]}]
        operators: {listen: "127.0.0.1:9"}
        """, "be/gateway.yaml")
      try FileManager.default.createDirectory(
        at: place.folder.appending(path: "be/drop"), withIntermediateDirectories: true)
      let process = try place.start(
        ["run", "-q", "--config", "be/gateway.yaml", "--operators-port", "0"], log: "run.log")
      defer {
        process.terminate()
        process.waitUntilExit()
      }
      let operators = try await Self.address(behind: "operators are answered at", of: place, log: "run.log")
      #expect(try await Self.text(operators, "ready").status == 200)
      #expect(try await Self.text(operators).text.contains("No series is configured."))
      var pulls = ""
      for _ in 0..<100 where !pulls.contains("keyferry_pulls_total{source=\"drop\",outcome=\"success\"}") {
        pulls = try await Self.text(operators, "metrics").text
        try await Task.sleep(for: .milliseconds(100))
      }
      #expect(pulls.contains("keyferry_pulls_total{source=\"drop\",outcome=\"success\"}"))
    }
  }
}
