import Foundation
import Testing

/// What a service writes to standard error is its log, from the first line to the last.
@Suite("The log of a service has one form") struct LogFormatTests {
  /// Runs a service until it says where it serves, or ends by itself.
  private func log(of command: String, _ format: String, in place: Neighbourhood) async throws -> [Substring] {
    let process = try place.start(
      [command, "--config", "nl/gateway.yaml", "--log-format", format], log: "log")
    defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
    for _ in 0..<200 where process.isRunning {
      if try String(contentsOfFile: place.path("log"), encoding: .utf8).contains("serving at") { break }
      try await Task.sleep(for: .milliseconds(50))
    }
    if process.isRunning { kill(process.processIdentifier, SIGTERM) }
    process.waitUntilExit()
    return try String(contentsOfFile: place.path("log"), encoding: .utf8).split(separator: "\n")
  }

  /// With a warning of the configuration.
  private func gateway(in place: Neighbourhood, wrong: String = "") throws {
    try place.gateway(
      "nl", origin: "NL", extra: "operators: {listen: \"127.0.0.1:0\"}\n" + wrong)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: place.path("nl/key.pem"))
  }

  private func members(_ line: Substring) throws -> [String: Any] {
    try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
  }

  @Test(.timeLimit(.minutes(1)), arguments: ["run", "serve"]) func allIsJSON(command: String) async throws {
    try await Neighbourhood.visit { place in
      try gateway(in: place)
      let lines = try await log(of: command, "json", in: place)
      var texts: [String] = []
      for line in lines {
        let members = try members(line)
        #expect(members["time"] is String && members["level"] is String && members["message"] is String)
        if let text = (members["data"] as? [String: Any])?["text"] as? String { texts.append(text) }
        #expect((members["message"] as? String)?.contains("started and listening") != true)
      }
      #expect(texts.contains { $0.contains("everyone on this machine may open it") }, "\(texts)")
      #expect(texts.contains { $0.hasPrefix("serving at http://127.0.0.1:") }, "\(texts)")
    }
  }

  @Test(.timeLimit(.minutes(1)), arguments: ["run", "serve"]) func soIsWhyItCouldNotBegin(command: String) async throws
  {
    try await Neighbourhood.visit { place in
      try gateway(in: place, wrong: "silence: soon")
      let lines = try await log(of: command, "json", in: place)
      let last = try members(try #require(lines.last))
      #expect(last["level"] as? String == "error")
      #expect(((last["data"] as? [String: Any])?["text"] as? String)?.contains("silence: \"soon\"") == true, "\(lines)")
      for line in lines { _ = try members(line) }
    }
  }

  @Test(.timeLimit(.minutes(1))) func everyLineOfTextHasItsTime() async throws {
    try await Neighbourhood.visit { place in
      try gateway(in: place)
      let lines = try await log(of: "run", "text", in: place)
      #expect(lines.contains { $0.contains(" notice keyferry: serving at http") }, "\(lines)")
      for line in lines {
        #expect(line.wholeMatch(of: /\d{4}-\d\d-\d\dT[0-9:.]+Z [a-z]+ keyferry[a-z.]*: .+/) != nil, "\(line)")
      }
    }
  }
}
