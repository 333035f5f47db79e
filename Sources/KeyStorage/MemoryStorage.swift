internal import Synchronization

/// The store in memory: it is gone with the process. For tests, and the plainest statement of what a store does.
///
/// A write costs in proportion to what is stored, because it works on a copy.
package final class MemoryStorage: KeyStorage {
  /// Held while a body writes, so that there is one at a time and readers need not wait.
  private let writing = Mutex(())
  private let state = Mutex(MemoryState())

  package init() {}

  package func read<Result: Sendable>(_ body: @escaping @Sendable (any StoredState) throws -> Result) async throws
    -> Result
  {
    try body(MemoryTransaction(state.withLock { $0 }))
  }

  package func write<Result: Sendable>(
    _ body: @escaping @Sendable (any StorageTransaction) throws -> Result
  ) async throws -> Result {
    try writing.withLock { _ in
      let draft = MemoryTransaction(state.withLock { $0 })
      let result = try body(draft)
      let end = draft.state
      state.withLock { $0 = end }
      return result
    }
  }
}
