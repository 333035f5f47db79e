internal import GatewayServer
internal import Logging
internal import ServiceLifecycle

/// The beginning of a gateway's end: it answers as before, says at `/ready` that it goes, and tells each client that keeps a connection
/// to go. Whoever spreads requests over several gateways learns of it before the sockets close; otherwise what he sends in that
/// moment is lost. Known as lame-duck time, and where a supervisor does it, as a hook before the stop.
///
/// Services end backwards in the order in which they are listed: it is the last of a list.
package struct LameDuckService: Service {
  private let server: ServerService
  let time: Duration

  /// - Parameter time: 0 is for a gateway that nothing stands in front of.
  init(_ server: ServerService, for time: Duration) {
    self.server = server
    self.time = time
  }

  package func run() async throws {
    // Cancelled is gone at once.
    guard (try? await gracefulShutdown()) != nil else { return }
    server.leave()
    guard time > .zero else { return }
    let logger = Logger(label: "keyferry")
    logger.notice(
      "the gateway was told to end, and answers for a while still",
      metadata: ["seconds": .stringConvertible(time.components.seconds)])
    try? await Task.sleep(for: time)
  }
}

extension LameDuckService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  package var description: String { "the leave" }
}
