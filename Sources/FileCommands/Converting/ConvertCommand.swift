package import ArgumentParser
internal import BundleTrust
internal import Containers
internal import ExposureKeys
internal import Glibc
internal import KeyConversion
internal import KeyFormats
internal import KeyIntake

package struct ConvertCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "convert", _superCommandName: Program.name,
    abstract: "Convert key files between formats; many inputs become one output, or one each in a folder.",
    discussion: """
      What the target cannot carry is reported, never lost in silence; --strict refuses instead, and also if members \
      or columns were not read, a field was stated more than once, keys were rejected, or a value was filled in that \
      nobody chose. Fields that the \
      target needs and keys do not state are filled from the --default options, each use counted. Keys that the \
      target refuses are left out and named, and the exit code is then 1. With --reading \
      or --publishing keys are reconciled on the way, as keyferry normalize does.

      A bundle (gaen-export) is signed with --sign-key, or written with --unsigned. An output that ends in .bin gets \
      its .sig beside it; any other is a zip archive. A bundle holds key data once: keys that share it go to several \
      bundles in a folder, and are refused for one file. Tables keep every row. Key servers take at most 30 keys in one \
      request: into a folder publish-json writes several (keys.json, keys-2.json), and more than 30 keys are refused for \
      one file.

      A folder stands for all files in it, an archive (zip, tar, and what gzip, bzip2, xz and zstd made of them) for \
      all documents in it, archives in archives included; messages name them as archive.tgz!2020/de.zip. Into a \
      folder each document becomes a file, in folders as those it was in. A file that is there \
      already stays as it is there, unless --replace is given; a file that -o names is replaced, and it is said. If no key \
      is written, a file that was there stays as it is, and the exit code is 2.

      Examples:
        keyferry convert dump.json --to csv -o keys.csv
        keyferry convert de.zip it.zip --to json -o - | less
        keyferry convert north.json south.csv --to gaen-export -o bundle.zip \\
          --region US --start 2020-12-01 --end 2020-12-02 \\
          --sign-key key.pem --key-id 310 --key-version v1
        keyferry convert archive/ --to csv -o converted/
        keyferry convert dumps.tar.xz --keep-going --to json -o all.json
        keyferry convert bundle.zip --to efgs-protobuf -o batch.bin \\
          --origin DE --default-days-since-onset 4000
      """)

  @Argument(
    help: ArgumentHelp("Key files, folders and archives; - or none is standard input.", valueName: "in"),
    completion: .file())
  var inputs: [String] = []

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "A file, - for standard output, or a folder (ending in /) for one output an input.", valueName: "out"),
    completion: .file())
  var output: String

  @Flag(
    help: "Say of each key where it comes from: file, entry, window, batch, region, signer, SHA-256 (csv and json).")
  var withSource = false

  @Flag(help: "In a folder of outputs, write over files that are there already; otherwise they stay and are named.")
  var replace = false

  @Flag(help: "Write SHA-256 digests of the keys, 64 digits, instead of the keys (csv and json).")
  var hashKeys = false

  @OptionGroup var input: InputOptions
  @OptionGroup(title: "Folders and archives") var containers: ContainerOptions

  @OptionGroup var writing: WritingOptions
  @OptionGroup(title: "Policies") var sources: SourceOptions
  @OptionGroup(title: "Policies") var publishing: PublishingOptions

  @OptionGroup var loudness: LoudnessOptions

  private var to: KeyFormat { writing.to }

  /// Whether keys are admitted and folded by policies; otherwise they pass as they were sent.
  private var normalizes: Bool { sources.reading != nil || publishing.publishing != nil }

  package mutating func validate() throws {
    let table = withSource ? "--with-source" : "--hash-keys"
    if withSource || hashKeys {
      guard to == .csv || to == .json else {
        throw ValidationError("\(to.rawValue) has no place for it; \(table) is for csv and json")
      }
      guard !normalizes else {
        throw ValidationError("\(table) is for keys as they were sent, and goes without --reading and --publishing")
      }
    }
    guard normalizes else {
      inputs = try InputOptions.orStandardInput(inputs)
      guard sources.named.isEmpty, sources.now == nil, publishing.audience == nil, publishing.rejected == nil else {
        throw ValidationError(
          "--input, --now, --audience and --rejected go with --reading or --publishing; see keyferry help normalize")
      }
      guard !publishing.json || output != "-" else {
        throw ValidationError("--json prints the report to standard output; give -o FILE for the keys")
      }
      return try InputOptions.checkPaths(inputs)
    }
    try sources.validate(inputs)
    try publishing.validate(output: output)
  }

  package func run() throws {
    guard !normalizes else {
      return try exit(
        try NormalizationRun(
          inputs: inputs, output: output, sources: sources, publishing: publishing, input: input,
          containers: containers,
          writing: writing
        ).run())
    }
    let made = MadeOutputs()
    defer { made.removeEmptyFolders() }
    guard let folder = try WritingOptions.folder(output, noting: made) else { return try exit(try convertAll()) }
    do {
      try exit(try convertEach(into: folder, made))
    } catch let code as ExitCode {
      throw code
    } catch {
      made.removeFiles()
      throw error
    }
  }

  private func plan() throws -> ConversionPlan {
    var plan = try writing.plan()
    plan.statesSources = withSource
    plan.hashesKeys = hashKeys
    return plan
  }

  /// All inputs become one output.
  private func convertAll() throws -> ExitStatus {
    let progress = Progress()
    var plan = try self.plan()
    plan.keepsGoing = containers.keepGoing ?? false
    let destination = try writing.destination(output, inputs: inputs)
    plan.packing = destination.packing
    let (vouching, now) = (try writing.vouching(), Clock.now)
    let walk = input.walk(inputs, containers)
    let feed = walk.feed { found in
      try destination.check(isNot: found.place.file)
      Console.reading(found.document)
      return Arrival(progress.watching(found.document), vouching: vouching, at: now)
    }
    let receipt: ConversionReceipt
    do {
      receipt = try destination.write(counting: \.written) { try Conversion.run(plan, from: feed, to: $0) }
    } catch  where !plan.keepsGoing && LeftOutDocument("", error) != nil && (walk.mayHoldSeveral || walk.count > 1) {
      progress.clear()
      guard let fault = error as? any ProgramFault else { throw error }
      let status = Console.report(fault)
      Console.hint(LeftOutText.hint)
      throw ExitCode(status.rawValue)
    }
    progress.clear()
    let keptOutput = destination.keepsFile(insteadOf: receipt.written) ? KeptOutput(path: destination.name) : nil
    report(receipt, destination, isWritten: keptOutput == nil)
    try tell(
      ConversionDocument(
        outputs: keptOutput == nil ? [ConversionDocument.Output(receipt, writtenTo: destination.name, as: to)] : [],
        unreadable: receipt.leftOut))
    tell(receipt.leftOut, of: receipt.documents.count + receipt.leftOut.count, walk)
    if let keptOutput {
      Console.note("\(keptOutput)")
      return .failed
    }
    return receipt.rejected > 0 || !receipt.leftOut.isEmpty ? .rejected : .done
  }

  /// Each input becomes an output, in folders as those of the inputs.
  private func convertEach(into folder: String, _ made: MadeOutputs) throws -> ExitStatus {
    var outputs = try OutputNames(folder, ending: to.definition.fileExtension, arguments: inputs)
    let plan = try self.plan()
    let keepsGoing = containers.keepGoing ?? true
    let (vouching, now) = (try writing.vouching(), Clock.now)
    let walk = input.walk(inputs, containers, outputFolder: folder)
    var status = ExitStatus.done
    var done = 0
    var written: [ConversionDocument.Output] = []
    var leftOut: [LeftOutDocument] = []
    func leaveOut(_ document: LeftOutDocument) throws {
      guard keepsGoing else { throw document.fault }
      leftOut.append(document)
    }
    try walk.visit(
      { found in
        let progress = Progress()
        do {
          Console.reading(found.document)
          let arrival = Arrival(progress.watching(found.document), vouching: vouching, at: now)
          let output = try outputs.make(for: found.place, noting: made)
          let destination = try writing.destination(
            output, inputs: found.place.file == "-" ? [] : [found.place.file], isInFolder: true,
            replacing: replace)
          var plan = plan
          plan.packing = destination.packing
          let receipt = try destination.write(counting: \.written, noting: made) {
            try Conversion.run(plan, from: [arrival], to: $0)
          }
          progress.clear()
          let isWritten = !destination.keepsFile(insteadOf: receipt.written)
          report(receipt, destination, isWritten: isWritten)
          guard isWritten else { throw KeptOutput(path: destination.name) }
          if publishing.json { written.append(ConversionDocument.Output(receipt, writtenTo: destination.name, as: to)) }
          done += 1
          if receipt.rejected > 0 { status = .rejected }
        } catch {
          progress.clear()
          guard let document = LeftOutDocument(found.document.name, error) ?? Self.leftOut(found, error) else {
            throw error
          }
          try leaveOut(document)
        }
      }, leaveOut: leaveOut)
    try tell(ConversionDocument(outputs: written, unreadable: leftOut))
    tell(leftOut, of: done + leftOut.count, walk)
    guard let first = leftOut.first else { return status }
    // Nobody stands behind it: a verification that failed.
    return done > 0 || first.fault is DocumentRefusal ? .rejected : .failed
  }

  /// Documents that cannot be written as they should leave the others alone.
  private static func leftOut(_ found: FoundDocument, _ error: any Error) -> LeftOutDocument? {
    switch error {
    case let error as LossRefusal: LeftOutDocument(found.document.name, code: "loss", error)
    case let error as RepeatedKeyRefusal: LeftOutDocument(found.document.name, code: "repeated-keys", error)
    case let error as ManyKeysRefusal: LeftOutDocument(found.document.name, code: "many-keys", error)
    case let error as ExistingOutput: LeftOutDocument(found.document.name, code: "output-exists", error)
    case let error as KeptOutput: LeftOutDocument(found.document.name, code: "no-keys", error)
    // Its own name is what cannot be: too long, or a folder's where a file is.
    case let error as FileFault where [ENAMETOOLONG, EEXIST, ENOTDIR, EISDIR, EILSEQ].contains(error.number):
      LeftOutDocument(found.document.name, code: "no-output-name", error)
    default: nil
    }
  }

  private func tell(_ document: ConversionDocument) throws {
    if publishing.json { try Console.document(line: try JSONText.render(document)) }
  }

  private func tell(_ leftOut: [LeftOutDocument], of count: Int, _ walk: InputWalk) {
    if count == 1, let only = leftOut.first {
      Console.note(only.reason)
    } else {
      for line in LeftOutText.lines(leftOut, of: count) { Console.note(line) }
    }
    if !Loudness.isQuiet, let line = LeftOutText.line(walk.passedOver) { Console.note(line) }
  }

  private func report(_ receipt: ConversionReceipt, _ destination: Destination, isWritten: Bool) {
    for document in receipt.documents {
      for line in document.rejectionLines { Console.note(line) }
      if document.rejectionCounts[.fieldRequired] != nil {
        Console.hint(
          "fields that keys do not state can be filled in; see \"What keys do not state\" in keyferry help convert")
      }
    }
    for loss in receipt.losses { Console.note(loss) }
    guard !Loudness.isQuiet else {
      let unread = receipt.documents.flatMap { $0.notes.losses(of: $0.name) }
      for loss in unread + receipt.unchosenFillings { Console.note(loss) }
      return
    }
    guard isWritten else {
      for line in receipt.documents.flatMap({ $0.notes.lines(of: $0.name) }) { Console.note(line) }
      return
    }
    if destination.replacesFile { Console.note("\(destination.name): the file that was there is replaced") }
    let notes = receipt.documents.flatMap { $0.notes.lines(of: $0.name) }
    for line in notes + receipt.lines(writtenTo: destination.name, as: to) { Console.note(line) }
  }

  package init() {}
}

