internal import Glibc
internal import KeyStorage
internal import Logging
internal import ServiceLifecycle
internal import Synchronization
internal import WorkThreads

/// Sees to it that a gateway that is told to end does: nobody waits for a database that does not answer, and what holds it up after all
/// that is left behind.
struct ShutdownDeadline: Service {
  let ledger: Ledger
  /// `nil` where nobody shares the store.
  let replica: Replica?
  /// Is called after ``limit``.
  let overdue: (@Sendable () -> Void)?
  /// Whether the gateway has ended.
  let isOver = Ended()

  init(ledger: Ledger, replica: Replica?, overdue: (@Sendable () -> Void)?) {
    self.ledger = ledger
    self.replica = replica
    self.overdue = overdue
  }

  /// The locks own the marks.
  final class Ended: Sendable {
    private let mark = Mutex(false)
    private let begun = Mutex<ContinuousClock.Instant?>(nil)
    var value: Bool { mark.withLock { $0 } }
    func set() { mark.withLock { $0 = true } }
    func begin() { begun.withLock { $0 = .now } }
    /// Whether what was under way was cut off, whatever it said of that.
    var isLate: Bool { begun.withLock { $0.map { .now - $0 >= .seconds(ShutdownDeadline.patience) } ?? false } }
  }

  /// For what a database has begun.
  static let storeTime = Duration.seconds(8)
  /// Seconds that services have for what is under way.
  static let patience: Int64 = 50
  /// Ten seconds more.
  static let limit: UInt32 = 60

  func run() async throws {
    try? await gracefulShutdown()
    isOver.begin()
    replica?.end()
    ledger.hurry(within: Self.storeTime)
    guard let overdue else { return }
    // What hangs may hang on every thread of the concurrency pool.
    let thread = WorkThread { [isOver] in
      // A signal wakes it up before.
      var left = Self.limit
      while left > 0 { left = sleep(left) }
      guard !isOver.value else { return }
      let logger = Logger(label: "keyferry")
      logger.critical("the gateway was told to end a minute ago and is held up; it ends now")
      overdue()
    }
    thread?.leave()
  }
}

/// A gateway was told to end, and something was not over in time.
struct HeldUp: Error, CustomStringConvertible {
  var description: String {
    "the gateway was told to end, and what was under way was not over after \(ShutdownDeadline.patience) seconds; it is taken up at the next start"
  }
}

extension ShutdownDeadline: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  var description: String { "ending" }
}
