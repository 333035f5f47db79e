package import Foundation
package import KeyStorage
import Synchronization

/// A store as one elsewhere may be: slow, and now and then it asks for a body once more, after everything that the body
/// did was undone. A body that does anything outside its transaction is found out by it.
package final class RepeatingStore: Store {
  private let base: any Store
  private let interval: Int
  private let delay: TimeInterval
  private let count = Mutex(0)

  /// - Parameters:
  ///   - interval: every how many writes are asked for again; 1 is all.
  ///   - delay: how long each body has to wait, on the store's own thread.
  package init(_ base: any Store, interval: Int = 1, delay: TimeInterval = 0.000_2) {
    self.base = base
    self.interval = interval
    self.delay = delay
  }

  package var role: StoreRole { base.role }

  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (any StoredState) throws -> Result
  ) async throws -> Result {
    try await base.read { [delay] state in
      Thread.sleep(forTimeInterval: delay)
      return try body(state)
    }
  }

  package func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    let number = count.withLock { count in
      count += 1
      return count
    }
    if number.isMultiple(of: interval) {
      do {
        try await base.write(as: authority) { transaction in
          _ = try body(transaction)
          throw Collision()
        }
      } catch is Collision {}
    }
    return try await base.write(as: authority) { [delay] transaction in
      Thread.sleep(forTimeInterval: delay)
      return try body(transaction)
    }
  }
}

private struct Collision: Error {}
