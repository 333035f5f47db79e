import Foundation
import GatewayTesting
import KeyFormats
import Testing

@Suite struct HelpTests {
  static let commands = [
    "inspect", "convert", "normalize", "explain", "policy", "verify", "sign", "keygen", "formats", "check",
    "registration", "events", "reread", "disclose", "erase", "trust", "sign-batch", "verify-batch", "push", "log",
    "archive", "report", "diff", "device",
  ]

  @Test(arguments: commands)
  func everyCommandHasExamples(command: String) throws {
    try Workshop.run { workshop in
      let help = try workshop.keyferry(command, "--help")
      #expect(help.status == 0 && help.errors.isEmpty)
      #expect(help.text.contains("Example"))
      #expect(help.text.contains("keyferry \(command)"))
      let examples = help.text.split(separator: "\n", omittingEmptySubsequences: false)
        .drop { !$0.hasPrefix("Example") }.dropFirst().prefix { !$0.isEmpty }
      #expect(!examples.isEmpty && examples.allSatisfy { $0.hasPrefix("  ") }, "an example is wrapped")
      #expect(try workshop.keyferry("help", command).output == help.output)
    }
  }

  @Test func theProgramNamesItsCommandsAndExitCodes() throws {
    try Workshop.run { workshop in
      let help = try workshop.keyferry("--help")
      for command in Self.commands { #expect(help.text.contains("  \(command) ")) }
      let words = help.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      for code in ["0 done", "1 done, but", "2 it could not be done", "64 the"] { #expect(words.contains(code)) }
      let version = try workshop.keyferry("--version")
      // Which commit and when, where the build was told; `make release` tells it.
      let build = /keyferry [0-9]+\.[0-9]+\.[0-9]+ \((development build|[0-9a-f]{7,}(-dirty)? \d{4}-\d\d-\d\d)\)\n/
      #expect(version.status == 0 && version.text.wholeMatch(of: build) != nil, "\(version.text)")
      let script = try workshop.keyferry("--generate-completion-script", "bash")
      #expect(script.status == 0 && script.text.contains("keyferry"))
    }
  }

  /// Text is wrapped once, where a line is full, and not a second time at the line ends of the source.
  @Test(arguments: [[]] + commands.map { [$0] })
  func linesAreFull(words: [String]) throws {
    try Workshop.run { workshop in
      let help = try workshop.keyferry(words + ["--help"]).text
      let lines = help.split(separator: "\n", omittingEmptySubsequences: false).prefix { !$0.hasPrefix("USAGE:") }
      for (line, next) in zip(lines, lines.dropFirst()) where !line.isEmpty && line.first != " " && next.first != " " {
        let word = next.prefix { $0 != " " }
        #expect(line.count <= 80 && (next.isEmpty || line.count + 1 + word.count >= 80), "\(line)\n\(next)")
      }
    }
  }

  /// Also where it shows only while it runs that a command was called wrongly.
  @Test func aUsageErrorShowsTheUsageOfItsCommand() throws {
    try Workshop.run { workshop in
      try workshop.write("key_data\n", "a.csv")
      for words in [["report", "a.csv", "-o", "a.csv", "--replace"], ["report"]] {
        let outcome = try workshop.keyferry(words)
        #expect(outcome.status == 64 && outcome.errors.contains("Usage: keyferry report "), "\(outcome.errors)")
      }
      // Below a command likewise.
      for words in [["policy", "show", "nope"]] {
        let outcome = try workshop.keyferry(words)
        let name = words.prefix(2).joined(separator: " ")
        #expect(outcome.status == 64 && outcome.errors.contains("\nUsage: keyferry \(name) "), "\(outcome.errors)")
        #expect(outcome.errors.hasSuffix("\n  See 'keyferry \(name) --help' for more information.\n"))
      }
    }
  }

  @Test func theCommandsAreGroupedByTask() throws {
    try Workshop.run { workshop in
      let help = try workshop.keyferry("--help").text
      let groups = help.components(separatedBy: " SUBCOMMANDS:\n")
      #expect(groups.count >= 8)
      for command in Self.commands {
        #expect(groups.dropFirst().count { $0.contains("\n  \(command) ") || $0.hasPrefix("  \(command) ") } == 1)
      }
    }
  }

  @Test(
    arguments: LongList.cases(
      [
        [], ["--"], ["policy"], ["convert"], ["nonsense"], ["convert", "x"],
        ["convert", "x", "--to", "nonsense", "-o", "y"],
        ["convert", "x", "--to", "parser-text", "-o", "y"], ["convert", "x", "--to", "gaen-export", "-o", "y"],
        ["convert", "x", "--to", "csv", "-o", "y", "--unsigned"], ["convert", "-", "-", "--to", "csv", "-o", "y"],
        ["convert", "x", "--to", "csv", "-o", "y", "--max-bytes", "0"],
        ["convert", "x", "--to", "csv", "-o", "y", "--beta"],
        ["convert", "x", "--to", "csv", "-o", "y", "--default-rolling-period", "145"],
        ["convert", "x", "--to", "csv", "-o", "y", "--default-report-type", "SICK"],
        ["convert", "x", "--to", "csv", "-o", "y", "--start", "2020-06-02", "--end", "2020-06-01"],
        ["convert", "x", "--to", "gaen-export", "-o", "y", "--sign-key", "k", "--key-id", "1"],
        ["sign", "x", "-o", "y"], ["sign", "x", "-o", "y", "--sign-key", "k"], ["verify", "x"],
        ["verify", "--trust", "r"],
        ["verify", "x", "--trust", "r", "--at", "yesterday"], ["keygen"], ["formats", "more"],
        ["normalize", "--to", "csv", "-o", "y"], ["normalize", "x", "--to", "csv", "-o", "-", "--json"],
        ["normalize", "--input", "x", "--to", "csv", "-o", "y"],
        ["normalize", "--input", "A=x,polcy=efgs", "--to", "csv", "-o", "y"],
        ["normalize", "--input", "A=x,relay=yes", "--to", "csv", "-o", "y"],
        ["normalize", "--input", "A=x,origin=", "--to", "csv", "-o", "y"],
        ["normalize", "-", "--input", "A=-", "--to", "csv", "-o", "y"],
        ["convert", "x", "--to", "csv", "-o", "-", "--json"],
        ["convert", "x", "--to", "csv", "-o", "y", "--now", "2020-12-01"],
        ["explain", "00112233", "x"], ["explain", "nonsense", "x"], ["explain", "00112233445566778899aabbccddeeff"],
        ["erase", "00112233445566778899aabbccddeeff"], ["disclose", "nonsense"], ["reread"],
        ["policy", "show", "nonsense"], ["policy", "show", "--yaml", "--markdown"], ["policy", "check"],
        ["check", "gateway.yaml"], ["check", "--config", "x", "--now", "noon"], ["pull", "x"], ["pause"], ["recall"],
        ["quarantine", "show", "x"], ["events", "--limit", "0"], ["events", "--from", "x"], ["preview", "NL"],
        ["serve", "--port", "x"], ["inspect"], ["store", "backup"], ["init"],
        ["init", "--region", "nl", "--key-id", "204"],
        ["init", "--region", "NL"], ["init", "--region", "NL", "--key-id", "204", "--url", "keys.example.nl"],
        ["keygen", "-o", "-", "--public-key", "-"], ["keygen", "-o", "-", "--json"],
        ["policy", "diff", "default", "efgs"], ["policy", "diff", "default", "efgs", "-"],
      ], 15))
  func wrongCommandLines(arguments: [String]) throws {
    try Workshop.run { workshop in
      let outcome = try workshop.keyferry(arguments)
      #expect(outcome.status == 64, "\(outcome.errors)")
      #expect(outcome.output.isEmpty)
      #expect(try workshop.files.isEmpty)
    }
  }

  @Test(arguments: [
    (["inspct", "x"], "Did you mean 'inspect'?"), (["log", "verfy"], "Did you mean 'verify'?"),
    (["qarantine", "list"], "Did you mean 'quarantine'?"), (["keys.csv"], "keyferry inspect keys.csv"),
    (["log", "keys.csv"], "See 'keyferry log --help'"), (["zzzzzzzz"], "unknown command 'zzzzzzzz'\n"),
    (["help", "inspct"], "Did you mean 'inspect'?"), (["help", "log", "verfy"], "Did you mean 'verify'?"),
    (["help", "zzzzzzzz"], "unknown command 'zzzzzzzz'\n"), (["version"], "Did you mean '--version'?"),
    (["-V"], "Did you mean '--version'?"),
  ])
  func anUnknownCommandIsToldFromAWrongArgument(arguments: [String], hint: String) throws {
    try Workshop.run { workshop in
      try workshop.write("", "keys.csv")
      let outcome = try workshop.keyferry(arguments)
      #expect(outcome.status == 64 && outcome.errors.contains(hint), "\(outcome.errors)")
      #expect(outcome.output.isEmpty)
      let kind = arguments[0].hasPrefix("-") ? "option" : "command"
      #expect(outcome.errors.hasPrefix("keyferry: unknown \(kind) '"))
    }
  }

  /// Runs a command where nothing is under /proc; `nil` where this user may not hide it.
  private static let hiding: (tool: Tool, arguments: [String])? = {
    guard let tool = Tool(named: "unshare") else { return nil }
    let script = "mount --make-rprivate / && mount -t tmpfs none /proc && test ! -e /proc/self && exec \"$0\" \"$@\""
    return [["--mount"], ["--mount", "--map-root-user"]].map { (tool, $0 + ["sh", "-c", script]) }.first {
      (try? $0.0.run($0.1 + ["true"]))?.status == 0
    }
  }()

  @Test(
    .enabled(if: hiding != nil, "needs unshare and the right to mount in a namespace of its own"),
    arguments: [
      (["--version"], 0), ([], 64), (["verify"], 64), (["verify", "x", "--trust", "r"], 2),
      (["formats", "more"], 64), (["formats"], 0),
    ] as [([String], Int32)])
  func argumentsNeedNoProc(arguments: [String], status: Int32) throws {
    let (tool, prefix) = try #require(Self.hiding)
    try Workshop.run { workshop in
      let program = try #require(Workshop.program)
      let expected = try workshop.keyferry(arguments)
      let outcome = try tool.run(prefix + [program] + arguments, in: workshop.folder)
      #expect(outcome.status == status && expected.status == status)
      #expect(outcome.output == expected.output && outcome.errors == expected.errors)
    }
  }

  @Test func formatsAreThoseOfTheCatalogue() throws {
    try Workshop.run { workshop in
      let outcome = try workshop.keyferry("formats")
      #expect(outcome.status == 0 && outcome.errors.isEmpty)
      let lines = outcome.text.split(separator: "\n")
      #expect(lines.count == KeyFormat.allCases.count)
      for row in FormatCatalog.all {
        let line = lines.first { $0.split(separator: " ").first == row.format.rawValue[...] }
        #expect(line?.contains("write") == row.isWritten)
      }
    }
  }
}
