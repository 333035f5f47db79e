#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A thread that does one work, which may block. What the work holds is the thread's until it has been waited for.
package struct WorkThread {
  private let thread: pthread_t

  private final class Work {
    let name: String?
    let body: () -> Void

    init(_ name: String?, _ body: @escaping () -> Void) {
      self.name = name
      self.body = body
    }

    func run() {
      if let name { WorkThread.say(name) }
      body()
    }
  }

  /// Linux takes fifteen bytes from a thread that says its own name. Elsewhere there is no such file, and no name.
  fileprivate static func say(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    if file < 0 { return }
    _ = Array(name.utf8).withUnsafeBytes { write(file, $0.baseAddress, min($0.count, 15)) }
    close(file)
  }

  /// - Parameter name: as the system shows it.
  /// - Returns: `nil` where the system gives no thread; `body` is not run then.
  package init?(name: String? = nil, _ body: @escaping () -> Void) {
    let work = Unmanaged.passRetained(Work(name, body))
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    let status = pthread_create(
      &thread, nil,
      { argument in
        // Some systems say that it may be nil.
        let work: UnsafeMutableRawPointer? = argument
        if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().run() }
        return nil
      }, work.toOpaque())
    guard status == 0 else {
      work.release()
      return nil
    }
    #if canImport(Darwin)
      guard let thread else { return nil }
    #endif
    self.thread = thread
  }

  package func wait() { pthread_join(thread, nil) }

  /// Nobody waits for it.
  package func leave() { pthread_detach(thread) }
}
