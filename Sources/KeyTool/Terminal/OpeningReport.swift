internal import GatewayDaemon
internal import Glibc
internal import KeyIntake
internal import KeyStorage
internal import Synchronization

/// Says how far the opening of a store of an earlier version has come: drawn over and over on a terminal, otherwise a line at most every
/// five seconds. Whoever supervises this process is told that it takes longer.
final class OpeningReport: Sendable {
  private struct Said {
    var time = -Double.infinity
    var isDrawn = false
  }

  private let said = Mutex(Said())
  private let isTerminal: Bool
  private let manager: ServiceManager?
  private let now: @Sendable () -> Double
  private let note: @Sendable (String) -> Void
  private let draw: @Sendable (String) -> Void

  static let interval: Double = 5

  init(
    isTerminal: Bool = Console.isErrorTerminal, manager: ServiceManager?,
    now: @escaping @Sendable () -> Double = { OpeningReport.seconds },
    note: @escaping @Sendable (String) -> Void = { Console.remark($0) },
    draw: @escaping @Sendable (String) -> Void = { if !Loudness.isQuiet { Console.error($0) } }
  ) {
    self.isTerminal = isTerminal
    self.manager = manager
    self.now = now
    self.note = note
    self.draw = draw
  }

  func tell(_ step: OpeningStep) {
    let isOver = step.done >= step.total
    if !isOver { manager?.tell(.opening) }
    said.withLock { said in
      if isTerminal {
        if !isOver {
          draw("\r\u{1b}[Kkeyferry: \(Progress.line(step.work.rawValue, done: step.done, of: step.total))")
        } else if said.isDrawn {
          draw("\r\u{1b}[K")
        }
        said.isDrawn = !isOver
      } else if !isOver, now() - said.time >= Self.interval {
        said.time = now()
        note(Self.line(step))
      }
    }
  }

  /// `claims moved: 12,000,000 of 50,000,000`
  static func line(_ step: OpeningStep) -> String {
    "the store of an earlier version is opened: \(step.work.rawValue): \(grouped(step.done)) of \(grouped(step.total))"
  }

  private static var seconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