struct DefaultOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Rolling period, in ten-minute intervals; 144 where a format needs one.", valueName: "1...144"))
  var defaultRollingPeriod: Int32?

  @Option(help: ArgumentHelp("Transmission risk level.", valueName: "0...8"))
  var defaultTransmissionRisk: Int32?

  @Option(
    help: ArgumentHelp("Report type, name or number: CONFIRMED_TEST or 1.", valueName: "type"),
    completion: .list(ReportTypeArgument.allValueStrings))
  var defaultReportType: ReportTypeArgument?

  @Option(
    help: ArgumentHelp("Days since onset of symptoms; the federation also takes codes such as 4000.", valueName: "days")
  )
  var defaultDaysSinceOnset: Int32?

  @Option(help: ArgumentHelp("The region that the keys come from: DE.", valueName: "region"))
  var origin: String?

  @Option(help: ArgumentHelp("A region that the persons visited. Repeatable.", valueName: "region"))
  var visited: [String] = []

  func validate() throws {
    if let value = defaultRollingPeriod, !(1...144).contains(value) {
      throw ValidationError("--default-rolling-period \(value): allowed are 1...144")
    }
    if let value = defaultTransmissionRisk, !(0...8).contains(value) {
      throw ValidationError("--default-transmission-risk \(value): allowed are 0...8")
    }
  }

  var fieldDefaults: FieldDefaults {
    FieldDefaults(
      rollingPeriod: defaultRollingPeriod, transmissionRisk: defaultTransmissionRisk,
      reportType: defaultReportType?.type.rawValue, daysSinceOnset: defaultDaysSinceOnset, origin: origin,
      visitedRegions: visited.isEmpty ? nil : visited)
  }
}

struct ReportTypeArgument: ExpressibleByArgument {
  let type: ReportType

  init?(argument: String) {
    guard let type = Int32(argument).flatMap(ReportType.init(rawValue:)) ?? ReportType(name: argument) else {
      return nil
    }
    self.type = type
  }

  static var allValueStrings: [String] { ReportType.allCases.map(\.name) }
}

struct BundleOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The region that the bundle names; with policies, only its keys go there.", valueName: "region"))
  var region: String?

  @Option(help: ArgumentHelp("Start of the time window in which the bundle's keys arrived.", valueName: "time"))
  var start: Instant?

  @Option(help: ArgumentHelp("End of that window, exclusive; also the date in the zip.", valueName: "time"))
  var end: Instant?

  func validate() throws {
    if let start, let end, start >= end {
      throw ValidationError("--start \(start) is not before --end \(end)")
    }
  }

  var choice: HeaderChoice { HeaderChoice(start: start, end: end, region: region) }
}
