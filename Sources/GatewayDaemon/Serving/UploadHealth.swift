internal import ExposureKeys
internal import FoundationEssentials
internal import GatewayServer
internal import KeyStorage
internal import ServiceLifecycle
internal import Synchronization

/// Whether uploads can be recorded, as far as one knows. The lock owns what was seen last.
final class UploadHealth: Sendable {
  /// What does not concern the whole store may concern one upload only: then it is known again, or forgotten.
  private static let memory = Duration.seconds(30)

  private struct Failure {
    var reason: String
    var mayPass: Bool
    var time: ContinuousClock.Instant
  }

  private struct Seen {
    var failure: Failure?
    var success: ContinuousClock.Instant?
  }

  private let seen = Mutex(Seen())

  func succeeded() { seen.withLock { $0 = Seen(success: .now) } }

  /// - Parameter error: what the store said, and not what was wrong with an upload.
  func failed(_ error: any Error) {
    let (reason, mayPass) = ("\(error)", (error as? StorageFault)?.mayPass ?? false)
    seen.withLock { $0 = Seen(failure: Failure(reason: reason, mayPass: mayPass, time: .now)) }
  }

  /// The store could be written to: it has room, and answers.
  func probed() {
    seen.withLock { seen in
      if let failure = seen.failure, !failure.mayPass, failure.time.duration(to: .now) < Self.memory { return }
      seen.failure = nil
    }
  }

  /// Whether an upload was recorded in the last time.
  func hasSucceeded(within time: Duration) -> Bool {
    seen.withLock { $0.success.map { $0.duration(to: .now) < time } ?? false }
  }

  /// Why uploads fail now; empty where nothing is known.
  var faults: [StandingFault] {
    seen.withLock { seen in
      seen.failure.map { [StandingFault(.storeUnwritable, because: "uploads cannot be recorded: \($0.reason)")] } ?? []
    }
  }
}

/// Writes to the store while no upload does: a gateway that cannot record uploads is not ready before the first one fails, and not
/// again before they can be recorded.
package struct StoreProbe: Service {
  private let ledger: Ledger
  /// By which it tries.
  private let door: String
  private let health: UploadHealth
  private let clock: @Sendable () -> Instant

  /// Seconds between two looks.
  private static let interval: Int64 = 10

  init(_ ledger: Ledger, at door: String, for health: UploadHealth, clock: @escaping @Sendable () -> Instant) {
    (self.ledger, self.door, self.health, self.clock) = (ledger, door, health, clock)
  }

  package func run() async throws {
    repeat { await look() } while await pause(seconds: Self.interval)
  }

  func look() async {
    if health.hasSucceeded(within: .seconds(Self.interval)) { return }
    do {
      try await ledger.probed(door: door, at: clock())
      health.probed()
    } catch is CancellationError {
      // The gateway ends; the store has no fault.
    } catch {
      health.failed(error)
    }
  }
}

extension StoreProbe: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  package var description: String { "probing the store" }
}
