package import ExposureKeys
internal import KeyIntake
internal import KeyReceiving
package import KeyStorage
internal import SQLiteStorage

/// The stores that this program has. Nobody else names one.
package enum Stores {
  package static let all = StoreCatalog([.sqlite])

  /// Opens the store in a folder, with what listens to it; made where there is none and it is not only read.
  ///
  /// - Parameter listeners: hear what happens, whoever does it.
  package static func ledger(
    in folder: String, as role: StoreRole, now: Instant, listeners: [any LedgerListener] = []
  ) throws -> Ledger {
    if role != .reader {
      try makeFolders(folder)
      SpoolPlace.use(stateFolder: folder)
    }
    return Ledger(try all.open(.folder(folder), as: role, now: now), listeners: listeners)
  }

  /// Puts a copy in the place of the store in a folder; see ``SQLiteStore/restore(from:named:into:now:command:)``.
  package static func restore(
    from copy: String, named name: String? = nil, into folder: String, now: Instant
  ) async throws {
    try makeFolders(folder)
    try await SQLiteStore.restore(from: copy, named: name, into: folder, now: now)
  }
}
