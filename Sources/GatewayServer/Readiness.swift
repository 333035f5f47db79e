internal import Synchronization

/// What stands in a gateway's way, as the parts of its process have found it. An address answers 503 with the reasons for as long
/// as something does: `/ready` says whether downloads and uploads can be answered, `/ready/publishing` whether keys are pulled
/// and published. The locks own the faults, and who is asked for more.
package final class Readiness: Sendable {
  private struct Hold: Hashable {
    var kind: StandingFault.Kind
    var subject: String?
  }

  private let holds = Mutex<[Hold: StandingFault]>([:])
  private let probes = Mutex<[@Sendable () -> [StandingFault]]>([])

  package init() {}

  /// - Parameters:
  ///   - subject: of several that can have it at once, which one; the same again replaces the reason.
  ///   - reason: for people.
  package func hold(_ kind: StandingFault.Kind, of subject: String? = nil, because reason: String) {
    let fault = StandingFault(kind, of: subject, because: reason)
    holds.withLock { $0[Hold(kind: kind, subject: subject)] = fault }
  }

  package func release(_ kind: StandingFault.Kind, of subject: String? = nil) {
    holds.withLock { $0[Hold(kind: kind, subject: subject)] = nil }
  }

  /// Asks each time: a probe returns faults, none where all is well, and is quick.
  package func ask(_ probe: @escaping @Sendable () -> [StandingFault]) { probes.withLock { $0.append(probe) } }

  /// Those that hold it back in the order of their kinds, then what probes find. Empty where all is well.
  package var faults: [StandingFault] {
    let held = holds.withLock { Array($0.values) }
    return held.sorted { ($0.kind.rawValue, $0.subject ?? "") < ($1.kind.rawValue, $1.subject ?? "") }
      + probes.withLock { $0 }.flatMap { $0() }
  }

  /// The same for people.
  package var reasons: [String] { faults.map(\.sentence) }
}
