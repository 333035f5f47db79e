package import ExposureKeys
internal import Glibc

/// What time and chance are: the system's, or a test's.
package struct TransportClock: Sendable {
  package var sleep: @Sendable (Duration) async throws -> Void
  /// In 0..<1.
  package var random: @Sendable () -> Double
  package var now: @Sendable () -> Instant

  package init(
    sleep: @escaping @Sendable (Duration) async throws -> Void, random: @escaping @Sendable () -> Double,
    now: @escaping @Sendable () -> Instant
  ) {
    self.sleep = sleep
    self.random = random
    self.now = now
  }

  package static let system = TransportClock(
    sleep: { try await Task.sleep(for: $0) }, random: { Double.random(in: 0..<1) },
    now: { Instant(secondsSince1970: Int64(time(nil))) })
}

/// When a failed request is tried again: exponential back-off with full jitter, and what the server asks for.
package struct RetryPolicy: Sendable {
  package static let base: Duration = .milliseconds(500)
  package static let cap: Duration = .seconds(30)
  /// A server that asks for more is not asked again before the next pull.
  package static let longestWait: Int64 = 60

  package let retries: Int

  package init(retries: Int) { self.retries = max(0, retries) }

  /// Answers that may be others in a moment.
  package static func isTemporary(status: Int) -> Bool { [408, 425, 429, 500, 502, 503, 504].contains(status) }

  /// How long to wait before the retry with this number, 1 for the first.
  ///
  /// - Parameter wish: seconds from the `Retry-After` header.
  /// - Returns: `nil` when there is no retry.
  package func delay(beforeRetry number: Int, wish: Int64? = nil, random: Double) -> Duration? {
    guard number <= retries, (wish ?? 0) <= Self.longestWait else { return nil }
    let longest = min(Self.cap, Self.base * (1 << min(number - 1, 16)))
    return max(longest * random, .seconds(wish ?? 0))
  }

  /// Seconds that a `Retry-After` header asks for (RFC 9110, 10.2.3): a number, or a date. `nil` where it is neither.
  package static func seconds(retryAfter text: String, now: Instant) -> Int64? {
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return Int64(text) ?? .max }
    guard let instant = HTTPDate.instant(text) else { return nil }
    return max(0, instant.secondsSince1970 - now.secondsSince1970)
  }
}
