internal import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyInspection
internal import KeyIntake

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", _superCommandName: KeyferryCommand.programName,
    abstract: "Check the signatures of export bundles against a ring of public keys.",
    discussion: """
      Every signature is reported by itself. The exit code is 0 only when every file has a signature that verifies \
      with a matching, valid key, and 1 when one has not.

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
        keyferry verify archive/*.zip --trust ring/ --json > verdicts.json
      """)

  @Argument(
    help: ArgumentHelp("Bundles: zip, or .bin with its .sig beside it; - is standard input.", valueName: "file"))
  var files: [String]

  @Option(help: ArgumentHelp("The ring of public keys: a .pem file, a folder, or a .json file.", valueName: "ring"))
  var trust: String

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Judge the validity of keys at this time instead of now.", valueName: "time"))
  var at: Instant?

  @Option(help: "Also say what this client would do with the file; it does not change the exit code.")
  var profile: DeviceProfile?

  @Flag(help: "Print the report as JSON (schemas/verification.schema.json).")
  var json = false

  @OptionGroup var input: InputOptions

  func validate() throws { try InputOptions.checkPaths(files) }

  func run() throws {
    let ring = try TrustRingFile.read(trust)
    let instant = at ?? Clock.now
    for note in ring.notes { Console.note("\(trust): \(note)") }
    var worst = ExitStatus.done
    var results: [VerificationResult] = []
    for path in files {
      do {
        let document = try input.open(path)
        let result = try VerificationResult(document, ring: ring, at: instant, profile: profile)
        results.append(result)
        if !result.isTrusted, worst == .done { worst = .rejected }
        if !json { try Console.result(result.text) }
      } catch let error as FormatError {
        Console.note("\(error)")
        worst = .failed
      } catch let error as FileFault {
        Console.note("\(error)")
        worst = .failed
      }
    }
    if json { try Console.result(line: try JSONText.render(VerificationDocument(files: results))) }
    try exit(worst)
  }
}
