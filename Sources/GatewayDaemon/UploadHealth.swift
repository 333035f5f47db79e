internal import ExposureKeys
internal import FoundationEssentials
internal import GatewayServer
internal import Synchronization

/// Whether uploads can be recorded, as far as one knows. The lock owns what was seen last.
final class UploadHealth: Sendable {
  /// A load balancer that has turned away sends something again after so many seconds, and then it is known again.
  private static let memory = Duration.seconds(30)

  private struct Failure {
    var reason: String
    var time: ContinuousClock.Instant
  }

  private let last = Mutex<Failure?>(nil)

  func succeeded() { last.withLock { $0 = nil } }

  /// - Parameter error: what the store said, and not what was wrong with an upload.
  func failed(_ error: any Error) {
    let failure = Failure(reason: "\(error)", time: .now)
    last.withLock { $0 = failure }
  }

  /// Why uploads fail now; empty where nothing is known.
  var reasons: [String] {
    last.withLock { failure in
      guard let failure, failure.time.duration(to: .now) < Self.memory else { return [] }
      return ["uploads cannot be recorded: \(failure.reason)"]
    }
  }
}
