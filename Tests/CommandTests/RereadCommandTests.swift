import Foundation
import GatewayTesting
import Testing

/// What other readings and large days do, by the program's own commands.
@Suite("Reading again, and days that are large, from the command line") struct RereadCommandTests {
  private static let noon = ["--now", "2020-11-25T12:00:00Z"]

  private func configure(_ workshop: Workshop, series: String = "") throws {
    try workshop.write(
      """
      state: state
      policies: [de.yaml, it.yaml]
      sources:
        - {name: de, protocol: files, location: de, trust: operator, origin: DE, speaks-for: [DE], reading: de}
        - {name: it, protocol: files, location: it, trust: operator, origin: IT, speaks-for: [IT], reading: it}
      series:
        - {name: ALL, region: "262", sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]\(series)}
      publication: {folder: public}
      """, "gateway.yaml")
    for name in ["de", "it"] {
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: name), withIntermediateDirectories: true)
      try policy(name, "", workshop)
    }
    try workshop.makeSigner()
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path("310-v1.key.pem"))
  }

  private func policy(_ name: String, _ words: String, _ workshop: Workshop, floor: Int = 2) throws {
    try workshop.write("name: \(name)\nreading: {flood: {factor: 10, floor: \(floor)}\(words)}\n", "\(name).yaml")
  }

  private func drop(
    _ keys: Range<Int>, start: Int = 2_676_384, type: Int = 1, _ path: String, _ workshop: Workshop, period: Int = 144
  )
    throws
  {
    let rows = keys.map { "\(String(format: "%032x", $0 + 1)),\(start),\(period),3,\(type)\n" }
    try workshop.write(NormalizeTests.columns + rows.joined(), path)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: workshop.path(path))
  }

  /// - Parameter status: 1 where something waits for the operator.
  private func done(_ arguments: [String], _ workshop: Workshop, status: Int32 = 0) throws -> String {
    let result = try workshop.keyferry(arguments)
    #expect(result.status == status, "\(arguments): \(result.text)\(result.errors)")
    return result.text + result.errors
  }

  @Test("keys of a flood that were discarded stay so, however often they are read again") func discardedFlood() throws {
    try Workshop.run { workshop in
      try configure(workshop)
      try drop(0..<3, "de/a.csv", workshop)
      #expect(try done(["pull", "--source", "de"] + Self.noon, workshop, status: 1).contains("1 held"))
      let waits = "keys of 1 document are held until an operator decides; keyferry quarantine list"
      #expect(try done(["status", "--brief"] + Self.noon, workshop, status: 1).contains(waits))
      _ = try done(["quarantine", "discard", "1", "--reason", "false"] + Self.noon, workshop)
      #expect(try !workshop.keyferry(["status", "--brief"] + Self.noon).errors.contains(waits))
      for words in [", risk: {out-of-range: zero}", "", ", risk: {out-of-range: zero}"] {
        try policy("de", words, workshop)
        let read = try done(["reread", "de", "--yes", "--reason", "r"] + Self.noon, workshop)
        #expect(read.contains("0 put aside"), "\(read)")
        #expect(try done(["quarantine"] + Self.noon, workshop).contains("nothing is in quarantine"))
      }
      _ = try done(["store", "check"], workshop)
    }
  }

  @Test("keys that a policy admits now, and did not, are a question where others were discarded")
  func othersThanDiscarded() throws {
    try Workshop.run { workshop in
      try configure(workshop)
      let types = { (type: String) in ", report-types: {accepted: [\(type)], unrecognized: reject}" }
      try policy("de", types("confirmed-test"), workshop)
      // Three are admitted, of which one is a flood; three are rejected.
      try drop(0..<3, "de/a.csv", workshop)
      let rows = (10..<13).map { "\(String(format: "%032x", $0)),2676384,144,3,3\n" }.joined()
      try workshop.write(try workshop.text("de/a.csv") + rows, "de/a.csv")
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: workshop.path("de/a.csv"))
      #expect(try done(["pull", "--source", "de"] + Self.noon, workshop, status: 1).contains("1 held"))
      _ = try done(["quarantine", "discard", "1", "--reason", "false"] + Self.noon, workshop)
      // As many as before, and none of them is one of those.
      try policy("de", types("self-report"), workshop)
      let read = try done(["reread", "de", "--yes", "--reason", "r"] + Self.noon, workshop)
      #expect(read.contains("3 put aside"), "\(read)")
      #expect(try done(["quarantine"] + Self.noon, workshop, status: 1).contains("3 claims held"))
    }
  }

  @Test("what names another start than the first origin, and was discarded, is not published by another reading")
  func discardedStart() throws {
    try Workshop.run { workshop in
      try configure(workshop)
      try drop(0..<1, type: 3, "de/a.csv", workshop)
      _ = try done(["pull", "--source", "de"] + Self.noon, workshop)
      try drop(0..<1, start: 2_676_384 - 144, "it/a.csv", workshop)
      #expect(try done(["pull", "--source", "it"] + Self.noon, workshop, status: 1).contains("1 held"))
      let waiting = try done(["quarantine"] + Self.noon, workshop, status: 1)
      let number = try #require(waiting.split(whereSeparator: \.isWhitespace).first { Int($0) != nil })
      _ = try done(["quarantine", "discard", "\(number)", "--reason", "it is wrong"] + Self.noon, workshop)
      // What said first is gone.
      try policy("de", ", report-types: {accepted: [confirmed-test], unrecognized: reject}", workshop)
      _ = try done(["reread", "de", "--yes", "--reason", "r"] + Self.noon, workshop)
      try policy("it", ", risk: {out-of-range: zero}", workshop)
      _ = try done(["reread", "it", "--yes", "--reason", "r"] + Self.noon, workshop)
      #expect(try done(["quarantine"] + Self.noon, workshop).contains("nothing is in quarantine"))
      #expect(try done(["preview"] + Self.noon, workshop).contains("0 new"))
    }
  }

  @Test("what another reading puts aside for the operator is told as that, before and after") func putAside() throws {
    try Workshop.run { workshop in
      try configure(workshop)
      // Without a period it is rejected.
      try drop(0..<1, "de/a.csv", workshop, period: 0)
      _ = try done(["pull", "--source", "de"] + Self.noon, workshop, status: 1)
      try drop(0..<1, start: 2_676_384 - 144, "it/a.csv", workshop)
      _ = try done(["pull", "--source", "it"] + Self.noon, workshop)
      try policy("de", ", rolling-period: {zero: full-day}", workshop)
      for words in [[], ["--yes", "--reason", "r"]] {
        let read = try done(["reread", "de"] + words + Self.noon, workshop)
        #expect(read.contains("0 added, 1 put aside"), "\(read)")
      }
      let waiting = try done(["quarantine"] + Self.noon, workshop, status: 1)
      #expect(waiting.contains("other-rolling-start: 1 claim held"), "\(waiting)")
    }
  }

  @Test("what was withdrawn and is said again is nothing that another reading adds") func withdrawn() throws {
    try Workshop.run { workshop in
      try configure(workshop)
      try drop(0..<1, "de/a.csv", workshop)
      _ = try done(["pull", "--source", "de"] + Self.noon, workshop)
      _ = try done(["recall", "DE", "--yes", "--reason", "r"] + Self.noon, workshop)
      try drop(0..<1, "de/b.csv", workshop)
      #expect(try done(["pull", "--source", "de"] + Self.noon, workshop).contains("1 known"))
      try policy("de", ", risk: {out-of-range: zero}", workshop)
      for words in [[], ["--yes", "--reason", "r"]] {
        let read = try done(["reread", "de"] + words + Self.noon, workshop)
        #expect(read.contains(" 0 added, 0 put aside"), "\(read)")
      }
    }
  }

  /// Who names a day is given one archive: of several nobody was given any.
  @Test("a day with more keys than a window's bundle takes is one archive") func largeDay() throws {
    try Workshop.run { workshop in
      try configure(workshop, series: ", split: {keys: 100}, rollups: [day, since], every: 2 hours, editions: none")
      try policy("de", "", workshop, floor: 1000)
      try drop(0..<250, "de/a.csv", workshop)
      _ = try done(["pull", "--source", "de"] + Self.noon, workshop)
      _ = try done(["publish"] + Self.noon, workshop)
      let files = try workshop.files.filter { $0.hasPrefix("public/ALL/") && $0.hasSuffix(".zip") }
      #expect(files.count { $0.hasPrefix("public/ALL/day/") } == 1, "\(files)")
      #expect(files.count { $0.hasPrefix("public/ALL/since/") } == 1, "\(files)")
      #expect(files.count == 5, "\(files)")
      for file in files.filter({ $0.hasPrefix("public/ALL/day/") || $0.hasPrefix("public/ALL/since/") }) {
        #expect(try done(["inspect", file, "--summary"], workshop).contains("250"))
      }
      #expect(try done(["audit", "rebuild", "--all"] + Self.noon, workshop).contains("equal"))
    }
  }
}
