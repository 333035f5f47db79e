internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyReceiving
internal import KeyStorage
internal import PeerTransport
internal import Synchronization

struct PullCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pull", _superCommandName: Program.name,
    abstract: "Fetch what is new from the configured sources, verify it, admit it, and record it.",
    discussion: """
      Every source is asked at the same time, until it has nothing new; one that is slow or broken delays no other. \
      What is refused goes into quarantine with its reason and is tried again later; see keyferry quarantine. A pull \
      that is interrupted, at any moment and in any way, is completed by the next one. What has been kept long enough \
      (retention in the configuration) is removed at the end.

      The exit code is 1 when documents were refused or keys rejected, and 2 when a source could not be asked, or \
      when the store is new and series are published already: keyferry store begin says what to do.

      Examples:
        keyferry pull --config gateway.yaml
        keyferry pull --source germany --source italy --once
        keyferry pull --json > receipts.json
      """)

  @OptionGroup var gateway: GatewayOptions

  @Option(help: ArgumentHelp("Only this source; repeatable.", valueName: "name"), completion: .source)
  var source: [String] = []

  @Flag(help: "Leave out the sources that failed not long ago or are not due by their schedule.")
  var due = false

  @Flag(help: "Ask each source for one round only, even where it has more.")
  var once = false

  @Flag(help: "Print the receipts as JSON (schemas/pull.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  func run() async throws {
    try Descriptors.require()
    let plan = try gateway.plan()
    let sources = try chosen(of: plan)
    let ledger = try await gateway.ledger(plan, as: .owner)
    let clock = try await gateway.gatewayClock(plan, ledger)
    let progress = PullProgress()
    let receiving = try Receiving(
      plan, ledger: ledger, version: Program.version, clock: clock.time
    ) { progress.show($0) }
    let receipts: [PullReceipt]
    do {
      receipts = try await receiving.pull(sources, isForced: !due, isOnce: once)
    } catch {
      await receiving.close()
      throw error
    }
    await receiving.close()
    progress.clear()
    if let settled = clock.look().settled { _ = try await plan.retention.carryOut(in: ledger, at: settled) }
    if json {
      try Console.document(line: try JSONText.render(PullDocument(receipts: receipts)))
    } else {
      for receipt in receipts where !Loudness.isQuiet || [receipt].status != .done {
        for line in receipt.lines { try Console.result(line: line) }
      }
    }
    try exit(clock.look().doubt != nil && receipts.status == .done ? .rejected : receipts.status)
  }

  private func chosen(of plan: GatewayPlan) throws -> [SourceSettings] {
    guard !source.isEmpty else { return plan.sources }
    var names: Set<String> = []
    return try source.filter { names.insert($0).inserted }.map { name in
      guard let settings = plan.sources.first(where: { $0.name == name }) else {
        let known = plan.sources.map(\.name).joined(separator: ", ")
        throw ValidationError(
          "the configuration has no source called \(name); it has \(known.isEmpty ? "none" : known)")
      }
      return settings
    }
  }
}

/// What `--json` prints.
private struct PullDocument: Encodable {
  let reportVersion = 1
  let receipts: [PullReceipt]
}

extension [PullReceipt] {
  var status: ExitStatus {
    if contains(where: { if case .failed = $0.outcome { true } else { false } }) { return .failed }
    return contains { $0.counts.rejected > 0 || $0.counts.held > 0 || !$0.refusals.isEmpty } ? .rejected : .done
  }
}

/// One line on a terminal: how many documents of how many are in.
final class PullProgress: Sendable {
  private struct State {
    var listed = 0
    var settled = 0
    var keys = 0
    var progress = Progress()
  }

  private let state = Mutex(State())

  func show(_ event: PullEvent) {
    state.withLock { state in
      switch event {
      case .listed(_, _, let new): state.listed += new
      case .recorded(_, _, let keys):
        state.settled += 1
        state.keys += keys
      case .refused: state.settled += 1
      case .asked, .fetched, .finished: break
      }
      state.progress.enter(
        "pulling: \(grouped(state.settled)) of \(counted(max(state.listed, state.settled), "document")), "
          + counted(state.keys, "key"))
    }
  }

  func clear() { state.withLock { $0.progress.clear() } }
}
