package import ExposureKeys

/// How a gateway stands, for the page of its operators: what `keyferry status` and `keyferry quarantine` tell, at a glance. Never
/// key material.
package struct OperatorsReport: Sendable {
  /// How much somebody should look at something.
  package enum Mark: String, Sendable {
    case good, quiet, warning, bad
  }

  package struct Source: Sendable {
    package var name: String
    /// The protocol; `uploads` and `federation` for doors.
    package var kind: String
    /// A word of `keyferry status`: `fine`, `paused`, `failing`.
    package var state: String
    package var mark: Mark
    /// Seconds since the last pull without a fault; `nil` where there was none.
    package var lag: Int64?
    /// Seconds since a new key came.
    package var newestKeyAge: Int64?
    /// `nil` where nobody asks it.
    package var nextPull: Instant?
    package var received: Int
    package var rejected: Int
    package var quarantined: Int
    package var held: Int
    /// What went wrong last, or who has paused it and why.
    package var note: String?

    package init(
      name: String, kind: String, state: String, mark: Mark, lag: Int64?, newestKeyAge: Int64?, nextPull: Instant?,
      received: Int, rejected: Int, quarantined: Int, held: Int, note: String?
    ) {
      (self.name, self.kind, self.state, self.mark) = (name, kind, state, mark)
      (self.lag, self.newestKeyAge, self.nextPull) = (lag, newestKeyAge, nextPull)
      (self.received, self.rejected, self.quarantined, self.held) = (received, rejected, quarantined, held)
      self.note = note
    }
  }

  /// A document that waits for the operator.
  package struct Waiting: Sendable {
    package var number: Int64
    package var source: String
    package var document: String
    /// Whether it was recorded, and some of its claims are held; otherwise it was refused.
    package var isHeld: Bool
    package var reason: String
    package var since: Instant

    package init(number: Int64, source: String, document: String, isHeld: Bool, reason: String, since: Instant) {
      (self.number, self.source, self.document) = (number, source, document)
      (self.isHeld, self.reason, self.since) = (isHeld, reason, since)
    }
  }

  package struct Series: Sendable {
    package var name: String
    package var title: String
    /// How long a window is.
    package var windowSeconds: Int64
    /// Where the last window ended that was published or had nothing; `nil` before the first one.
    package var lastWindow: Instant?
    package var lastBundle: (keys: Int, published: String)?
    package var nextWindow: Instant
    package var listedBundles: Int
    /// `nil` where nobody has counted yet.
    package var waiting: WaitingKeys?
    /// Who signs now; `nil` is nobody.
    package var signer: String?
    /// When the last key ends; `nil` is never.
    package var signingEnd: Instant?
    package var faults: [String]

    package init(
      name: String, title: String, windowSeconds: Int64, lastWindow: Instant?,
      lastBundle: (keys: Int, published: String)?, nextWindow: Instant, listedBundles: Int, waiting: WaitingKeys?,
      signer: String?, signingEnd: Instant?, faults: [String]
    ) {
      (self.name, self.title, self.windowSeconds, self.lastWindow) = (name, title, windowSeconds, lastWindow)
      (self.lastBundle, self.nextWindow, self.listedBundles) = (lastBundle, nextWindow, listedBundles)
      (self.waiting, self.signer, self.signingEnd, self.faults) = (waiting, signer, signingEnd, faults)
    }
  }

  /// What the next window of a series would hold, and what stays behind it.
  package struct WaitingKeys: Sendable {
    package var new: Int
    package var revised: Int
    package var held: Int
    package var paused: Int
    /// Why the window would have nothing; `nil` where it has something.
    package var whyNothing: String?
    /// When it was counted: all claims are read for it, so not for each page.
    package var counted: Instant

    package init(new: Int, revised: Int, held: Int, paused: Int, whyNothing: String?, counted: Instant) {
      (self.new, self.revised, self.held, self.paused) = (new, revised, held, paused)
      (self.whyNothing, self.counted) = (whyNothing, counted)
    }
  }

  /// A series that shows a source's archives as they are signed there.
  package struct Mirror: Sendable {
    package var name: String
    package var source: String
    package var archives: Int
    package var lost: Int

    package init(name: String, source: String, archives: Int, lost: Int) {
      (self.name, self.source, self.archives, self.lost) = (name, source, archives, lost)
    }
  }

  package struct PublicLog: Sendable {
    package var name: String
    /// `nil` where none are shown.
    package var entries: Int?
    package var waiting: Int
    package var oldest: Instant?
    /// Why it cannot go on.
    package var fault: String?

    package init(name: String, entries: Int?, waiting: Int, oldest: Instant?, fault: String?) {
      (self.name, self.entries, self.waiting, self.oldest, self.fault) = (name, entries, waiting, oldest, fault)
    }
  }

  package struct Destination: Sendable {
    package var name: String
    package var origin: String
    package var state: String
    package var mark: Mark
    package var lastSuccess: Instant?
    package var nextPush: Instant?
    package var unanswered: Int
    package var note: String?

    package init(
      name: String, origin: String, state: String, mark: Mark, lastSuccess: Instant?, nextPush: Instant?,
      unanswered: Int, note: String?
    ) {
      (self.name, self.origin, self.state, self.mark) = (name, origin, state, mark)
      (self.lastSuccess, self.nextPush, self.unanswered, self.note) = (lastSuccess, nextPush, unanswered, note)
    }
  }

  package var now: Instant
  /// Name and version of the program.
  package var program: String
  package var start: Instant
  package var sources: [Source] = []
  package var series: [Series] = []
  package var destinations: [Destination] = []
  package var mirrors: [Mirror] = []
  /// What the store and files say is wrong; `keyferry status` says the same of them.
  package var faults: [StandingFault] = []
  /// Why the system's clock is not believed.
  package var clockDoubt: String?
  /// The system's clock.
  package var systemTime: Instant?
  /// When what had been kept long enough was removed last.
  package var lastRetention: Instant?
  /// Those of what waits that changed last.
  package var waiting: [Waiting] = []
  package var waitingCount = 0
  /// Origins that are paused, with who did it and why.
  package var pausedOrigins: [String] = []
  package var log: PublicLog?

  package init(now: Instant, program: String, start: Instant) {
    (self.now, self.program, self.start) = (now, program, start)
  }

  /// How many rows the page has of what waits.
  package static let mostWaiting = 50
}
