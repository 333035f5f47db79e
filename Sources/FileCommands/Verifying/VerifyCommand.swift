package import ArgumentParser
internal import BundleTrust
internal import Containers
internal import ExposureKeys
internal import KeyFormats
internal import KeyInspection
internal import KeyIntake

package struct VerifyCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "verify", _superCommandName: Program.name,
    abstract: "Check the signatures of export bundles against a ring of public keys.",
    discussion: """
      Every signature is reported by itself. The exit code is 0 only when every file has a signature that verifies \
      with a matching, valid key, and 1 when one has not. A folder stands for all files in it, an archive for all \
      documents in it; several documents end with their sum.

      With --log a bundle must be in that log, too: beside it lies its proof, FILE.tlog-proof, which keyferry log add \
      writes and servers hand out. A checkpoint in a file is enough where the proof is for its size; otherwise the log \
      itself proves that one extends the other.

      An attestation beside a bundle, FILE.intoto.jsonl, has a key of its own; it is named, and not looked at. keyferry \
      audit verify does that.

      The ring is one of these:
        FILE.pem   public keys that match every id and version
        FOLDER/    files ID-VERSION.pem, such as 310-v1.pem
        FILE.json  {"keys":[{"id":"310","version":"v1",
                     "publicKey":"PEM or base64",
                     "from":"2020-06-01T00:00:00Z","until":null}]}

      Examples:
        keyferry verify bundle.zip --trust 310-v1.pem
        keyferry verify archive/*.zip --trust keys.json --at 2020-08-01
        keyferry verify export.bin --trust ring/   # reads export.sig beside it
        keyferry verify bundle.zip --trust ring/ --profile ios-v1
        keyferry verify archive/ --trust ring/ --summary
        keyferry verify bundle.zip --trust ring/ \\
          --log https://example.org/log --log-key log.vkey
        keyferry verify archive/*.zip --trust ring/ --json > verdicts.json
      """)

  @Argument(
    help: ArgumentHelp(
      "Bundles: zip, or .bin with its .sig beside it; - or none is standard input.",
      valueName: "file"),
    completion: .file())
  var files: [String] = []

  @Option(
    help: ArgumentHelp("The ring of public keys: a .pem file, a folder, or a .json file.", valueName: "ring"),
    completion: .file())
  var trust: String

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Judge the validity of keys at this time instead of now.", valueName: "time"))
  var at: Instant?

  @Option(help: "Also say what this client would do with the file; it does not change the exit code.")
  var profile: DeviceProfile?

  @Option(
    help: ArgumentHelp(
      "Each bundle must be in this log: a checkpoint in a file, or the log's folder or address.", valueName: "log"),
    completion: .file())
  var log: String?

  @Option(
    help: ArgumentHelp("The log's public key, NAME+HEX+BASE64, or a file that has it.", valueName: "key"),
    completion: .file())
  var logKey: LogKey?

  @Flag(help: "Print the report as JSON (schemas/verification.schema.json).")
  var json = false

  @Flag(help: "Print a JSON object a line for each document, those that could not be read too.")
  var jsonLines = false

  @Flag(help: "Print the sum over all documents alone.")
  var summary = false

  @OptionGroup var input: InputOptions
  @OptionGroup(title: "Folders and archives") var containers: ContainerOptions

  @OptionGroup var loudness: LoudnessOptions

  package mutating func validate() throws {
    files = try InputOptions.orStandardInput(files)
    try InputOptions.checkPaths(files)
    guard !(json && jsonLines) else { throw ValidationError("--json and --json-lines exclude each other") }
    guard (log == nil) == (logKey == nil) else {
      throw ValidationError("--log and --log-key belong together: a log is believed by its key alone")
    }
    guard !(summary && jsonLines) else { throw ValidationError("--summary and --json-lines exclude each other") }
  }

  package func run() throws {
    let ring = try TrustRingFile.read(trust)
    let instant = at ?? Clock.now
    for note in ring.notes { Console.note("\(trust): \(note)") }
    let trustedLog = try log.flatMap { place in
      try logKey.map { try TrustedLog(place, key: try $0.verifier()) }
    }
    let walk = input.walk(files, containers)
    var sum = DocumentSum(walk, isAlways: summary)
    var results: [VerificationResult] = []
    var isUntrusted = false
    let profile = self.profile
    try sum.visitAhead(keepsGoing: containers.keepGoing ?? true) { document, isSummed, observe in
      let result = try VerificationResult(document, ring: ring, at: instant, profile: profile, log: trustedLog)
      // A verdict needs no key.
      return (result, isSummed ? try document.examine(observe) : nil)
    } report: { (examined: (VerificationResult, InspectionReport?), _) in
      let (result, report) = examined
      if !result.isTrusted { isUntrusted = true }
      if jsonLines {
        try Console.document(line: try JSONText.line(result))
      } else if json {
        if !summary { results.append(result) }
      } else if !summary {
        try Console.result(result.text)
      }
      return (report, result.isTrusted)
    } leftOut: { document in
      if jsonLines { try Console.document(line: try JSONText.line(UnreadableLine(document))) }
    }
    let total = sum.report()
    if json {
      try Console.document(
        line: try JSONText.render(VerificationDocument(files: results, unreadable: sum.leftOut, sum: total)))
    } else if let total, !jsonLines {
      try Console.result((summary ? "" : "\n") + total.text)
    }
    sum.tell()
    try exit(sum.status(hasRejections: isUntrusted))
  }

  package init() {}
}
