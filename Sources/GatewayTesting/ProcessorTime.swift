internal import Foundation

/// The seconds that all threads of this process have had a processor: what other processes do meanwhile does not count.
package func processorSeconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
