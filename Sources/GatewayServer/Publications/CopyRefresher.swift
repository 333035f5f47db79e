/// Asks for a look at the place that what is served is a copy of, on behalf of requests for what the copy does not have.
///
/// Behind a load balancer an app has an index from one replica and asks another one for what it names, which may have it
/// some seconds later. Requests wait for one look together, and for no longer than ``patience``; looks come once a second at most.
package actor CopyRefresher {
  /// How long a request waits.
  private static let patience = Duration.seconds(4)
  /// Requests that wait at once: who asks for much that is nowhere waits for nothing.
  private static let mostWaiting = 256

  private var begun = 0
  private var ended = 0
  private var waiting = 0
  private var isWorking = false

  /// Whether somebody waits for the next look.
  package private(set) var isRung = false

  package init() {}

  /// A look begins, which sees all that was there before.
  package func begin() {
    begun += 1
    isRung = false
  }

  /// It has ended.
  ///
  /// - Parameter isSeen: whether the place was reached; until it is again, nobody waits for it.
  package func end(isSeen: Bool) {
    ended = begun
    isWorking = isSeen
  }

  /// Waits for a look that begins after this.
  ///
  /// - Returns: whether there was one.
  func look() async -> Bool {
    guard isWorking, waiting < Self.mostWaiting else { return false }
    waiting += 1
    defer { waiting -= 1 }
    let next = begun + 1
    let deadline = ContinuousClock.now + Self.patience
    while ended < next, isWorking, ContinuousClock.now < deadline {
      if begun < next { isRung = true }
      do {
        try await Task.sleep(for: .milliseconds(50))
      } catch {
        break
      }
    }
    return ended >= next && isWorking
  }
}
