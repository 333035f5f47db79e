import ExposureKeys
import Foundation
import GatewayTesting
import KeyStorage
import SQLiteDriver
import Testing

/// A store that is new beside series that are published: nobody writes into it before an operator says so.
@Suite("A new store beside publications, from the command line") struct BeginningTests {
  private static let noon = ["--now", "2020-11-25T12:00:00Z"]
  private static let later = ["--now", "2020-11-25T16:00:00Z"]

  /// A gateway that has read one file and published it.
  private func withGateway(_ body: (Workshop) throws -> Void) throws {
    try Workshop.run { workshop in
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "drop"), withIntermediateDirectories: false)
      try workshop.makeSigner()
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path("310-v1.key.pem"))
      try configure(workshop)
      try drop(NormalizeTests.german, "de.csv", workshop)
      #expect(try workshop.keyferry(["pull"] + Self.noon).status == 0)
      #expect(try workshop.keyferry(["publish"] + Self.noon).status == 0)
      try body(workshop)
    }
  }

  private func configure(
    _ workshop: Workshop, _ name: String = "gateway.yaml", state: String = "state", folder: String = "public"
  ) throws {
    try workshop.write(
      """
      state: \(state)
      sources:
        - {name: drop, protocol: files, location: drop, trust: operator, origin: DE, speaks-for: [DE]}
      series:
        - {name: DE, include: [DE], region: "262", sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]}
      publication: {folder: \(folder)}
      server: {listen: "127.0.0.1:0"}
      """, name)
  }

  private func drop(_ text: String, _ name: String, _ workshop: Workshop) throws {
    try workshop.write(text, "drop/\(name)")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: workshop.path("drop/\(name)"))
  }

  private func published(_ workshop: Workshop) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for file in try workshop.files where file.hasPrefix("public/") && file.contains(".") {
      files[file] = try workshop.bytes(file)
    }
    return files
  }

  /// Whatever writes.
  private static let writers = [
    ["pull"] + noon, ["publish"] + noon, ["run"], ["store", "create"], ["pause", "drop"], ["resume", "drop"],
    ["recall", "DE", "--yes"], ["erase", KeyQuestionTests.key, "--reason", "r", "--yes"], ["clock", "accept"],
    ["quarantine", "discard", "1"], ["reread", "drop", "--yes"],
  ]

  @Test("whoever would make a store beside publications refuses, and nothing is written")
  func noStore() throws {
    try withGateway { workshop in
      try FileManager.default.moveItem(atPath: workshop.path("state"), toPath: workshop.path("unmounted"))
      let before = try published(workshop)
      for command in Self.writers {
        let refused = try workshop.keyferry(command)
        #expect(refused.status == 2, "\(command): \(refused.text)\(refused.errors)")
        #expect(
          refused.errors.contains("there is no store in state, and public has series DE, published before: "),
          "\(command): \(refused.errors)")
        #expect(refused.errors.contains("keyferry store restore") && refused.errors.contains("keyferry store begin"))
        #expect(!workshop.exists("state"), "\(command)")
      }
      #expect(try published(workshop) == before)
      let check = try workshop.keyferry(["check"] + Self.noon)
      #expect(
        check.status == 2 && check.text.contains("there is no store in state, and public has series DE"),
        "\(check.text)")
      #expect(check.text.contains("state: ") && !workshop.exists("state"))
      let json = try workshop.keyferry(["check", "--json"] + Self.noon)
      #expect(json.status == 2)
      #expect(try DocumentSchema(named: "check.schema.json").faults(in: Data(json.output)) == [], "\(json.text)")

      // The disk is mounted again, and everything goes on.
      try FileManager.default.moveItem(atPath: workshop.path("unmounted"), toPath: workshop.path("state"))
      for command in ["check", "pull", "publish"] {
        let done = try workshop.keyferry([command] + Self.noon)
        #expect(done.status == 0, "\(done.text)\(done.errors)")
      }
    }
  }

  @Test("a store that has published nothing is no better than none", arguments: ["empty", "made", "pulled", "paused"])
  func newStore(_ kind: String) throws {
    try withGateway { workshop in
      try FileManager.default.removeItem(atPath: workshop.path("state"))
      try FileManager.default.createDirectory(atPath: workshop.path("state"), withIntermediateDirectories: false)
      try configure(workshop, "elsewhere.yaml", folder: "elsewhere")
      switch kind {
      case "empty": try workshop.write("", "state/keyferry.sqlite")
      case "made":
        try SQLiteStore(folder: workshop.path("state"), now: try #require(Instant("2020-11-25T12:00:00Z"))).letGo()
      // By a configuration that publishes elsewhere, or before the disk with the publications was there.
      case "pulled": #expect(try workshop.keyferry(["pull", "--config", "elsewhere.yaml"] + Self.noon).status == 0)
      default: #expect(try workshop.keyferry("pause", "drop", "--config", "elsewhere.yaml").status == 0)
      }
      let before = try published(workshop)
      for command in [["pull"] + Self.noon, ["publish"] + Self.noon, ["run"], ["pause", "drop"]] {
        let refused = try workshop.keyferry(command)
        #expect(
          refused.status == 2
            && refused.errors.contains("the store in state has published nothing, and public has series DE"),
          "\(command): \(refused.errors)")
      }
      #expect(try published(workshop) == before)
      let check = try workshop.keyferry(["check"] + Self.noon)
      #expect(check.status == 2 && check.text.contains("the store in state has published nothing"), "\(check.text)")
      let begun = try workshop.keyferry(["store", "begin", "--yes"] + Self.noon)
      #expect(begun.status == 0, "\(begun.errors)")
      #expect(try workshop.keyferry(["pull"] + Self.noon).status == 0)
    }
  }

  @Test("an index without its manifest, and a manifest that cannot be read, are publications")
  func withoutManifest() throws {
    for content in [nil, "{", ""] {
      try withGateway { workshop in
        try FileManager.default.removeItem(atPath: workshop.path("state"))
        try FileManager.default.removeItem(atPath: workshop.path("public/DE/manifest.json"))
        if let content { try workshop.write(content, "public/DE/manifest.json") }
        let refused = try workshop.keyferry(["pull"] + Self.noon)
        #expect(refused.status == 2 && refused.errors.contains("public has series DE"), "\(refused.errors)")
        let shown = try workshop.keyferry(["store", "begin"] + Self.noon)
        #expect(shown.text.contains("series DE: its manifest in public cannot be read"), "\(shown.text)")
      }
    }
  }

  @Test("what cannot be asked is not empty")
  func unreadable() throws {
    try withGateway { workshop in
      try FileManager.default.removeItem(atPath: workshop.path("state"))
      try FileManager.default.removeItem(atPath: workshop.path("public/DE/manifest.json"))
      // As a disk answers that is broken, also to root.
      try FileManager.default.createDirectory(
        atPath: workshop.path("public/DE/manifest.json"), withIntermediateDirectories: false)
      let refused = try workshop.keyferry(["pull"] + Self.noon)
      #expect(refused.status == 2 && refused.errors.contains("cannot be asked; nothing was done"), "\(refused.errors)")
      let check = try workshop.keyferry(["check"] + Self.noon)
      #expect(
        check.status == 2
          && check.text.contains(
            "publication.folder: there is no store in state, and whether anything is published in public"),
        "\(check.text)\(check.errors)")
      #expect(!workshop.exists("state"))
    }
  }

  @Test("store begin says what is lost, and with --yes the new store goes on beside what is published")
  func begin() throws {
    try withGateway { workshop in
      let none = try workshop.keyferry(["store", "begin"] + Self.noon)
      #expect(none.status == 1 && none.errors.contains("there is nothing to begin"), "\(none.errors)")
      try FileManager.default.removeItem(atPath: workshop.path("state"))
      let before = try published(workshop)

      let shown = try workshop.keyferry(["store", "begin"] + Self.noon)
      #expect(shown.status == 0, "\(shown.errors)")
      #expect(
        shown.text == """
          there is no store in state, and public has series DE, published before
          series DE: 2 bundles in public
          would be taken from there at the next round: what apps have seen
          would be lost: pauses, recalls, erasures, what was held, uploads that were not published, and which documents were read

          """)
      #expect(shown.errors.contains("the same command with --yes does it"))
      #expect(!workshop.exists("state"))

      let begun = try workshop.keyferry(
        ["store", "begin", "--yes", "--by", "anna", "--reason", "disk of node 3"] + Self.noon)
      #expect(
        begun.status == 0 && begun.text.hasPrefix("a new store has begun in state\n"), "\(begun.text)\(begun.errors)")
      #expect(begun.errors.contains("keyferry pull --config gateway.yaml"))
      #expect(try published(workshop) == before)
      let events = try workshop.keyferry("events", "--json")
      #expect(try DocumentSchema(named: "events.schema.json").faults(in: Data(events.output)) == [], "\(events.text)")
      #expect(events.text.contains("\"begun\"") && events.text.contains("disk of node 3"), "\(events.text)")

      let again = try workshop.keyferry(["store", "begin", "--yes"] + Self.noon)
      #expect(again.status == 1 && again.errors.contains("the store has begun already"), "\(again.errors)")
      let waits = try workshop.keyferry(["check"] + Self.noon)
      #expect(waits.status == 0 && waits.text.contains("then keyferry store begin --publish --yes"), "\(waits.text)")

      // What an operator said is said again before anything goes out.
      try drop(NormalizeTests.german.replacing("0011", with: "7711"), "more.csv", workshop)
      #expect(try workshop.keyferry(["pull"] + Self.later).status == 0)
      #expect(try workshop.keyferry(["recall", "DE", "--yes"] + Self.later).status == 0)
      // Whoever runs meanwhile publishes nothing: all was not said yet.
      let early = try workshop.keyferry(["publish"] + Self.later)
      #expect(
        early.status != 0 && (early.text + early.errors).contains("keyferry store begin --publish --yes"),
        "\(early.status) \(early.text)\(early.errors)")
      #expect(try published(workshop) == before)
      let asked = try workshop.keyferry(["store", "begin", "--publish"] + Self.later)
      #expect(asked.status == 0 && asked.text.hasPrefix("series DE: would be published again"), "\(asked.text)")
      #expect(try workshop.keyferry(["publish"] + Self.later).status == early.status)
      let word = try workshop.keyferry(["store", "begin", "--publish", "--yes", "--by", "anna"] + Self.later)
      #expect(word.status == 0 && word.text.hasPrefix("series DE: is published again"), "\(word.text)\(word.errors)")
      #expect(try workshop.keyferry(["store", "begin", "--publish", "--yes"] + Self.later).status == 1)
      let round = try workshop.keyferry(["publish"] + Self.later)
      #expect(round.status == 1 && round.errors.contains("that the store does not know"), "\(round.errors)")
      for (file, bytes) in before where file.hasSuffix(".zip") { #expect(try workshop.bytes(file) == bytes, "\(file)") }
      let told = try workshop.keyferry(
        ["explain", NormalizeTests.key.replacing("0011", with: "7711"), "--config", "gateway.yaml"] + Self.later)
      #expect(
        told.text.contains("withdrawn by the recall") && !told.text.contains("carried since"),
        "\(told.text)\(told.errors)")
      #expect(try workshop.keyferry(["publish"] + Self.later).status == 0)
      #expect(try workshop.keyferry("store", "check").status == 0)
    }
  }

  @Test("a first start, other series in the folder, and a copy need no word")
  func withoutWord() throws {
    try withGateway { workshop in
      // Another gateway publishes another series into the same folder.
      let other = try workshop.text("gateway.yaml").replacing("state: state", with: "state: second-state")
        .replacing("name: DE, include", with: "name: second, include")
      try workshop.write(other, "second.yaml")
      for command in ["pull", "publish"] {
        #expect(try workshop.keyferry([command, "--config", "second.yaml"] + Self.noon).status == 0)
      }
      #expect(try workshop.keyferry(["store", "begin", "--config", "second.yaml"] + Self.noon).status == 1)

      // A pull before the first publication, more of them, and then that.
      try configure(workshop, "third.yaml", state: "third-state", folder: "third-public")
      for command in ["check", "pull", "pull", "check", "publish", "pull", "publish"] {
        let done = try workshop.keyferry([command, "--config", "third.yaml"] + Self.noon)
        #expect(done.status == 0, "\(command): \(done.text)\(done.errors)")
      }

      #expect(try workshop.keyferry("store", "backup", "-o", "copy.sqlite").status == 0)
      try FileManager.default.removeItem(atPath: workshop.path("state"))
      #expect(try workshop.keyferry("store", "restore", "copy.sqlite").status == 0)
      for command in ["check", "pull", "publish"] {
        #expect(try workshop.keyferry([command] + Self.noon).status == 0)
      }
    }
  }
}
