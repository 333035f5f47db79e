internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import GatewaySettings
internal import KeyStorage

struct EventsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "events", _superCommandName: Program.name,
    abstract: "List what happened in the gateway, in its order: what came, what went out, who did what and why.",
    discussion: """
      Every change of the store is an event with a number. Numbers grow, and some are left out: routine events, such as \
      a pull that brought nothing, are dropped when their time is over. It works beside a gateway that runs.

      Examples:
        keyferry events --config gateway.yaml
        keyferry events --from 4711 --limit 20
        keyferry events --json | jq '.events[] | select(.by)'
      """)

  @OptionGroup var gateway: GatewayOptions

  @Option(help: ArgumentHelp("The first number to be listed.", valueName: "number"))
  var from: Int64 = 1

  @Option(help: ArgumentHelp("List so many events at most, 1 to 10000.", valueName: "count"))
  var limit = 100

  @Flag(help: "Print the list as JSON (schemas/events.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  func validate() throws {
    guard from >= 0 else { throw ValidationError("--from: \(from), allowed 0 or more") }
    guard (1...10_000).contains(limit) else { throw ValidationError("--limit: \(limit), allowed 1...10000") }
  }

  func run() async throws {
    let ledger = try await gateway.ledger(try gateway.operatorsPlan(), as: .reader)
    // One more shows whether there are more.
    let found = try await ledger.read { try $0.events(from: EventID(rawValue: from), limit: limit + 1) }
    let list = EventList(found.prefix(limit), next: found.count > limit ? found.last?.id : nil)
    if json {
      try Console.document(line: try JSONText.render(list))
    } else if list.events.isEmpty {
      Console.remark("nothing has happened\(from > 1 ? " since event \(from)" : "")")
    } else {
      try Console.result(list.text)
      if let next = list.next { Console.hint("there are more: keyferry events --from \(next)") }
    }
  }
}

/// What happened, as JSON: `schemas/events.schema.json`.
struct EventList: Encodable {
  let reportVersion = 1
  /// In the order of their numbers.
  let events: [Event]
  /// The number of the first event behind these; `nil` where there is none.
  let next: Int64?

  init(_ records: some Sequence<EventRecord>, next: EventID?) {
    events = records.map(Event.init)
    self.next = next?.rawValue
  }

  struct Event: Encodable {
    let number: Int64
    let time: String
    let kind: EventKind
    /// What it is about, for people.
    let about: String
    /// Who of the operators did it, and why; `nil` where it happened by itself.
    let by: String?
    let reason: String?

    init(_ record: EventRecord) {
      number = record.id.rawValue
      time = record.event.time.description
      kind = record.event.kind
      about = record.event.subject
      by = record.event.word?.by
      reason = record.event.word?.reason
    }
  }
}
