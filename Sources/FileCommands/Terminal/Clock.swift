package import ExposureKeys
internal import Glibc

/// The one place that asks the system for the time.
package enum Clock {
  package static var now: Instant {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Instant(secondsSince1970: Int64(time.tv_sec))
  }
}
