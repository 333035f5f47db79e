import Testing

@testable import FileCommands
@testable import KeyTool

@Suite("The terminal") struct TerminalTests {
  private let table = TextTable(
    heads: ["name", "format", "what it is"],
    rows: [
      ["north", "csv", "a table of keys, one a row, with all that is known of each"],
      ["south-east", "gaen-export", "a bundle"],
    ])

  @Test("Tables keep within the terminal, and break no word", arguments: [40, 60, 80, 200])
  func tables(width: Int) {
    let text = table.text(width: width)
    let lines = text.split(separator: "\n")
    #expect(lines.allSatisfy { $0.count <= width && $0.last != " " }, "\(text)")
    for word in "north csv a table of keys, one row, with all that is known each south-east gaen-export bundle".split(
      separator: " ")
    { #expect(lines.contains { $0.split(separator: " ").contains(word) }, "\(word)") }
  }

  @Test("Where no terminal is, a row is a line") func plain() {
    #expect(table.text(width: nil).split(separator: "\n").count == 3)
    #expect(table.text(width: nil) == table.text(width: 200))
  }

  @Test("Verdicts keep within the terminal", arguments: [40, 80]) func verdicts(width: Int) {
    let detail =
      "signature 1 (id \"310\", version \"v1\"): verified by a key without a name; those stated were not compared"
    let lines = VerificationResult.lines(detail, width: width).split(separator: "\n")
    #expect(lines.count > 1 && lines.allSatisfy { $0.count <= width && $0.hasPrefix("  ") })
    #expect(VerificationResult.lines(detail, width: nil) == "  \(detail)\n")
  }

  @Test(
    "Sizes are written as people write them",
    arguments: [
      ("0", 0), ("1000", 1000), ("64MB", 64_000_000), ("64 MB", 64_000_000), ("64mb", 64_000_000), ("64MiB", 64 << 20),
      ("2G", 2_000_000_000), ("2Gi", 2 << 30), ("10b", 10), ("1kB", 1000), ("", nil), ("MB", nil), ("-1", nil),
      ("1.5MB", nil),
      ("64 M B", nil), ("64XB", nil), ("1iB", nil), ("99999999TB", nil), ("99999999999999999999", nil), ("٣MB", nil),
    ] as [(String, Int?)])
  func sizes(text: String, bytes: Int?) { #expect(ByteSize.bytes(text) == bytes) }
}
