import Foundation
import GatewayTesting
import Testing

/// What people at a terminal expect of any command.
@Suite struct MannersTests {
  private func bundle(_ workshop: Workshop) throws {
    try workshop.makeSigner()
    try workshop.write(Sample.csv, "in.csv")
    let signed = try workshop.keyferry(
      "convert", "in.csv", "--to", "gaen-export", "-o", "good.zip", "--sign-key", "310-v1.key.pem", "--key-id", "310",
      "--key-version", "v1")
    #expect(signed.status == 0, "\(signed.errors)")
  }

  @Test("Colour is for terminals, unless it is asked for or forbidden") func colour() throws {
    try Workshop.run { workshop in
      try bundle(workshop)
      let arguments = ["verify", "good.zip", "--trust", "ring"]
      let plain = try workshop.keyferry(arguments)
      #expect(plain.status == 0 && !plain.text.contains("\u{1B}"))
      let coloured = try workshop.keyferry(["--color", "always"] + arguments)
      #expect(coloured.text.contains("good.zip: \u{1B}[32mverified\u{1B}[0m\n"))
      #expect(try workshop.keyferry(arguments + ["--color=always"]).text == coloured.text)
      #expect(try workshop.keyferry(arguments + ["--color=always", "--color", "never"]).text == plain.text)
      // What programs read has none, whatever is asked for.
      let json = try workshop.keyferry(arguments + ["--json", "--color=always"])
      #expect(!json.text.contains("\u{1B}"))
      for wrong in [["--color", "blue"], ["--color=", "formats"], ["formats", "--color"]] {
        let outcome = try workshop.keyferry(wrong)
        #expect(outcome.status == 64 && outcome.errors.contains("--color takes one of auto, always, never"))
      }
      // Behind -- it is a file of that name.
      #expect(try workshop.keyferry("inspect", "--", "--color").errors.contains("--color: cannot open"))

      let program = try #require(Workshop.program)
      let script = try #require(Tool(named: "script"))
      let env = try #require(Tool(named: "env"))
      func onTerminal(_ variables: String...) throws -> String {
        let command = "'\(program)' verify good.zip --trust ring"
        return try env.run(
          ["-u", "NO_COLOR"] + variables + [script.path, "--quiet", "--return", "--command", command, "/dev/null"],
          in: workshop.folder
        ).text
      }
      #expect(try onTerminal("TERM=xterm").contains("\u{1B}[32mverified"))
      for variables in ["TERM=dumb", "TERM="] { #expect(try !onTerminal(variables).contains("\u{1B}"), "\(variables)") }
      #expect(try !onTerminal("TERM=xterm", "NO_COLOR=1").contains("\u{1B}"))
    }
  }

  /// The words of every command that does something, by the program's own help.
  private static func commands(_ workshop: Workshop, _ words: [String] = []) throws -> [[String]] {
    let help = try workshop.keyferry(words + ["--help"]).text
    var found: [[String]] = []
    var isList = false
    for line in help.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasSuffix("SUBCOMMANDS:") || line == "SUBCOMMANDS:" {
        isList = true
      } else if line.isEmpty {
        isList = false
      }
      guard isList, line.hasPrefix("  "), let first = line.dropFirst(2).first, first != " " else { continue }
      let name = String(line.dropFirst(2).prefix { $0 != " " })
      found += try commands(workshop, words + [name])
    }
    return found.isEmpty && !words.isEmpty ? [words] : found
  }

  @Test("Every command takes -q and -v, and not both") func everyLoudness() throws {
    try Workshop.run { workshop in
      let commands = try Self.commands(workshop)
      #expect(commands.count >= 60, "\(commands)")
      for words in LongList.cases(commands, 12) {
        let help = try workshop.keyferry(words + ["--help"]).text
        #expect(help.contains("-q, --quiet") && help.contains("-v, --verbose"), "\(words)")
        let both = try workshop.keyferry(words + ["-q", "-v"])
        #expect(both.status == 64, "\(words): \(both.errors)")
      }
    }
  }

