package import ExposureKeys
internal import Glibc

/// A piece of a gateway's work that one replica does at a time, where several share a store.
///
/// Uploads and downloads are nobody's alone.
package struct Duty: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// What stores call it: `pull/efgs`. A name never changes its meaning.
  package let name: String

  package init(name: String) { self.name = name }

  /// Pulling from a source.
  package static func pull(_ source: String) -> Self { Self(name: "pull/\(source)") }
  /// Pushing to a destination.
  package static func push(_ destination: String) -> Self { Self(name: "push/\(destination)") }
  /// Publishing a series.
  package static func publish(_ series: String) -> Self { Self(name: "publish/\(series)") }
  package var isPublishing: Bool { name.hasPrefix("publish/") }
  /// Keeping a mirror.
  package static func mirror(_ name: String) -> Self { Self(name: "mirror/\(name)") }
  /// Removing what has been kept long enough.
  package static let retention = Self(name: "retention")
  /// Closing download batches of a federation.
  package static let batches = Self(name: "batches")
  /// Taking what is queued into the public log, and signing it.
  package static let log = Self(name: "log")
  /// Telling national back ends of download batches.
  package static let callbacks = Self(name: "callbacks")

  /// Being there: a replica that holds it is counted where work is shared out, and no other has its name.
  package static func presence(of replica: ReplicaName) -> Self { Self(name: "\(presencePrefix)\(replica)") }
  private static let presencePrefix = "replica/"

  /// Whose presence it is; `nil` for other duties.
  package var replica: ReplicaName? {
    guard name.hasPrefix(Self.presencePrefix) else { return nil }
    return ReplicaName(String(name.dropFirst(Self.presencePrefix.count)))
  }

  package var description: String { name }
  package static func < (left: Self, right: Self) -> Bool { left.name < right.name }
}

/// What a replica is called: 1 … 63 letters, digits, `.`, `_`, `-`, as names of machines are.
package struct ReplicaName: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let description: String

  /// Where a machine has no name that is one.
  package static let unnamed = ReplicaName(unchecked: "replica")

  private init(unchecked text: String) { description = text }

  /// - Returns: `nil` for what is no such name.
  package init?(_ text: String) {
    guard (1...63).contains(text.utf8.count),
      text.utf8.allSatisfy({
        switch $0 {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      })
    else { return nil }
    description = text
  }

  package static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}

extension ReplicaName: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let name = Self(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no name of a replica")
    }
    self = name
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension ReplicaName {
  /// After this machine, as far as its name is one.
  package static var ofMachine: ReplicaName {
    var bytes = [CChar](repeating: 0, count: 256)
    let text =
      gethostname(&bytes, bytes.count - 1) == 0
      ? String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : ""
    return ReplicaName(String(text.prefix(63))) ?? .unnamed
  }
}

/// The right of one replica to a duty, for a time.
package struct Lease: Hashable, Sendable {
  package let duty: Duty
  package let holder: ReplicaName
  /// The fencing number: each time a duty is taken it is greater. A write under a number that is not the last one is refused,
  /// whatever its holder believes.
  package let number: Int64
  /// Until when its holder may count on it, by this machine's own clock, which runs while the machine sleeps. It is counted from
  /// before the store was asked, and the store itself waits a little longer.
  package let deadline: ContinuousClock.Instant

  package init(_ duty: Duty, holder: ReplicaName, number: Int64, deadline: ContinuousClock.Instant) {
    self.duty = duty
    self.holder = holder
    self.number = number
    self.deadline = deadline
  }
}

/// A duty as the store knows it.
package struct LeaseStanding: Hashable, Sendable {
  package let duty: Duty
  /// Who holds it, or held it last.
  package let holder: ReplicaName
  package let number: Int64
  /// How long it is still held, by the store's clock; not positive where nobody holds it.
  package let remaining: Duration

  package var isHeld: Bool { remaining > .zero }

  package init(_ duty: Duty, holder: ReplicaName, number: Int64, remaining: Duration) {
    self.duty = duty
    self.holder = holder
    self.number = number
    self.remaining = remaining
  }
}

/// Who holds what at one moment, by the store.
package struct LeaseTable: Hashable, Sendable {
  /// Every duty that was ever taken, by name.
  package let standing: [LeaseStanding]
  /// The store's own clock; `nil` where it has none that says what time it is.
  package let time: Instant?
  /// Which replicas are to have no work.
  package let drained: [DrainedReplica]

  /// Seconds by which clocks may differ. What a replica believes of the time decides what it publishes and removes, and another
  /// one goes on from there.
  package static let clockTolerance: Int64 = 60

  package init(_ standing: [LeaseStanding], at time: Instant?, drained: [DrainedReplica]) {
    self.standing = standing
    self.time = time
    self.drained = drained
  }

  /// What nobody does of all this work; empty where no replica was ever there.
  package func unheld(of duties: Set<Duty>) -> [Duty] {
    guard !standing.isEmpty else { return [] }
    return duties.subtracting(standing.filter(\.isHeld).map(\.duty)).sorted()
  }
}

/// Who does what, of those that share a store.
///
/// Times are the store's own: no replica's clock is asked. A duty is never taken while a transaction is under way under its
/// lease, so that whoever takes it sees all that was done before.
package protocol LeaseStore: Sendable {
  /// It waits for nobody who reads or writes.
  func table() async throws -> LeaseTable
  /// Takes those of these duties that nobody holds, not even this holder.
  func take(_ duties: [Duty], as holder: ReplicaName, for time: Duration) async throws -> [Lease]
  /// - Returns: those that are still held under their numbers, for longer now.
  func renew(_ leases: [Lease], for time: Duration) async throws -> [Lease]
  /// Gives back those that are still held under their numbers.
  func release(_ leases: [Lease]) async throws
}

extension Lease {
  /// How much longer the store waits than a holder counts on: of a lease time, this part.
  static let marginDivisor: Int = 10

  /// When a holder that asks now may not count on what it is given any more.
  package static func deadline(askedAt now: ContinuousClock.Instant, for time: Duration) -> ContinuousClock.Instant {
    now + time - time / marginDivisor
  }
}

extension StorageFault {
  /// A write under a lease that another one has taken since, or that was given back.
  package static func fenced(_ lease: Lease) -> Self {
    Self(.fenced, "another replica has taken \(lease.duty) since: nothing of this was kept")
  }
}
