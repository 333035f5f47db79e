// Only the ledger has the right to write, so nothing changes in a store without an event.
// expect: 'LedgerAuthority' initializer is inaccessible due to 'internal' protection level
import ExposureKeys
import KeyStorage

func rewind(_ store: any Store, _ cursor: CursorMove, at now: Instant) async throws {
  #if MISTAKE
    try await store.write(as: LedgerAuthority(.local)) { try $0.setCursor(cursor.cursor, of: cursor.source) }
  #else
    try await Ledger(store).cursorMoved(cursor, at: now)
  #endif
}
