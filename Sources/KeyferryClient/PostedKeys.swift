internal import Dispatch
public import Foundation

/// The keys that a ``Server`` has posted, and who watches them. `Server.shared.$diagnosisKeys` is this object, with the members
/// that the debugging screens of Apple's sample use.
///
/// The lock owns the keys.
@propertyWrapper public final class PostedKeys: @unchecked Sendable {
  /// Posted on the main queue after each change, with this object as its object.
  public let notificationName = Notification.Name("KeyferryClient.Server.diagnosisKeys")

  private let lock = NSLock()
  private var keys: [CodableDiagnosisKey] = []

  public init() {}

  public var wrappedValue: [CodableDiagnosisKey] {
    get { lock.withLock { keys } }
    set {
      lock.withLock { keys = newValue }
      notify()
    }
  }

  public var projectedValue: PostedKeys { self }

  /// Calls a block on the main queue after each change, until the observer is given to
  /// `NotificationCenter.default.removeObserver(_:)`.
  @discardableResult
  public func addObserver(using block: @escaping () -> Void) -> any NSObjectProtocol {
    let watcher = Watcher(block)
    return NotificationCenter.default.addObserver(forName: notificationName, object: self, queue: nil) { _ in
      watcher.block()
    }
  }

  /// Adds the keys that are not there yet.
  func add(_ posted: some Sequence<CodableDiagnosisKey>) {
    let isChange = lock.withLock {
      let count = keys.count
      for key in posted where !keys.contains(key) { keys.append(key) }
      return keys.count > count
    }
    if isChange { notify() }
  }

  /// Posts at once on the main thread, as the sample does. The main queue may run on another thread, as it does behind
  /// `dispatchMain()` on Linux, so the block on that queue does not ask again.
  private func notify() {
    if Thread.isMainThread { post() } else { DispatchQueue.main.async { self.post() } }
  }

  private func post() { NotificationCenter.default.post(name: notificationName, object: self) }

  /// A block on its way to the main queue. It is made by the app, and called there alone.
  private struct Watcher: @unchecked Sendable {
    let block: () -> Void

    init(_ block: @escaping () -> Void) { self.block = block }
  }
}
