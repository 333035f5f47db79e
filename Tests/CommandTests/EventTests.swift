import Foundation
import GatewayTesting
import Testing

/// `keyferry events`, through the program.
@Suite struct EventTests {
  /// A gateway that was asked once, paused and resumed.
  private func withHistory(_ body: (Workshop) throws -> Void) throws {
    try Workshop.run { workshop in
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "drop"), withIntermediateDirectories: false)
      try workshop.write(
        """
        state: state
        sources:
          - {name: drop, protocol: files, location: drop, trust: operator, origin: NL}
        """, "gateway.yaml")
      let now = ["--now", "2020-12-01T12:00:00Z"]
      #expect(try workshop.keyferry(["pull"] + now).status == 0)
      #expect(
        try workshop.keyferry(["pause", "drop", "--by", "ada", "--reason", "signing key leaked"] + now).status == 0)
      #expect(try workshop.keyferry(["resume", "drop", "--by", "ada"] + now).status == 0)
      try body(workshop)
    }
  }

  private struct List: Decodable {
    var events: [Event]
    var next: Int64?

    struct Event: Decodable {
      var number: Int64
      var kind: String
      var about: String
      var by: String?
      var reason: String?
    }
  }

  private func list(_ workshop: Workshop, _ options: String...) throws -> List {
    let outcome = try workshop.keyferry(["events", "--json"] + options)
    #expect(outcome.status == 0 && outcome.errors.isEmpty)
    let schema = try DocumentSchema(named: "events.schema.json")
    #expect(try schema.faults(in: Data(outcome.output)) == [])
    return try JSONDecoder().decode(List.self, from: Data(outcome.output))
  }

  @Test func whoDidWhatAndWhy() throws {
    try withHistory { workshop in
      let all = try list(workshop)
      #expect(all.next == nil)
      #expect(all.events.map(\.number) == all.events.map(\.number).sorted())
      let last = all.events.suffix(2)
      #expect(last.map(\.kind) == ["paused", "resumed"])
      #expect(last.map(\.by) == ["ada", "ada"] && last.map(\.reason) == ["signing key leaked", nil])
      #expect(last.allSatisfy { $0.about.contains("drop") })

      let text = try workshop.keyferry("events")
      let lines = text.text.split(separator: "\n")
      #expect(text.status == 0 && lines.count == all.events.count + 1)
      #expect(lines.first?.split(separator: " ") == ["event", "time", "kind", "about", "by"])
      #expect(lines.dropLast().last?.hasSuffix("ada: signing key leaked") == true)
      #expect(lines.last?.hasSuffix("  ada") == true)
    }
  }

  @Test func fromANumberAndSoMany() throws {
    try withHistory { workshop in
      let all = try list(workshop).events.map(\.number)
      try #require(all.count >= 3)
      let first = try list(workshop, "--limit", "1")
      #expect(first.events.map(\.number) == [all[0]] && first.next == all[1])
      let rest = try list(workshop, "--from", "\(all[1])")
      #expect(rest.events.map(\.number) == Array(all.dropFirst()) && rest.next == nil)
      let hint = try workshop.keyferry("events", "--limit", "1")
      #expect(hint.errors == "keyferry: hint: there are more: keyferry events --from \(all[1])\n")
      let none = try workshop.keyferry("events", "--from", "100000")
      #expect(none.status == 0 && none.output.isEmpty)
      #expect(none.errors == "keyferry: nothing has happened since event 100000\n")
    }
  }
}
