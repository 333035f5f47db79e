import GRDB
import GatewayTesting
import KeyStorage
import Synchronization
import Testing

@testable import SQLiteDriver

@Suite("SQLite store: durability")
struct DurabilityTests {
  /// Asks the connection, inside each transaction, when it synchronizes its log.
  final class AskingStore: Store {
    let base: SQLiteStore
    private let answers = Mutex<[Int]>([])

    init(_ base: SQLiteStore) { self.base = base }

    var role: StoreRole { base.role }

    func takeAnswers() -> [Int] {
      answers.withLock { answers in
        defer { answers = [] }
        return answers
      }
    }

    func read<Result: Sendable>(
      _ body: @escaping @Sendable (any StoredState) throws -> Result
    ) async throws -> Result {
      try await base.read(body)
    }

    func write<Result: Sendable>(
      as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result {
      try await base.write(as: authority) { transaction in
        let result = try body(transaction)
        let database = try #require((transaction as? TableTransaction)?.sql as? SQLiteSession).database
        let answer = try #require(try Int.fetchOne(database, sql: "PRAGMA synchronous"))
        self.answers.withLock { $0.append(answer) }
        #expect(try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal")
        return result
      }
    }
  }

  @Test("the log is synchronized at each commit that promises something")
  func synchronous() async throws {
    var arrivals = Arrivals(random: SeededRandom(seed: 6))
    let steps = LedgerScript.steps(arrivals.batch(30), arrivals.batch(30))
    let (normal, full) = (1, 2)
    try await withFolder { folder in
      let store = AskingStore(try SQLiteStore(folder: folder, now: Times.now))
      for step in steps {
        try await step.run(Ledger(store))
        #expect(store.takeAnswers() == [step.kind.durability == .promised ? full : normal], "\(step.kind)")
      }
    }
  }
}
