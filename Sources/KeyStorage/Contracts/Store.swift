internal import ExposureKeys

/// A store: where the gateway keeps what was said, what it has released, and what happened.
///
/// Everything happens in transactions, each of which is there as a whole or not at all.
///
/// - A body runs without suspension, on a thread of the store's own and never on one of the concurrency pool: a body
///   waits for disks and networks, and the pool has as few threads as the machine has cores.
/// - **A body may be run again from the start**, after everything that it did was undone: a store elsewhere answers a
///   collision of two writers so. What a body touches outside its transaction it would touch twice, so it touches
///   nothing: times, secrets and random numbers are passed in, and results are returned.
/// - A body that throws leaves nothing behind.
///
/// Reading is for everybody. Writing needs a ``LedgerAuthority``, which only the ``Ledger`` has. Implementations pass the
/// contract suite in `StorageTests`.
package protocol Store: Sendable {
  /// What it was opened for.
  var role: StoreRole { get }
  /// Where it is, for people; without any secret.
  var place: String { get }
  /// How replicas share the work; `nil` where a store has one owner, who does it all.
  var leases: (any LeaseStore)? { get }
  /// Whether its database answers; `nil` where it runs in this process.
  var pulse: (any StorePulse)? { get }

  /// Runs `body` on one state of the store, which does not change meanwhile.
  func read<Result: Sendable>(_ body: @escaping @Sendable (any StoredState) throws -> Result) async throws -> Result

  /// Runs `body`, and keeps what it did when it returns. One body at a time.
  ///
  /// When this returns, what the body did is as durable as `authority` asks for. Where it writes under leases, nobody
  /// else has taken one of them before that moment.
  ///
  /// - Throws: what `body` throws, and ``StorageFault``: `fenced` where a lease was lost, and then nothing is kept.
  func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result

  /// Writes one state of the store into a new file, while others go on reading and writing.
  ///
  /// - Throws: ``StorageFault``: `conflict` where there is a file already, `unsupported`.
  func copy(to path: String) async throws

  /// Reads everything and says what is damaged; empty where nothing is.
  ///
  /// - Parameter limit: how many faults are told at most.
  func damage(limit: Int) async throws -> [String]

  /// Moves what was written lately out of logs into the store's own file. Nothing depends on it; a command that has written calls
  /// it before it ends.
  func settle() async

  /// The process ends: whoever waits for a database waits so long at most from now on, and what cannot be done by then fails as a
  /// whole.
  func hurry(within time: Duration)
}

extension Store {
  package var place: String { "memory" }
  package var leases: (any LeaseStore)? { nil }
  package var pulse: (any StorePulse)? { nil }

  package func copy(to path: String) async throws {
    throw StorageFault(.unsupported, "this store cannot be copied into a file")
  }

  package func damage(limit: Int) async throws -> [String] { [] }

  package func settle() async {}

  package func hurry(within time: Duration) {}
}

/// What a store is opened for.
package enum StoreRole: String, Hashable, Sendable, CaseIterable {
  /// The gateway itself. There is one owner at a time.
  case owner
  /// The gateway itself, among others of one configuration, where a store can be shared: what the owner does, it does under
  /// leases. A store that cannot be shared takes it for the owner.
  case replica
  /// A word of the operator, or an upload, beside the owner, who heeds it at its next step. See
  /// ``EventKind/mayHappenBesideOwner``.
  case `operator`
  /// To read, beside anybody.
  case reader

  /// Whether it is the gateway itself, alone or among others.
  package var isGateway: Bool { self == .owner || self == .replica }
}

/// The right to write. Only the ``Ledger`` makes it, so that nothing changes without an event.
package struct LedgerAuthority: Sendable {
  package let durability: Durability
  /// What has to be held for it.
  package let leases: [Lease]

  init(_ durability: Durability, under leases: [Lease] = []) {
    self.durability = durability
    self.leases = leases
  }

  /// To move a store to another place, which is no event.
  package static let moving = LedgerAuthority(.local)
}

/// What a power failure may take.
package enum Durability: Hashable, Sendable {
  /// Nothing: somebody outside was told, or is about to be.
  case promised
  /// The last transactions, as a whole and in their order. They are done again then.
  case local
}

/// One state of the store, to read.
package protocol StoredState:
  ReceivingState, ClaimState, FederationState, PublishingState, PushingState, OperatingState
{}

/// One state of the store, to change.
package protocol StoreTransaction:
  StoredState, ReceivingChanges, ClaimChanges, FederationChanges, PublishingChanges, PushingChanges, OperatingChanges
{}
