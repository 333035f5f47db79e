internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import FoundationEssentials
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyConversion
internal import KeyFormats
internal import KeyNormalization
internal import KeyReceiving
internal import KeyStorage
internal import PolicyFiles

struct ExplainCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain", _superCommandName: Program.name,
    abstract: "Tell what each source said about one key, how that was decided, and what each region gets.",
    discussion: """
      The key is given as hexadecimal, base64 or a UUID. The exit code is 1 when no source knows it. The first line says \
      what becomes of the key.

      Without files the store of a gateway answers: of the one whose configuration --config names, or gateway.yaml. For each \
      of its series it tells whether it carries the key, since which bundle, or why not and when it goes out at the earliest; \
      of mirrors, which archives hold it; and the same of series that are served and configured no more. Claims that are withdrawn, paused or held are \
      told as well, and what was rejected or refused, as far as the bytes of the documents are kept.

      Examples:
        keyferry explain 00112233445566778899aabbccddeeff de.zip it.zip
        keyferry explain ABEiM0RVZneImaq7zN3u/w== it.zip \\
          --input DE=de.zip,policy=corona-warn-app,origin=DE
        keyferry explain ABEiM0RVZneImaq7zN3u/w==
        keyferry explain ABEiM0RVZneImaq7zN3u/w== --config other.yaml
      """)

  @Argument(help: ArgumentHelp("The key data.", valueName: "key"))
  var key: String

  @Argument(help: ArgumentHelp("Key files; - is standard input.", valueName: "in"), completion: .file())
  var inputs: [String] = []

  @OptionGroup(title: "Policies") var sources: SourceOptions

  @Option(
    help: ArgumentHelp("What is published: a policy that ships, or a file.", valueName: "policy"), completion: .policy)
  var publishing = "default"

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("The configuration of a gateway, whose store answers.", valueName: "file"),
    completion: .configuration
  )
  var config: String?

  @OptionGroup var input: InputOptions

  @Flag(help: "Print the explanation as JSON (schemas/explanation.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  /// The configuration whose store answers: where no files are named, that of the folder.
  private var gateway: String? {
    if config != nil || !sources.paths(inputs).isEmpty { return config }
    return FileManager.default.fileExists(atPath: "gateway.yaml") ? "gateway.yaml" : nil
  }

  func validate() throws {
    if gateway == nil {
      guard !sources.paths(inputs).isEmpty else {
        throw ValidationError("no files are named, and there is no gateway.yaml here: name key files, or --config")
      }
      try sources.validate(inputs)
    } else if !sources.paths(inputs).isEmpty {
      throw ValidationError("--config asks the store of a gateway; leave the files out")
    }
    _ = try KeyArgument.read(key)
  }

  func run() async throws {
    let key = try KeyArgument.read(key)
    if let gateway { return try await explain(key, fromStoreOf: gateway) }
    try explainFromFiles(key)
  }

  /// Reads the key files that are named. It is a function of its own, and stays one: Swift 6.2 stops when it optimizes this as
  /// a part of an asynchronous function.
  @inline(never)
  private func explainFromFiles(_ key: TemporaryExposureKey) throws {
    let progress = Progress()
    let walk = sources.walk(inputs, input)
    let now = try sources.instant(walk)
    let documents = try sources.feed(inputs, walk, at: now, progress: progress)
    let story = try KeyStory(
      of: key, in: documents, publishing: try PolicyChoice.read(publishing).at(now).publishing, now: now)
    progress.clear()
    if json {
      try Console.document(line: try JSONText.render(KeyDocument(story, of: key, now: now)))
    } else if !story.mentions.isEmpty {
      try Console.result("key \(self.key): \(story.answer)\n\n" + story.text)
    }
    guard story.mentions.isEmpty else { return }
    Console.note("no input knows the key \(self.key)")
    try exit(.rejected)
  }

  /// Asks the store of a gateway.
  private func explain(_ key: TemporaryExposureKey, fromStoreOf config: String) async throws {
    let now = sources.now ?? Clock.now
    let plan = try GatewayConfiguration.read(
      config, environment: ProcessInfo.processInfo.environment, now: now
    ).plan
    let ledger = try Stores.reader(at: plan.store, now: now)
    let account = try await KeyAccount.gather(
      about: key, plan, from: ledger, .unexplained(byteLimit: KeyAccount.explainedBytes),
      policies: try ShippedPolicies.all(), now: now)
    let document = KeyDocument(account)
    if json {
      try Console.document(line: try JSONText.render(document))
    } else if !account.isEmpty || account.isShown {
      try Console.result(document.text)
    }
    guard account.isEmpty, !account.isShown else { return }
    Console.note("the store does not know the key \(self.key)")
    try exit(.rejected)
  }
}
