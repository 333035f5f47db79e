import GRDB
package import KeyStorage
import Synchronization

/// A store in the memory of this process, for tests: all of SQLite's, but for the file. Readers wait for writers, and the
/// agenda tells small batches apart, so that a round looks only at what has changed.
package final class TransientStore: Store {
  package let role = StoreRole.owner
  package var place: String { "memory" }

  private let database: DatabaseQueue
  private let names = Mutex(Names())
  private let expiredAtOnce: Int?

  /// - Parameter expiredAtOnce: claims that expiry looks at in one transaction.
  package init(expiredAtOnce: Int? = nil) throws {
    self.expiredAtOnce = expiredAtOnce
    database = try DatabaseQueue(configuration: .store(isReadOnly: false, pageLimit: nil))
    try database.write { try Schema.make(in: $0) }
  }

  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (any StoredState) throws -> Result
  ) async throws -> Result {
    do {
      return try await database.read { [self] in
        try body(TableTransaction(SQLiteSession($0), names: names.withLock { $0 }))
      }
    } catch let error as DatabaseError {
      throw StorageFault(error, path: place)
    }
  }

  package func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    do {
      return try await database.writeWithoutTransaction { [self] database in
        let (result, transaction) = try database.inOneTransaction {
          let transaction = TableTransaction(
            SQLiteSession(database), names: names.withLock { $0 }, expiredAtOnce: expiredAtOnce, smallBatch: 0)
          return (try body(transaction), transaction)
        }
        names.withLock { $0 = transaction.names }
        return result
      }
    } catch let error as DatabaseError {
      throw StorageFault(error, path: place)
    }
  }
}
