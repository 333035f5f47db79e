package import ExposureKeys
internal import Glibc

/// Where the server has the time from. Tests bring their own.
package struct ServerClock: Sendable {
  let now: @Sendable () -> Instant

  package init(now: @escaping @Sendable () -> Instant) { self.now = now }

  package static let system = ServerClock {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Instant(secondsSince1970: Int64(time.tv_sec))
  }
}

/// Seconds that only go forward, for durations.
func monotonicSeconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
