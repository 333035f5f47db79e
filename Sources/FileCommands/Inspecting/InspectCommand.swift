package import ArgumentParser
internal import BundleTrust
package import Containers
internal import ExposureKeys
internal import KeyConversion
internal import KeyFormats
internal import KeyInspection
internal import KeyIntake

package struct InspectCommand: ParsableCommand {
  static let name = "inspect"

  package static let configuration = CommandConfiguration(
    commandName: name, _superCommandName: Program.name,
    abstract: "Show what is in a key file: header, signatures, distributions, findings.",
    discussion: """
      Reads every format that convert reads. Findings are things a device or an auditor would stumble over; they do \
      not change the exit code, which is 1 only when keys had to be rejected. Ages of keys are judged at the end of \
      the file's own window, so that an old file is not blamed for being old.

      A folder stands for all files in it, an archive for all documents in it. Several documents end with their sum; \
      what cannot be read is listed last, and the exit code is then 1.

      Examples:
        keyferry inspect bundle.zip
        keyferry inspect bundle.zip --keys --hash-keys | less
        keyferry inspect archive/ --summary
        keyferry inspect archive/*.zip --json > report.json
        curl -s https://example.org/export.zip | keyferry inspect -
      """)

  @Argument(
    help: ArgumentHelp(
      "Key files, folders and archives; - or none is standard input.", valueName: "file"), completion: .file())
  var files: [String] = []

  @Flag(help: "List the keys, one a line, instead of the report.")
  var keys = false

  @Flag(help: "Show SHA-256 digests instead of key data, which stays sensitive even when it is public.")
  var hashKeys = false

  @Flag(help: "Print the report as JSON (schemas/inspection.schema.json).")
  var json = false

  @Flag(help: "Print a JSON object a line for each document, those that could not be read too.")
  var jsonLines = false

  @Flag(help: "Print the sum over all documents alone.")
  var summary = false

  @Flag(help: "Draw with ASCII characters only.")
  var ascii = false

  @OptionGroup var input: InputOptions
  @OptionGroup(title: "Folders and archives") var containers: ContainerOptions

  @OptionGroup var loudness: LoudnessOptions

  package mutating func validate() throws {
    files = try InputOptions.orStandardInput(files)
    try InputOptions.checkPaths(files)
    guard !(json || jsonLines) || !keys else {
      throw ValidationError("--keys and --json exclude each other; convert --to json lists keys")
    }
    guard !(json && jsonLines) else { throw ValidationError("--json and --json-lines exclude each other") }
    guard !summary || !(keys || jsonLines) else {
      throw ValidationError("--summary goes without --keys and --json-lines")
    }
    guard keys || !hashKeys else { throw ValidationError("--hash-keys goes with --keys") }
  }

  package func run() throws {
    let inspection = Inspection(
      files: files, keys: keys, hashKeys: hashKeys, json: json, jsonLines: jsonLines, summary: summary, ascii: ascii,
      reading: input.reading, limits: containers.limits, keepsGoing: containers.keepGoing ?? true)
    try exit(try inspection.run())
  }

  package init() {}
}

/// What `inspect` does.
package struct Inspection {
  package var files: [String]
  package var keys = false
  package var hashKeys = false
  package var json = false
  package var jsonLines = false
  package var summary = false
  package var ascii = false
  package var reading = DocumentReading()
  package var limits = ContainerLimits()
  package var keepsGoing = true

  /// Returns how the worst of the documents fared.
  package func run() throws -> ExitStatus {
    let walk = reading.walk(files, limits)
    var sum = DocumentSum(walk, isAlways: summary)
    var reports: [InspectionReport] = []
    var hasRejections = false
    func tell(_ report: InspectionReport, before: Int) throws -> (InspectionReport?, isVerified: Bool?) {
      if report.keys.rejected > 0 { hasRejections = true }
      if jsonLines {
        try Console.document(line: try JSONText.line(report))
      } else if json {
        if !summary { reports.append(report) }
      } else if !keys, !summary {
        let options = InspectionText.Options(width: Console.width, ascii: ascii)
        try Console.result((before > 0 ? "\n" : "") + InspectionText.render(report, options: options))
      }
      return (report, nil)
    }
    func leaveOut(_ document: LeftOutDocument) throws {
      if jsonLines { try Console.document(line: try JSONText.line(UnreadableLine(document))) }
    }
    if keys {
      // They are printed while they are read.
      try sum.visit(
        keepsGoing: keepsGoing,
        { document, _, observe in
          try tell(
            try inspect(document, mayBeSeveral: walk.mayHoldSeveral || walk.count > 1, observe), before: walk.count - 1)
        }, leftOut: leaveOut)
    } else {
      try sum.visitAhead(
        keepsGoing: keepsGoing, examine: { try inspect($0, mayBeSeveral: false, $2) }, report: tell, leftOut: leaveOut)
    }
    let total = sum.report()
    if json {
      try Console.document(
        line: try JSONText.render(InspectionDocument(files: reports, unreadable: sum.leftOut, sum: total)))
    } else if let total, !keys, !jsonLines {
      try Console.result((summary ? "" : "\n") + total.text)
    }
    sum.tell()
    return sum.status(hasRejections: hasRejections)
  }

  /// What `keyferry inspect --json` prints.
  private struct InspectionDocument: Encodable {
    let files: [InspectionReport]
    let unreadable: [LeftOutDocument]
    let sum: InspectionSum.Report?
  }

  private func inspect(
    _ source: SourceDocument, mayBeSeveral: Bool, _ observe: (borrowing KeyChunk) -> Void
  ) throws -> InspectionReport {
    let digest = DigestCollector(includingBody: false)
    let document = try source.open(observeExport: digest.update)
    let output = OutputBuffer(StandardOutput())
    var lister = hashKeys ? KeyLister { KeyDigest.text(of: $0) } : KeyLister()
    if keys {
      if mayBeSeveral { try output.append("\(TerminalText.harmless(source.name))\n") }
      try output.append(lister.heading(keyWidth: hashKeys ? KeyDigest.width : 32))
    }
    var examination = try source.located {
      try Inspector().examine(
        document, name: source.name, fileSize: source.source.byteCount
      ) { chunk, regions in
        observe(chunk)
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

/// A document that could not be read, among those that were, in JSON lines.
struct UnreadableLine: Encodable {
  let name: String
  let unreadable: Fault

  struct Fault: Encodable {
    let code: String
    let text: String
  }

  init(_ document: LeftOutDocument) {
    name = document.name
    unreadable = Fault(code: document.code, text: document.reason)
  }
}

extension Inspection {
  /// The command line `inspect FILE…` without an option; `nil` for every other one. It needs no parser, and that takes
  /// longer to learn the command than a usual file takes to be inspected.
  package init?(arguments: [String]) {
    let files = arguments.dropFirst()
    guard arguments.first == InspectCommand.name, !files.isEmpty,
      files.allSatisfy({ $0.utf8.first != UInt8(ascii: "-") })
    else { return nil }
    self.init(files: Array(files))
  }
}
