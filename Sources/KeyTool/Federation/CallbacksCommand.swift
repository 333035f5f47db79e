internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import GatewaySettings
internal import KeyIntake
internal import KeyStorage

struct CallbacksCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "callbacks",
    abstract: "Look at where national back ends want to be called, and let a suspended subscription go on.",
    discussion: """
      A federation gateway calls those who asked for it when there is a new download batch. A subscriber that does not \
      answer is asked again every five minutes; after five retries its subscription is suspended, and nothing is \
      forgotten: once it goes on, it hears of everything behind the last batch that it has heard of, as far as that is \
      still kept.

      Examples:
        keyferry callbacks list
        keyferry callbacks resume DE/node-1 --reason "their server is back"
      """,
    subcommands: [List.self, Resume.self], defaultSubcommand: List.self)

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the subscriptions, and how calling each one goes.",
      discussion: """
        The exit code is 1 when one is suspended.

        Example:
          keyferry callbacks list --json
        """)

    @OptionGroup var gateway: GatewayOptions

    @Flag(help: "Print the list as JSON (schemas/callbacks.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let ledger = try await gateway.ledger(try gateway.operatorsPlan(), as: .reader)
      let all = try await ledger.read { try $0.callbackSubscriptions() }.all
      if json {
        try Console.document(line: try JSONText.render(CallbackDocument(subscriptions: all.map(CallbackRow.init))))
      } else {
        for subscription in all { for line in subscription.lines { try Console.result(line: line) } }
        if all.isEmpty { Console.remark("nobody wants to be called") }
      }
      try exit(all.contains { $0.suspended != nil } ? .rejected : .done)
    }
  }

  struct Resume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "resume", abstract: "Let a suspended subscription go on.",
      discussion: """
        The exit code is 1 when it was not suspended.

        Example:
          keyferry callbacks resume DE/node-1
        """)

    @Argument(help: ArgumentHelp("Country and id, as callbacks list shows them.", valueName: "subscription"))
    var subscription: String

    @OptionGroup var gateway: GatewayOptions

    @OptionGroup var said: OperatorOptions

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let parts = subscription.split(separator: "/", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { throw ValidationError("\(subscription) is no subscription, allowed DE/node-1") }
      let ledger = try await gateway.ledger(try gateway.operatorsPlan(), as: .operator)
      let was = try await ledger.callbackResumed(
        parts[1], of: parts[0].uppercased(), by: said.word, at: gateway.clock())
      guard let was else {
        throw StorageFault(
          .notFound, "there is no subscription \(printableText(subscription)); keyferry callbacks list shows all")
      }
      Console.remark(was ? "\(subscription) goes on" : "\(subscription) was not suspended")
      try exit(was ? .done : .rejected)
    }
  }
}

extension CallbackSubscription {
  /// For people.
  var lines: [String] {
    var lines = ["\(printableText(name))  \(suspended == nil ? "active" : "suspended")  \(printableText(url))"]
    if let suspended { lines.append("  suspended     \(suspended)") }
    if let faultCode {
      lines.append(
        "  fault         \(faultCode): \(printableText(faultReason ?? "")) (\(counted(failures, "failure")) in a row)")
    }
    if let nextAttempt { lines.append("  next attempt  \(nextAttempt)") }
    lines.append("  last success  \(lastSuccess.map { "\($0)" } ?? "none")")
    return lines
  }
}

/// A subscription in a JSON document.
struct CallbackRow: Encodable {
  let country: String
  let id: String
  let url: String
  let state: String
  let since: String
  let suspendedSince: String?
  let failures: Int
  let nextAttempt: String?
  let lastSuccess: String?
  let fault: Fault?

  struct Fault: Encodable {
    let code: String
    let reason: String
  }

  init(_ subscription: CallbackSubscription) {
    country = subscription.country
    id = subscription.id
    url = subscription.url
    state = subscription.suspended == nil ? "active" : "suspended"
    since = "\(subscription.since)"
    suspendedSince = subscription.suspended.map { "\($0)" }
    failures = subscription.failures
    nextAttempt = subscription.nextAttempt.map { "\($0)" }
    lastSuccess = subscription.lastSuccess.map { "\($0)" }
    fault = subscription.faultCode.map { Fault(code: $0, reason: subscription.faultReason ?? "") }
  }
}

private struct CallbackDocument: Encodable {
  let reportVersion = 1
  let subscriptions: [CallbackRow]
}
