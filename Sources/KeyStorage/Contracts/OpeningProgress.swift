internal import Synchronization

/// How far the opening of a store has come that an earlier version has written: of many claims it takes minutes.
package struct OpeningStep: Hashable, Sendable {
  package enum Work: String, Hashable, Sendable {
    case moving = "claims moved"
    case noting = "claims noted"
  }

  package let work: Work
  package let done: Int
  package let total: Int

  package init(_ work: Work, done: Int, of total: Int) {
    self.work = work
    self.done = done
    self.total = total
  }
}

/// Who has started this process and waits for a store to be opened. Stores are opened before anything else runs, deep in what asks for
/// them, so there is one of it in a process.
package enum OpeningProgress {
  private static let listener = Mutex<(@Sendable (OpeningStep) -> Void)?>(nil)

  package static func listen(_ body: (@Sendable (OpeningStep) -> Void)?) { listener.withLock { $0 = body } }

  package static func tell(_ step: OpeningStep) { listener.withLock { $0 }?(step) }
}
