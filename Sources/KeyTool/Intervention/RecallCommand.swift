internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import GatewaySettings
internal import KeyIntake
internal import KeyPublishing
internal import KeyStorage

struct RecallCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recall", _superCommandName: Program.name,
    abstract: "Withdraw what an origin sent, after showing what would change.",
    discussion: """
      Without --yes nothing changes: it shows how many claims would be withdrawn and how many released keys would lose \
      their last one. Withdrawn claims stay known, so that the same ones coming in again change nothing. The next \
      publishing round tells apps, as far as their devices accept that. Published bundles do not change: the command \
      lists those that carry the keys, how long an index names each, and after when its file is removed.

      Examples:
        keyferry recall DE
        keyferry recall DE --since 2020-11-30T12:00:00Z --reason "keys of a test system" --yes
        keyferry recall DE --batch 17 --yes
        keyferry recall US --source virginia --yes
      """)

  @Argument(help: ArgumentHelp("The origin, such as DE.", valueName: "origin"))
  var origin: String

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Only what was recorded from then on.", valueName: "time"))
  var since: Instant?

  @Option(help: ArgumentHelp("Only what came in with this document; its number.", valueName: "number"))
  var batch: Int64?

  @Option(
    help: ArgumentHelp("Only what came in by this source or door for uploads.", valueName: "name"), completion: .sender)
  var source: String?

  @Flag(help: "Do it.")
  var yes = false

  @Flag(help: "Print the figures as JSON (schemas/recall.schema.json).")
  var json = false

  @OptionGroup var said: OperatorOptions

  @OptionGroup var gateway: GatewayOptions

  @OptionGroup var loudness: LoudnessOptions

  /// Of the documents in quarantine, the newest.
  private static let looksAt = 1000

  func run() async throws {
    let plan = try gateway.operatorsPlan()
    let request = RecallRequest(
      origin: origin.uppercased(), since: since, document: batch.map(DocumentID.init(rawValue:)), source: source)
    let now = gateway.clock()
    let ledger = try await gateway.ledger(plan, as: yes ? .operator : .reader)
    let done = yes ? try await ledger.recalled(request, by: said.word, at: now) : nil
    let (series, mirrors) = (plan.series, plan.mirrors)
    let (preview, bundles) = try await ledger.read { state in
      let preview = try done ?? state.preview(request)
      return (preview, try CarryingBundle.all(of: preview, in: series, mirrors: mirrors, from: state, now: now))
    }
    if json {
      try Console.document(line: try JSONText.render(RecallDocument(request, preview, bundles, isDone: yes)))
    } else {
      for line in preview.lines(of: request, bundles, isDone: yes) { try Console.result(line: line) }
      if !yes, preview.claims > 0 { Console.hint("the same command with --yes does it") }
      let held = try await ledger.read {
        try $0.waitingDocuments(limit: Self.looksAt).newest.reduce(0) { $0 + $1.held }
      }
      if held > 0 {
        Console.hint(
          "\(counted(held, "claim")) \(held == 1 ? "waits" : "wait") in quarantine, of whatever origin; a recall does not mean them: "
            + "keyferry quarantine --config \(gateway.config)")
      }
    }
    try exit(preview.claims > 0 ? .done : .rejected)
  }
}

private struct RecallDocument: Encodable {
  let reportVersion = 1
  let origin: String
  let since: String?
  let batch: Int64?
  let source: String?
  let done: Bool
  let claims: Int
  let documents: Int
  let keysLeftWithoutClaims: Int
  let released: [String: Int]
  let bundles: [CarryingBundle]

  init(_ request: RecallRequest, _ preview: RecallPreview, _ bundles: [CarryingBundle], isDone: Bool) {
    origin = request.origin
    since = request.since?.description
    batch = request.document?.rawValue
    source = request.source
    done = isDone
    claims = preview.claims
    documents = preview.documents.count
    keysLeftWithoutClaims = preview.keysLeftWithoutClaims
    released = preview.released
    self.bundles = bundles
  }
}
