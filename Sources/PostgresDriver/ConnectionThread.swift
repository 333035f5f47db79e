import Dispatch
import Synchronization
import WorkThreads

/// A thread of its own for one connection: what blocks, blocks here, and never on a thread of the concurrency pool. It ends
/// when nobody has it any more.
final class ConnectionThread: Sendable {
  private let work = WorkList()
  /// Whether the system gave one.
  private let isThere: Bool

  init(name: String) {
    let thread = WorkThread(name: name) { [work] in
      var connection: PostgresConnection?
      while let job = work.next() { job(&connection) }
    }
    isThere = thread != nil
    thread?.leave()
  }

  deinit { work.end() }

  /// The same for a caller that waits for it.
  func runAndWait<Result: Sendable>(
    _ body: @escaping @Sendable (inout PostgresConnection?) throws -> Result
  ) throws -> Result {
    try requireThread()
    let end = DispatchSemaphore(value: 0)
    let result = Mutex<Swift.Result<Result, any Error>?>(nil)
    work.add { connection in
      let outcome = Swift.Result { try body(&connection) }
      result.withLock { $0 = outcome }
      end.signal()
    }
    end.wait()
    guard let outcome = result.withLock({ $0 }) else {
      throw PostgresError(state: nil, message: "a connection's thread gave nothing", isLost: true)
    }
    return try outcome.get()
  }

  /// Runs one job behind those that were handed over before.
  ///
  /// - Parameter body: is given the connection as the job before left it, and leaves it as the next one shall have it.
  func run<Result: Sendable>(
    _ body: @escaping @Sendable (inout PostgresConnection?) throws -> Result
  ) async throws -> Result {
    try requireThread()
    return try await withCheckedThrowingContinuation { continuation in
      work.add { connection in continuation.resume(with: Swift.Result { try body(&connection) }) }
    }
  }

  private func requireThread() throws {
    guard isThere else { throw PostgresError(state: nil, message: "the system gives no thread", isLost: true) }
  }
}

/// The jobs of one thread, in their order.
private final class WorkList: Sendable {
  typealias Job = @Sendable (inout PostgresConnection?) -> Void

  private struct State {
    var jobs: [Job] = []
    var isEnded = false
  }

  private let state = Mutex(State())
  /// Counts what was added, and the end.
  private let news = DispatchSemaphore(value: 0)

  func add(_ job: @escaping Job) {
    state.withLock { $0.jobs.append(job) }
    news.signal()
  }

  func end() {
    state.withLock { $0.isEnded = true }
    news.signal()
  }

  /// Waits for the next one; `nil` where none will come.
  func next() -> Job? {
    while true {
      news.wait()
      let (job, isOver): (Job?, Bool) = state.withLock { state in
        let job = state.jobs.isEmpty ? nil : state.jobs.removeFirst()
        return (job, state.isEnded && job == nil)
      }
      if let job { return job }
      if isOver { return nil }
    }
  }
}

/// Threads that read, so many at most; who finds none waits for the next one.
final class ReadingThreads: Sendable {
  private struct State {
    var idle: [ConnectionThread] = []
    var count = 0
    var waiting: [CheckedContinuation<ConnectionThread, Never>] = []
  }

  /// Which are at work, and who waits.
  private let state = Mutex(State())
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  func run<Result: Sendable>(
    _ body: @escaping @Sendable (inout PostgresConnection?) throws -> Result
  ) async throws -> Result {
    let thread = await take()
    defer { give(thread) }
    return try await thread.run(body)
  }

  private func take() async -> ConnectionThread {
    await withCheckedContinuation { continuation in
      let thread: ConnectionThread? = state.withLock { state in
        if let idle = state.idle.popLast() { return idle }
        guard state.count < limit else {
          state.waiting.append(continuation)
          return nil
        }
        state.count += 1
        return ConnectionThread(name: "keyferry read \(state.count)")
      }
      if let thread { continuation.resume(returning: thread) }
    }
  }

  private func give(_ thread: ConnectionThread) {
    let next: CheckedContinuation<ConnectionThread, Never>? = state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.idle.append(thread)
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.resume(returning: thread)
  }
}
