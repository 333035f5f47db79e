internal import ArgumentParser
internal import FileCommands
internal import GatewayDaemon
internal import KeyIntake
internal import KeyReceiving
internal import KeyStorage
internal import PolicyFiles

struct DiscloseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "disclose", _superCommandName: Program.name,
    abstract: "Gather everything that a gateway has about one key.",
    discussion: """
      Claims with what they came in, who vouched for it and when; withdrawn and held ones; what was released; and every \
      document in whose kept bytes the key is, those in quarantine included. All bytes that are kept are read, which can take \
      minutes. The exit code is 1 when the gateway has nothing.

      Examples:
        keyferry disclose 00112233445566778899aabbccddeeff --config gateway.yaml
        keyferry disclose ABEiM0RVZneImaq7zN3u/w== --json > answer.json
      """)

  @Argument(help: ArgumentHelp("The key data: hexadecimal, base64 or a UUID.", valueName: "key"))
  var key: String

  @Flag(help: "Print it as JSON (schemas/explanation.schema.json, without series).")
  var json = false

  @OptionGroup var gateway: GatewayOptions

  @OptionGroup var loudness: LoudnessOptions

  func validate() throws { _ = try KeyArgument.read(key) }

  func run() async throws {
    let plan = try gateway.plan(warnings: false)
    let account = try await KeyAccount.gather(
      about: try KeyArgument.read(key), plan, from: gateway.ledger(plan, as: .reader), .everything,
      policies: try ShippedPolicies.all(), now: gateway.clock())
    let document = KeyDocument(account, hasSeries: false)
    try json ? Console.result(line: JSONText.render(document)) : Console.result(document.text)
    try exit(account.isEmpty && !account.isShown ? .rejected : .done)
  }
}

struct EraseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "erase", _superCommandName: Program.name,
    abstract: "Remove everything about one key from a gateway, but for what is published.",
    discussion: """
      Without --yes nothing changes: it shows what would be removed. Claims, held claims and the lists of what was released \
      are removed, and the bytes of every document that holds the key, since what is signed cannot be changed; the other \
      claims of these documents stay, but cannot be read again. Who did it and why stands among the events, with the SHA-256 \
      of the key in its place.

      Files that are published stay as they are, and whoever fetched them has them. So do backups: erase there as well, or \
      let them go. A source that sends the key again brings it back.

      Examples:
        keyferry erase ABEiM0RVZneImaq7zN3u/w== --reason "request 17"
        keyferry erase ABEiM0RVZneImaq7zN3u/w== --reason "request 17" --yes
      """)

  @Argument(help: ArgumentHelp("The key data: hexadecimal, base64 or a UUID.", valueName: "key"))
  var key: String

  @Flag(help: "Do it.")
  var yes = false

  @Flag(help: "Print the figures as JSON (schemas/erasure.schema.json).")
  var json = false

  @OptionGroup var said: OperatorOptions

  @OptionGroup var gateway: GatewayOptions

  @OptionGroup var loudness: LoudnessOptions

  func validate() throws {
    _ = try KeyArgument.read(key)
    guard said.reason.map({ !$0.isEmpty }) ?? false else { throw ValidationError("--reason is missing: say why") }
  }

  func run() async throws {
    let plan = try gateway.plan(warnings: false)
    let (key, now) = (try KeyArgument.read(key), gateway.clock())
    let ledger = try await gateway.ledger(plan, as: yes ? .operator : .reader)
    let account = try await KeyAccount.gather(about: key, plan, from: ledger, .everything, now: now)
    var erasure = Erasure(account, plan)
    if yes, !account.isEmpty {
      let (receipt, unreadable) = try await KeyAccount.erase(key, plan, from: ledger, by: said.word, now: now)
      erasure.close(receipt, unreadable)
    }
    if json {
      try Console.document(line: try JSONText.render(erasure))
    } else {
      try Console.result(erasure.text)
      if !yes, !account.isEmpty { Console.hint("the same command with --yes does it") }
    }
    try exit(account.isEmpty ? .rejected : .done)
  }
}
