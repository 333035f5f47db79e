package import ArgumentParser
internal import ExposureKeys
internal import KeyConversion
internal import KeyIntake
internal import KeyNormalization
internal import PolicyFiles

package struct PolicyCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "policy",
    abstract: "List, check, show and compare the policies by which keys are read and published.",
    discussion: """
      Example:
        keyferry policy list
      """,
    subcommands: [List.self, Check.self, Show.self, Diff.self])

  @OptionGroup var loudness: LoudnessOptions

  package func run() throws { throw ValidationError("a command is missing: list, check, show or diff") }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the policies that ship.",
      discussion: """
        Example:
          keyferry policy list
        """)

    @Flag(help: "Print the list as JSON (schemas/policy-report.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func run() throws {
      if json {
        return try Console.document(line: try JSONText.render(PolicyListDocument(try ShippedPolicies.all())))
      }
      let width = ShippedPolicies.names.map(\.count).max() ?? 0
      for policy in try ShippedPolicies.all() {
        try Console.result(line: "\(pad(policy.name, width))  \(policy.summary)")
      }
    }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check policy files as a whole and print every fault with its place.",
      discussion: """
        Among them are tables with holes, regions that cannot be, and a name that hides a policy that ships. The exit \
        code is 1 when there is a fault. A setting that gives up the merge law, or lets sources speak for anybody, is a \
        warning.

        Example:
          keyferry policy check mine.yaml
        """)

    @Argument(help: ArgumentHelp("Policy files.", valueName: "file"), completion: .file(extensions: ["yaml", "yml"]))
    var files: [String]

    @Flag(help: "Print faults and warnings as JSON (schemas/policy-report.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func run() throws {
      var status = ExitStatus.done
      var checks: [PolicyCheckDocument.File] = []
      for file in files {
        let bytes = try FileSource.contents(of: file, limit: PolicyFile.byteLimit)
        do {
          var warnings: [PolicyFault] = []
          let policy = try PolicyFile.check(String(decoding: bytes, as: UTF8.self), named: file) { warnings.append($0) }
          warnings += policy.warnings
          checks.append(
            .init(
              file: file, policy: policy.name, faults: [],
              warnings: warnings.map(PolicyCheckDocument.Fault.init)))
          if !json {
            for warning in warnings { try Console.result(line: "\(file): warning: \(warning)") }
            try Console.result(line: "\(file): sound, policy \(policy.name)")
          }
        } catch let error as PolicyFileFault {
          checks.append(
            .init(file: file, policy: nil, faults: error.faults.map(PolicyCheckDocument.Fault.init), warnings: []))
          if !json { try Console.result(line: "\(error)") }
          status = .rejected
        }
      }
      if json { try Console.document(line: try JSONText.render(PolicyCheckDocument(files: checks))) }
      try exit(status)
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the rules of a policy in the order in which they are asked, with the values that it sets.",
      discussion: """
        A policy whose rules change with time is shown as it holds now, or at --now; the days of the changes are told.

        Examples:
          keyferry policy show efgs
          keyferry policy show corona-warn-app --now 2020-12-24
          keyferry policy show mine.yaml --markdown
          keyferry policy show default --yaml > mine.yaml
        """)

    @Argument(help: ArgumentHelp("A policy that ships, or a file.", valueName: "policy"), completion: .policy)
    var policy = "default"

    @Flag(help: "Print the table in Markdown, with what each rule does.")
    var markdown = false

    @Flag(help: "Print the policy file itself.")
    var yaml = false

    @Flag(help: "Print the table as JSON (schemas/policy-report.schema.json).")
    var json = false

    @Option(
      parsing: .unconditional,
      help: ArgumentHelp("The clock, for rules that hold from a day on; the system's if absent.", valueName: "time"))
    var now: Instant?

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws {
      guard [markdown, yaml, json].count(where: { $0 }) < 2 else {
        throw ValidationError("--markdown, --yaml and --json exclude each other")
      }
    }

    func run() throws {
      if yaml { return try Console.document(try PolicyChoice.text(self.policy)) }
      let (whole, now) = (try PolicyChoice.read(policy), now ?? Clock.now)
      let policy = whole.at(now)
      let changes = whole.changes.map { "\($0.from)" }
      let table = RuleTable(of: policy)
      if json {
        return try Console.document(line: try JSONText.render(PolicyDocument(policy, table, changes: changes)))
      }
      if markdown { return try Console.document(table.markdown) }
      try Console.result(line: "\(policy.name): \(policy.summary)")
      if !changes.isEmpty {
        try Console.result(line: "as it holds on \(now.day); it changes on \(changes.joined(separator: ", "))")
      }
      try Console.result(table.text)
    }
  }

  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Count the keys that fare differently under two policies, by what becomes of them.",
      discussion: """
        Each change is told with the origins that claim its keys, the regions they go to, and a key for keyferry explain.

        Each policy reads and publishes for itself. An --input that names a policy of its own is read by that one on \
        both sides.

        Example:
          keyferry policy diff default efgs archive/*.zip
        """)

    @Argument(help: ArgumentHelp("A policy that ships, or a file.", valueName: "before"), completion: .policy)
    var before: String

    @Argument(help: ArgumentHelp("The other one.", valueName: "after"), completion: .policy)
    var after: String

    @Argument(help: ArgumentHelp("Key files; - is standard input.", valueName: "in"), completion: .file())
    var inputs: [String] = []

    @Option(help: ArgumentHelp("Only what this region would get.", valueName: "region"))
    var region: String?

    @Flag(help: "Print it as JSON (schemas/policy-diff.schema.json).")
    var json = false

    @OptionGroup var sources: SourceOptions
    @OptionGroup var input: InputOptions

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws {
      try sources.validate(inputs)
      guard sources.reading == nil else { throw ValidationError("--reading is what the two policies say") }
      guard !sources.paths(inputs).contains("-") else {
        throw ValidationError("the inputs are read twice, and standard input (-) cannot be")
      }
    }

    func run() throws {
      let walk = sources.walk(inputs, input)
      let now = try sources.instant(walk)
      let policies = [try PolicyChoice.read(before).at(now), try PolicyChoice.read(after).at(now)]
      let progress = Progress()
      let sides = try policies.map { policy in
        try IncomingClaims(try sources.feed(inputs, walk, at: now, reading: policy, progress: progress))
      }
      progress.enter("deciding")
      let difference = PolicyDifference(
        from: sides[0].claims, by: policies[0].publishing, to: sides[1].claims, by: policies[1].publishing,
        region: region, now: now)
      progress.clear()
      for (policy, side) in zip(policies, sides) {
        let rejected = side.documents.reduce(0) { $0 + $1.counts.rejected }
        if rejected > 0 { Console.note("\(policy.name): \(counted(rejected, "key")) rejected at admission") }
      }
      let document = PolicyDifferenceDocument(
        difference, before: before, after: after, region: region, now: now,
        rejections: zip(policies, sides).map { policy, side in
          .init(
            policy: policy.name,
            reasons: side.documents.reduce(into: [:]) { $0.merge($1.counts.rejections, uniquingKeysWith: +) })
        })
      try json ? Console.result(line: JSONText.render(document)) : Console.result(document.text)
    }
  }

  package init() {}
}
