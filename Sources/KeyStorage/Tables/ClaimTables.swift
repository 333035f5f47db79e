package import ExposureKeys
package import KeyNormalization

/// What a store in tables has beside its runs. Each store has its own SQL for it; what is done with claims and releases is the same in
/// all of them, and is in the extensions of this protocol.
package protocol ClaimTables:
  StoreTransaction, ClaimNames, NumberTables, ArrivalTables, HeldTables, ReleaseTables
{
  /// All claims.
  func claimRuns() throws -> ClaimRuns
  /// Notes claims that came in or were put aside in the agenda; they are in the order of key data.
  func note(_ rows: [ClaimRow]) throws
  /// Notes key data of claims that are not said any more: it may be due at once. The event may be written down later.
  func noteLoss(of rows: [ClaimRow]) throws
  /// - Throws: ``StorageFault`` `notFound`.
  func requireDocument(_ id: DocumentID) throws
  func setFacts(_ facts: DocumentFacts, of document: DocumentID) throws
  /// Removes what is about one key data beside claims, what is held and the runs of releases, and sees to it that what was there is
  /// overwritten.
  ///
  /// - Returns: how many releases there were.
  func eraseRows(about key: TemporaryExposureKey) throws -> Int
  /// - Returns: whether there was any.
  func eraseContent(of document: DocumentID) throws -> Bool
}

/// The numbers of names. A number is never given twice.
package protocol NumberTables: AnyObject {
  /// The number of an origin, which is added when it is new.
  func number(ofOrigin name: String) throws -> Int32
  /// The number of a set of regions, which is added when it is new; 0 is of none.
  func number(ofRegions names: [String]?) throws -> Int32
  /// The number of a source as claims name it, which is added when it is new.
  func number(of source: Source) throws -> Int32
  /// `nil` where no claim has named the origin.
  func knownNumber(ofOrigin name: String) throws -> Int64?
  /// `nil` where the series has released nothing.
  func knownNumber(ofSeries name: String) throws -> Int64?
  /// The number of a series, which is added when it is new.
  func number(ofSeries name: String) throws -> Int64
  /// In the order of their names.
  func numberedSeries() throws -> [(number: Int64, name: String)]
}

/// With which document and event claims came, what was withdrawn since, and how many there are.
package protocol ArrivalTables: AnyObject {
  /// The number of an arrival, which is added when it is new.
  func arrival(of document: DocumentID, in event: EventStamp) throws -> Int64
  func arrival(numbered number: Int64) throws -> (document: DocumentID, stamp: ArrivalStamp)?
  /// The documents of the arrivals that a recall means, by the numbers of these.
  func arrivals(meantBy recall: RecallRequest) throws -> [Int64: Int64]
  /// The last arrival and the last recall that had happened when an event had. Their numbers go up with those of events.
  func horizon(at event: EventID) throws -> RowHorizon

  /// In the order in which they happened.
  func numberedRecalls() throws -> [(number: Int64, recall: Recall)]
  /// - Parameter claims: how many it withdraws.
  /// - Returns: its number.
  func write(
    _ request: RecallRequest, claims: Int, in event: EventStamp, by word: OperatorWord?
  ) throws -> Int64

  /// Adds to the number of all claims that stand.
  func addToTotal(_ claims: Int) throws
  /// Counts claims as having come with an arrival.
  ///
  /// - Parameter claims: in the order of origins; not empty.
  func addVolumes(_ claims: [(origin: Int32, count: Int64)], of arrival: Int64) throws
  /// So many claims less have come with an arrival.
  func take(_ count: Int, fromVolumeOf origin: Int32, _ arrival: Int64) throws
  /// What was withdrawn is nobody's usual volume.
  func forgetVolumes(of origin: Int64, meantBy recall: RecallRequest) throws
}

/// What is put aside for the operator.
package protocol HeldTables: AnyObject {
  /// In the order of key data, without having all at once.
  ///
  /// - Parameters:
  ///   - end: `nil` is to the last.
  ///   - event: as it was when this event had happened; `nil` is now.
  func eachHeld(
    from start: TemporaryExposureKey, before end: TemporaryExposureKey?, asOf event: EventID?,
    _ body: (ClaimRow) throws -> Void
  ) throws
  /// In the order of key data.
  ///
  /// - Parameter keys: in order, each once.
  func heldRows(
    about keys: [TemporaryExposureKey]
  ) throws -> [(row: ClaimRow, document: DocumentID, reason: AdmissionReason)]
  func heldRows(of document: DocumentID, _ part: HeldPart) throws -> [ClaimRow]
  /// Those that are held already stay as they are.
  func hold(
    _ rows: [(row: ClaimRow, reason: AdmissionReason)], of document: DocumentID, in event: EventStamp
  ) throws
  /// - Returns: how many there were.
  func dropHeld(of document: DocumentID, _ part: HeldPart) throws -> Int
  func dropHeld(_ rows: [ClaimRow], of document: DocumentID) throws
  /// - Returns: how many there were.
  func dropHeld(about key: TemporaryExposureKey) throws -> Int
}

/// What of a document's held claims is meant.
package enum HeldPart: Hashable, Sendable, CaseIterable {
  case all
  /// What was read before a fault of the document.
  case refused
  /// What the operator may admit.
  case admissible
}

/// What series have released: runs, one set of them for each series (``ReleaseRow``), and a table for what fits into no row of a run
/// and for what an earlier version wrote. It is empty mostly; each key is in one of both.
package protocol ReleaseTables: AnyObject {
  var releaseNames: ReleaseNames { get }

  func releaseRuns(of series: Int64) throws -> ClaimRuns
  func hasReleasesInTable(of series: Int64) throws -> Bool
  func releasedInTable(
    by series: Int64, from start: TemporaryExposureKey, limit: Int, before bundle: BundleID?
  ) throws -> [ReleasedKey]
  func releasedInTable(by series: Int64, about keys: [TemporaryExposureKey]) throws -> [ReleasedKey]
  /// The first bundle with which a series has released a key, the last one, and the one that revised it; empty where the table
  /// does not have it.
  func bundlesInTable(by series: Int64, about subject: KeySubject) throws -> Set<BundleID>
  func releaseInTable(_ keys: [ReleasedKey], by series: Int64) throws
  /// A row of a run becomes one of the table.
  func putIntoTable(_ row: ClaimRow, of series: Int64) throws
  /// - Throws: ``StorageFault`` `notFound` where one of the bundles is not there.
  func requireBundles(_ bundles: Set<BundleID>) throws
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
