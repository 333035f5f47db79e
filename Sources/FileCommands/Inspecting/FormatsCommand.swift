package import ArgumentParser
internal import KeyFormats

package struct FormatsCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "formats", _superCommandName: Program.name,
    abstract: "List the formats that are read and written.",
    discussion: """
      Names are those that --from and --to take. Every format that is written is also read.

      Example:
        keyferry formats
      """)

  @Flag(help: "Print the list as JSON (schemas/formats.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  package func run() throws {
    if json { return try Console.document(line: try JSONText.render(FormatsDocument())) }
    let width = KeyFormat.allCases.map(\.rawValue.count).max() ?? 0
    for row in FormatCatalog.all {
      let name = row.format.rawValue + String(repeating: " ", count: width - row.format.rawValue.count)
      try Console.result(line: "\(name)  \(row.isWritten ? "read, write" : "read       ")  \(row.summary)")
    }
  }

  package init() {}
}

/// `schemas/formats.schema.json`.
private struct FormatsDocument: Encodable {
  let reportVersion = 1
  let formats = FormatCatalog.all.map { Format(name: $0.format.rawValue, isWritten: $0.isWritten, summary: $0.summary) }

  enum CodingKeys: String, CodingKey {
    case formats, reportVersion
  }

  struct Format: Encodable {
    let name: String
    let isWritten: Bool
    let summary: String

    enum CodingKeys: String, CodingKey {
      case name, summary
      case isWritten = "written"
    }
  }
}
