package import ExposureKeys
internal import Glibc
internal import KeyFormats
internal import KeyIntake
package import KeyPeers
package import KeyStorage

/// Pulls from sources: asks their peers what is new, fetches it, and records it.
///
/// A pull is the recovery of the one before: documents that a crash left half fetched are discovered again, and what is
/// in quarantine and due is tried again, before the peer is asked for anything new. A document is recorded in one
/// transaction with the cursor behind it, so a crash at any point loses nothing and repeats nothing. A large one is
/// recorded in pieces, the cursor with the last: after a crash in between it comes again, and what is known stays known.
package struct Puller: Sendable {
  private let ledger: Ledger
  private let spool: String
  private let ownOrigins: Set<String>
  private let retention: Retention
  private let pieceSize: Int
  private let clock: @Sendable () -> Instant
  private let watch: @Sendable (PullEvent) -> Void

  /// - Parameters:
  ///   - spool: a folder for what is being fetched; what is in it when a pull begins is dropped.
  ///   - pieceSize: a document of more keys is recorded so many at a time, so that other sources wait no longer for it; of
  ///     keys in no order eight times as many.
  ///   - watch: is told what happens, from any thread.
  package init(
    ledger: Ledger, spool: String, ownOrigins: Set<String> = [], retention: Retention = Retention(),
    pieceSize: Int = Puller.pieceSize,
    clock: @escaping @Sendable () -> Instant, watch: @escaping @Sendable (PullEvent) -> Void = { _ in }
  ) throws {
    self.ledger = ledger
    self.spool = spool
    try makeFolders(spool)
    self.ownOrigins = ownOrigins
    self.retention = retention
    self.pieceSize = pieceSize
    self.clock = clock
    self.watch = watch
  }

  /// The same, recording into another ledger.
  package func recording(into ledger: Ledger) -> Puller { Puller(self, ledger) }

  private init(_ other: Puller, _ ledger: Ledger) {
    self.ledger = ledger
    spool = other.spool
    ownOrigins = other.ownOrigins
    retention = other.retention
    pieceSize = other.pieceSize
    clock = other.clock
    watch = other.watch
  }

  /// They are recorded in some hundredths of a second.
  package static let pieceSize = 8192

  /// Pulls from one source until its peer has nothing new.
  ///
  /// - Parameters:
  ///   - isForced: asks also a source that failed not long ago, or is not due yet.
  ///   - isOnce: ends after one conversation, even where the peer has more.
  /// - Throws: what the store throws, and cancellation. What goes wrong with the peer or with its documents is in the
  ///   receipt.
  package func pull(
    _ source: SourceSettings, through transport: any Transport, isForced: Bool = false, isOnce: Bool = false
  ) async throws -> PullReceipt {
    var receipt = PullReceipt(source: source.name)
    let today = clock().day
    let state = try await ledger.read { state in
      (
        record: try state.source(named: source.name), pauses: try state.pauses(),
        volumes: try state.usualVolumes(before: today, of: source.name)
      )
    }
    guard !state.pauses.contains(where: { $0.subject == .source(source.name) }) else {
      receipt.outcome = .paused
      return receipt
    }
    // A time that lies too far ahead was noted by a clock that was wrong.
    let now = clock()
    if !isForced, let next = state.record?.nextAttempt, next > now,
      next <= now.adding(seconds: max(source.interval, 86_400))
    {
      receipt.outcome = .waiting(until: next)
      return receipt
    }
    receipt.cursor = state.record?.cursor.flatMap { $0.isEmpty ? nil : $0 }
    // A pull by a clock that was far ahead began at days that were still to come, and passed over those before them.
    if receipt.cursor != nil, source.peer.description.beginsByClock, let last = state.record?.lastAttempt,
      last > now.adding(seconds: PeerVisit.recheckSeconds)
    {
      try await ledger.cursorMoved(.toTheStart(of: source.name), at: now)
      receipt.cursor = nil
    }

    var visit = PeerVisit(
      source: source, transport: transport, ledger: ledger, spool: try spoolFolder(of: source), ownOrigins: ownOrigins,
      usualVolumes: state.volumes, retention: retention, pieceSize: pieceSize, clock: clock, watch: watch,
      receipt: receipt)
    let fault: DocumentFault?
    do {
      let lacking = try await visit.recover()
      fault = try await visit.converse(alsoFetching: lacking, isOnce: isOnce)
    } catch let error as PeerSettingsFault {
      fault = DocumentFault(code: .configuration, reason: "\(error)")
    } catch let error as FileFault {
      fault = DocumentFault(code: .storage, reason: "\(error)")
    }
    receipt = visit.receipt
    if let fault { receipt.outcome = .failed(fault) }
    // A list that was not read to its end says nothing about what is missing in it.
    try await remember(fault, of: source, failures: state.record?.failures ?? 0, listing: visit.listing)
    watch(.finished(receipt))
    return receipt
  }

  /// Tries one document of the quarantine again, with the bytes that are kept.
  ///
  /// - Returns: what became of it; `nil` when no bytes are kept, so that the next pull has to fetch it.
  package func retry(_ document: DocumentRecord, of source: SourceSettings) async throws -> PullReceipt? {
    let today = clock().day
    let volumes = try await ledger.read { try $0.usualVolumes(before: today, of: source.name) }
    var visit = PeerVisit(
      source: source, transport: NoTransport(), ledger: ledger, spool: try spoolFolder(of: source),
      ownOrigins: ownOrigins,
      usualVolumes: volumes, retention: retention, pieceSize: pieceSize, clock: clock, watch: watch,
      receipt: PullReceipt(source: source.name))
    guard try await visit.retry(document) else { return nil }
    return visit.receipt
  }

  /// Notes that a source could not even be asked.
  package func fail(_ source: SourceSettings, _ fault: DocumentFault) async throws -> PullReceipt {
    var receipt = PullReceipt(source: source.name)
    let failures = try await ledger.read { try $0.source(named: source.name)?.failures }
    receipt.outcome = .failed(fault)
    try await remember(fault, of: source, failures: failures ?? 0)
    return receipt
  }

  /// A folder of its own, so that it can be emptied whenever the source is pulled.
  private func spoolFolder(of source: SourceSettings) throws -> SpoolFolder {
    try SpoolFolder("\(spool)/source-\(source.name)")
  }

  private func remember(
    _ fault: DocumentFault?, of source: SourceSettings, failures: Int, listing: [String]? = nil
  ) async throws {
    let now = clock()
    let wait = fault == nil ? source.interval : Backoff.seconds(afterFailures: failures + 1, longest: source.interval)
    let attempt = SourceAttempt(
      time: now, fault: fault, nextAttempt: Instant(secondsSince1970: now.secondsSince1970 + wait))
    try await ledger.attempted(attempt, source: source.name, listing: listing)
  }
}

/// What happens during a pull.
package enum PullEvent: Sendable {
  case asked(source: String)
  case listed(source: String, documents: Int, new: Int)
  case fetched(source: String, document: String)
  case recorded(source: String, document: String, keys: Int)
  case refused(source: String, document: String, DocumentFault)
  case finished(PullReceipt)
}

/// How long to wait after failures in a row.
enum Backoff {
  /// One minute, doubled with each failure, up to `longest` (and never more than a day).
  static func seconds(afterFailures failures: Int, longest: Int64) -> Int64 {
    min(60 << Int64(min(max(failures, 1) - 1, 20)), max(60, min(longest, 86_400)))
  }
}

/// Nothing can be fetched through it.
private struct NoTransport: Transport {
  func ask(_ request: PeerRequest) async throws -> (head: ResponseHead, body: [UInt8]) { throw Self.fault }

  func fetch(_ request: PeerRequest, into path: String, byteLimit: Int) async throws -> ResponseHead {
    throw Self.fault
  }

  private static let fault = TransportFault(
    code: .notConnected, reason: "the peer is not asked here", isTemporary: true)
}
