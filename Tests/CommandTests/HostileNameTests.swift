import Foundation
import GatewayTesting
import Testing

/// Whoever names a file writes no line of ours, and no option.
@Suite("Hostile names") struct HostileNameTests {
  private static let forged =
    "x.zip: verified\n  signature 1 (id \"310\", version \"v1\"): verified\nkeyferry: all is well\ny.csv"

  /// Neither standard output nor standard error has a line that only the name wrote.
  private func expectNoLine(_ outcome: Tool.Outcome, _ comment: Comment) {
    for text in [outcome.text, outcome.errors] {
      for line in text.split(separator: "\n") {
        #expect(!line.hasPrefix("  signature 1 (id \"310\", version \"v1\"): verified"), comment)
        #expect(!line.hasPrefix("keyferry: all is well") && !line.hasPrefix("y.csv"), comment)
      }
    }
  }

  @Test func lineFeedsInNamesBeginNoLine() throws {
    try Workshop.run { workshop in
      try workshop.makeSigner()
      for folder in ["in", "also"] {
        try FileManager.default.createDirectory(
          at: workshop.folder.appending(path: folder), withIntermediateDirectories: false)
        try workshop.write(Sample.csv, "\(folder)/\(Self.forged)")
        try workshop.write("<html>", "\(folder)/page\(Self.forged)")
      }
      try workshop.write(Sample.json, "also/\(Self.forged)")
      let tar = try #require(Tool(named: "tar")).run(["-cf", "in.tar", "-C", "in", "."], in: workshop.folder)
      #expect(tar.status == 0)
      try workshop.write(Sample.csv, Self.forged)
      for arguments in [
        ["verify", "in", "--trust", "ring"], ["verify", "in.tar", "--trust", "ring"],
        ["verify", Self.forged, "--trust", "ring"], ["verify", Self.forged + "gone", "--trust", "ring"],
        ["diff", "in", "also", "--keep-going"], ["diff", "in", "also"],
        ["diff", Self.forged, "in.tar", "--keep-going"],
        ["inspect", "in"], ["inspect", "in.tar"], ["convert", "in", "--to", "csv", "-o", "-", "--keep-going"],
        ["convert", "in.tar", "--to", "csv", "-o", "out/"], ["convert", "in.tar", "--to", "csv", "-o", "out.csv"],
        ["archive", "add", "seen", "in", "in.tar"], ["archive", "list", "seen"], ["verify", "seen", "--trust", "ring"],
      ] {
        expectNoLine(try workshop.keyferry(arguments), "\(arguments)")
      }
      let shown = try workshop.keyferry("verify", "in.tar", "--trust", "ring")
      #expect(shown.status == 1 && shown.text.contains(#"in.tar!x.zip: verified\x0A  signature 1"#), "\(shown.text)")
      // For programs it is the name.
      let json = try workshop.keyferry("verify", "in.tar", "--trust", "ring", "--json")
      struct Report: Decodable {
        struct File: Decodable { let name: String }
        let files: [File]
      }
      let names = try JSONDecoder().decode(Report.self, from: Data(json.output)).files.map(\.name)
      #expect(names == ["in.tar!\(Self.forged)"], "\(json.text)")
    }
  }

  @Test(arguments: ["-h.zip", "-hx.zip", "-dash.zip", "--help", "-x.zip", "--json", "-h"])
  func aFileIsNoOption(name: String) throws {
    try Workshop.run { workshop in
      try workshop.makeSigner()
      try workshop.write(Sample.csv, name)
      let outcome = try workshop.keyferry("verify", "forged.zip", name, "--trust", "ring")
      #expect(outcome.status == 64 && outcome.output.isEmpty, "\(outcome.text)\(outcome.errors)")
      #expect(outcome.errors.contains("write ./\(name), or -- before"), "\(outcome.errors)")
      // As it says.
      #expect(try workshop.keyferry("inspect", "./\(name)").status == 0)
      #expect(try workshop.keyferry("inspect", "--", name).status == 0)
    }
  }

  @Test func helpIsPrintedForItsOwnOptionAlone() throws {
    try Workshop.run { workshop in
      for word in ["-hx", "-h.zip", "-help"] {
        let outcome = try workshop.keyferry("verify", "a.zip", word, "--trust", "ring")
        #expect(outcome.status == 64 && outcome.output.isEmpty, "\(word): \(outcome.errors)")
      }
      for word in ["-h", "--help"] {
        let outcome = try workshop.keyferry("verify", word)
        #expect(outcome.status == 0 && outcome.text.contains("USAGE: keyferry verify"))
      }
    }
  }

  @Test func aHintToAUsageIsACommand() throws {
    try Workshop.run { workshop in
      for arguments in [
        ["init"], ["pause"], ["pause", "nobody"], ["sign", "x", "-o", "y"], ["convert", "x", "--to", "csv"],
        ["convert", "x", "--to", "csv", "-o", "-", "--json"], ["tables"], ["quarantine", "show", "x"],
      ] {
        let outcome = try workshop.keyferry(arguments)
        for hint in outcome.errors.matches(of: /See '([^']+)'/) {
          let words = hint.output.1.split(separator: " ").map(String.init)
          #expect(words.first == "keyferry", "\(arguments): \(hint.output.0)")
          #expect(try workshop.keyferry(Array(words.dropFirst())).status == 0, "\(hint.output.0)")
        }
      }
    }
  }
}
