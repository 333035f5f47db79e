internal import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyInspection
internal import KeyIntake

struct InspectCommand: ParsableCommand {
  static let name = "inspect"

  static let configuration = CommandConfiguration(
    commandName: name, _superCommandName: KeyferryCommand.programName,
    abstract: "Show what is in a key file: header, signatures, distributions, findings.",
    discussion: """
      Reads every format that convert reads. Findings are things a device or an auditor would stumble over; they do \
      not change the exit code, which is 1 only when keys had to be rejected. Ages of keys are judged at the end of \
      the file's own window, so that an old file is not blamed for being old.

      Examples:
        keyferry inspect bundle.zip
        keyferry inspect bundle.zip --keys --hash-keys | less
        keyferry inspect archive/*.zip --json > report.json
        curl -s https://example.org/export.zip | keyferry inspect -
      """)

  @Argument(help: ArgumentHelp("Key files; - is standard input.", valueName: "file"))
  var files: [String]

  @Flag(help: "List the keys, one a line, instead of the report.")
  var keys = false

  @Flag(help: "Show SHA-256 digests instead of key data, which stays sensitive even when it is public.")
  var hashKeys = false

  @Flag(help: "Print the report as JSON (schemas/inspection.schema.json).")
  var json = false

  @Flag(help: "Draw with ASCII characters only.")
  var ascii = false

  @OptionGroup var input: InputOptions

  func validate() throws {
    try InputOptions.checkPaths(files)
    guard !(json && keys) else {
      throw ValidationError("--keys and --json exclude each other; convert --to json lists keys")
    }
    guard keys || !hashKeys else { throw ValidationError("--hash-keys goes with --keys") }
  }

  func run() throws {
    let inspection = Inspection(
      files: files, keys: keys, hashKeys: hashKeys, json: json, ascii: ascii, reading: input.reading)
    try exit(try inspection.run())
  }
}

/// What `inspect` does.
struct Inspection {
  var files: [String]
  var keys = false
  var hashKeys = false
  var json = false
  var ascii = false
  var reading = DocumentReading()

  /// Returns how the worst of the files fared.
  func run() throws -> ExitStatus {
    var worst = ExitStatus.done
    var reports: [InspectionReport] = []
    for (index, path) in files.enumerated() {
      do {
        let report = try inspect(try reading.open(path))
        if report.keys.rejected > 0, worst == .done { worst = .rejected }
        if json {
          reports.append(report)
        } else if !keys {
          let options = InspectionText.Options(width: Console.width, ascii: ascii)
          try Console.result((index > 0 ? "\n" : "") + InspectionText.render(report, options: options))
        }
      } catch let error as FormatError {
        Console.note("\(error)")
        worst = .failed
      } catch let error as FileFault where files.count > 1 {
        Console.note("\(error)")
        worst = .failed
      }
    }
    if json { try Console.result(line: try JSONText.render(InspectionDocument(files: reports))) }
    return worst
  }

  /// What `keyferry inspect --json` prints.
  private struct InspectionDocument: Encodable {
    let files: [InspectionReport]
  }

  private func inspect(_ source: SourceDocument) throws -> InspectionReport {
    let digest = DigestCollector(includingBody: false)
    let document = try source.open(observeExport: digest.update)
    let output = OutputBuffer(StandardOutput())
    var lister = hashKeys ? KeyLister { DigestText.of($0) } : KeyLister()
    if keys {
      if files.count > 1 { try output.append("\(TerminalText.harmless(source.name))\n") }
      try output.append(lister.heading())
    }
    var examination = try source.located {
      try Inspector().examine(
        document, name: source.name, fileSize: source.source.byteCount
      ) { chunk, regions in
        if keys { try lister.list(chunk, regions: regions, to: output) }
      }
    }
    try output.flush()
    if document.container != nil {
      let digests = digest.finish()
      examination.report.sha256 = digests.hexadecimal
      examination.report.sha256Base64 = digests.base64
    }
    return examination.report
  }
}

extension Inspection {
  /// The command line `inspect FILE…` without an option; `nil` for every other one. It needs no parser, and that takes
  /// longer to learn the command than a usual file takes to be inspected.
  init?(arguments: [String]) {
    let files = arguments.dropFirst()
    guard arguments.first == InspectCommand.name, !files.isEmpty,
      files.allSatisfy({ $0.utf8.first != UInt8(ascii: "-") })
    else { return nil }
    self.init(files: Array(files))
  }
}

/// The digest of a key that stands in its place: the first half of SHA-256 of the key data, 32 hexadecimal digits.
enum DigestText {
  static func of(_ key: TemporaryExposureKey) -> String {
    String(ExportDigests(of: key.bytes, includingBody: false).hexadecimal.prefix(32))
  }
}
