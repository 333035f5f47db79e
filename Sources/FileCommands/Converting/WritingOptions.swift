internal import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import Glibc
internal import KeyConversion
internal import KeyFormats
internal import KeyIntake
internal import PolicyFiles

/// How one document is written: shared by the commands that write keys.
struct WritingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The format to write; keyferry formats tells which are.", valueName: "format"),
    completion: .writtenFormat, transform: writtenFormat)
  var to: KeyFormat

  @Flag(help: "Write nothing when anything would be lost, on reading or on writing, or filled in unasked.")
  var strict = false

  @OptionGroup(title: "Signing") var signing: SigningOptions

  @Flag(help: "Write an export without a signature.")
  var unsigned = false

  @Option(
    help: ArgumentHelp("Take only exports with a signature that this ring trusts.", valueName: "ring"),
    completion: .file())
  var trust: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Judge the ring's keys at this time instead of now.", valueName: "time"))
  var at: Instant?

  @OptionGroup(title: "What keys do not state") var defaults: DefaultOptions

  @OptionGroup(title: "The bundle") var bundle: BundleOptions

  @Option(help: "What stands around the keys of codable-json.")
  var layout = CodableJSONLayout.array

  @Flag(help: "Write codable-json of the beta generation, without rollingPeriod.")
  var beta = false

  @Flag(help: "Write csv without comment lines, for programs that know none.")
  var noMetadata = false

  @Flag(help: "Write binary to a terminal.")
  var force = false

  /// What cannot be written is not offered.
  @Sendable private static func writtenFormat(_ name: String) throws -> KeyFormat {
    let written = FormatCatalog.all.filter(\.isWritten).map(\.format.rawValue)
    guard let format = KeyFormat(rawValue: name) else {
      let meant = written.nearest(to: name).map { ". Did you mean '\($0)'?" } ?? ""
      throw ValidationError("no format has this name; --to takes \(written.joined(separator: ", "))\(meant)")
    }
    guard format.definition.isWritten else {
      throw ValidationError("\(name) is only read; --to takes \(written.joined(separator: ", "))")
    }
    return format
  }

  func validate() throws {
    if to == .gaenExport {
      guard !signing.signKey.isEmpty || unsigned else {
        throw ValidationError(
          "devices refuse an unsigned bundle; give --sign-key, --key-id and --key-version, or --unsigned")
      }
      guard signing.signKey.isEmpty || !unsigned else {
        throw ValidationError("--sign-key and --unsigned exclude each other")
      }
    } else if !signing.signKey.isEmpty || unsigned {
      throw ValidationError("\(to.rawValue) carries no signature; --sign-key and --unsigned are for gaen-export")
    }
    if to != .codableJSON, beta || layout != .array {
      throw ValidationError("--layout and --beta are for codable-json")
    }
    if to != .csv, noMetadata { throw ValidationError("--no-metadata is for csv") }
  }

  func plan() throws -> ConversionPlan {
    var plan = ConversionPlan(to: to)
    plan.defaults = defaults.fieldDefaults
    plan.header = bundle.choice
    plan.jsonStyle.layout = layout
    plan.jsonStyle.hasRollingPeriod = !beta
    plan.csvStatesMetadata = !noMetadata
    if to == .publishJSON { plan.keysPerDocument = PublishJSONEncoder.usualKeyLimit }
    plan.signers = try signing.identities()
    plan.isStrict = strict
    return plan
  }

  /// Who is to stand behind the inputs: a signature where a ring was given, and the operator otherwise.
  func vouching() throws -> Vouching {
    try trust.map { .ring(try TrustRingFile.read($0), at: at ?? Clock.now) } ?? .operator
  }

  /// - Parameter inputs: files that must not be written over, besides signing keys and ring.
  func destination(_ output: String, inputs: [String], isInFolder: Bool = false, replacing: Bool = true) throws
    -> Destination
  {
    try Destination(
      output, format: to, inputs: inputs + signing.signKey + [trust].compactMap { $0 }, force: force,
      isInFolder: isInFolder, replacing: replacing)
  }

  /// The folder that an output names, which is made where it is not there; `nil` where it is a file.
  static func folder(_ output: String, noting made: MadeOutputs) throws -> String? {
    var status = stat()
    guard output.hasSuffix("/") || (stat(PathText.system(output), &status) == 0 && status.st_mode & S_IFMT == S_IFDIR)
    else {
      return nil
    }
    try made.makeFolder(output)
    return output.hasSuffix("/") ? String(output.dropLast()) : output
  }
}
