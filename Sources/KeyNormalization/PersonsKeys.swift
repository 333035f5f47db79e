internal import ExposureKeys

/// The admitted keys of one person, and the rules about them together, as Google's key server has them
/// (`docs/tek_validation`): they follow one another, and few share a start.
package struct PersonsKeys: Sendable {
  package static let countAllowed = 1...30
  package static let maximumOfOneStart = 3

  private struct Said: Hashable {
    let subject: KeySubject
    let statement: Statement
  }

  /// In the order of time. A repeated claim says nothing new, and stands here once.
  private let claims: [AdmittedClaim]

  package init(_ batch: AdmittedBatch) {
    var seen: Set<Said> = []
    claims = batch.claims
      .filter { seen.insert(Said(subject: $0.subject, statement: $0.statement)).inserted }
      .sorted {
        ($0.said.rollingStartWord, $0.said.rollingPeriodWord) < ($1.said.rollingStartWord, $1.said.rollingPeriodWord)
      }
  }

  package var count: Int { claims.count }

  /// Why all of them are refused; `nil` where nothing is wrong with them together.
  package var fault: String? {
    var end = Int64.min
    var start: Int32?
    var sharing = 0
    for claim in claims {
      let (first, period) = (claim.said.rollingStartWord, claim.said.rollingPeriodWord)
      if first == start {
        sharing += 1
        guard sharing <= Self.maximumOfOneStart else {
          return "more than \(Self.maximumOfOneStart) keys have the rolling start \(first)"
        }
      } else {
        guard Int64(first) >= end else { return "keys overlap at rolling start \(first)" }
        start = first
        sharing = 1
      }
      end = max(end, Int64(first) + Int64(period))
    }
    return nil
  }
}
