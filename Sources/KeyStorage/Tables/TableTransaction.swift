internal import ExposureKeys
internal import KeyNormalization

/// A transaction of a store in a database. The extensions of this class are the tables; a driver has the session.
package final class TableTransaction: StoreTransaction {
  package let sql: any SQLSession
  /// The names that this transaction has met, or others before it.
  package var names: Names
  /// Whether something was erased, so that what was there has to be overwritten.
  package internal(set) var hasErased = false
  /// When the last forgotten token ended, once a body has asked for it.
  var endOfForgotten: Instant??
  /// Claims of each kind that expiry removes in one transaction.
  let expiredAtOnce: Int

  /// Up to so many claims may be one person's: the agenda does not tell which of them came together.
  let smallBatch: Int

  package init(_ sql: any SQLSession, names: Names, expiredAtOnce: Int? = nil, smallBatch: Int = 256) {
    self.smallBatch = smallBatch
    self.sql = sql
    self.names = names
    self.expiredAtOnce = expiredAtOnce ?? 500_000
  }
}

extension TableTransaction {
  /// The words of an enumeration as a list of SQL. They are ours, and none has a quotation mark.
  func words<Word: RawRepresentable>(_ words: Set<Word>) -> String where Word.RawValue == String {
    let list = words.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")
    return "(\(list.isEmpty ? "''" : list))"
  }
}

/// What of a document's held claims is meant.
package enum HeldPart: Hashable, Sendable, CaseIterable {
  case all
  /// What was read before a fault of the document.
  case refused
  /// What the operator may admit.
  case admissible
}
