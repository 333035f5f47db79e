package import KeyStorage
internal import Synchronization

/// A store in a database that is away now and then.
package final class AwayStore: Store {
  private let base: any Store
  private let fault = Mutex<StorageFault?>(nil)

  package init(_ base: any Store) { self.base = base }

  package var role: StoreRole { base.role }
  package var isAway: Bool { fault.withLock { $0 != nil } }

  /// `nil` brings it back.
  package func fail(with fault: StorageFault?) { self.fault.withLock { $0 = fault } }

  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (any StoredState) throws -> Result
  ) async throws -> Result {
    if let fault = fault.withLock({ $0 }) { throw fault }
    return try await base.read(body)
  }

  package func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    if let fault = fault.withLock({ $0 }) { throw fault }
    return try await base.write(as: authority, body)
  }
}
