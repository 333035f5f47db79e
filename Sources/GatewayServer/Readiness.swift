internal import Synchronization

/// Whether the gateway wants requests, beyond having something to serve: `/ready` answers 503 for as long as anybody
/// holds it back. The lock owns the reasons.
package final class Readiness: Sendable {
  private let holds = Mutex<[String: String]>([:])

  package init() {}

  /// - Parameters:
  ///   - name: who holds it back; the same name again replaces the reason.
  ///   - reason: for people.
  package func hold(_ name: String, because reason: String) { holds.withLock { $0[name] = reason } }

  package func release(_ name: String) { holds.withLock { $0[name] = nil } }

  /// Why not, in the order of the names; empty where nobody holds it back.
  package var reasons: [String] {
    holds.withLock { $0 }.sorted { $0.key < $1.key }.map(\.value)
  }
}