  @Test("Quiet says what is lost or wrong and nothing else, verbose what is used") func loudness() throws {
    try Workshop.run { workshop in
      try bundle(workshop)
      let quiet = try workshop.keyferry("convert", "good.zip", "--to", "csv", "-o", "q.csv", "-q")
      #expect(quiet.status == 0 && quiet.errors.isEmpty && quiet.text.isEmpty, "\(quiet.errors)")
      // What is left out is no news that can be left out.
      let lossy = ["convert", "good.zip", "--to", "csv", "--no-metadata", "--replace"]
      let loud = try workshop.keyferry(lossy + ["-o", "l.csv"])
      let hushed = try workshop.keyferry(lossy + ["-o", "m.csv", "-q"])
      let lost = loud.errors.split(separator: "\n").filter { $0.contains("lost") || $0.contains("cannot") }
      for line in lost { #expect(hushed.errors.contains(line), "\(line)") }
      try workshop.write("noise", "noise.bin")
      for mark in [[], ["-q"]] {
        let wrong = try workshop.keyferry(["verify", "good.zip", "noise.bin", "--trust", "ring"] + mark)
        #expect(wrong.status == 1 && wrong.text.contains("good.zip: verified"), "\(mark)")
        #expect(wrong.errors.contains("noise.bin"), "\(mark) \(wrong.errors)")
      }
      let verbose = try workshop.keyferry("verify", "good.zip", "--trust", "ring", "--verbose")
      #expect(verbose.status == 0)
      for words in ["keyferry: ring ring: 1 key", "keyferry: reading good.zip: ", "keyferry: limits: "] {
        #expect(verbose.errors.contains(words), "\(words)\n\(verbose.errors)")
      }
      #expect(try workshop.keyferry("verify", "good.zip", "--trust", "ring").errors.isEmpty)
      let policy = try workshop.keyferry("normalize", "good.zip", "--to", "csv", "-o", "n.csv", "-v")
      #expect(policy.errors.contains("keyferry: policy default, which ships with the program"), "\(policy.errors)")
      #expect(!verbose.errors.contains("PRIVATE KEY"))
    }
  }

  @Test("On a terminal no line is wider than it that could be broken", arguments: LongList.cases([40, 80, 200]))
  func width(_ columns: Int) throws {
    let script = try #require(Tool(named: "script"))
    try Workshop.run { workshop in
      try bundle(workshop)
      try workshop.write("noise", "noise.bin")
      let program = try #require(Workshop.program)
      func check(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) where line.count > columns {
          let front = line.prefix { $0 == " " }
          #expect(!line.dropFirst(front.count).contains(" "), "at \(columns): \(line)")
        }
      }
      for words in [
        "inspect good.zip", "inspect good.zip good.zip", "inspect noise.bin", "verify good.zip --trust ring",
        "verify good.zip good.zip --trust ring --as android-1.5", "diff good.zip in.csv", "formats", "policy list",
        "policy show default", "policy show efgs", "explain 00000000000000000000000000000000 good.zip",
        "check --config none.yaml", "policy check none.yaml", "normalize good.zip --to csv -o n.csv --replace",
        "--help",
        "archive add --help", "verify --help", "archive add a good.zip", "archive list a", "archive verify a",
        "init --region NL here", "status --config here/gateway.yaml", "check --config here/gateway.yaml",
        "pull --config here/gateway.yaml", "publish --config here/gateway.yaml", "events --config here/gateway.yaml",
        "preview --config here/gateway.yaml", "clock show --config here/gateway.yaml",
      ] {
        let outcome = try script.run(
          [
            "--quiet", "--return", "--command",
            "stty cols \(columns); exec '\(program)' --color never \(words) 2>/dev/null",
            "/dev/null",
          ], in: workshop.folder)
        check(outcome.text)
      }
      // What is said beside results, too.
      for words in [
        "inspect noise.bin", "convert good.zip --to csv -o w.csv --replace",
        "verify good.zip noise.bin --trust ring -v",
        "check --config none.yaml", "verfy", "--color blue", "verify --json-lines", "init new", "inspect a b c d",
        "convert good.zip --to csvv -o out", "quarantine list --config here/gateway.yaml",
      ] {
        let command = "stty cols \(columns); exec '\(program)' --color never \(words) >/dev/null"
        let outcome = try script.run(["--quiet", "--return", "--command", command, "/dev/null"], in: workshop.folder)
        #expect(!outcome.text.isEmpty, "\(words)")
        check(outcome.text)
      }
      // What programs read is left as it is.
      let json = try script.run(
        [
          "--quiet", "--return", "--command", "stty cols \(columns); exec '\(program)' inspect good.zip --json",
          "/dev/null",
        ], in: workshop.folder)
      #expect((try? JSONSerialization.jsonObject(with: Data(json.text.replacing("\r", with: "").utf8))) != nil)
    }
  }

  @Test("A value that is none says what would be one") func values() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "in.csv")
      let time = try workshop.keyferry("verify", "in.csv", "--trust", "ring", "--at", "yesterday")
      #expect(time.status == 64)
      #expect(time.errors.contains("'--at <time>'; a time is 2020-06-01, 2020-06-01T12:00:00Z, "))
      for format in ["csvv", "bson"] {
        let outcome = try workshop.keyferry("convert", "in.csv", "--to", format, "-o", "out")
        let offered = outcome.errors.split(separator: "\n").first ?? ""
        #expect(outcome.status == 64 && offered.contains("--to takes gaen-export, codable-json"), "\(format)")
        // Formats that are only read are not offered.
        #expect(!offered.contains("sql-dump") && !offered.contains("parser-text"), "\(format)")
      }
      // Also what is found wrong only while the command runs names its own usage.
      let start = try workshop.keyferry("init", "new", "--region", "NL")
      #expect(start.status == 64 && start.errors.contains("\nUsage: keyferry init [<folder>]"), "\(start.errors)")
      let size = try workshop.keyferry("inspect", "in.csv", "--max-archive-bytes", "64Q")
      #expect(size.status == 64 && size.errors.contains("a size is 64MB, 64MiB, 2GB, or a number of bytes"))
      #expect(try workshop.keyferry("inspect", "in.csv", "--max-archive-bytes", "64 MB").status == 0)
    }
  }

  @Test("What is wrong comes before the pictures, and days without keys are a gap") func findings() throws {
    try Workshop.run { workshop in
      let rows = [2_657_664, 2_657_664 + 144 * 5].enumerated().map { index, start in
        "0000000000000000000000000000000\(index),\(start),144,CONFIRMED_TEST\n"
      }
      try workshop.write(
        "key_data,rolling_start_interval_number,rolling_period,report_type\n" + rows.joined(), "in.csv")
      let text = try workshop.keyferry("inspect", "in.csv").text
      let days = try #require(text.range(of: "key day"))
      let finding = try #require(text.range(of: "  warning:"))
      #expect(finding.lowerBound < days.lowerBound, "\(text)")
      #expect(text.contains("(4 days)"), "\(text)")
    }
  }
}
