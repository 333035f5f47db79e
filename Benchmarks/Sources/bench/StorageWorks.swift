import BundleTrust
import Dispatch
import ExposureKeys
import Foundation
import GRDB
import GatewayTesting
import KeyNormalization
import KeyStorage
import SQLiteDriver

/// Claims recorded into the embedded store and read back. A batch has as many keys as a file of a large country.
///
/// `KEYFERRY_BENCH_STORED=50000000` adds a store of that many claims to "one batch recorded".
let storageWorks = [
  Preparation("claims recorded, first pull") { count in
    let batches = StoredBatches(count).all
    return [
      .ours("Keyferry") {
        let folder = try ScratchFolder()
        let store = try SQLiteStore(folder: folder.path, now: StoredBatches.now)
        return try batches.reduce(0) { try $0 + record($1, in: store).new }
      },
      .yardstick("GRDB row by row", reach: 3) {
        let folder = try ScratchFolder()
        let pool = try rowStore(folder.path)
        return try batches.reduce(0) { total, batch in
          try total + pool.write { try insertRows(of: batch, in: $0) }
        }
      },
    ]
  },
  Preparation("claims read in pages") { count in
    let folder = try ScratchFolder()
    let store = try SQLiteStore(folder: folder.path, now: StoredBatches.now)
    let pool = try rowStore(folder.path + "/rows")
    for batch in StoredBatches(count).all {
      _ = try record(batch, in: store)
      _ = try pool.write { try insertRows(of: batch, in: $0) }
    }
    return [
      .ours("Keyferry, claim sets") { try read(store) },
      .yardstick("GRDB cursor of rows") {
        _ = folder
        return try pool.read { database in
          var handled = 0
          let rows = try Row.fetchCursor(
            database, sql: "SELECT key, start, period, risk, origin, source, regions FROM claims ORDER BY key, start")
          while let row = try rows.next() {
            let (key, start, period, risk): (Data, Int32, Int32, Int32) = (row[0], row[1], row[2], row[3])
            let (origin, source, regions): (Int32, Int32, Int32) = (row[4], row[5], row[6])
            blackHole((key, start, period, risk, origin, source, regions))
            handled += 1
          }
          return handled
        }
      },
    ]
  },
  growthWork,
  expiryWork,
  Preparation("a document recalled, claims gone through") { count in
    let store = try filledStore(count)
    return [
      .ours("Keyferry") {
        let request = RecallRequest(origin: "DE", document: DocumentID(rawValue: 1))
        let recalled = try undoing(in: store.storage) {
          try await $0.recalled(request, by: Attribution(by: "bench"), at: StoredBatches.now).claims
        }
        return recalled > 0 ? count : 0
      }
    ]
  },
]

/// A store goes through some million claims in one transaction.
private var expiryWork: Preparation {
  var preparation = Preparation("a day expired, claims gone through") { _ in [] }
  let name = preparation.name
  preparation.work = { count in
    let count = min(count, 3_000_000)
    let store = try filledStore(count)
    let expiry = Contender.ours("Keyferry") {
      let end = Instant(secondsSince1970: StoredBatches.now.secondsSince1970 - 13 * 86_400)
      let expired = try undoing(in: store.storage) {
        try await $0.expired(keysExpiredBefore: end, at: SoundTime(toldByOperator: StoredBatches.now)).claims
      }
      return expired > 0 ? count : 0
    }
    return Work(name: name, unit: "key", count: count, contenders: [expiry])
  }
  return preparation
}

/// One batch at a time into stores of different sizes; the ratio is how much longer it takes in a larger one.
private var growthWork: Preparation {
  var preparation = Preparation("one batch recorded") { _ in [] }
  let name = preparation.name
  preparation.work = { count in
    let more = ProcessInfo.processInfo.environment["KEYFERRY_BENCH_STORED"].flatMap { Int($0) }
    let first = StoredBatches(StoredBatches.size).all
    var contenders = [
      Contender.ours("among 0") {
        let folder = try ScratchFolder()
        let store = try SQLiteStore(folder: folder.path, now: StoredBatches.now)
        return try first.reduce(0) { try $0 + record($1, in: store).new }
      }
    ]
    for size in [count] + (more.map { [$0] } ?? []) {
      let store = try filledStore(size)
      print("a store of \(size) claims has \(try store.folder.byteCounts())")
      var batches = StoredBatches(.max, seed: UInt64(size))
      contenders.append(
        .yardstick("among \(size)") { try record(batches.next(), in: store.storage).new })
    }
    return Work(name: name, unit: "key", count: StoredBatches.size, contenders: contenders)
  }
  return preparation
}

/// A store in a folder that goes with it.
private struct FilledStore {
  let folder: ScratchFolder
  let storage: SQLiteStore
}

/// A store of `count` claims in a few large documents, which are recorded faster than many small ones.
private func filledStore(_ count: Int) throws -> FilledStore {
  let folder = try ScratchFolder()
  let storage = try SQLiteStore(folder: folder.path, now: StoredBatches.now)
  var batches = StoredBatches(count, size: max(StoredBatches.size, count / 10), seed: 11)
  var number = 0
  while let batch = batches.popNext() {
    number += 1
    _ = try record(batch, in: storage, as: "document \(number)")
  }
  return FilledStore(folder: folder, storage: storage)
}

/// Runs a transaction that is undone, so that each run finds the same store; what is left out is the commit.
private func undoing(
  in store: SQLiteStore, _ event: @escaping @Sendable (Ledger) async throws -> Int
) throws -> Int {
  do {
    return try waiting { try await event(Ledger(store, listeners: [Undoing()])) }
  } catch let undone as Undone {
    return undone.count
  }
}

private struct Undone: Error { var count: Int }

