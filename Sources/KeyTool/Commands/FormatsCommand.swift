internal import ArgumentParser
internal import KeyFormats

struct FormatsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "formats", _superCommandName: KeyferryCommand.programName,
    abstract: "List the formats that are read and written.",
    discussion: """
      Names are those that --from and --to take. Every format that is written is also read.

      Example:
        keyferry formats
      """)

  func run() throws {
    let width = KeyFormat.allCases.map(\.rawValue.count).max() ?? 0
    for row in FormatCatalog.all {
      let name = row.format.rawValue + String(repeating: " ", count: width - row.format.rawValue.count)
      try Console.result(line: "\(name)  \(row.isWritten ? "read, write" : "read       ")  \(row.summary)")
    }
  }
}
