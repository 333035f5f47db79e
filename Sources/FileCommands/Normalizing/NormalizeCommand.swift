package import ArgumentParser
internal import Containers
internal import ExposureKeys
internal import FoundationEssentials
internal import Glibc
internal import KeyConversion
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization

package struct NormalizeCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "normalize", _superCommandName: Program.name,
    abstract: "Reconcile what several sources say about keys, and write what is believed.",
    discussion: """
      Every key of every input is admitted or rejected by its source's reading policy; all admitted claims about one \
      key become one published key by the publishing policy, or the key is held, or left out. The receipt on standard \
      error adds up and names each reason and each allowance with its count. The order of the inputs makes no \
      difference. Inputs of which nobody says whose they are count as an origin each, and are named in no output; the \
      rules about own keys and floods are asked in a gateway alone.

      Examples:
        keyferry normalize de.zip it.zip nl.bin --to efgs-json -o all.json
        keyferry normalize --input DE=de.zip,policy=corona-warn-app,origin=DE \\
          --input IT=it.zip,origin=IT \\
          --publishing swisscovid --region CH --to gaen-export -o ch.zip \\
          --sign-key key.pem --key-id 228 --key-version v1
        keyferry normalize *.zip --now 2020-12-01 --rejected rejected.jsonl \\
          --to csv -o keys.csv --json
      """)

  @Argument(
    help: ArgumentHelp("Key files, folders and archives; - is standard input.", valueName: "in"), completion: .file())
  var inputs: [String] = []

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("A file, - for standard output, or a folder (ending in /) for keys.*.", valueName: "out"),
    completion: .file())
  var output: String

  @OptionGroup(title: "Policies") var sources: SourceOptions
  @OptionGroup(title: "Policies") var publishing: PublishingOptions
  @OptionGroup var input: InputOptions
  @OptionGroup(title: "Folders and archives") var containers: ContainerOptions
  @OptionGroup var writing: WritingOptions

  @OptionGroup var loudness: LoudnessOptions

  package func validate() throws {
    try sources.validate(inputs)
    try publishing.validate(output: output)
  }

  package func run() throws {
    try exit(
      try NormalizationRun(
        inputs: inputs, output: output, sources: sources, publishing: publishing, input: input, containers: containers,
        writing: writing
      ).run())
  }

  package init() {}
}

/// What is published of the admitted claims, and how that is told.
struct PublishingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "What is published and in which form: a policy that ships, or a file; see keyferry policy list.",
      valueName: "policy"), completion: .policy)
  var publishing: String?

  @Option(
    help: "Who reads the result: apps (exact onsets alone) or a federation (all classes). The format decides if absent."
  )
  var audience: AudienceArgument?

  @Option(
    help: ArgumentHelp("Write every key that did not get through, as JSON lines.", valueName: "file"),
    completion: .file())
  var rejected: String?

  @Flag(help: "Print the receipt as JSON (schemas/receipt.schema.json; of convert schemas/conversion.schema.json).")
  var json = false

  func validate(output: String) throws {
    guard !json || output != "-" else {
      throw ValidationError("--json prints the receipt to standard output; give -o FILE for the keys")
    }
    guard rejected == nil || rejected != output else {
      throw ValidationError("--rejected and --output are the same file")
    }
  }
}

enum AudienceArgument: String, ExpressibleByArgument, CaseIterable {
  case apps, federation

  var audience: BelievedKeys.Audience {
    switch self {
    case .apps: .apps
    case .federation: .federation
    }
  }
}

/// One normalization from the command line: `normalize`, or `convert` with policies.
struct NormalizationRun {
  let inputs: [String]
  let output: String
  let sources: SourceOptions
  let publishing: PublishingOptions
  let input: InputOptions
  let containers: ContainerOptions
  let writing: WritingOptions

