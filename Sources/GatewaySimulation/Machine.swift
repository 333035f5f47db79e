import ExposureKeys
import KeyStorage
import Synchronization

/// The machine that the gateway runs on: what time it is in truth, and what its clock says.
final class Machine: Sendable {
  private struct State {
    var truth: Int64
    var uptime: Int64 = 1000
    var boot = 1
    var error: Int64 = 0
  }

  private let state: Mutex<State>

  init(at truth: Int64) { state = Mutex(State(truth: truth)) }

  /// Seconds since 1970, as nobody in the machine knows them for certain.
  var truth: Int64 { state.withLock { $0.truth } }

  /// By how many seconds the system's clock is ahead.
  var error: Int64 {
    get { state.withLock { $0.error } }
    set { state.withLock { $0.error = newValue } }
  }

  var reading: ClockReading {
    state.withLock { state in
      ClockReading(
        wall: Instant(secondsSince1970: state.truth + state.error), uptime: state.uptime, boot: "boot-\(state.boot)")
    }
  }

  func pass(seconds: Int64) {
    state.withLock { state in
      state.truth += seconds
      state.uptime += seconds
    }
  }

  /// Is off for so long, and starts again.
  func reboot(off seconds: Int64) {
    state.withLock { state in
      state.truth += seconds
      state.uptime = 20
      state.boot += 1
    }
  }
}
