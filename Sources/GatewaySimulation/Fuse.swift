import KeyIntake
import KeyPublishing
import KeyStorage
import Synchronization

/// The process was killed: nothing that it does from then on has an effect.
struct Killed: Error {}

/// Every change that a process makes to its store and to its publication folder goes through here, so that the process
/// can be killed before any of them, and the disk can be full.
final class Fuse: Sendable {
  private struct State {
    /// Steps until the kill; `nil` is never.
    var left: Int?
    var isFull = false
  }

  private let state = Mutex(State())

  /// How many steps from now the process is killed; `nil` is never.
  func arm(_ steps: Int?) { state.withLock { $0.left = steps } }

  var isBurnt: Bool { state.withLock { $0.left.map { $0 <= 0 } ?? false } }

  var isDiskFull: Bool {
    get { state.withLock { $0.isFull } }
    set { state.withLock { $0.isFull = newValue } }
  }

  /// - Throws: ``Killed`` from the step on at which the process is killed.
  func step() throws {
    let isDead = state.withLock { state in
      guard let left = state.left else { return false }
      state.left = max(0, left - 1)
      return left <= 0
    }
    if isDead { throw Killed() }
  }

  /// A folder that steps through this fuse.
  func folder(_ path: String) -> LocalFolder {
    LocalFolder(path) { [self] step, path in
      try self.step()
      if step == .write, isDiskFull { throw FileFault("write", path, number: 28) }
    }
  }
}

/// A store that steps through a fuse: before each transaction, and after it was kept.
struct FusedStore: Store {
  let store: any Store
  let fuse: Fuse

  var role: StoreRole { store.role }

  func read<Result: Sendable>(_ body: @escaping @Sendable (any StoredState) throws -> Result) async throws -> Result {
    try fuse.step()
    return try await store.read(body)
  }

  func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    try fuse.step()
    if fuse.isDiskFull { throw StorageFault(.full, "the disk is full") }
    let result = try await store.write(as: authority, body)
    try fuse.step()
    return result
  }

  func copy(to path: String) async throws {
    try fuse.step()
    try await store.copy(to: path)
  }

  func damage(limit: Int) async throws -> [String] { try await store.damage(limit: limit) }
}
