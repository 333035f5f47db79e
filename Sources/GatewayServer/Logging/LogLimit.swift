package import Logging
internal import Synchronization

/// Lets a line into the log once a minute for each reason, and counts the others: what strangers ask as often as they like
/// fills no disk. The lock owns the counts.
package final class LogLimit: Sendable {
  private struct Reason {
    var next: Double
    var left = 0
  }

  private static let seconds = 60.0
  /// Reasons that are remembered; where there are more, those of the last minute alone.
  private static let most = 256

  private let reasons = Mutex<[String: Reason]>([:])

  package init() {}

  /// - Parameters:
  ///   - reason: a stable code, or what it is about.
  ///   - now: seconds of a steady clock.
  /// - Returns: how many lines of this reason were left out since the last one; `nil` where this one is left out, too.
  func admit(_ reason: String, at now: Double = monotonicSeconds()) -> Int? {
    reasons.withLock { reasons in
      if var known = reasons[reason] {
        guard now >= known.next else {
          known.left += 1
          reasons[reason] = known
          return nil
        }
        reasons[reason] = Reason(next: now + Self.seconds)
        return known.left
      }
      if reasons.count >= Self.most {
        reasons = reasons.filter { $0.value.next > now }
        // More reasons than that in a minute: nobody reads them.
        guard reasons.count < Self.most else { return nil }
      }
      reasons[reason] = Reason(next: now + Self.seconds)
      return 0
    }
  }
}

extension Logger {
  /// For libraries: the routine that they tell in words of their own stands in the log in ours.
  var withoutRoutine: Logger {
    var logger = self
    logger.logLevel = max(logLevel, .notice)
    logger.handler = UncancelledLogHandler(handler: logger.handler)
    return logger
  }

  /// Says this at most once a minute for each reason, and how often it was left out since.
  package func log(
    _ level: Logger.Level, _ message: @autoclosure () -> Logger.Message, within limit: LogLimit, reason: String,
    metadata: @autoclosure () -> Logger.Metadata = [:]
  ) {
    guard let left = limit.admit(reason) else { return }
    var data = metadata()
    if left > 0 { data["left_out"] = .stringConvertible(left) }
    let fields = data
    log(level: level, message(), metadata: fields)
  }
}
