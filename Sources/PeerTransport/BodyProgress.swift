package import KeyPeers
internal import Synchronization

/// How long a peer may take.
package struct TimeLimits: Sendable {
  package var connect: Duration
  package var idle: Duration
  package var total: Duration
  /// Fewer bytes than this within ``idle`` are no progress.
  package var leastProgress = 1024

  package init(connect: Duration, idle: Duration, total: Duration) {
    self.connect = connect
    self.idle = idle
    self.total = total
  }

  package init(_ settings: TransportSettings) {
    self.init(
      connect: .seconds(max(1, settings.connectSeconds)), idle: .seconds(max(1, settings.idleSeconds)),
      total: .seconds(max(1, settings.totalSeconds)))
  }
}

/// The bytes of one body that have come, and the watch over them.
final class BodyProgress: Sendable {
  private let count = Atomic<Int>(0)

  func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }

  /// Runs `operation` as long as its body makes progress.
  ///
  /// - Parameter start: when the request began, from which the total counts.
  /// - Throws: ``TransportFault`` `time-out`, and what `operation` throws.
  func watching<Value: Sendable>(
    _ address: WebAddress, _ limits: TimeLimits, since start: ContinuousClock.Instant,
    _ operation: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
      group.addTask(operation: operation)
      group.addTask { try await self.waitForStandstill(address, limits, until: start + limits.total) }
      defer { group.cancelAll() }
      guard let value = try await group.next() else { throw CancellationError() }
      return value
    }
  }

  private func waitForStandstill(
    _ address: WebAddress, _ limits: TimeLimits, until deadline: ContinuousClock.Instant
  ) async throws -> Never {
    var seen = 0
    while true {
      let now = ContinuousClock.now
      guard now < deadline else { throw TransportFault.timeOut(address, "is not whole", after: limits.total) }
      try await Task.sleep(for: min(limits.idle, deadline - now))
      let bytes = count.load(ordering: .relaxed)
      if ContinuousClock.now < deadline, bytes - seen < limits.leastProgress {
        throw TransportFault.timeOut(address, "made no progress at byte \(bytes)", after: limits.idle)
      }
      seen = bytes
    }
  }
}
