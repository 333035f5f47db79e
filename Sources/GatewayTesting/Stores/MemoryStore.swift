internal import Dispatch
package import ExposureKeys
package import KeyStorage
internal import SQLiteDriver

/// A store in memory that replicas can share: SQLite's tables, and leases of its own.
package final class MemoryStore: Store {
  package let role = StoreRole.owner

  private let base: TransientStore
  /// `nil` where there is one owner.
  private let office: MemoryLeases?

  /// - Parameter expiredAtOnce: claims that expiry looks at in one transaction.
  package init(expiredAtOnce: Int? = nil) {
    base = Self.made(expiredAtOnce: expiredAtOnce)
    office = nil
  }

  /// A store that replicas share.
  ///
  /// - Parameters:
  ///   - clock: the store's own, from any moment on.
  ///   - time: what time it is by the store.
  package init(sharedBy clock: @escaping @Sendable () -> Duration, time: (@Sendable () -> Instant)? = nil) {
    let base = Self.made()
    self.base = base
    office = MemoryLeases(clock: clock, time: time) { try await base.read { try $0.drainedReplicas() } }
  }

  private static func made(expiredAtOnce: Int? = nil) -> TransientStore {
    do {
      return try TransientStore(expiredAtOnce: expiredAtOnce)
    } catch {
      fatalError("a store in memory cannot be made: \(error)")
    }
  }

  package var leases: (any LeaseStore)? { office }

  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (any StoredState) throws -> Result
  ) async throws -> Result { try await base.read(body) }

  package func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    guard let office else { return try await base.write(as: authority, body) }
    return try await base.write(as: authority) { transaction in
      // No duty is taken while a body writes.
      try office.whileNoneIsTaken(authority.leases) { try body(transaction) }
    }
  }
}
