internal import ExposureKeys

/// The one place where state changes. Its methods are the events: each is one transaction, gets a number, and tells the
/// listeners; what nothing happens in leaves no event.
///
/// Bodies that callers pass in may be run again from the start, like those of ``Store``.
package struct Ledger: Sendable {
  private let store: any Store
  private let listeners: [any LedgerListener]
  /// What has to be held for whatever it writes.
  private let fence: [Lease]

  package init(_ store: any Store, listeners: [any LedgerListener] = []) {
    self.init(store, listeners: listeners, under: [])
  }

  private init(_ store: any Store, listeners: [any LedgerListener], under fence: [Lease]) {
    self.store = store
    self.listeners = listeners
    self.fence = fence
  }

  /// Where the store is, for people.
  package var place: String { store.place }

  /// How replicas share the work; `nil` where the store has one owner.
  package var leases: (any LeaseStore)? { store.leases }

  /// The same ledger for work under leases: once another replica has taken one of them, nothing is written.
  package func under(_ leases: [Lease]) -> Ledger { Ledger(store, listeners: listeners, under: leases) }

  /// The same ledger for callers that keep a client waiting: while the database is away it fails within two seconds.
  package var answering: Ledger {
    guard let pulse = store.pulse else { return self }
    return Ledger(AnsweringStore(store, pulse: pulse), listeners: listeners, under: fence)
  }

  /// Runs `body` on one state of the store, which does not change meanwhile; see ``Store/read(_:)``.
  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (any StoredState) throws -> Result
  ) async throws -> Result {
    try await store.read(body)
  }

  /// Copies the store into a new file; see ``Store/copy(to:)``.
  package func copyStore(to path: String) async throws { try await store.copy(to: path) }

  /// What is damaged; see ``Store/damage(limit:)``.
  package func damage(limit: Int) async throws -> [String] { try await store.damage(limit: limit) }

  /// Before a process ends that has written; see ``Store/settle()``.
  package func settle() async { await store.settle() }

  /// The process ends; see ``Store/hurry(within:)``.
  package func hurry(within time: Duration) { store.hurry(within: time) }

  /// For a commitment to a document; `nil` where nobody listens.
  func newSalt() -> [UInt8]? { listeners.isEmpty ? nil : ReceivedMark.newSalt() }

  /// Runs one transaction, in which events of this kind, or of these, may happen.
  func transact<Result: Sendable>(
    _ kind: EventKind, at now: Instant, _ body: @escaping @Sendable (LedgerPage) throws -> Result
  ) async throws -> Result {
    try await transact([kind], at: now, body)
  }

  func transact<Result: Sendable>(
    _ kinds: [EventKind], at now: Instant,
    _ body: @escaping @Sendable (LedgerPage) throws -> Result
  ) async throws -> Result {
    let refused = kinds.filter { kind in
      switch store.role {
      case .owner, .replica: false
      case .operator: !kind.mayHappenBesideOwner
      case .reader: true
      }
    }
    if !refused.isEmpty {
      let names = refused.map(\.rawValue).joined(separator: " or ")
      throw StorageFault(
        .held,
        store.role == .reader
          ? "the store was opened to be read alone"
          : "the store was opened beside its owner, and \(names) is the gateway's own")
    }
    let durability: Durability = kinds.contains { $0.durability == .promised } ? .promised : .local
    return try await store.write(as: LedgerAuthority(durability, under: fence)) { [listeners] transaction in
      try body(LedgerPage(transaction: transaction, listeners: listeners, now: now))
    }
  }
}

/// One transaction in the hands of the ledger.
struct LedgerPage {
  let transaction: any StoreTransaction
  var hasListeners: Bool { !listeners.isEmpty }
  fileprivate let listeners: [any LedgerListener]
  fileprivate let now: Instant

  fileprivate init(transaction: any StoreTransaction, listeners: [any LedgerListener], now: Instant) {
    self.transaction = transaction
    self.listeners = listeners
    self.now = now
  }

  /// Writes down that something begins to happen, for its number.
  func open(_ kind: EventKind, about subject: String, by word: Attribution? = nil) throws -> EventStamp {
    try transaction.enter(NewEvent(kind, about: subject, by: word, at: now))
  }

  /// Everything that belongs to the event has happened.
  func close(_ stamp: EventStamp, _ kind: EventKind, _ facts: PublicFacts? = nil) throws {
    let queue = LogQueue(transaction, event: stamp.id)
    for listener in listeners { try listener.hear(kind, facts, stamp, queue) }
  }

  /// Writes down what happened, where nothing refers to its number.
  func enter(
    _ kind: EventKind, about subject: String, by word: Attribution? = nil, saying facts: PublicFacts? = nil
  ) throws {
    try close(try open(kind, about: subject, by: word), kind, facts)
  }

  /// A document by its source and name, for people.
  func subject(_ document: DocumentID) throws -> String {
    guard let record = try transaction.document(document) else { throw StorageFault.noDocument(document) }
    return "\(record.source)/\(record.name)"
  }

  /// One document by its name, more by their number.
  func subject(_ documents: [DocumentID]) throws -> String {
    guard documents.count == 1, let document = documents.first else { return "\(documents.count) documents" }
    return try subject(document)
  }
}
