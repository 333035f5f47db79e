package import ExposureKeys
internal import KeyNormalization

/// A transaction of a store in a database. The extensions of this protocol are the tables; a driver has the session, and keeps claims,
/// releases and the agenda in the form that it needs.
package protocol ClaimTables: StoreTransaction, ClaimNames {
  var sql: any SQLSession { get }
  /// The names that this transaction has met, or others before it.
  var names: Names { get set }
  var releaseNames: ReleaseNames { get }
  /// When the last forgotten token ended, once a body has asked for it.
  var endOfForgotten: Instant?? { get set }

  /// All claims.
  func claimRuns() throws -> ClaimRuns
  func releaseRuns(of series: Int64) throws -> ClaimRuns
  /// Notes claims that came in or were put aside in the agenda; they are in the order of key data.
  func note(_ rows: [ClaimRow]) throws
  /// Notes key data of claims that are not said any more: it may be due at once. The event may be written down later.
  func noteLoss(of rows: [ClaimRow]) throws
  /// Removes what is about one key data beside claims, what is held and the runs of releases, and sees to it that what was there is
  /// overwritten.
  ///
  /// - Returns: how many releases there were.
  func eraseRows(about key: TemporaryExposureKey) throws -> Int
}

extension ClaimTables {
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

/// The numbers of the names whose opinions are in releases, as far as a transaction has asked for them; 0 is nobody's.
package final class ReleaseNames {
  private let text: (Int64) throws -> String?
  private let number: (String) throws -> Int64
  private var texts: [Int64: String] = [:]
  private var numbers: [String: Int64] = [:]
  /// What was asked last: many keys that follow each other have the same names.
  private var last: (number: Int64, origins: ReleasingOrigins)?

  /// - Parameters:
  ///   - text: what the table has for a number.
  ///   - number: the number of a text, which is added when it is new.
  package init(text: @escaping (Int64) throws -> String?, number: @escaping (String) throws -> Int64) {
    (self.text, self.number) = (text, number)
  }

  package func origins(_ number: Int64) throws -> ReleasingOrigins? {
    if number == 0 { return nil }
    if let last, last.number == number { return last.origins }
    guard let text = try texts[number] ?? text(number) else {
      throw StorageFault(.corrupt, "a released key refers to names \(number), which are not in the store")
    }
    texts[number] = text
    let origins = ReleasingOrigins(text: text)
    last = (number, origins)
    return origins
  }

  package func number(of origins: ReleasingOrigins?) throws -> Int64 {
    guard let text = origins?.text else { return 0 }
    if let number = numbers[text] { return number }
    let number = try number(text)
    numbers[text] = number
    return number
  }
}
