internal import ArgumentParser
internal import BundleTrust
internal import Containers
internal import FileCommands
internal import FoundationEssentials
internal import GatewayDaemon
internal import GatewaySettings
internal import Glibc
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization

struct InitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init", _superCommandName: Program.name,
    abstract: "Set up a gateway for one region: configuration, signing key and folders.",
    discussion: """
      Six questions are asked on a terminal, of which options answer some or all. Without a terminal the options alone \
      count. What is made is what keyferry check calls sound: gateway.yaml, with one source that reads key files from the \
      folder drop, and one series; a signing key in secrets, which only its owner can open; its public half in keys; and a key \
      for the revision tokens of uploads, with the settings that use it as comments. \
      Nothing that is there already is written over.

      Examples:
        keyferry init gateway/
        keyferry init gateway/ --region NL --key-id 204 --population 17500000 \\
          --app-bundle-id nl.example.app --android-package nl.example.app \\
          --url https://keys.example.nl
        cp keys.csv gateway/drop/ && keyferry run --config gateway/gateway.yaml
      """)

  @Argument(help: ArgumentHelp("Where to; it is made.", valueName: "folder"), completion: .directory)
  var folder = "."

  @Option(help: ArgumentHelp("The region: an ISO 3166 code such as NL or US-VA.", valueName: "code"))
  var region: String?

  @Option(
    help: ArgumentHelp(
      "The mobile country code, three digits: the region in bundles and the id of the signing key.", valueName: "code"))
  var keyID: String?

  @Option(name: .customLong("app-bundle-id"), help: "The iOS app that will read the bundles; empty for none.")
  var appBundleID: String?

  @Option(help: "The Android app that will read the bundles; empty for none.")
  var androidPackage: String?

  @Option(help: "Where apps will reach the gateway; empty where that is not known yet.")
  var url: String?

  @Option(
    help: ArgumentHelp(
      "Inhabitants of the region: they set how many new keys a day are normal, and no flood; empty for 10000 keys.",
      valueName: "number"))
  var population: String?

  @Flag(help: "Print what was made as JSON (schemas/init.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  func run() throws {
    var root = folder.hasSuffix("/") && folder != "/" ? String(folder.dropLast()) : folder
    // So that it can be named behind an option.
    if root.hasPrefix("-") { root = "./\(root)" }
    // Before anything is asked.
    try checkFree("\(root)/\(GatewayOptions.defaultConfiguration)")
    let answers = try Answers(self)
    let (key, publicKey) = ("secrets/\(answers.region)-v1.key.pem", "keys/\(answers.keyID)-v1.pem")
    let revisionKey = "secrets/revision.key"
    let configuration = GatewayOptions.defaultConfiguration
    // Before anything is made.
    for file in [key, publicKey, revisionKey] { try checkFree("\(root)/\(file)") }
    try make(root)
    for (name, mode) in [("drop", 0o777), ("keys", 0o777), ("secrets", 0o700), ("state", 0o700)] {
      try make("\(root)/\(name)", mode: mode_t(mode))
    }
    let signer = SigningKey.generate()
    try write(signer.pemRepresentation, "\(root)/\(key)", permissions: 0o600)
    try write(signer.publicKey.pem, "\(root)/\(publicKey)")
    try write(Self.randomDigits(count: 64) + "\n", "\(root)/\(revisionKey)", permissions: 0o600)
    try write(answers.settings(key: key, revisionKey: revisionKey), "\(root)/\(configuration)")
    // What is said to be sound was read.
    let (_, warnings) = try GatewayConfiguration.read(
      "\(root)/\(configuration)", environment: ProcessInfo.processInfo.environment, now: Clock.now)
    for warning in warnings { Console.note("\(warning)") }
    if json {
      let made = InitDocument(
        configuration: "\(root)/\(configuration)", signingKey: "\(root)/\(key)", publicKey: "\(root)/\(publicKey)",
        revisionKey: "\(root)/\(revisionKey)", drop: "\(root)/drop", warnings: warnings.map(\.description))
      return try Console.document(line: try JSONText.render(made))
    }
    let option = "--config \(Self.quoted("\(root)/\(configuration)"))"
    try Console.result(
      """
      \(root)/\(configuration)  the configuration; every setting of it can be changed
      \(root)/\(key)  the signing key; keep it secret, and keep a copy
      \(root)/\(publicKey)  its public half, for whoever verifies
      \(root)/\(revisionKey)  seals the revision tokens of phones that upload; keep it secret
      \(root)/drop/  put key files here

      Next:
        keyferry check \(option)
        keyferry registration \(option)   what Apple and Google ask for
        keyferry run \(option)

      """)
  }

  /// What `--json` prints: paths of what was made.
  private struct InitDocument: Encodable {
    let reportVersion = 1
    let configuration: String
    let signingKey: String
    let publicKey: String
    let revisionKey: String
    /// Where key files are put.
    let drop: String
    let warnings: [String]
  }

  /// - Throws: `FileFault` where anything has that name, a link that leads nowhere too.
  private func checkFree(_ path: String) throws {
    var status = stat()
    guard lstat(PathText.system(path), &status) != 0 else {
      throw FileFault("write", path, reason: "it is there already, and nothing is written over")
    }
  }

  private func make(_ path: String, mode: mode_t = 0o777) throws {
    guard mkdir(PathText.system(path), mode) != 0 else { return }
    let number = errno
    if !InputWalk.isFolder(path) { throw FileFault("create", path, number: number) }
  }

  /// As a shell takes it for one word.
  private static func quoted(_ path: String) -> String {
    if path.wholeMatch(of: /[A-Za-z0-9_\/.,:@%+=\-]+/) != nil { return path }
    return "'\(path.replacing("'", with: "'\\''"))'"
  }

  private static func randomDigits(count: Int) -> String {
    String((0..<count).map { _ in Character(String(Int.random(in: 0..<16), radix: 16)) })
  }

  private func write(_ text: String, _ path: String, permissions: UInt32 = 0o666) throws {
    let file = try OutputFile(path: path, permissions: permissions, replacing: false)
    try file.write(Array(text.utf8))
    try file.commit()
  }

  /// The six answers, each of a form that can stand between quotes.
  private struct Answers {
    let region: String
    let keyID: String
    let appBundleID: String
    let androidPackage: String
    let url: String
    let population: String

    init(_ options: InitCommand) throws {
      let isAsked = isatty(STDIN_FILENO) == 1 && Console.isErrorTerminal
      /// - Parameter isOptional: whether there may be no answer.
      func answer(
        _ given: String?, _ option: String, _ question: String, isOptional: Bool, _ allowed: String,
        _ isAllowed: (Substring) -> Bool
      ) throws -> String {
        if let given {
          guard given.isEmpty && isOptional || isAllowed(given[...]) else {
            throw ValidationError("\(option) \(given.debugDescription): allowed is \(allowed)")
          }
          return given
        }
        guard isAsked else {
          guard isOptional else { throw ValidationError("\(option) is missing: \(allowed)") }
          return ""
        }
        // As often as it is answered, and no longer than there is somebody.
        while true {
          Console.ask("\(question) (\(allowed)\(isOptional ? "; Enter for none" : "")): ")
          guard let line = readLine() else {
            Console.error("\n")
            throw ValidationError("\(option) is missing: \(allowed)")
          }
          var word = line.trimmingPrefix { $0.isWhitespace }
          while word.last?.isWhitespace == true { word.removeLast() }
          if word.isEmpty && isOptional || isAllowed(word) { return String(word) }
          Console.note("\(word.debugDescription) is not \(allowed)")
        }
      }
      let region = try answer(
        options.region, "--region", "Region whose keys these are", isOptional: false,
        "an ISO 3166 code such as NL or US-VA"
      ) {
        $0.wholeMatch(of: /[A-Z]{2}(-[A-Z0-9]{1,3})?/) != nil
          && UnusualCode.reason(String($0), shown: String($0)) == nil
      }
      self.region = region
      let codes = MobileCountryCodes.codes(of: region)
      let suggestion = codes.first.map { "\($0) for \(region)" } ?? "such as 204"
      let keyID = try answer(
        options.keyID, "--key-id", "Mobile country code, for bundles and the id of the signing key", isOptional: false,
        "the three digits of a mobile country code, \(suggestion)"
      ) { $0.wholeMatch(of: /[2-7][0-9]{2}/) != nil }
      self.keyID = keyID
      if !codes.isEmpty, !codes.contains(keyID) {
        Console.note(
          "bundles will name \(keyID), which is no mobile country code of \(region): \(codes.joined(separator: ", "))")
      }
      let app = "letters, digits and . _ -, such as nl.example.app"
      appBundleID = try answer(
        options.appBundleID, "--app-bundle-id", "Bundle id of the iOS app", isOptional: true, app
      ) { $0.wholeMatch(of: /[A-Za-z0-9._\-]{1,155}/) != nil }
      androidPackage = try answer(
        options.androidPackage, "--android-package", "Package name of the Android app", isOptional: true, app
      ) { $0.wholeMatch(of: /[A-Za-z0-9._\-]{1,155}/) != nil }
      url = try answer(
        options.url, "--url", "Address where apps will reach this gateway", isOptional: true,
        "an address such as https://keys.example.nl"
      ) { $0.wholeMatch(of: /https?:\/\/[A-Za-z0-9._~:\/\-\[\]]{1,200}/) != nil }
      population = try answer(
        options.population, "--population", "Inhabitants of the region", isOptional: true,
        "a whole number such as 17500000"
      ) { $0.wholeMatch(of: /[0-9]{1,10}/) != nil && Int($0).map(BusyDay.populations.contains) == true }
    }

    private var populationLine: String {
      guard let number = Int(population) else {
        return
          "# population: 17500000         # inhabitants; without it keys beyond \(BusyDay.keys(of: nil)) a day are held"
      }
      return "population: \(number)\(String(repeating: " ", count: max(1, 19 - population.utf8.count)))"
        + "# inhabitants: keys beyond \(BusyDay.keys(of: number)) a day are held"
    }

    func settings(key: String, revisionKey: String) -> String {
      var lines = """
        # A gateway for \(region). keyferry check says everything that is wrong with this file.
        # Relative paths are relative to this file's folder.

        state: state                   # the store, and what is being fetched

        own-origins: ["\(region)"]           # recognised when they come back
        \(populationLine)

        sources:
          - name: drop
            protocol: files            # key files of any format, put into the folder
            location: drop
            trust: operator            # you answer for them; a ring of public keys verifies signatures
            origin: "\(region)"
            speaks-for: ["\(region)"]
            every: 1 min

        series:
          - name: "\(region)"
            include: ["\(region)"]
            region: "\(keyID)"
            every: 2 hours
            listed: 14 days
            minimum: {keys: 100, too-few: pad}
            sign:
              - key: {file: \(key)}
                id: "\(keyID)"              # as registered with Apple and Google
                version: v1

        """
      if !appBundleID.isEmpty { lines += "        app: \"\(appBundleID)\"\n" }
      if !androidPackage.isEmpty { lines += "        android: \"\(androidPackage)\"\n" }
      lines += """

        publication: {folder: public}  # or {s3: {bucket: …, region: …}}: the manual's page about buckets

        operators: {listen: 127.0.0.1:9091} # a page of how it stands, and /metrics, for this machine alone

        server:
          listen: 127.0.0.1:8080       # behind a proxy that speaks TLS

        """
      if !url.isEmpty { lines += "  url: \"\(url)\"\n" }
      return lines + """
        # To take uploads of phones, remove "# " from these lines and state your verification server.
        #   uploads:
        #     origin: "\(region)"
        #     certificates:
        #       - {issuer: verify.example.org, audience: keys.example.org, key-set: "https://verify.example.org/jwks"}
        #     revision-key: {file: \(revisionKey)}

        """
    }
  }
}
