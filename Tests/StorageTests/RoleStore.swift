import KeyStorage
import Synchronization

/// A store in a role, which remembers how durable its writes were to be.
final class RoleStore: Store {
  let role: StoreRole
  private let base: any Store
  private let asked = Mutex<[Durability]>([])

  init(_ base: any Store, _ role: StoreRole) {
    self.base = base
    self.role = role
  }

  var durabilities: [Durability] { asked.withLock { $0 } }

  func read<Result: Sendable>(
    _ body: @escaping @Sendable (any StoredState) throws -> Result
  ) async throws -> Result {
    try await base.read(body)
  }

  func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    asked.withLock { $0.append(authority.durability) }
    return try await base.write(as: authority, body)
  }
}