  func run() throws -> ExitStatus {
    let progress = Progress()
    let walk = sources.walk(inputs, input, containers)
    let now = try sources.instant(walk)
    let documents = try sources.feed(
      inputs, walk, at: now, origin: writing.defaults.origin, vouching: try writing.vouching(), progress: progress)
    let paths = sources.paths(inputs)
    let made = MadeOutputs()
    defer { made.removeEmptyFolders() }
    let folder = try WritingOptions.folder(output, noting: made)
    let destination = try writing.destination(
      folder.map { "\($0)/keys.\(writing.to.definition.fileExtension)" } ?? output, inputs: paths,
      isInFolder: folder != nil)
    let log = try publishing.rejected.map { try RejectionLog($0, inputs: paths + writing.signing.signKey) }

    var plan = NormalizationPlan(
      try writing.plan(), publishing: try PolicyChoice.read(publishing.publishing ?? "default").at(now),
      region: writing.bundle.region, now: now)
    plan.writing.packing = destination.packing
    plan.writing.keepsGoing = containers.keepGoing ?? false
    if let audience = publishing.audience { plan.audience = audience.audience }

    let receipt = try destination.write(counting: \.target.written) { output in
      let receipt = try Normalization.run(plan, from: documents, to: output, named: destination.name) { stage in
        progress.enter(stage)
      } report: { key in
        try log?.write(key)
      }
      if sources.now == nil, receipt.isEmptyForItsAge { throw StaleInputs(now: now) }
      return receipt
    }
    try log?.commit()
    progress.clear()
    if let log, log.replacesFile { Console.note("\(log.path): the list that was there is replaced") }
    try tell(receipt)
    for line in LeftOutText.lines(receipt.leftOut, of: receipt.documents.count + receipt.leftOut.count) {
      Console.note(line)
    }
    if !Loudness.isQuiet, let line = LeftOutText.line(walk.passedOver) { Console.note(line) }
    guard !destination.keepsFile(insteadOf: receipt.target.written) else {
      Console.note("\(KeptOutput(path: destination.name))")
      return .failed
    }
    let isWhole = receipt.counts.rejected + receipt.target.refused == 0 && receipt.leftOut.isEmpty
    return isWhole ? .done : .rejected
  }

  private func tell(_ receipt: NormalizationReceipt) throws {
    let target = receipt.target
    let rejections =
      receipt.documents.flatMap {
        RejectionText.lines($0.intake.shownRejections, of: $0.counts.rejected, in: $0.intake.name)
      }
      + RejectionText.lines(target.shownRefusals, of: target.refused, in: target.name)
    for line in rejections { Console.note(line) }
    if target.refusals[RejectionReason.fieldRequired.rawValue] != nil {
      Console.hint(
        "fields that keys do not state can be filled in; see \"What keys do not state\" in keyferry help normalize")
    }
    for loss in target.losses { Console.note(loss) }
    if Loudness.isQuiet {
      let unread = receipt.documents.flatMap { $0.intake.notes.losses(of: $0.intake.name) }
      for loss in unread + target.unchosenFillings { Console.note(loss) }
    } else {
      let notes = receipt.documents.flatMap { $0.intake.notes.lines(of: $0.intake.name) }
      for line in notes + receipt.lines { Console.note(line) }
    }
    if publishing.json { try Console.document(line: try JSONText.render(receipt)) }
  }
}

/// Files that are too old for the clock, which nobody has set.
struct StaleInputs: ProgramFault {
  let now: Instant

  var description: String {
    "every key is too old at \(now), so nothing was written; --now says when the files were new, as in --now 2020-12-03"
  }
}

extension NormalizationReceipt {
  /// Whether nothing is published because keys are too old.
  fileprivate var isEmptyForItsAge: Bool {
    let isOld = belief.omissions[.tooOld] != nil || counts.rejections[AdmissionReason.keyTooOld.rawValue] != nil
    return belief.published == 0 && belief.held == 0 && isOld
  }
}

extension Progress {
  fileprivate func enter(_ stage: Normalization.Stage) {
    switch stage {
    case .reading: break
    case .folding: enter("deciding")
    case .writing: enter("writing")
    }
  }
}

/// The keys that did not get through, one JSON object a line. No key material.
///
/// A list of an earlier run is replaced, and nothing else is.
private final class RejectionLog {
  let path: String
  /// Whether a list stood there that had something in it.
  let replacesFile: Bool
  private let file: OutputFile
  private let buffer: OutputBuffer

  init(_ path: String, inputs: [String]) throws {
    if let target = FileIdentity(path: path), let input = inputs.first(where: { FileIdentity(path: $0) == target }) {
      throw ValidationError("--rejected \(path) is the input \(input); it would be overwritten")
    }
    replacesFile = try Self.replaces(path)
    self.path = path
    file = try OutputFile(path: path)
    buffer = OutputBuffer(file)
  }

  /// - Throws: `ValidationError` where something else stands.
  private static func replaces(_ path: String) throws -> Bool {
    var status = stat()
    guard stat(PathText.system(path), &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
      return false
    }
    let source = try FileSource(path: path)
    let front = try [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, filled in
      filled = try source.read(at: 0, into: UnsafeMutableRawBufferPointer(buffer))
    }
    let line = front.prefix { $0 != UInt8(ascii: "\n") }
    guard (try? JSONDecoder().decode(Line.self, from: Data(line))) != nil else {
      throw ValidationError("--rejected \(path) is there already and is no list of rejected keys; it stays as it is")
    }
    return true
  }

  /// What each line has.
  private struct Line: Decodable {
    let document: String
    let step: String
    let position: Int
    let reason: String
  }

  func write(_ key: RejectedKey) throws { try buffer.append(try JSONText.line(key) + "\n") }

  func commit() throws {
    try buffer.flush()
    try file.commit()
  }
}
