import KeyStorage
import Synchronization

/// A store that notes how durable each write was to be, and fails when it is told to.
final class CountingStore: Store {
  private struct State {
    var writes: [Durability] = []
    var fault: StorageFault?
  }

  private let store: any Store
  private let state = Mutex(State())

  init(_ store: any Store) { self.store = store }

  var role: StoreRole { store.role }
  var writes: [Durability] { state.withLock { $0.writes } }
  var fault: StorageFault? {
    get { state.withLock { $0.fault } }
    set { state.withLock { $0.fault = newValue } }
  }

  func read<Result: Sendable>(_ body: @escaping @Sendable (any StoredState) throws -> Result) async throws -> Result {
    try await store.read(body)
  }

  func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    try state.withLock { state in
      if let fault = state.fault { throw fault }
      state.writes.append(authority.durability)
    }
    return try await store.write(as: authority, body)
  }
}
