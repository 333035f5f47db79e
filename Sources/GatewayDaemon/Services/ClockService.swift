internal import ExposureKeys
internal import GatewayServer
package import KeyPublishing
package import KeyStorage
internal import Logging
internal import PeerTransport
internal import ProgramMetrics
internal import ServiceLifecycle

extension GatewayClock {
  /// The clock of a gateway whose store was opened as its owner: it goes on where the last process has left it, and heeds
  /// what the operator has said since. Where the store was lost or restored, it goes on from what the folder shows.
  ///
  /// - Parameters:
  ///   - folder: where bundles are published; `nil` where none are.
  ///   - series: what is published there.
  ///   - replica: whose clock it is, where several share the store.
  ///   - reading: asks the system.
  package static func opened(
    _ ledger: Ledger, bounds: ClockBounds, folder: (any PublicationFolder)?, series: [String],
    replica: ReplicaName? = nil, reading: @escaping @Sendable () -> ClockReading = { .system }
  ) async throws -> GatewayClock {
    var times: ShownTimes?
    if let folder { times = await ShownTimes(in: folder, of: series) }
    let (record, word, shown) = try await ledger.read { [times] state in
      (try state.clockRecord(of: replica), try state.clockWord(), try times?.latest(beside: state))
    }
    let clock = GatewayClock(continuing: record, shownByFolder: shown, bounds: bounds, reading: reading)
    _ = clock.look()
    if let word { _ = clock.heed(word) }
    try await clock.keep(in: ledger, of: replica)
    return clock
  }

  /// What the next process is to know.
  package func keep(in ledger: Ledger, of replica: ReplicaName? = nil) async throws {
    if let record { try await ledger.clockSeen(record, of: replica) }
  }
}

/// Looks at the clock, says when it is in doubt, and hears who may end the doubt.
struct ClockService: Service {
  let clock: GatewayClock
  let ledger: Ledger
  /// `nil` where the store has one owner.
  let replica: ReplicaName?
  let hosts: HostTimes
  let readiness: Readiness
  let metrics: GatewayMetrics

  private let logger = Logger(label: "keyferry.clock")
  /// Seconds between two records for the next process.
  private static let recordInterval: Int64 = 600

  init(
    clock: GatewayClock, ledger: Ledger, replica: ReplicaName? = nil, hosts: HostTimes, readiness: Readiness,
    metrics: GatewayMetrics
  ) {
    self.clock = clock
    self.ledger = ledger
    self.replica = replica
    self.hosts = hosts
    self.readiness = readiness
    self.metrics = metrics
  }

  func run() async throws {
    var wasInDoubt = false
    var recorded: Int64?
    repeat {
      var look = clock.look()
      if look.doubt != nil, await isSettled() { look = clock.look() }
      metrics.clockStep.set(to: Double(look.doubt?.step ?? 0))
      if let doubt = look.doubt {
        // The system's clock may be set again while it is in doubt.
        readiness.hold(.clock, because: doubt.reason)
        if !wasInDoubt { logger.error("the clock is in doubt", metadata: ["reason": .string(doubt.reason)]) }
      } else if wasInDoubt {
        logger.notice("the clock is believed again", metadata: ["time": .string("\(look.now)")])
        readiness.release(.clock)
      }
      let seconds = look.now.secondsSince1970
      let isDue = recorded.map { abs(seconds - $0) >= Self.recordInterval } ?? true
      if isDue || wasInDoubt != (look.doubt != nil) {
        recorded = seconds
        await record()
      }
      wasInDoubt = look.doubt != nil
    } while await pause(seconds: 1)
    await record()
  }

  /// Whether an operator or the peers have ended the doubt.
  private func isSettled() async -> Bool {
    if clock.hear(hostsDiffer: hosts.differences) { return true }
    guard let word = try? await ledger.read({ try $0.clockWord() }) else { return false }
    return clock.heed(word)
  }

  private func record() async {
    do {
      try await clock.keep(in: ledger, of: replica)
    } catch is CancellationError {
      // The gateway ends; the clock has no fault.
    } catch {
      logger.error("what the clock has seen cannot be kept", metadata: ["reason": .string("\(error)")])
    }
  }
}

extension ClockService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  var description: String { "the clock" }
}