/// Lets nothing be kept.
private struct Undoing: LedgerListener {
  func hear(_ kind: EventKind, _ facts: PublicFacts?, _ stamp: EventStamp, _ queue: LogQueue) throws {
    if case .recalled(_, let effect, _) = facts { throw Undone(count: effect.claims) }
    throw Undone(count: kind == .expired ? 1 : 0)
  }
}

/// Admitted batches of random keys of the last fourteen days.
struct StoredBatches {
  static let size = 75_000
  static let dayCount = 14
  static let now = RandomKeys.usualDay.start

  private var random: SeededRandom
  private var left: Int
  private let size: Int

  init(_ count: Int, size: Int = Self.size, seed: UInt64 = 5) {
    random = SeededRandom(seed: seed)
    left = count
    self.size = size
  }

  var all: [AdmittedBatch] {
    var batches = self
    var all: [AdmittedBatch] = []
    while let batch = batches.popNext() { all.append(batch) }
    return all
  }

  static func rollingStart(daysAgo days: Int) -> Int32 {
    Int32(RandomKeys.usualDay.firstInterval.rawValue) - 144 * Int32(days)
  }

  mutating func popNext() -> AdmittedBatch? { left > 0 ? next() : nil }

  /// - Parameter count: of its keys; as many as all others have where nobody says.
  mutating func next(_ count: Int? = nil) -> AdmittedBatch {
    var regions = RegionTable()
    let region = regions.intern(RegionClaim(origin: "DE", visited: ["DE", "NL"])) ?? .none
    let keys = (0..<min(left, count ?? size)).map { index in
      var claim = ClaimedKey(key: TemporaryExposureKey(high: random.next(), low: random.next()))
      claim.rollingStart = Self.rollingStart(daysAgo: 1 + index % Self.dayCount)
      claim.rollingPeriod = 144
      claim.transmissionRisk = Int32(index % 8)
      claim.reportType = 1
      claim.daysSinceOnset = Int32(index % 10)
      claim.regions = region
      return claim
    }
    left -= keys.count
    var policy = ReadingPolicy()
    policy.floodFactor = nil
    var admission = Admission(of: .assertedByOperator(), from: Sender(name: "efgs"), policy: policy, now: Self.now)
    return keys.withUnsafeBufferPointer { admission.admit($0, regions: regions) }
  }
}

func record(
  _ batch: AdmittedBatch, in store: SQLiteStore, as name: String = "batch"
) throws -> ImportReceipt {
  try waiting {
    let (ledger, now) = (Ledger(store), StoredBatches.now)
    guard let document = try await ledger.discovered([name], of: "efgs", at: now).first else {
      throw HarnessError(description: "no document")
    }
    let receipt = ReceiptBox()
    _ = try await ledger.recorded(
      document.id, evidence: nil, cursor: CursorMove(of: "efgs", to: "next"), at: now
    ) { recorder in
      let recorded = try recorder.record(batch)
      receipt.value = recorded
      return DocumentFacts(
        byteCount: 0, digest: "", format: "bench", vouchedBy: "operator",
        counts: KeyCounts(received: recorded.received, new: recorded.new, known: recorded.known))
    }
    return receipt.value
  }
}

private func read(_ store: SQLiteStore) throws -> Int {
  try waiting {
    try await store.read { state in
      var handled = 0
      var start: TemporaryExposureKey? = TemporaryExposureKey(high: 0, low: 0)
      while let from = start {
        let page = try state.claims(from: from, limit: 50_000)
        handled += page.claims.count
        start = page.next
      }
      return handled
    }
  }
}

/// The plain way: a row a claim, in the order of arrival, with arguments.
private func rowStore(_ folder: String) throws -> DatabasePool {
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  let pool = try DatabasePool(path: folder + "/rows.sqlite")
  try pool.write { database in
    try database.execute(
      sql: """
        CREATE TABLE claims (
          key BLOB NOT NULL, start INTEGER NOT NULL, period INTEGER NOT NULL, risk INTEGER, type INTEGER, onset INTEGER,
          origin INTEGER NOT NULL, source INTEGER NOT NULL, regions INTEGER NOT NULL, document INTEGER NOT NULL,
          PRIMARY KEY (key, start, period, risk, type, onset, origin, source, regions)
        ) STRICT, WITHOUT ROWID
        """)
  }
  return pool
}

private func insertRows(of batch: AdmittedBatch, in database: Database) throws -> Int {
  let statement = try database.cachedStatement(
    sql: """
      INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET document = excluded.document
      """)
  var handled = 0
  for claim in batch.claims {
    let key = claim.key
    try statement.execute(arguments: [
      Data(key.key.bytes), key.rollingStartWord, key.rollingPeriodWord, key.transmissionRiskWord, key.reportTypeWord,
      key.daysSinceOnsetWord, Int(claim.origin.rawValue), Int(claim.source.rawValue), Int(key.regions.rawValue), 1,
    ])
    handled += database.changesCount
  }
  return handled
}

/// Written by the transaction before it is kept.
private final class ReceiptBox: @unchecked Sendable {
  var value = ImportReceipt()
}

/// Written by one thread before the other is told.
private final class OutcomeBox<Value>: @unchecked Sendable {
  var outcome: Result<Value, any Error>?
}

/// Waits for asynchronous work; the harness measures one thread.
func waiting<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
  let box = OutcomeBox<Result>()
  let isDone = DispatchSemaphore(value: 0)
  Task {
    do { box.outcome = .success(try await body()) } catch { box.outcome = .failure(error) }
    isDone.signal()
  }
  isDone.wait()
  guard let outcome = box.outcome else { throw HarnessError(description: "no result") }
  return try outcome.get()
}
