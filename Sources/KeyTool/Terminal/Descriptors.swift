internal import Glibc

/// How many files and connections the process may have open.
enum Descriptors {
  /// Below it the event loops themselves cannot be made.
  private static let least: rlim_t = 64

  /// Takes what the system allows.
  static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else {
      return
    }
    limit.rlim_cur = min(limit.rlim_max, 1 << 20)
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// For commands that speak with others.
  ///
  /// - Throws: ``TooFew``.
  static func require() throws {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < least else { return }
    throw TooFew(allowed: UInt64(limit.rlim_cur), least: UInt64(least))
  }

  struct TooFew: Error, CustomStringConvertible {
    let allowed: UInt64
    let least: UInt64

    var description: String {
      "the process may have \(allowed) files open, needed are \(least) or more: raise it with ulimit -n, or LimitNOFILE"
    }
  }
}
