internal import ArgumentParser
internal import ExposureKeys
internal import FoundationEssentials
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyConversion
internal import KeyFormats
internal import KeyNormalization
internal import KeyPublishing
internal import KeyStorage

struct ExplainCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain", _superCommandName: KeyferryCommand.programName,
    abstract: "Tell what each source said about one key, how that was decided, and what each region gets.",
    discussion: """
      The key is given as hexadecimal, base64 or a UUID. The exit code is 1 when no source knows it. With --config and
      without files the store of a gateway answers, for each of its series.

      Examples:
        keyferry explain 00112233445566778899aabbccddeeff de.zip it.zip
        keyferry explain ABEiM0RVZneImaq7zN3u/w== it.zip \\
          --input DE=de.zip,policy=corona-warn-app,origin=DE
        keyferry explain ABEiM0RVZneImaq7zN3u/w== --config gateway.yaml
      """)

  @Argument(help: ArgumentHelp("The key data.", valueName: "key"))
  var key: String

  @Argument(help: ArgumentHelp("Key files; - is standard input.", valueName: "in"))
  var inputs: [String] = []

  @OptionGroup(title: "Policies") var sources: SourceOptions

  @Option(help: ArgumentHelp("What is published: a policy that ships, or a file.", valueName: "policy"))
  var publishing = "default"

  @Option(
    name: [.short, .long], help: ArgumentHelp("The configuration of a gateway, whose store answers.", valueName: "file")
  )
  var config: String?

  @OptionGroup var input: InputOptions

  func validate() throws {
    if config == nil {
      try sources.validate(inputs)
    } else if !sources.paths(inputs).isEmpty {
      throw ValidationError("--config asks the store of a gateway; leave the files out")
    }
    _ = try keyData()
  }

  func run() async throws {
    if let config { return try await explain(fromStoreOf: config) }
    let progress = Progress()
    let documents = try sources.open(inputs, input, progress: progress)
    let story = try KeyStory(
      of: try keyData(), in: documents, publishing: try PolicyChoice.read(publishing).publishing, now: sources.instant)
    progress.clear()
    guard !story.mentions.isEmpty else {
      Console.note("no input knows the key \(key)")
      return try exit(.rejected)
    }
    try Console.result("key \(key)\n\n" + story.text)
  }

  /// Asks the store of a gateway.
  private func explain(fromStoreOf config: String) async throws {
    let (key, now) = (try keyData(), sources.instant)
    let plan = try GatewayConfiguration.read(
      config, environment: ProcessInfo.processInfo.environment, now: now
    ).plan
    let ledger = try Stores.ledger(in: plan.stateFolder, as: .reader, now: now)
    // Withdrawn and held claims say nothing but how long the key is valid.
    let (claims, embargo) = try await ledger.read {
      (try $0.claims(about: key), try $0.claims(from: key, limit: 1).embargo)
    }
    try tell(key, claims, embargo, of: plan, now: now)
  }

  /// What the store knows, and what each series makes of it.
  private func tell(
    _ key: TemporaryExposureKey, _ claims: ClaimSet, _ embargo: Embargo, of plan: GatewayPlan, now: Instant
  ) throws {
    guard !claims.isEmpty else {
      Console.note("the store does not know the key \(self.key)")
      return try exit(.rejected)
    }
    for series in plan.series {
      try tell(
        key, claims, embargo, series.publishing,
        "key \(self.key), series \(series.name) (policy \(series.publishing.name))", now
      )
    }
    if plan.series.isEmpty { try tell(key, claims, embargo, try PolicyChoice.read(publishing), "key \(self.key)", now) }
  }

  private func tell(
    _ key: TemporaryExposureKey, _ claims: ClaimSet, _ embargo: Embargo, _ policy: Policy, _ title: String,
    _ now: Instant
  ) throws {
    let story = KeyStory(of: key, stored: claims, embargo: embargo, publishing: policy.publishing, now: now)
    try Console.result(title + "\n\n" + story.text + "\n")
  }

  private func keyData() throws -> TemporaryExposureKey {
    var text = Array(key.utf8)
    switch text.withUnsafeMutableBytes({ KeyText.read(UnsafeRawBufferPointer($0)) }) {
    case .key(let key): return key
    case .wrongLength(let count): throw ValidationError("the key has \(count) bytes, allowed are 16")
    case .notKeyData:
      throw ValidationError("the key is neither 32 hexadecimal digits, nor base64 of 16 bytes, nor a UUID")
    }
  }
}
