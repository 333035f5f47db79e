internal import Synchronization

/// How many requests run at once, for each host and port and across all sources: the polite limit.
///
/// The lock owns the counts and the queues. Who comes first is served first; a source with a lower limit than others
/// waits until so few are running that its own limit holds.
package final class ConnectionBudget: Sendable {
  private struct Host {
    var running = 0
    var queue: [(ticket: UInt64, limit: Int, continuation: CheckedContinuation<Bool, Never>)] = []
  }

  private struct State {
    var hosts: [String: Host] = [:]
    var nextTicket: UInt64 = 0
    /// Cancelled between taking a ticket and joining the queue.
    var cancelled: Set<UInt64> = []
  }

  private let state = Mutex(State())

  package init() {}

  /// Runs `operation` when fewer than `limit` (at least 1) run for `host`.
  ///
  /// - Throws: `CancellationError` when the task is cancelled while it waits; otherwise what `operation` throws.
  package func withPermit<Result>(
    for host: String, limit: Int, isolation: isolated (any Actor)? = #isolation, _ operation: () async throws -> Result
  ) async throws -> Result {
    try await acquire(host, limit: max(1, limit))
    defer { release(host) }
    return try await operation()
  }

  private func acquire(_ host: String, limit: Int) async throws {
    let ticket = state.withLock { state in
      state.nextTicket += 1
      return state.nextTicket
    }
    let isGranted = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer: Bool? = state.withLock { state in
          if state.cancelled.remove(ticket) != nil { return false }
          var entry = state.hosts[host] ?? Host()
          defer { state.hosts[host] = entry }
          if entry.queue.isEmpty, entry.running < limit {
            entry.running += 1
            return true
          }
          entry.queue.append((ticket, limit, continuation))
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      cancel(ticket, host)
    }
    state.withLock { _ = $0.cancelled.remove(ticket) }
    if !isGranted { throw CancellationError() }
  }

  private func cancel(_ ticket: UInt64, _ host: String) {
    let resumed = state.withLock { state -> [(CheckedContinuation<Bool, Never>, Bool)] in
      guard let place = state.hosts[host]?.queue.firstIndex(where: { $0.ticket == ticket }) else {
        state.cancelled.insert(ticket)
        return []
      }
      guard let left = state.hosts[host]?.queue.remove(at: place) else { return [] }
      return [(left.continuation, false)] + Self.grant(host, &state)
    }
    for (continuation, isGranted) in resumed { continuation.resume(returning: isGranted) }
  }

  private func release(_ host: String) {
    let resumed = state.withLock { state in
      state.hosts[host]?.running -= 1
      return Self.grant(host, &state)
    }
    for (continuation, isGranted) in resumed { continuation.resume(returning: isGranted) }
  }

  private static func grant(_ host: String, _ state: inout State) -> [(CheckedContinuation<Bool, Never>, Bool)] {
    guard var entry = state.hosts[host] else { return [] }
    var granted: [(CheckedContinuation<Bool, Never>, Bool)] = []
    while let first = entry.queue.first, entry.running < first.limit {
      entry.queue.removeFirst()
      entry.running += 1
      granted.append((first.continuation, true))
    }
    state.hosts[host] = entry.running == 0 && entry.queue.isEmpty ? nil : entry
    return granted
  }
}
