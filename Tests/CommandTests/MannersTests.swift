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
