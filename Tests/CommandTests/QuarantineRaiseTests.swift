import Foundation
import GatewayTesting
import Testing

/// `keyferry quarantine raise`, through the program.
@Suite("Raising today's limit from the command line") struct QuarantineRaiseTests {
  private static let noon = ["--now", "2020-11-25T12:00:00Z"]

  private func drop(_ keys: Range<Int>, _ path: String, _ workshop: Workshop) throws {
    let rows = keys.map { "\(String(format: "%032x", $0 + 1)),2676384,144,3,1\n" }
    try workshop.write(NormalizeTests.columns + rows.joined(), path)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: workshop.path(path))
  }

  @Test("the command that the list and status name lets more keys come, and retry takes those held") func raise() throws
  {
    try Workshop.run { workshop in
      try workshop.write(
        """
        state: state
        policies: [few.yaml]
        sources:
          - {name: de, protocol: files, location: de, trust: operator, origin: DE, speaks-for: [DE], reading: few}
          - {name: also, protocol: files, location: also, trust: operator, origin: DE, speaks-for: [DE], reading: few}
        """, "gateway.yaml")
      try workshop.write("name: few\nreading: {flood: {floor: 2}}\n", "few.yaml")
      for folder in ["de", "also"] {
        try FileManager.default.createDirectory(
          at: workshop.folder.appending(path: folder), withIntermediateDirectories: true)
      }
      try drop(0..<5, "de/a.csv", workshop)
      try drop(10..<12, "also/a.csv", workshop)
      _ = try workshop.keyferry(["pull"] + Self.noon)

      let words = "3 keys of de held: more than 2 new keys of DE came on 2020-11-25; "
      let command = "keyferry quarantine raise de --keys 5"
      let list = try workshop.keyferry(["quarantine"] + Self.noon)
      #expect(list.status == 1 && list.text.contains(words + command), "\(list.text)")
      #expect(list.text.split(separator: "\n").count == 1)
      let status = try workshop.keyferry(["status", "--brief"] + Self.noon)
      #expect(status.status == 1 && status.errors.contains(words + command), "\(status.errors)")
      let number = String(list.text.prefix { $0 != " " })
      #expect(try workshop.keyferry(["quarantine", "show", number] + Self.noon).text.contains(command))
      let json = try workshop.keyferry(["quarantine", "--json"] + Self.noon)
      #expect(try DocumentSchema(named: "quarantine.schema.json").faults(in: Data(json.output)) == [])
      #expect(json.text.contains("\"command\" : \"\(command)\""), "\(json.text)")

      for (source, keys, code) in [("nobody", "5", 64), ("de", "0", 64), ("de", "2", 2)] as [(String, String, Int32)] {
        let refused = try workshop.keyferry(["quarantine", "raise", source, "--keys", keys] + Self.noon)
        #expect(refused.status == code, "\(source) \(keys): \(refused.errors)")
      }
      let raised = try workshop.keyferry(
        ["quarantine", "raise", "de", "--keys", "6", "--by", "ada", "--reason", "school tests", "--json"] + Self.noon)
      #expect(raised.status == 0, "\(raised.errors)")
      #expect(try DocumentSchema(named: "limit.schema.json").faults(in: Data(raised.output)) == [])
      #expect(raised.text.contains("\"until\" : \"2020-11-26T00:00:00Z\""), "\(raised.text)")
      #expect(try !workshop.keyferry(["quarantine"] + Self.noon).text.contains("quarantine raise"))

      let retried = try workshop.keyferry(["quarantine", "retry", number] + Self.noon)
      #expect(retried.status == 0 && retried.errors.contains("3 claims admitted"), "\(retried.errors)")
      try drop(20..<21, "de/b.csv", workshop)
      _ = try workshop.keyferry(["pull", "--source", "de"] + Self.noon)
      #expect(try workshop.keyferry(["quarantine"] + Self.noon).status == 0)
      try drop(30..<31, "de/c.csv", workshop)
      _ = try workshop.keyferry(["pull", "--source", "de"] + Self.noon)
      #expect(try workshop.keyferry(["quarantine"] + Self.noon).status == 1)
      let events = try workshop.keyferry(["events"] + Self.noon).text
      #expect(events.contains("limit-raised") && events.contains("ada: school tests"), "\(events)")
    }
  }
}
