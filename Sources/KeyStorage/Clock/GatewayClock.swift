package import ExposureKeys
internal import Glibc
internal import Synchronization

/// The gateway's clock: the system's, judged. The lock owns the judge.
package final class GatewayClock: Sendable {
  private let reading: (@Sendable () -> ClockReading)?
  private let told: ClockLook?
  private let judge: Mutex<ClockJudge>

  /// - Parameters:
  ///   - record: what an earlier process has seen; `nil` for a new store.
  ///   - shown: a time that the folder shows to have been believed and the store does not know of; see
  ///     ``ClockJudge/take(shownByFolder:)``.
  ///   - reading: asks the system.
  package init(
    continuing record: ClockJudge.Record?, shownByFolder shown: Instant? = nil, bounds: ClockBounds = ClockBounds(),
    reading: @escaping @Sendable () -> ClockReading = { .system }
  ) {
    self.reading = reading
    told = nil
    var judge = ClockJudge(record, bounds: bounds)
    if let shown { judge.take(shownByFolder: shown) }
    self.judge = Mutex(judge)
  }

  /// A clock that stands still where an operator has put it.
  ///
  /// - Parameter isAhead: whether that time is still to come.
  package init(toldByOperator now: Instant, isAhead: Bool = false) {
    reading = nil
    told = ClockLook(toldByOperator: now, isAhead: isAhead)
    judge = Mutex(ClockJudge())
  }

  package func look() -> ClockLook {
    guard let reading else { return told ?? ClockLook(toldByOperator: Instant(secondsSince1970: 0)) }
    return judge.withLock { $0.look(reading()) }
  }

  /// The time by which the gateway works.
  package var now: Instant { look().now }

  /// The same, as a function to pass on.
  package var time: @Sendable () -> Instant { { self.now } }

  /// What the next process is to know; `nil` where an operator has named the time.
  package var record: ClockJudge.Record? { reading == nil ? nil : judge.withLock { $0.record } }

  /// See ``ClockJudge/heed(_:at:)``.
  package func heed(_ word: ClockWord) -> Bool {
    guard let reading else { return false }
    return judge.withLock { $0.heed(word, at: reading()) }
  }

  /// See ``ClockJudge/hear(hostsDiffer:at:)``.
  package func hear(hostsDiffer differences: [Int64]) -> Bool {
    guard let reading else { return false }
    return judge.withLock { $0.hear(hostsDiffer: differences, at: reading()) }
  }
}

extension ClockReading {
  /// Of this machine, now.
  package static var system: ClockReading {
    var (wall, uptime) = (timespec(), timespec())
    clock_gettime(CLOCK_REALTIME, &wall)
    clock_gettime(CLOCK_BOOTTIME, &uptime)
    return ClockReading(
      wall: Instant(secondsSince1970: Int64(wall.tv_sec)), uptime: Int64(uptime.tv_sec), boot: currentBoot)
  }

  private static let currentBoot: String = {
    var bytes = [UInt8](repeating: 0, count: 64)
    let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "unknown" }
    defer { close(descriptor) }
    let count = read(descriptor, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)).filter { $0 > 32 }, as: UTF8.self)
  }()
}
