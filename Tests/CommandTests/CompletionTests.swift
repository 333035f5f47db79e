import Foundation
import GatewayTesting
import KeyFormats
import Testing

/// What a shell offers: the script that the program writes, in bash.
@Suite struct CompletionTests {
  /// The words that bash offers for the last of these, in the workshop's folder.
  private func offered(_ workshop: Workshop, _ words: [String]) throws -> Set<String> {
    let bash = try #require(Tool(named: "bash"))
    if !workshop.exists(".completion") {
      try workshop.write(try workshop.keyferry("--generate-completion-script", "bash").output, ".completion")
    }
    let script = """
      source .completion
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COMP_KEY=9
      _keyferry "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    let program = try #require(Workshop.program, "the program keyferry was not built")
    let outcome = try bash.run(["-c", script, "bash", program] + words, in: workshop.folder)
    #expect(outcome.errors.isEmpty, "\(words): \(outcome.errors)")
    return Set(outcome.text.split(separator: "\n").map(String.init))
  }

  private func expect(
    _ expected: Set<String>, _ workshop: Workshop, _ words: String..., sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let words = try offered(workshop, words)
    #expect(words == expected, sourceLocation: sourceLocation)
  }

  @Test func filesAndFolders() throws {
    try Workshop.run { workshop in
      try workshop.write("", "bundle.zip")
      try workshop.write("", "batch.bin")
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "bundles"), withIntermediateDirectories: false)
      for command in ["inspect", "verify", "convert", "tables", "normalize", "report", "sign", "diff"] {
        let words = try offered(workshop, [command, "bun"])
        #expect(words == ["bundle.zip", "bundles"], "\(command)")
      }
      try expect(["bundle.zip", "bundles"], workshop, "convert", "-o", "bu")
      try expect(["bundle.zip", "batch.bin", "bundles"], workshop, "verify", "--trust", "b")
      try expect(["bundles"], workshop, "log", "verify", "b")
      try expect(["bundles"], workshop, "log", "init", "--state", "b")
    }
  }

  @Test func formatsThatAreWritten() throws {
    try Workshop.run { workshop in
      let written = Set(FormatCatalog.all.filter(\.isWritten).map(\.format.rawValue))
      let all = Set(FormatCatalog.all.map(\.format.rawValue))
      #expect(written.count < all.count)
      try expect(written, workshop, "convert", "x", "--to", "")
      try expect(["efgs-json", "efgs-protobuf"], workshop, "normalize", "x", "--to", "efgs")
      try expect(all, workshop, "inspect", "--from", "")
      try expect(
        ["CONFIRMED_TEST", "CONFIRMED_CLINICAL_DIAGNOSIS"], workshop, "convert", "--default-report-type", "CONF")
    }
  }

  @Test func namesInTheConfiguration() throws {
    try Workshop.run { workshop in
      let configuration = """
        state: state
        sources:
          - {name: north, protocol: files, location: north, trust: operator, origin: NL}
          - {name: south, protocol: files, location: south, trust: operator, origin: BE}
        series:
          - {name: NL, sign: [{key: {file: missing.pem}, id: "310", version: v1}]}
        """
      try workshop.write(configuration, "gateway.yaml")
      try workshop.write(configuration.replacing("name: north", with: "name: east"), "other.yaml")
      try expect(["north", "south"], workshop, "pull", "--source", "")
      try expect(["south"], workshop, "reread", "s")
      try expect(["north"], workshop, "pause", "no")
      try expect(["east"], workshop, "pull", "--config", "other.yaml", "--source", "e")
      try expect([], workshop, "pull", "-c", "other.yaml", "--source", "n")
      try expect([], workshop, "pull", "--config", "missing.yaml", "--source", "")
      try expect(["NL"], workshop, "registration", "")
      try expect(["NL"], workshop, "preview", "--series", "")
      try expect(["gateway.yaml", "other.yaml"], workshop, "check", "--config", "")
    }
  }

  /// Bash expands what a program offers: a name must not be a command.
  @Test func namesThatShellsWouldRunAreNotOffered() throws {
    try Workshop.run { workshop in
      try workshop.write("", "mine.yaml")
      try workshop.write("", "$(touch caught).yaml")
      try workshop.write("", "`touch caught`.yaml")
      try workshop.write("", "notes.txt")
      try expect(["mine.yaml"], workshop, "policy", "show", "mi")
      let words = try offered(workshop, ["policy", "show", ""])
      #expect(words.isSuperset(of: ["default", "efgs", "mine.yaml"]))
      #expect(!words.contains { $0.contains("touch") || $0 == "notes.txt" })
      try expect(["google-key-server"], workshop, "normalize", "--reading", "google")
      #expect(!workshop.exists("caught"))
    }
  }
}
