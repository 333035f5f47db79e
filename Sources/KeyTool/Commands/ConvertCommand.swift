internal import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import KeyConversion
internal import KeyFormats
internal import KeyIntake

struct ConvertCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "convert", _superCommandName: KeyferryCommand.programName,
    abstract: "Convert key files between formats; many inputs become one output, or one each in a folder.",
    discussion: """
      What the target cannot carry is reported, never lost in silence; --strict refuses instead, and also where members \
      or columns were not read, keys were rejected, or a value was filled in that nobody chose. Fields that the \
      target needs and keys do not state are filled from the --default options, each use counted. Keys that the \
      target refuses are left out and named, and the exit code is then 1. With --reading \
      or --publishing keys are reconciled on the way, as keyferry normalize does.

      A bundle (gaen-export) is signed with --sign-key, or written with --unsigned. An output that ends in .bin gets \
      its .sig beside it; any other is a zip archive. A bundle holds key data once: keys that share it go to several \
      bundles in a folder, and are refused for one file. Tables keep every row.

      Examples:
        keyferry convert dump.json --to csv -o keys.csv
        keyferry convert de.zip it.zip --to json -o - | less
        keyferry convert north.json south.csv --to gaen-export -o bundle.zip \\
          --region US --start 2020-12-01 --end 2020-12-02 \\
          --sign-key key.pem --key-id 310 --key-version v1
        keyferry convert archive/*.zip --to csv -o converted/
        keyferry convert bundle.zip --to efgs-protobuf -o batch.bin \\
          --origin DE --default-days-since-onset 4000
      """)

  @Argument(help: ArgumentHelp("Key files; - is standard input.", valueName: "in"))
  var inputs: [String] = []

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "A file, - for standard output, or a folder (ending in /) for one output an input.", valueName: "out"))
  var output: String

  @OptionGroup var input: InputOptions

  @OptionGroup var writing: WritingOptions
  @OptionGroup(title: "Policies") var sources: SourceOptions
  @OptionGroup(title: "Policies") var publishing: PublishingOptions

  private var to: KeyFormat { writing.to }

  /// Whether keys are admitted and folded by policies; otherwise they pass as they were sent.
  private var normalizes: Bool { sources.reading != nil || publishing.publishing != nil }

  func validate() throws {
    guard normalizes else {
      guard !inputs.isEmpty else { throw ValidationError("missing inputs: give files, or - for standard input") }
      guard sources.named.isEmpty, sources.now == nil, publishing.audience == nil, publishing.rejected == nil,
        !publishing.json
      else {
        throw ValidationError(
          "--input, --now, --audience, --rejected and --json go with --reading or --publishing; "
            + "see keyferry help normalize")
      }
      return try InputOptions.checkPaths(inputs)
    }
    try sources.validate(inputs)
    try publishing.validate(output: output)
  }

  func run() throws {
    guard !normalizes else {
      return try exit(
        try NormalizationRun(
          inputs: inputs, output: output, sources: sources, publishing: publishing, input: input, writing: writing
        ).run())
    }
    let plan = try writing.plan()
    var worst = ExitStatus.done
    for step in try steps() {
      do {
        let receipt = try convert(step, plan)
        if receipt.rejected > 0, worst == .done { worst = .rejected }
      } catch let error as FormatError where inputs.count > 1 {
        Console.note("\(error)")
        worst = .failed
      } catch let error as FileFault where inputs.count > 1 {
        Console.note("\(error)")
        worst = .failed
      } catch let error as LossRefusal where inputs.count > 1 {
        Console.note("\(error)")
        worst = .failed
      } catch let error as RepeatedKeyRefusal where inputs.count > 1 {
        Console.note("\(error)")
        worst = .failed
      } catch let error as DocumentRefusal where inputs.count > 1 {
        Console.note("\(error)")
        if worst != .failed { worst = .rejected }
      }
    }
    try exit(worst)
  }

  /// One output and the inputs that go into it.
  private struct Step {
    let inputs: [String]
    let output: String
    let isInFolder: Bool
  }

  private func steps() throws -> [Step] {
    guard let folder = try WritingOptions.folder(output) else {
      return [Step(inputs: inputs, output: output, isInFolder: false)]
    }
    let ending = to.definition.fileExtension
    var taken: [String: String] = [:]
    return try inputs.map { input in
      let name = input == "-" ? "stdin" : String(input.split(separator: "/").last ?? "keys")
      let stem = name.lastIndex(of: ".").map { $0 == name.startIndex ? name : String(name[..<$0]) } ?? name
      let target = "\(folder)/\(stem).\(ending)"
      if let other = taken[target] {
        throw ValidationError("\(other) and \(input) would both become \(target); convert them into separate folders")
      }
      taken[target] = input
      return Step(inputs: [input], output: target, isInFolder: true)
    }
  }

  private func convert(_ step: Step, _ plan: ConversionPlan) throws -> ConversionReceipt {
    let progress = Progress()
    let (vouching, now) = (try writing.vouching(), Clock.now)
    let arrivals = try step.inputs.map { path in
      Arrival(progress.watching(try input.open(path)), vouching: vouching, at: now)
    }
    let destination = try writing.destination(step.output, inputs: step.inputs, isInFolder: step.isInFolder)
    var plan = plan
    plan.packing = destination.packing
    let receipt = try destination.write { try Conversion.run(plan, from: arrivals, to: $0) }
    progress.clear()
    report(receipt, destination)
    return receipt
  }

  private func report(_ receipt: ConversionReceipt, _ destination: Destination) {
    for document in receipt.documents {
      for line in document.rejectionLines { Console.note(line) }
      if document.rejectionCounts[.fieldRequired] != nil {
        Console.hint(
          "fields that keys do not state can be filled in; see \"What keys do not state\" in keyferry help convert")
      }
    }
    for loss in receipt.losses { Console.note(loss) }
    guard !writing.quiet else { return }
    let notes = receipt.documents.flatMap { $0.notes.lines(of: $0.name) }
    for line in notes + receipt.lines(writtenTo: destination.name, as: to) { Console.note(line) }
  }
}

struct DefaultOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Rolling period, in ten-minute intervals; 144 where a format needs one.", valueName: "1...144"))
  var defaultRollingPeriod: Int32?

  @Option(help: ArgumentHelp("Transmission risk level.", valueName: "0...8"))
  var defaultTransmissionRisk: Int32?

  @Option(help: ArgumentHelp("Report type, name or number: CONFIRMED_TEST or 1.", valueName: "type"))
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
