internal import ArgumentParser
internal import Federation
internal import FileCommands
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyIntake
internal import KeyPublishing
internal import KeyStorage

struct PushCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push", _superCommandName: Program.name,
    abstract: "Hand own keys to federation gateways, each once.",
    discussion: """
      Keys of a destination's origin go there, of the sources and doors that the configuration names for it: when they have \
      expired and the policy's hold is over, and while they are not too old. Nothing goes that a gateway brought, that another \
      origin said, or that a relay passed on. Batches are signed and kept before they are sent; a push that is interrupted, at \
      any moment and in any way, is completed by the next one, which sends the same bytes under the same tag again.

      A gateway that has some keys of a batch already (207) has stored nothing: these are noted, and the others are signed anew \
      and sent again. A key that the gateway refuses is left out and told; keyferry push --refused tries such keys again. \
      Where a gateway has lost keys, or says that it has what nobody sent there, keyferry push NAME --again offers all that it \
      is said to have once more; what it has already, it tells by 207, and no key is there twice.

      A key that came by an upload door and is for its origin alone stays at home: who uploaded it said so.

      Beside keyferry run it is refused, since run pushes itself: stop run first, or let run push.

      A destination with rehearsal: true is told nothing: everything is selected, signed and shown.

      The exit code is 1 when the gateway refused keys, and 2 when a destination could not be asked or took nothing.

      Examples:
        keyferry push --config gateway.yaml
        keyferry push efgs --once
        keyferry push efgs --refused --reason "their clock was wrong"
        keyferry push efgs --again --reason "they lost their database"
        keyferry push --json > pushes.json
      """)

  @OptionGroup var gateway: GatewayOptions

  @Argument(
    help: ArgumentHelp("Only these destinations; all where none is named.", valueName: "name"), completion: .destination
  )
  var names: [String] = []

  @Flag(help: "Send one batch only, even where there are more keys.")
  var once = false

  @Flag(help: "Leave out the destinations that failed not long ago or are not due by their schedule.")
  var due = false

  @Flag(help: "Send again what a destination has refused.")
  var refused = false

  @Flag(help: "Offer everything anew that the named destinations are said to have.")
  var again = false

  @OptionGroup var said: OperatorOptions

  @Flag(help: "Print the receipts as JSON (schemas/push.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  func validate() throws {
    if again, names.isEmpty {
      throw ValidationError("--again needs the name of a destination: keyferry push NAME --again --reason TEXT")
    }
  }

  func run() async throws {
    try Descriptors.require()
    let plan = try gateway.plan()
    let destinations = try chosen(of: plan)
    let ledger = try await gateway.ledger(plan, as: .owner)
    let clock = try await gateway.gatewayClock(plan, ledger)
    if refused {
      for destination in destinations where !destination.isRehearsal {
        let count = try await ledger.pushRetryAsked(destination.name, by: said.word, at: clock.now)
        Console.remark("\(destination.name): \(counted(count, "refused key")) to be sent again")
      }
    }
    if again {
      for destination in destinations {
        guard !destination.isRehearsal else {
          Console.note("\(destination.name): a rehearsal, so nothing is offered anew")
          continue
        }
        let count = try await ledger.pushRepeatAsked(destination.name, by: said.word, at: clock.now)
        Console.remark("\(destination.name): \(counted(count, "key")) offered anew, though it is said to have them")
      }
    }
    let pushing = Pushing(ledger: ledger, version: Program.version, clock: clock.time)
    let receipts: [PushReceipt]
    do {
      receipts = try await pushing.push(to: destinations, isForced: !due, isOnce: once)
    } catch {
      await pushing.close()
      throw error
    }
    await pushing.close()
    if json {
      try Console.document(line: try JSONText.render(PushDocument(receipts: receipts)))
    } else {
      for receipt in receipts where !Loudness.isQuiet || [receipt].status != .done {
        for line in receipt.lines { try Console.result(line: line) }
      }
    }
    try exit(receipts.status)
  }

  private func chosen(of plan: GatewayPlan) throws -> [DestinationSettings] {
    guard !plan.destinations.isEmpty else {
      throw ValidationError("the configuration has no destinations; see destinations in the manual")
    }
    guard !names.isEmpty else { return plan.destinations }
    var known: Set<String> = []
    return try names.filter { known.insert($0).inserted }.map { name in
      guard let settings = plan.destinations.first(where: { $0.name == name }) else {
        let all = plan.destinations.map(\.name).joined(separator: ", ")
        throw ValidationError("the configuration has no destination called \(name); it has \(all)")
      }
      return settings
    }
  }
}

/// What `--json` prints.
private struct PushDocument: Encodable {
  let reportVersion = 1
  let receipts: [PushReceipt]
}

extension [PushReceipt] {
  fileprivate var status: ExitStatus {
    if contains(where: { if case .failed = $0.outcome { true } else { false } }) { return .failed }
    return contains { $0.refused > 0 || $0.selection.ambiguous > 0 } ? .rejected : .done
  }
}
