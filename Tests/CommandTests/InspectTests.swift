import Foundation
import GatewayTesting
import Testing

@Suite struct InspectTests {
  @Test(arguments: [["inspect"], ["inspect", "--json"], ["convert", "--to", "json", "-o", "-"]])
  func standardInputIsReadWhereNoFileIsNamed(arguments: [String]) throws {
    try Workshop.run { workshop in
      let bytes = Array(NormalizeTests.german.utf8)
      let piped = try workshop.keyferry(arguments, input: bytes)
      #expect(piped.status == 0, "\(piped.errors)")
      #expect(try workshop.keyferry([arguments[0], "-"] + arguments.dropFirst(), input: bytes).output == piped.output)
    }
  }

  /// Paths alone are not read by the parser. Behind `--` they are, and mean the same.
  @Test(arguments: [
    (0, ["keys.csv"]), (1, ["short.json", "keys.csv"]), (2, ["missing.zip"]), (1, ["keys.csv", "missing.zip"]),
    (1, ["noise", "keys.csv"]), (2, ["help"]), (2, [""]),
  ])
  func pathsAloneMeanWhatTheParserReads(status: Int, paths: [String]) throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "keys.csv")
      try workshop.write(#"[{"keyData":"AAAA","rollingStartNumber":2649600,"rollingPeriod":144}]"#, "short.json")
      try workshop.write([0, 1, 2, 3], "noise")
      let alone = try workshop.keyferry(["inspect"] + paths)
      let parsed = try workshop.keyferry(["inspect", "--"] + paths)
      #expect(alone.status == parsed.status && Int(alone.status) == status)
      #expect(alone.output == parsed.output && alone.errors == parsed.errors)
    }
  }

  @Test func repeatedMembersAreFindings() throws {
    try Workshop.run { workshop in
      let key =
        #"{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":2676096,"rollingPeriod":72,"rollingPeriod":144}"#
      try workshop.write(#"{"region":"DE","keys":[\#(key)],"region":"AT"}"#, "keys.json")
      let text = try workshop.keyferry("inspect", "keys.json")
      #expect(text.status == 0)
      let lines = text.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      for words in [
        "\"rollingPeriod\" is stated more than once, first in key 0", "\"region\" is stated more than once",
      ] {
        #expect(lines.components(separatedBy: words).count == 2, "\(text.text)")
      }
      let report = try workshop.keyferry("inspect", "--json", "keys.json")
      #expect(report.text.components(separatedBy: "\"field-repeated\"").count == 3, "\(report.text)")
    }
  }

  @Test func noPathIsAWrongCommandLine() throws {
    try Workshop.run { workshop in
      let outcomes = [try workshop.keyferry("inspect"), try workshop.keyferry("inspect", "--more")]
      #expect(outcomes.allSatisfy { $0.status == 64 })
    }
  }
}
