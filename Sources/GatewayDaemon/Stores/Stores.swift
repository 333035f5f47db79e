package import ExposureKeys
internal import Glibc
internal import KeyIntake
internal import KeyPublishing
internal import KeyReceiving
package import KeyStorage
internal import SQLiteDriver

#if PostgreSQL
  internal import PostgresDriver
#endif

/// The stores that this program has. Nobody else names one.
package enum Stores {
  private static let all = StoreCatalog(definitions)

  private static var definitions: [StoreDefinition] {
    #if PostgreSQL
      [.sqlite, .postgresql]
    #else
      [.sqlite]
    #endif
  }

  /// Opens a store, with what listens to it; made where there is none and it is not only read.
  ///
  /// A store that is new beside published series is most likely not the one that published them: a disk is not mounted, an
  /// address is wrong. So nobody opens a store to write who does not say where it publishes.
  ///
  /// - Parameters:
  ///   - folder: in which is what is being fetched.
  ///   - published: where its series are published.
  ///   - listeners: hear what happens, whoever does it.
  /// - Throws: ``StorageFault``: `beginsAnew` where the store does not know the series that are published, and nothing was written
  ///   then; what opening throws.
  package static func ledger(
    at address: StoreAddress, in folder: String, as role: StoreRole, beside published: PublishedSeries, now: Instant,
    listeners: [any LedgerListener] = []
  ) async throws -> Ledger {
    guard role != .reader else { return try reader(at: address, now: now) }
    do {
      let ledger = try open(address, folder, as: role, makes: false, now, listeners)
      // A word to a store that is there is taken also while nobody can ask what is published: it may be one that stops something.
      let loss =
        role == .operator
        ? try? await published.unknown(to: ledger, at: address) : try await published.unknown(to: ledger, at: address)
      if let loss { throw loss.fault }
      return ledger
    } catch let fault as StorageFault where fault.code == .notFound {
      guard let loss = try await published.unknown(to: nil, at: address) else {
        return try open(address, folder, as: role, makes: true, now, listeners)
      }
      // Another replica may have made it meanwhile, and published.
      guard let ledger = try? open(address, folder, as: role, makes: false, now, listeners),
        try await published.unknown(to: ledger, at: address) == nil
      else { throw loss.fault }
      return ledger
    }
  }

  /// Opens a store to read it; none is made.
  package static func reader(at address: StoreAddress, now: Instant) throws -> Ledger {
    Ledger(try all.open(address, as: .reader, makes: false, now: now))
  }

  /// What a new store would not know of what is published beside it.
  ///
  /// - Returns: `nil` where there is a store that knows it, and where nothing is published.
  /// - Throws: what opening throws, and ``StorageFault`` `inputOutput` where nobody can say what is published.
  package static func loss(
    at address: StoreAddress, beside published: PublishedSeries, now: Instant
  ) async throws -> UnknownSeries? {
    do {
      return try await published.unknown(to: try reader(at: address, now: now), at: address)
    } catch let fault as StorageFault where fault.code == .notFound {
      return try await published.unknown(to: nil, at: address)
    }
  }

  /// Has a store begin beside what is published, as an operator says.
  ///
  /// - Returns: what it does not know; `nil` where there was nothing that another store has published, and nothing was done.
  package static func begin(
    at address: StoreAddress, in folder: String, beside published: PublishedSeries, by word: Attribution, now: Instant,
    listeners: [any LedgerListener] = []
  ) async throws -> UnknownSeries? {
    guard let loss = try await loss(at: address, beside: published, now: now) else { return nil }
    let ledger = try open(address, folder, as: .owner, makes: true, now, listeners)
    try await ledger.begun(beside: loss.series.map(\.series), by: word, at: now)
    await ledger.settle()
    return loss
  }

  private static func open(
    _ address: StoreAddress, _ folder: String, as role: StoreRole, makes: Bool, _ now: Instant,
    _ listeners: [any LedgerListener]
  ) throws -> Ledger {
    if makes { try makeFolders(folder) }
    let store = try all.open(address, as: role, makes: makes, now: now)
    try makeFolders(folder)
    SpoolPlace.use(stateFolder: folder)
    return Ledger(store, listeners: listeners)
  }

  /// What the role of a database lacks, and the SQL that gives it; whether a gateway needs it. Nothing is made.
  ///
  /// - Throws: ``StorageFault`` where the database cannot be reached.
  package static func missingRights(at address: StoreAddress) throws -> [(reason: String, isNeeded: Bool)] {
    #if PostgreSQL
      if let database = address.database {
        return try PostgresStore.missingRights(of: database).map { ("\($0)", $0.isNeeded) }
      }
    #endif
    return []
  }

  /// Copies all that one store has into another one; see ``StoreMove``. Nobody else owns one of them meanwhile.
  ///
  /// - Returns: how many rows both have.
  package static func move(
    from source: StoreAddress, to target: StoreAddress, now: Instant,
    progress: @escaping @Sendable (_ table: String, _ rows: Int) -> Void
  ) async throws -> Int {
    guard source != target else { throw StorageFault(.conflict, "\(source): both configurations have the same store") }
    // A store that is not there is not made, and an older one is not changed.
    _ = try all.open(source, as: .reader, now: now)
    let from = try movable(source, now: now)
    let into = try movable(target, now: now)
    let count = try await StoreMove(from: from, to: into).run(progress)
    await into.settle()
    return count
  }

  private static func movable(_ address: StoreAddress, now: Instant) throws -> any Store {
    #if PostgreSQL
      if let database = address.database { return try PostgresStore(database, role: .owner, isCopy: true) }
    #endif
    guard address.database == nil else {
      throw StorageFault(.unsupported, "\(address): this program was built without PostgreSQL")
    }
    try makeFolders(address.location)
    return try SQLiteStore(folder: address.location, now: now, isCopy: true)
  }

  /// Bytes that may still be written where a folder is, without those that are kept for the system; `nil` where nobody knows.
  static func freeBytes(in folder: String) -> Int? {
    var status = statvfs()
    guard statvfs(folder, &status) == 0 else { return nil }
    let (free, isHuge) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return isHuge ? .max : Int(clamping: free)
  }

  /// Puts a copy in the place of the store in a folder; see ``SQLiteStore/restore(from:named:into:now:command:)``.
  @discardableResult
  package static func restore(
    from copy: String, named name: String? = nil, into folder: String, now: Instant
  ) async throws -> String? {
    try makeFolders(folder)
    return try await SQLiteStore.restore(from: copy, named: name, into: folder, now: now)
  }
}
