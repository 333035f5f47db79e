import Foundation
import GatewayTesting
import Testing

/// A folder that Keyferry publishes, read by its own tools.
@Suite("A published folder") struct PublishedFolderTests {
  private static let noon = ["--now", "2020-11-25T12:00:00Z"]

  /// A gateway with a log that has published one file.
  private func withGateway(_ body: (Workshop) throws -> Void) throws {
    try Workshop.run { workshop in
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "drop"), withIntermediateDirectories: false)
      try workshop.makeSigner()
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path("310-v1.key.pem"))
      try workshop.write(
        """
        state: state
        sources:
          - {name: drop, protocol: files, location: drop, trust: operator, origin: DE, speaks-for: [DE]}
        series:
          - {name: DE, include: [DE], region: "262", sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]}
        publication: {folder: public}
        log: {name: keys.example.org/log}
        """, "gateway.yaml")
      try workshop.write(NormalizeTests.german, "drop/de.csv")
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: workshop.path("drop/de.csv"))
      #expect(try workshop.keyferry("log", "init", "--config", "gateway.yaml").status == 0)
      #expect(try workshop.keyferry(["pull"] + Self.noon).status == 0)
      #expect(try workshop.keyferry(["publish"] + Self.noon).status == 0)
      try body(workshop)
    }
  }

  @Test func whatIsPublishedBesideBundlesIsPassedOver() throws {
    try withGateway { workshop in
      let names = try workshop.files.filter { $0.hasPrefix("public/") }
      for ending in ["manifest.json", "index.txt", "SHA256SUMS", ".tlog-proof", ".intoto.jsonl", "log/checkpoint"] {
        #expect(names.contains { $0.hasSuffix(ending) }, "\(ending): \(names)")
      }
      for folder in ["public", "public/", "public/DE"] {
        for arguments in [
          ["verify", folder, "--trust", "ring", "--at", "2020-11-25"], ["inspect", folder],
          ["convert", folder, "--to", "csv", "-o", "out.csv"], ["diff", folder, "public/DE"],
          ["report", folder, "-o", "\(UUID().uuidString).html"],
          ["tables", folder, "-o", "\(UUID().uuidString).sqlite"],
        ] {
          let outcome = try workshop.keyferry(arguments)
          #expect(outcome.status == 0, "\(arguments): \(outcome.errors)\(outcome.text)")
          #expect(outcome.errors.contains("that Keyferry publishes beside bundles"), "\(arguments): \(outcome.errors)")
        }
      }
      // What is kept as evidence is all of it.
      let added = try workshop.keyferry("archive", "add", "seen", "public")
      #expect(added.status == 0 && !added.errors.contains("beside bundles"), "\(added.errors)")
      let kept = try workshop.keyferry("archive", "list", "seen").text
      #expect(kept.contains("manifest.json") && kept.contains("log/checkpoint"), "\(kept)")
      // Named themselves they are files as others are.
      let named = try workshop.keyferry("verify", "public/DE/manifest.json", "--trust", "ring")
      #expect(named.status != 0, "\(named.text)")
    }
  }

  @Test func aKeyFileOfThatNameIsRead() throws {
    try Workshop.run { workshop in
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "in"), withIntermediateDirectories: false)
      try workshop.write(Sample.json, "in/manifest.json")
      try workshop.write(Sample.csv, "in/index.txt")
      let outcome = try workshop.keyferry("convert", "in", "--to", "csv", "-o", "out/")
      #expect(outcome.status == 0 && !outcome.errors.contains("passed over"), "\(outcome.errors)")
      // And one that is neither is told.
      try workshop.write("nothing of the kind\n", "in/SHA256SUMS")
      #expect(try workshop.keyferry("verify", "in", "--trust", "in").status != 0)
    }
  }

  // MARK: Comparing

  @Test func whatCannotBeReadIsLeftOutWhereThatIsAsked() throws {
    try Workshop.run { workshop in
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "in"), withIntermediateDirectories: false)
      try workshop.write(Sample.csv, "in/a.csv")
      try workshop.write("<html>", "in/bad.csv")
      // It breaks off behind some keys, of which none counts.
      try workshop.write(Array(Sample.json.prefix(Sample.json.count * 2 / 3)), "in/short.json")
      #expect(try workshop.keyferry("diff", "in", "in").status == 2)
      let outcome = try workshop.keyferry("diff", "in", "in/a.csv", "--keep-going")
      #expect(outcome.status == 1, "\(outcome.errors)")
      #expect(outcome.text.hasPrefix("in: 30 keys\nin/a.csv: 30 keys\n"), "\(outcome.text)")
      #expect(
        outcome.errors.contains("2 documents of 4 left out:") && outcome.errors.contains("bad.csv"), "\(outcome.errors)"
      )
      let json = try workshop.keyferry("diff", "in", "in/a.csv", "--keep-going", "--json")
      #expect(try DocumentSchema(named: "diff.schema.json").faults(in: Data(json.output)) == [], "\(json.text)")
      #expect(json.text.contains("\"same\" : false") && json.text.contains("bad.csv"), "\(json.text)")
      try FileManager.default.removeItem(atPath: workshop.path("in/a.csv"))
      try workshop.write(Sample.csv, "a.csv")
      #expect(try workshop.keyferry("diff", "in", "a.csv", "--keep-going").status == 2)
    }
  }

  @Test func aFolderAndTheArchiveThatItWasAddedToDoNotDiffer() throws {
    try Workshop.run { workshop in
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "big"), withIntermediateDirectories: false)
      try workshop.write(Sample.csv, "big/a.csv")
      try workshop.write(Sample.json, "big/b.json")
      #expect(try workshop.keyferry("archive", "add", "seen", "big").status == 0)
      for sides in [["big", "seen"], ["seen", "big"]] {
        let outcome = try workshop.keyferry(["diff"] + sides)
        #expect(outcome.status == 0, "\(outcome.text)")
        #expect(
          outcome.text.hasSuffix("nothing differs\nthe same under another name: 2 documents\n"), "\(outcome.text)")
      }
      // One that has other bytes is still told.
      try workshop.write(Sample.csv + Array("# more\n".utf8), "big/a.csv")
      let changed = try workshop.keyferry("diff", "big", "seen")
      #expect(changed.status == 1 && changed.text.contains("only-left: a.csv"), "\(changed.text)")
    }
  }

  // MARK: The log

  @Test func aLogThatCannotGoOnIsNoSoundConfiguration() throws {
    try withGateway { workshop in
      #expect(try workshop.keyferry("check").status == 0)
      try FileManager.default.moveItem(atPath: workshop.path("public/log"), toPath: workshop.path("away"))
      for arguments in [["check"], ["check", "--publication"]] {
        let gone = try workshop.keyferry(arguments)
        #expect(gone.status == 2 && gone.text.contains("error: log: the log cannot go on"), "\(gone.text)")
      }
      try FileManager.default.moveItem(atPath: workshop.path("away"), toPath: workshop.path("public/log"))
      #expect(try workshop.keyferry("check").status == 0)
      try FileManager.default.moveItem(atPath: workshop.path("state/log"), toPath: workshop.path("away"))
      let without = try workshop.keyferry("check")
      #expect(without.status == 2 && without.text.contains("bring log.key back from its copy"), "\(without.text)")
      #expect(without.text.contains("keyferry log adopt") && !without.text.contains("log init"), "\(without.text)")
      // Before it was begun, it is to be begun.
      try FileManager.default.removeItem(atPath: workshop.path("public"))
      let none = try workshop.keyferry("check")
      #expect(none.status == 0 && none.text.contains("keyferry log init"), "\(none.text)")
    }
  }
}
