internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import GatewayDaemon
internal import KeyStorage

struct DrainCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "drain", _superCommandName: Program.name,
    abstract: "Give the work of one replica to the others before maintenance, or let it have work again.",
    discussion: """
      Where replicas share a store in PostgreSQL, each holds leases: for sources that it pulls, series that it publishes, and \
      so on. A drained replica ends what it has begun, gives its leases back, and answers /ready with 503, so that a load \
      balancer sends it nothing more. This command waits until it holds nothing. It stays drained, also when it is started \
      again, until keyferry drain --undo.

      keyferry status names the replicas and who holds what. The exit code is 1 when the replica still held something when the time was \
      over, and with --undo when it was not drained. A replica that is stopped by SIGTERM gives its leases back by itself; one \
      that was killed loses them when their time is over.

      Examples:
        keyferry drain gateway-2 --reason "new disk"
        keyferry drain gateway-2 --undo
      """)

  @Argument(
    help: ArgumentHelp(
      "The replica: its store.postgresql.replica, or the name of its machine.", valueName: "replica"),
    transform: { text in
      guard let name = ReplicaName(text) else {
        throw ValidationError("\(text) is no name of a replica: 1 … 63 letters, digits, '.', '_', '-'")
      }
      return name
    })
  var replica: ReplicaName

  @Flag(help: "Let it have its share of the work again.")
  var undo = false

  @Option(help: ArgumentHelp("Wait so long for it to give its work back.", valueName: "seconds"))
  var wait: Int = 120

  @OptionGroup var gateway: GatewayOptions

  @OptionGroup var said: OperatorOptions

  @OptionGroup var loudness: LoudnessOptions

  func validate() throws {
    guard (0...86_400).contains(wait) else { throw ValidationError("--wait is 0 … 86400 seconds") }
  }

  func run() async throws {
    let plan = try gateway.operatorsPlan()
    let ledger = try await gateway.ledger(plan, as: .operator)
    guard let office = ledger.leases else {
      throw ValidationError(
        "the store has one owner, so there is no other replica to take its work; stop the gateway by SIGTERM instead")
    }
    let known = try await office.table().standing.compactMap(\.duty.replica)
    guard undo || known.contains(replica) else {
      throw ValidationError(
        "no replica called \(replica) was ever here; there are \(known.isEmpty ? "none" : known.map(\.description).joined(separator: ", "))"
      )
    }
    if undo {
      let wasDrained = try await ledger.replicaReturned(replica, by: said.word, at: gateway.clock())
      if wasDrained {
        Console.remark("replica \(replica) takes work again")
      } else {
        Console.note("replica \(replica) was not drained")
      }
      return try exit(wasDrained ? .done : .rejected)
    }
    _ = try await ledger.replicaDrained(replica, by: said.word, at: gateway.clock())
    let end = ContinuousClock.now + .seconds(wait)
    while true {
      let held = try await office.table().standing
        .filter { $0.isHeld && $0.holder == replica && $0.duty.replica == nil }
      if held.isEmpty {
        Console.remark("replica \(replica) is drained, and holds nothing")
        return try exit(.done)
      }
      guard ContinuousClock.now < end else {
        Console.note(
          "replica \(replica) is drained, and still holds \(held.map(\.duty.name).joined(separator: ", ")); it gives them back when what is under way has ended"
        )
        return try exit(.rejected)
      }
      try await Task.sleep(for: .milliseconds(500))
    }
  }
}
