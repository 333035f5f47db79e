internal import Glibc
internal import WorkThreads

/// Work on many things by several threads, whose results are handed over in the order in which the things came.
///
/// So many things at most are being worked on or wait for their turn. Without a thread everything is done where it comes.
/// The lock owns the things, the results and the end; what a thread works on is its own until the result is handed over.
final class OrderedWork<Thing, Result> {
  private let state: State
  private var threads: [WorkThread] = []
  private let ahead: Int

  /// - Parameters:
  ///   - threads: how many there are to be.
  ///   - ahead: how many things are taken before the first of them has been handed over.
  ///   - work: is run on any thread.
  init(threads count: Int, ahead: Int, _ work: @escaping @Sendable (Thing) -> Result) {
    self.ahead = max(ahead, 1)
    let state = State(work)
    self.state = state
    for _ in 0..<count {
      guard let thread = WorkThread({ state.run() }) else { break }
      threads.append(thread)
    }
  }

  deinit {
    state.stop()
    for thread in threads { thread.wait() }
  }

  /// Takes a thing, and hands over what is ready; waits where too much is not.
  func take(_ thing: Thing, _ use: (Result) throws -> Void) throws {
    guard !threads.isEmpty else { return try use(state.work(thing)) }
    state.add(thing)
    while let result = state.next(waiting: state.openCount >= ahead) { try use(result) }
  }

  /// Waits for all results.
  func finish(_ use: (Result) throws -> Void) throws {
    while let result = state.next(waiting: state.openCount > 0) { try use(result) }
  }

  /// How many processors there are.
  static var processors: Int { max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1) }

  private final class State: @unchecked Sendable {
    let work: @Sendable (Thing) -> Result
    private var things: [Int: Thing] = [:]
    private var results: [Int: Result] = [:]
    /// Numbers of the next thing to come, to be worked on, and to be handed over.
    private var (added, begun, handed) = (0, 0, 0)
    private var isStopped = false
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init(_ work: @escaping @Sendable (Thing) -> Result) {
      self.work = work
      pthread_mutex_init(lock, nil)
      pthread_cond_init(changed, nil)
    }

    deinit {
      pthread_cond_destroy(changed)
      pthread_mutex_destroy(lock)
      changed.deallocate()
      lock.deallocate()
    }

    /// Those that have come and were not handed over.
    var openCount: Int { locked { added - handed } }

    func add(_ thing: Thing) {
      locked {
        things[added] = thing
        added += 1
        pthread_cond_broadcast(changed)
      }
    }

    /// The result whose turn it is; `nil` where it is not ready and nobody waits for it.
    func next(waiting: Bool) -> Result? {
      locked {
        while waiting, results[handed] == nil { pthread_cond_wait(changed, lock) }
        guard let result = results.removeValue(forKey: handed) else { return nil }
        handed += 1
        return result
      }
    }

    func run() {
      while let (number, thing) = begin() {
        let result = work(thing)
        locked {
          results[number] = result
          pthread_cond_broadcast(changed)
        }
      }
    }

    private func begin() -> (Int, Thing)? {
      locked {
        while !isStopped, begun == added { pthread_cond_wait(changed, lock) }
        guard !isStopped, let thing = things.removeValue(forKey: begun) else { return nil }
        begun += 1
        return (begun - 1, thing)
      }
    }

    func stop() {
      locked {
        isStopped = true
        pthread_cond_broadcast(changed)
      }
    }

    private func locked<Value>(_ body: () -> Value) -> Value {
      pthread_mutex_lock(lock)
      defer { pthread_mutex_unlock(lock) }
      return body()
    }
  }
}
