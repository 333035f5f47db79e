import Foundation
import GatewayTesting
import KeyFormats
import Testing

/// What the README shows is what happens.
@Suite struct ReadmeTests {
  static let readme: String = {
    let file = PackageFolder.root.appending(path: "README.md")
    return (try? String(contentsOf: file, encoding: .utf8)) ?? ""
  }()

  /// Typed with what was built in place of the package. `Tests/Package/run` types it where the package alone is.
  @Test func theSessionIsTrue() throws {
    let session = PageSession(Self.readme)
    #expect(session.steps.count >= 8)
    #expect(session.steps.contains { $0.command.hasPrefix("keyferry run") })
    try Workshop.run { workshop in
      try session.run(
        in: workshop,
        replacing: [
          ("/usr/share/doc/keyferry/examples", PackageFolder.root.appending(path: "interop/deploy").path()),
          ("cd nl", #"cd nl && sed -i 's/listen: 127[^ }]*/listen: "127.0.0.1:0"/' gateway.yaml"#),
          ("keyferry run ", "timeout --preserve-status 5 keyferry run "),
        ])
    }
  }

  @Test func itNamesTheTwoCommandsOfAClone() {
    for command in ["make demo", "make test", "make deb"] { #expect(Self.readme.contains("\(command) "), "\(command)") }
  }

  @Test func theMatcherTellsDifferences() {
    #expect(PageSession.fits(["a", "b", "c"], ["a", "…"]))
    #expect(PageSession.fits(["a", "b", "c"], ["…", "c"]))
    #expect(PageSession.fits(["key 12 of 13"], ["key … of 13"]))
    #expect(!PageSession.fits(["a", "b"], ["a"]))
    #expect(!PageSession.fits(["a"], ["a", "b"]))
    #expect(!PageSession.fits(["key 12 of 14"], ["key … of 13"]))
  }

  @Test func theTableOfFormatsIsTheCatalogue() {
    for (head, isWritten) in [("Read and written", true), ("Read only", false)] {
      let names = FormatCatalog.all.filter { $0.isWritten == isWritten }.map { "`\($0.format.rawValue)`" }
      let row = "| \(head) | \(names.joined(separator: ", ")) |\n"
      #expect(Self.readme.contains(row), "expected:\n\(row)")
    }
    #expect(FormatCatalog.all.count == 20 && Self.readme.contains("in twenty formats"))
  }

  @Test func theExitCodesAreThoseOfTheHelp() throws {
    let page = PackageFolder.root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc/Findings.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    try Workshop.run { workshop in
      let help = try workshop.keyferry("--help").text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      let rows = text.split(separator: "\n").filter { row in
        row.hasPrefix("| `") && row.dropFirst(3).first?.isNumber == true
      }
      #expect(rows.count == 4)
      for row in rows {
        let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces.union(["`"])) }
        #expect(help.contains("\(cells[0]) \(cells[1])"), "\(row)")
      }
    }
  }

  @Test func whatItNamesIsThere() throws {
    for piece in Self.readme.split(whereSeparator: { " \n()|`\"".contains($0) }) {
      let word = piece.last.map(",.;".contains) == true ? piece.dropLast() : piece
      let isLinked = Self.readme.contains("](\(word))") && !word.hasPrefix("#")
      guard word.contains("/") || isLinked, word.first?.isLetter == true, !word.contains(":"), !word.contains("…")
      else {
        continue
      }
      let top = word.prefix { $0 != "/" }
      guard isLinked || ["Sources", "Tests", "interop", "schemas", "Benchmarks", "docs"].contains(top) else { continue }
      #expect(
        FileManager.default.fileExists(atPath: PackageFolder.root.appending(path: String(word)).path()), "\(word)")
    }
    for page in ["CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "LICENSE"] {
      #expect(Self.readme.contains("](\(page))"), "\(page)")
    }
  }

  /// The page that ARCHITECTURE.md calls the list of permissions has all of them.
  @Test func everyTargetHasItsPlace() throws {
    let root = PackageFolder.root
    let page = try String(contentsOf: root.appending(path: "ARCHITECTURE.md"), encoding: .utf8)
    for target in try FileManager.default.contentsOfDirectory(atPath: root.appending(path: "Sources").path())
    where !target.hasPrefix(".") {
      #expect(page.contains("`\(target)`"), "\(target)")
    }
  }

  /// What a target must not know, it does not import: the compiler finds a module that lies beside it, whether it is declared or not.
  @Test(arguments: [
    (
      "FileCommands",
      [
        "KeyStorage", "SQLiteDriver", "PostgresDriver", "KeyReceiving", "KeyPublishing", "Federation", "GatewayServer",
        "GatewaySettings", "GatewayDaemon",
      ]
    ),
    ("GatewayServer", ["Federation", "KeyPeers", "KeyReceiving"]), ("KeyPeers", ["KeyStorage"]),
    ("KeyPublishing", ["KeyPeers"]), ("KeyDevice", ["KeyStorage", "Foundation"]),
  ])
  func itImportsNothingThatItMustNotKnow(target: String, forbidden: [String]) throws {
    let folder = PackageFolder.root.appending(path: "Sources/\(target)")
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    var count = 0
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift" else { continue }
      count += 1
      for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where line.contains("import ") {
        let module = line.split(separator: " ").last.map(String.init) ?? ""
        #expect(!forbidden.contains(module) || line.hasPrefix("//"), "\(file.lastPathComponent): \(line)")
      }
    }
    #expect(count > 5)
  }

  @Test func itIsShort() {
    #expect(Self.readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 155)
  }

  /// One version's changes fit on a screen or two, by the headings of Keep a Changelog.
  @Test func theChangesAreShort() throws {
    let text = try String(contentsOf: PackageFolder.root.appending(path: "CHANGELOG.md"), encoding: .utf8)
    for version in text.components(separatedBy: "\n## ").dropFirst() {
      #expect(version.split(whereSeparator: \.isWhitespace).count <= 300, "\(version.prefix(20))")
    }
    let headings = text.split(separator: "\n").filter { $0.hasPrefix("### ") }
    #expect(text.contains("## [Unreleased]") && !headings.isEmpty)
    for heading in headings {
      let known = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Upgrade notes"]
      #expect(known.contains(String(heading.dropFirst(4))), "\(heading)")
    }
  }
}
