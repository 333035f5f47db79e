package import ExposureKeys
package import KeyNormalization

/// What the fold asks: what was said, now or at an earlier event.
package protocol ClaimState: AnyObject {
  /// Claims in the order of their key data, about `limit` of them and never a part of one key's, from `start` on.
  /// Withdrawn claims are left out, but for the embargo, to which those belong that are held for the operator now.
  ///
  /// - Parameter event: as they were known when this event had happened; `nil` is now. Keys that have expired since
  ///   are gone for every event.
  func claims(from start: TemporaryExposureKey, limit: Int, asOf event: EventID?) throws -> ClaimPage
  /// All claims about these key data as they are known now, as a page that has no next one.
  ///
  /// - Parameter keys: in order, each once.
  func claims(about keys: [TemporaryExposureKey]) throws -> ClaimPage
  /// What a round has to look at: key data about which something was noted after an event, for an hour up to the last of
  /// `hours`, and what was noted before for one of `hours`. See ``AgendaFloor``.
  ///
  /// - Returns: in order, each once; `nil` where the store has forgotten some of it, or where there are more than `limit`.
  func agenda(after event: EventID, endingIn hours: ClosedRange<Int64>, limit: Int) throws -> [TemporaryExposureKey]?
  /// Everything that is said about one key, withdrawn claims left out; as of an event, or now.
  func claims(about key: TemporaryExposureKey, asOf event: EventID?) throws -> ClaimSet
  /// Whether a recall had withdrawn a claim about this key when an event had happened; `nil` is now.
  func isWithdrawn(_ subject: KeySubject, asOf event: EventID?) throws -> Bool
  /// Everything that the tables have about one key data: claims, withdrawn ones included, what is held, what went out.
  func record(of key: TemporaryExposureKey) throws -> KeyRecord
  /// What is put aside for the operator about these keys, in the order of documents and of what is said.
  func held(about keys: [TemporaryExposureKey]) throws -> [HeldClaim]
  /// All claims about these keys, withdrawn ones included, with what brought each.
  func keptClaims(about keys: Set<TemporaryExposureKey>) throws -> [KeptClaim]
  /// The claims about these keys that a document brought, withdrawn ones included.
  func claims(broughtBy document: DocumentID, about keys: Set<TemporaryExposureKey>) throws -> [KeptClaim]
  /// What of a document is put aside for the operator.
  func held(of document: DocumentID) throws -> [StatedClaim]
  func claimCount() throws -> Int
  /// How many claims a document brought that nobody else had brought before it; those that were withdrawn since do not count.
  func claimCount(broughtBy document: DocumentID) throws -> Int
  /// How many keys of each origin a source sent on an average day with any of it before this one, for the flood rule; by the
  /// names of ``OriginVolumes``.
  func usualVolumes(before day: Day, of source: String) throws -> [String: Int]
  /// How many new keys of each origin a source sent on a day.
  func volumes(on day: Day, of source: String) throws -> [String: Int]
  /// What came since an instant: how many claims were new, by the day on which they came, origin and source, in this
  /// order. Those that were withdrawn or read otherwise since are not counted, nor those whose origin was lost.
  func arrivals(since start: Instant) throws -> [ArrivedClaims]
  /// By source, when it brought a new claim last, as far as arrivals are kept; origins that were lost do not count.
  func newestArrivals() throws -> [String: Instant]
}

extension ClaimState {
  /// Claims as they are known now.
  package func claims(from start: TemporaryExposureKey, limit: Int) throws -> ClaimPage {
    try claims(from: start, limit: limit, asOf: nil)
  }

  /// Everything that is said about one key now.
  package func claims(about key: TemporaryExposureKey) throws -> ClaimSet { try claims(about: key, asOf: nil) }

  /// Everything that was known when this event had happened, to be folded again.
  package func claimSet(asOf event: EventID) throws -> ClaimSet {
    var claims = ClaimSet()
    var start: TemporaryExposureKey? = TemporaryExposureKey(high: 0, low: 0)
    while let from = start {
      let page = try self.claims(from: from, limit: 50_000, asOf: event)
      claims.formUnion(page.claims)
      start = page.next
    }
    return claims
  }
}

/// What changes about claims, all of which is noted in the agenda. Each claim keeps the number of the event that brought it.
package protocol ClaimChanges: AnyObject {
  /// Adds the claims that are new; held claims are put aside for the operator. So are those of key data that another
  /// origin has named first, under another rolling start: nobody but the first one says when a key began to be used.
  func record(_ batch: AdmittedBatch, of document: DocumentID, in event: EventStamp) throws -> ImportReceipt
  /// Forgets what was read of a document before its fault, with the reason ``AdmissionReason/documentRefused``: it is read
  /// again, or the operator has given it up.
  func forgetRefused(of document: DocumentID) throws
  /// Admits what was put aside for the operator, but for what a refused document says.
  func releaseHeld(of document: DocumentID, in event: EventStamp) throws -> ImportReceipt
  /// Drops what was put aside for the operator.
  func discardHeld(of document: DocumentID) throws -> Int
  /// Replaces what a document was read to say. What is added has the arrival of what it replaces, or else arrives now, as
  /// something of the time at which the document came: recalls after that time hold for it too.
  ///
  /// - Returns: how many claims are new: another document may have brought the others.
  func reread(
    _ change: ReadingChange, of document: DocumentID, from time: Instant, in event: EventStamp
  ) throws -> Int
  /// Notes key data that the next round has to look at again; in order, each once. The event is written down.
  func lookAgain(at keys: [TemporaryExposureKey]) throws
  /// Forgets what nobody needs of the agenda any more.
  func sweepAgenda(to floor: AgendaFloor) throws
  /// Removes everything about a key: claims, what is held, what went out, and the bytes of these documents.
  func erase(_ key: TemporaryExposureKey, contents: [DocumentID]) throws -> ErasureReceipt
  /// Withdraws claims. They stay known, so that the same ones coming in again change nothing.
  func recall(_ request: RecallRequest, in event: EventStamp, by word: Attribution?) throws -> RecallPreview
}
