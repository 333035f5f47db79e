internal import Synchronization

/// Whether something is as it should be: an address answers 503 with the reasons for as long as it is not. `/ready` says
/// whether downloads and uploads can be answered, `/ready/publishing` whether keys are pulled and published. The locks own
/// the reasons, and who is asked for more.
package final class Readiness: Sendable {
  private let holds = Mutex<[String: String]>([:])
  private let probes = Mutex<[@Sendable () -> [String]]>([])

  package init() {}

  /// - Parameters:
  ///   - name: who holds it back; the same name again replaces the reason.
  ///   - reason: for people.
  package func hold(_ name: String, because reason: String) { holds.withLock { $0[name] = reason } }

  package func release(_ name: String) { holds.withLock { $0[name] = nil } }

  /// Asks each time: a probe returns reasons, none where all is well, and is quick.
  package func ask(_ probe: @escaping @Sendable () -> [String]) { probes.withLock { $0.append(probe) } }

  /// Why not: those who hold it back in the order of their names, then what probes find. Empty where all is well.
  package var reasons: [String] {
    holds.withLock { $0 }.sorted { $0.key < $1.key }.map(\.value) + probes.withLock { $0 }.flatMap { $0() }
  }
}
