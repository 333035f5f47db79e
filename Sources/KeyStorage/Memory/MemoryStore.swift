internal import Dispatch
package import ExposureKeys
internal import Synchronization

/// The store in memory: it is gone with the process. For tests, and the plainest statement of what a store does.
///
/// A write costs in proportion to what is stored, because it works on a copy.
package final class MemoryStore: Store {
  package let role = StoreRole.owner

  /// What the last write kept. Changed on `writing` alone.
  private let state = Mutex(MemoryState())
  /// Where bodies write, one after the other.
  private let writing = DispatchQueue(label: "keyferry.memory.writer")
  /// Where bodies read, beside each other and beside the one that writes.
  private let reading = DispatchQueue(label: "keyferry.memory.readers", attributes: .concurrent)
  /// `nil` where there is one owner.
  private let office: MemoryLeases?

  /// - Parameter expiredAtOnce: claims that one call of expiry removes, about; the next call goes on.
  package init(expiredAtOnce: Int = .max) {
    office = nil
    state.withLock { $0.expiredAtOnce = expiredAtOnce }
  }

  /// A store that replicas share, as they do in tests.
  ///
  /// - Parameters:
  ///   - clock: the store's own, from any moment on.
  ///   - time: what time it is by the store.
  package init(sharedBy clock: @escaping @Sendable () -> Duration, time: (@Sendable () -> Instant)? = nil) {
    office = MemoryLeases(on: writing, clock: clock, time: time)
    office?.ask { [weak self] in
      guard let state = self?.state.withLock({ $0 }) else { return [] }
      return try MemoryTransaction(state).drainedReplicas()
    }
  }

  package var leases: (any LeaseOffice)? { office }

  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (any StoredState) throws -> Result
  ) async throws -> Result {
    try await run(on: reading) { try body(MemoryTransaction(self.state.withLock { $0 })) }
  }

  package func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    try await run(on: writing) {
      try self.office?.check(authority.leases)
      let draft = MemoryTransaction(self.state.withLock { $0 })
      let result = try body(draft)
      let end = draft.state
      self.state.withLock { $0 = end }
      return result
    }
  }

  private func run<Result: Sendable>(
    on queue: DispatchQueue, _ work: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result { try work() }) }
    }
  }
}
