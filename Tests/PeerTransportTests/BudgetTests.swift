import KeyPeers
import PeerTransport
import Synchronization
import Testing

@Suite struct BudgetTests {
  /// Sources with the same way to make a connection share the connections themselves; others the budget.
  @Test(arguments: [true, false])
  func severalSourcesShareTheConnectionsToAHost(sharesClient: Bool) async throws {
    let counter = Counter()
    try await Bench.run { _, connection in
      counter.enter()
      // Long enough for the others to come, if they were let in; and for all that are let in.
      for turn in 0..<500 where turn == 0 || counter.most < 3 { try await Task.sleep(for: .milliseconds(20)) }
      counter.leave()
      try await connection.respond(body: "keys")
    } _: { bench, server in
      let transports = try (0..<4).map { index in
        try bench.transport(server) {
          $0.connectionsPerHost = 3
          $0.http2 = sharesClient || index.isMultiple(of: 2)
        }
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<24 {
          group.addTask { _ = try await transports[index % 4].ask(PeerRequest(url: "\(index)")) }
        }
        try await group.waitForAll()
      }
      #expect(server.log.requests.count == 24)
      #expect(counter.most == 3)
      if sharesClient { #expect(server.log.mostConnections == 3) }
    }
  }

  /// As many as the limit are inside and stay there until the others stand in the queue: on a busy machine, too.
  @Test(arguments: [[1], [3], [3, 2]])
  func neverRunsMoreThanTheLimit(limits: [Int]) async throws {
    let budget = ConnectionBudget()
    let counter = Counter()
    let (gate, open) = AsyncStream<Void>.makeStream()
    let (arrivals, arrival) = AsyncStream<Void>.makeStream()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<limits[0] {
        group.addTask {
          try await budget.withPermit(for: "h", limit: limits[0]) {
            counter.enter()
            arrival.yield()
            for await _ in gate {}
            counter.leave()
          }
        }
      }
      var inside = arrivals.makeAsyncIterator()
      for _ in 0..<limits[0] { await inside.next() }
      for index in 0..<200 {
        group.addTask {
          try await budget.withPermit(for: "h", limit: limits[index % limits.count]) {
            counter.enter()
            for _ in 0..<20 { await Task.yield() }
            counter.leave()
          }
        }
      }
      open.finish()
      try await group.waitForAll()
    }
    #expect(counter.most == limits[0])
  }

  @Test func aCancelledWaiterLeavesTheQueue() async throws {
    let budget = ConnectionBudget()
    let (held, hold) = AsyncStream<Void>.makeStream()
    let (entered, enter) = AsyncStream<Void>.makeStream()
    let holder = Task {
      try await budget.withPermit(for: "h", limit: 1) {
        enter.finish()
        for await _ in held {}
      }
    }
    for await _ in entered {}
    let waiters = (0..<20).map { _ in Task { try await budget.withPermit(for: "h", limit: 1) {} } }
    for waiter in waiters { waiter.cancel() }
    for waiter in waiters { await #expect(throws: CancellationError.self) { try await waiter.value } }
    // Another host is not held up, and neither is this one when the holder is done.
    try await budget.withPermit(for: "g", limit: 1) {}
    hold.finish()
    try await holder.value
    try await budget.withPermit(for: "h", limit: 1) {}
  }
}

/// How many were inside at once.
private final class Counter: Sendable {
  private let counts = Mutex((inside: 0, most: 0))

  var most: Int { counts.withLock { $0.most } }

  func enter() {
    counts.withLock {
      $0.inside += 1
      $0.most = max($0.most, $0.inside)
    }
  }

  func leave() { counts.withLock { $0.inside -= 1 } }
}
