internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import FoundationEssentials
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyIntake
internal import KeyStorage
internal import Synchronization

extension StoreCommand {
  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "create", _superCommandName: "keyferry store",
      abstract: "Make the store's tables.",
      discussion: """
        Every command that opens the store to write makes them as well; this one does nothing else, so that a role with more \
        rights in a PostgreSQL database can run it once. Where series are published already and there are no tables yet, it \
        makes none: see keyferry store begin. In a database one process makes them at a time, all or none.

        Examples:
          keyferry store create --config gateway.yaml
        """)

    @OptionGroup var gateway: GatewayOptions

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let plan = try gateway.operatorsPlan()
      let ledger = try await gateway.ledger(plan, as: .owner)
      await ledger.settle()
      Console.remark("the store in \(printableText(ledger.place)) has its tables")
    }
  }

  struct Copy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "copy", _superCommandName: "keyferry store",
      abstract: "Copy the whole store into the empty one of another configuration.",
      discussion: """
        It moves a store from the state folder into a PostgreSQL database, or back, while no gateway runs on either. What is \
        interrupted goes on where it was, with the same command. In the end both stores are read and compared; until \
        then nothing else opens the new one to write. The old one stays as it is.

        Examples:
          keyferry store copy with-database.yaml --config gateway.yaml
        """)

    @Argument(
      help: ArgumentHelp("The configuration whose store is the new one.", valueName: "file"),
      completion: .configuration)
    var target: String

    @OptionGroup var gateway: GatewayOptions

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let source = try gateway.operatorsPlan().store
      let (other, _) = try GatewayConfiguration.readForOperators(
        target, environment: ProcessInfo.processInfo.environment, now: gateway.clock())
      let told = Mutex("")
      let count = try await Stores.move(from: source, to: other.store, now: gateway.clock()) { table, rows in
        // One line a table, for who looks on.
        guard Console.isErrorTerminal,
          told.withLock({ last in
            defer { last = table }
            return last != table
          })
        else { return }
        Console.remark("\(table), after \(counted(rows, "row"))")
      }
      Console.remark("the store of \(target) has the same \(counted(count, "row")) as that of \(gateway.config)")
      Console.hint("keyferry check --config \(target)")
    }
  }
}
