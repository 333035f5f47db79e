internal import Synchronization

/// Asks the gateway how it stands. Who serves alone has nobody to ask. The lock owns who is asked.
package final class StatusProvider: Sendable {
  private let asked = Mutex<(@Sendable () async throws -> OperatorsReport)?>(nil)

  package init() {}

  package func answer(with report: @escaping @Sendable () async throws -> OperatorsReport) {
    asked.withLock { $0 = report }
  }

  /// `nil` where nobody knows.
  func report() async throws -> OperatorsReport? {
    guard let ask = asked.withLock({ $0 }) else { return nil }
    return try await ask()
  }
}
