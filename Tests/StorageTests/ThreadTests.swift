import Dispatch
import Foundation
import GatewayTesting
import KeyStorage
import SQLiteDriver
import Synchronization
import Testing

@Suite("Stores: threads")
struct ThreadTests {
  @Test("bodies run on the store's own queues", arguments: StoreKind.allCases)
  func queues(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let reading = try await store.read { _ in queueName() }
      let writing = try await store.write { _ in queueName() }
      #expect(reading.hasPrefix("keyferry") && writing.hasPrefix("keyferry"), "\(reading), \(writing)")
    }
  }

  /// With bodies on the pool, as many of them as the machine has cores would stop every task for good. A store in memory has one
  /// connection for all.
  @Test(
    "bodies that wait keep no task from running", .timeLimit(.minutes(1)),
    arguments: StoreKind.allCases.filter { $0 != .memory && $0 != .repeating })
  func waiting(kind: StoreKind) async throws {
    let count = ProcessInfo.processInfo.activeProcessorCount + 2
    try await withStore(kind) { store in
      let isOpen = DispatchSemaphore(value: 0)
      let begun = Count()
      try await withThrowingTaskGroup { group in
        for number in 0..<count {
          group.addTask {
            let body = { @Sendable () throws in
              begun.add()
              guard isOpen.wait(timeout: .now() + 20) == .success else { throw TransactionTests.Stop() }
              isOpen.signal()
            }
            if number == 0 {
              try await store.write { _ in try body() }
            } else {
              try await store.read { _ in try body() }
            }
          }
        }
        while begun.value < min(count, 4) { try await Task.sleep(for: .milliseconds(1)) }
        isOpen.signal()
        try await group.waitForAll()
      }
    }
  }
}

private final class Count: Sendable {
  private let count = Mutex(0)
  var value: Int { count.withLock { $0 } }
  func add() { count.withLock { $0 += 1 } }
}

/// A store's own thread has a name in place of a queue.
private func queueName() -> String {
  let label = currentQueueLabel(nil).map { String(cString: $0) } ?? ""
  return label.hasPrefix("keyferry") ? label : Thread.current.name ?? ""
}

/// The label of the queue that runs this; Swift's overlay asks a queue that one has.
@_silgen_name("dispatch_queue_get_label")
private func currentQueueLabel(_ queue: OpaquePointer?) -> UnsafePointer<CChar>?
