internal import ExposureKeys
internal import Glibc
internal import PeerTransport

/// How many threads the process can start. A library ends the process with a signal if the system refuses one of its threads, so
/// that commands try it before.
enum Threads {
  /// Threads beside those that are one for each processor: of stores, of name look-ups, of services.
  private static let others = 16
  /// Of a thread that does nothing.
  private static let stackBytes = 64 << 10

  /// Starts as many threads as a command may need at a time, and ends them again.
  ///
  /// - Throws: ``TooFew``.
  static func require() throws {
    // Each processor has one that waits for connections, and one that works.
    let needed = 2 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) + others
    let started = start(needed)
    if started < needed { throw TooFew(started: started, needed: needed) }
  }

  /// For commands that speak with others: starts the threads that wait for connections, while there are enough.
  static func startEventLoops() { PeerClients.startEventLoops() }

  /// - Returns: how many of these threads there were at the same time.
  private static func start(_ count: Int) -> Int {
    let gate = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    defer { gate.deallocate() }
    pthread_mutex_init(gate, nil)
    defer { pthread_mutex_destroy(gate) }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackBytes)
    var threads: [pthread_t] = []
    pthread_mutex_lock(gate)
    for _ in 0..<count {
      var thread = pthread_t()
      let status = pthread_create(
        &thread, &attributes,
        { argument in
          let gate = argument?.assumingMemoryBound(to: pthread_mutex_t.self)
          if let gate {
            pthread_mutex_lock(gate)
            pthread_mutex_unlock(gate)
          }
          return nil
        }, gate)
      guard status == 0 else { break }
      threads.append(thread)
    }
    pthread_mutex_unlock(gate)
    for thread in threads { pthread_join(thread, nil) }
    return threads.count
  }

  struct TooFew: ProgramFault {
    let started: Int
    let needed: Int

    package var description: String { "the process can start \(started) threads; it needs \(needed)" }
    let hint: String? =
      "raise the limit of the user or the service: ulimit -u, LimitNPROC= or TasksMax=, or --pids-limit of a container"
  }
}
