internal import Synchronization

/// Tells whether a database that runs elsewhere answers.
package protocol StorePulse: Sendable {
  /// Asks it something that takes it no time, beside whatever else it does.
  func beats(within time: Duration) async -> Bool
}

/// A store for callers that keep a client waiting: while its database is stopped or hangs, reading and writing fail within two seconds,
/// and at once when that is known.
///
/// Work that takes long is no sign of an outage, since another writer may have the lock. So the store asks the database by another
/// connection. If the database does not answer, the store gives the work up: no client waits for it any more, so it must keep nothing. It
/// keeps something all the same if its commit was on its way already.
final class AnsweringStore: Store {
  private let base: any Store
  private let pulse: any StorePulse
  private let isAway = Atomic(false)

  /// How long work may take before the database is asked, and how long the answer may take.
  private static let patience = Duration.milliseconds(800)
  /// Between two questions while it is away.
  private static let pause = Duration.seconds(1)

  init(_ base: any Store, pulse: any StorePulse) { (self.base, self.pulse) = (base, pulse) }

  var role: StoreRole { base.role }
  var place: String { base.place }
  var leases: (any LeaseStore)? { base.leases }
  func copy(to path: String) async throws { try await base.copy(to: path) }
  func damage(limit: Int) async throws -> [String] { try await base.damage(limit: limit) }
  func settle() async { await base.settle() }
  func hurry(within time: Duration) { base.hurry(within: time) }

  func read<Result: Sendable>(
    _ body: @escaping @Sendable (any StoredState) throws -> Result
  ) async throws -> Result {
    try await answering { [base] _ in try await base.read(body) }
  }

  func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    try await answering { [base, fault] answer in
      try await base.write(as: authority) { transaction in
        let result = try body(transaction)
        guard answer.isAwaited else { throw fault }
        return result
      }
    }
  }

  private var fault: StorageFault { StorageFault(.inputOutput, "\(place): the database does not answer") }

  private func answering<Result: Sendable>(
    _ work: @escaping @Sendable (FirstAnswer<Result>) async throws -> Result
  ) async throws -> Result {
    if isAway.load(ordering: .relaxed) { throw fault }
    let answer = FirstAnswer<Result>()
    let watch = Task { [self] in
      while answer.isAwaited {
        guard (try? await Task.sleep(for: Self.patience)) != nil else { return }
        if await pulse.beats(within: Self.patience) { continue }
        goAway()
        answer.give(.failure(fault))
      }
    }
    Task {
      do { answer.give(.success(try await work(answer))) } catch { answer.give(.failure(error)) }
      watch.cancel()
    }
    return try await answer.value()
  }

  /// The store refuses all work until the database answers.
  private func goAway() {
    guard !isAway.exchange(true, ordering: .relaxed) else { return }
    Task { [weak self, pulse] in
      while !(await pulse.beats(within: Self.pause)), self != nil { try? await Task.sleep(for: Self.pause) }
      self?.isAway.store(false, ordering: .relaxed)
    }
  }
}

/// The first of several answers to one who waits. The lock owns who that is.
package final class FirstAnswer<Value: Sendable>: Sendable {
  private enum State {
    case awaited(CheckedContinuation<Value, any Error>?)
    case given(Result<Value, any Error>)
  }

  private let state = Mutex(State.awaited(nil))

  package init() {}

  /// Whether no answer was given.
  package var isAwaited: Bool { state.withLock { if case .awaited = $0 { true } else { false } } }

  /// Only the first one counts.
  package func give(_ answer: Result<Value, any Error>) {
    let waiter: CheckedContinuation<Value, any Error>? = state.withLock { state in
      guard case .awaited(let waiter) = state else { return nil }
      state = .given(answer)
      return waiter
    }
    waiter?.resume(with: answer)
  }

  /// Waits for it. One waits.
  package func value() async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let answer: Result<Value, any Error>? = state.withLock { state in
        if case .given(let answer) = state { return answer }
        state = .awaited(continuation)
        return nil
      }
      if let answer { continuation.resume(with: answer) }
    }
  }
}
