internal import ExposureKeys
internal import Glibc

/// How many files and connections the process may have open.
package enum Descriptors {
  /// Below it the event loops themselves cannot be made.
  private static let forConnections: rlim_t = 64
  /// Below it nothing can wait for anything.
  private static let forThreads: rlim_t = 16

  /// `O_PATH`, which Swift does not see: a descriptor that can be neither read nor written.
  private static let placeAlone: Int32 = 0o10_000_000

  /// Gives the numbers of standard input, output and error to nothing where the caller has closed them: reading and writing there
  /// fails, and no file that is opened later gets what is meant for them.
  package static func occupyStandard() {
    // The lowest number that is free is taken.
    for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 { _ = open("/", Self.placeAlone) }
  }

  /// Takes what the system allows.
  package static func raise() {
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
  package static func require() throws {
    try require(forConnections)
    Threads.startEventLoops()
  }

  /// For commands that wait for something.
  ///
  /// - Throws: ``TooFew``, ``Threads/TooFew``, and ``NoThreads`` where the system's queues would end the process after a second.
  package static func requireThreads() throws {
    try require(forThreads)
    guard access("/proc/self/task", R_OK) == 0 else { throw NoThreads() }
    try Threads.require()
  }

  package struct NoThreads: ProgramFault {
    package var description: String {
      "/proc: nothing is mounted there, which commands that ask others or wait for them need"
    }
    let hint: String? =
      "mount it where the program runs, as root: mount -t proc proc /proc; in a container, give it /proc"
  }

  private static func require(_ least: rlim_t) throws {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < least else { return }
    throw TooFew(allowed: UInt64(limit.rlim_cur), least: UInt64(least))
  }

  package struct TooFew: ProgramFault {
    let allowed: UInt64
    let least: UInt64

    package var description: String {
      "the process may have \(allowed) files open, needed are \(least) or more: raise it with ulimit -n, or LimitNOFILE"
    }
  }
}
