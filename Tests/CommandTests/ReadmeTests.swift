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

  @Test func theSessionIsTrue() throws {
    let session = PageSession(Self.readme)
    #expect(PageSession.blocks("console", of: Self.readme).count == 1)
    #expect(session.steps.count >= 5)
    try Workshop.run { try session.run(in: $0) }
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
    let rows = FormatCatalog.all.map { row in
      "| `\(row.format.rawValue)` | \(row.isWritten ? "read, write" : "read") | \(row.summary) |"
    }
    #expect(Self.readme.contains(rows.joined(separator: "\n")), "expected:\n\(rows.joined(separator: "\n"))")
  }

  @Test func theExitCodesAreThoseOfTheHelp() throws {
    try Workshop.run { workshop in
      let help = try workshop.keyferry("--help").text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      let rows = Self.readme.split(separator: "\n").filter { row in
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
    for piece in Self.readme.split(whereSeparator: { " \n()|`".contains($0) }) {
      let word = piece.last.map(",.;".contains) == true ? piece.dropLast() : piece
      guard word.contains("/"), word.first?.isLetter == true, !word.contains(":"), !word.contains("…") else { continue }
      let top = word.prefix { $0 != "/" }
      guard ["Sources", "Tests", "interop", "schemas", "Benchmarks"].contains(top) else { continue }
      let path = PackageFolder.root.appending(path: String(word)).path()
      #expect(FileManager.default.fileExists(atPath: path), "\(word)")
    }
  }

  @Test func everyTargetHasItsPlace() throws {
    let sources = PackageFolder.root.appending(path: "Sources").path()
    let row = Self.readme.split(separator: "\n").first { $0.hasPrefix("| Sources |") } ?? ""
    for target in try FileManager.default.contentsOfDirectory(atPath: sources) where !target.hasPrefix(".") {
      #expect(row.contains(target), "\(target)")
    }
  }

  @Test func itIsShort() {
    #expect(Self.readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 170)
  }
}
