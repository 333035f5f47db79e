internal import Dispatch
internal import Synchronization

/// A connection with a queue of its own, on which everything happens that it does: what blocks never blocks a thread of the
/// concurrency pool.
final class Connection: @unchecked Sendable {
  /// Touched on the queue alone.
  private let database: Database
  private let queue: OwnQueue
  private let turns: Turns
  private let lastTurn = Atomic<UInt64>(0)

  init(path: String, options: Database.Options, label: String) throws {
    queue = OwnQueue(label)
    turns = Turns(queue)
    database = try queue.sync { try Database(path: path, options: options) }
  }

  /// Waits for the turn, and for what `body` does. Who has the turn may call it as well.
  func access<Result>(_ body: (Database) throws -> Result) rethrows -> Result {
    try queue.sync { try body(database) }
  }

  /// The same in a task. Where that is cancelled, what SQLite does is interrupted, and statements that are begun afterwards are refused.
  ///
  /// - Throws: what `body` throws, or `CancellationError`.
  func access<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    let turn = lastTurn.wrappingAdd(1, ordering: .relaxed).newValue
    let cancellation = database.cancellation
    return try await withTaskCancellationHandler {
      try await turns.run {
        cancellation.begin(turn, on: database.sqliteConnection)
        defer { cancellation.end() }
        try Task.checkCancellation()
        return try body(database)
      }
    } onCancel: {
      cancellation.cancel(turn)
    }
  }

  func close() throws { try access { try $0.close() } }
}

/// Gives the turns of a connection.
private actor Turns {
  private let queue: OwnQueue
  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  init(_ queue: OwnQueue) { self.queue = queue }

  func run<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result { try body() }
}

/// One thing after the other, on threads that may block.
private final class OwnQueue: SerialExecutor {
  private let queue: DispatchQueue
  private let mark = DispatchSpecificKey<ObjectIdentifier>()

  init(_ label: String) {
    queue = DispatchQueue(label: label)
    queue.setSpecific(key: mark, value: ObjectIdentifier(self))
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func sync<Result>(_ body: () throws -> Result) rethrows -> Result {
    if DispatchQueue.getSpecific(key: mark) == ObjectIdentifier(self) { return try body() }
    return try queue.sync(execute: body)
  }
}
