/// Something that is wrong with a gateway for as long as nobody mends it.
///
/// `/ready` and `/ready/publishing` report those that parts of the running process hold (``Readiness``); `keyferry status`, the page
/// of operators and the metrics report these and what the store and files say. So a fault is declared once, as a kind, and reads
/// the same everywhere.
package struct StandingFault: Hashable, Sendable, Codable {
  package let kind: Kind
  /// Which source, series or folder has it; `nil` where the gateway has one of its kind.
  package let subject: String?
  /// For people. It names its place.
  package let reason: String

  package init(_ kind: Kind, of subject: String? = nil, because reason: String) {
    (self.kind, self.subject, self.reason) = (kind, subject, reason)
  }

  /// What is wrong, and what to do where the reason does not say it.
  package var sentence: String { reason + (advice.map { "; \($0)" } ?? "") }

  /// `nil` where the reason says it, or nobody can do anything.
  package var advice: String? { kind.advice }

  private enum CodingKeys: String, CodingKey {
    case kind = "code"
    case subject, reason
  }

  /// The raw value is a code for programs.
  package enum Kind: String, Hashable, Sendable, CaseIterable, Codable {
    // Phones and national back ends are not answered, or their keys are not taken.
    case publicationUnreadable = "publication-unreadable"
    case nothingPublished = "nothing-published"
    /// A process of the gateway was killed and has not started again.
    case gone
    case storeUnwritable = "store-unwritable"
    case noRoom = "no-room"
    case drained
    case clockOfStore = "clock-of-store"
    case shutdown

    // Phones get nothing new.
    case clock
    case notRecorded = "not-recorded"
    case silence
    case lag
    case pushSilence = "push-silence"
    case log
    case series
    case copy
    case replica
    case certificate
    case whitelist

    // A part waits for its operator or for somebody else, and the others go on.
    case source
    case quarantine
    case held
    case mirror
    case destination
    case federation
    case callback
    case work

    fileprivate var advice: String? {
      switch self {
      case .storeUnwritable, .notRecorded: "the gateway tries again until it can write"
      case .noRoom: "make room there, or have it mounted to be written to"
      case .held: "keyferry quarantine list"
      case .callback: "keyferry callbacks resume"
      case .work: "start keyferry run on a replica"
      case .publicationUnreadable, .nothingPublished, .gone, .drained, .clockOfStore, .shutdown, .clock, .silence, .lag,
        .pushSilence,
        .log, .series, .copy, .replica, .certificate, .whitelist, .source, .quarantine, .mirror, .destination,
        .federation:
        nil
      }
    }
  }

  /// What a running gateway has found, and what its store and files say beside that. Of what is the same the gateway knows
  /// more: why a series is not published, and not only that it was not.
  package static func all(_ live: [StandingFault], beside stored: [StandingFault]) -> [StandingFault] {
    let known = Set(live.map(\.place))
    return live + stored.filter { !known.contains($0.place) }
  }

  private struct Place: Hashable {
    let kind: Kind
    let subject: String?
  }

  private var place: Place { Place(kind: kind, subject: subject) }
}
