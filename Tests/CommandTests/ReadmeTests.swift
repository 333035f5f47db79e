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

  private static func blocks(_ kind: String) -> [String] {
    readme.components(separatedBy: "```\(kind)\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
  }

  /// A command line and the lines that it prints.
  private struct Step {
    var command: String
    var output: [Substring] = []
  }

  private static func steps(of session: String) -> [Step] {
    session.split(separator: "\n", omittingEmptySubsequences: false).dropLast().reduce(into: []) { steps, line in
      if line.hasPrefix("$ ") {
        steps.append(Step(command: String(line.dropFirst(2))))
      } else if line.hasPrefix("> "), let last = steps.indices.last, steps[last].command.hasSuffix("\\") {
        // A command that goes on.
        steps[last].command += "\n" + line.dropFirst(2)
      } else if let last = steps.indices.last {
        steps[last].output.append(line)
      }
    }
  }

  @Test func theSessionIsTrue() throws {
    let sessions = Self.blocks("console")
    #expect(sessions.count == 1)
    let steps = sessions.flatMap(Self.steps)
    #expect(steps.count >= 5)
    let program = try #require(Workshop.program, "the program keyferry was not built")
    let products = URL(filePath: program).deletingLastPathComponent().path()
    let shell = try #require(Tool(named: "bash"), "bash is missing")
    try Workshop.run { workshop in
      for step in steps {
        let script = "set -e; export PATH=\"$1:$PATH\"; exec 2>&1\n\(step.command)"
        let outcome = try shell.run(["-c", script, "session", products], in: workshop.folder)
        #expect(outcome.status == 0, "$ \(step.command)\n\(outcome.text)")
        let printed = outcome.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        #expect(Self.fits(Array(printed), step.output[...]), "$ \(step.command)\n\(outcome.text)")
      }
    }
  }

  /// Whether the lines are those that were expected, where a line `…` stands for any lines and `…` in a line for any
  /// text.
  private static func fits(_ lines: [Substring], _ expected: ArraySlice<Substring>) -> Bool {
    guard let first = expected.first else { return lines.isEmpty }
    let rest = expected.dropFirst()
    if first == "…" { return (0...lines.count).contains { fits(Array(lines[$0...]), rest) } }
    guard let line = lines.first, fits(line, first) else { return false }
    return fits(Array(lines.dropFirst()), rest)
  }

  private static func fits(_ line: Substring, _ expected: Substring) -> Bool {
    let pieces = expected.split(separator: "…", omittingEmptySubsequences: false)
    guard pieces.count > 1, let first = pieces.first, let last = pieces.last else { return line == expected }
    guard line.hasPrefix(first), line.dropFirst(first.count).hasSuffix(last) else { return false }
    var rest = line.dropFirst(first.count).dropLast(last.count)
    for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
      guard let place = rest.range(of: piece) else { return false }
      rest = rest[place.upperBound...]
    }
    return true
  }

  @Test func theMatcherTellsDifferences() {
    #expect(Self.fits(["a", "b", "c"], ["a", "…"]))
    #expect(Self.fits(["a", "b", "c"], ["…", "c"]))
    #expect(Self.fits(["key 12 of 13"], ["key … of 13"]))
    #expect(!Self.fits(["a", "b"], ["a"]))
    #expect(!Self.fits(["a"], ["a", "b"]))
    #expect(!Self.fits(["key 12 of 14"], ["key … of 13"]))
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
