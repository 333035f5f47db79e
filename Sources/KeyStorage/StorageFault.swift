/// Why the store could not do what it was asked to.
public struct StorageFault: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: String, Hashable, Sendable, CaseIterable {
    /// Another process has the store.
    case held
    /// What was asked for is not there.
    case notFound = "not-found"
    /// A newer version wrote the store, or it is none of ours.
    case incompatible
    case corrupt
    case full
    case inputOutput = "input-output"
  }

  public var code: Code
  public var reason: String

  public init(_ code: Code, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  public var description: String { reason }
}
