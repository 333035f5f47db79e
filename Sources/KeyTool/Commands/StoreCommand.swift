internal import ArgumentParser
internal import GatewaySettings
internal import KeyIntake
internal import KeyPublishing
internal import KeyStorage

struct StoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store", _superCommandName: KeyferryCommand.programName,
    abstract: "Check the gateway's store, or copy it while the gateway runs.",
    subcommands: [Check.self, Backup.self])

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", _superCommandName: "keyferry store",
      abstract: "Read the whole store and say what is damaged.",
      discussion: """
        It works beside a gateway that runs, and reads everything once. The exit code is 1 when something is damaged: stop
        the gateway, keep the damaged file, and restore the last copy; the publication folder makes up for what went out
        since.

        Examples:
          keyferry store check --config gateway.yaml
        """)

    @OptionGroup var gateway: GatewayOptions

    @Flag(help: "Print it as JSON (schemas/store-check.schema.json).")
    var json = false

    func run() async throws {
      let plan = try gateway.plan()
      let damage = try await gateway.ledger(plan, as: .reader).damage(limit: 100)
      if json {
        try Console.result(line: try JSONText.render(Report(damage: damage)))
      } else {
        for line in damage { try Console.result(line: printableText(line)) }
        if damage.isEmpty { try Console.result(line: "the store is whole") }
      }
      try exit(damage.isEmpty ? .done : .rejected)
    }

    private struct Report: Encodable {
      let reportVersion = 1
      let damage: [String]

      enum CodingKeys: String, CodingKey {
        case damage
        case reportVersion = "report_version"
      }
    }
  }

  struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "backup", _superCommandName: "keyferry store",
      abstract: "Copy the store into a new file, while the gateway runs.",
      discussion: """
        The copy is one state of the store. It holds keys of people, so it is readable by its owner alone, and must not be
        kept for longer than the store keeps keys (retention.keys). To restore it, stop the gateway, put the copy in place
        of keyferry.sqlite in the state folder, remove keyferry.sqlite-wal and keyferry.sqlite-shm, and start again: what
        was published since is taken over from the publication folder, and sources send what is missing.

        Examples:
          keyferry store backup /backup/keyferry-2020-12-01.sqlite --config gateway.yaml
        """)

    @Argument(help: ArgumentHelp("The new file; nothing is overwritten.", valueName: "file"))
    var file: String

    @OptionGroup var gateway: GatewayOptions

    func run() async throws {
      let plan = try gateway.plan()
      try await gateway.ledger(plan, as: .reader).copyStore(to: file)
      Console.note("the store was copied to \(file)")
    }
  }
}
