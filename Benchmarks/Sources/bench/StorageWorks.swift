import Dispatch
import ExposureKeys
import Foundation
import GRDB
import GatewayTesting
import KeyNormalization
import KeyStorage
import SQLiteStorage

/// Claims recorded into the embedded store and read back. A batch has as many keys as a file of a large country.
///
/// `KEYFERRY_BENCH_STORED=50000000` adds a store of that many claims to the last work.
let storageWorks = [
  Preparation("claims recorded, first pull") { count in
    let batches = StoredBatches(count).all
    return [
      .ours("Keyferry") {
        let folder = try ScratchFolder()
        let store = try SQLiteStorage(folder: folder.path, now: StoredBatches.now)
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
    let store = try SQLiteStorage(folder: folder.path, now: StoredBatches.now)
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
]

/// One batch at a time into stores of different sizes; the first ratio is how much longer it takes in a large one.
private var growthWork: Preparation {
  var preparation = Preparation("one batch recorded") { _ in [] }
  let name = preparation.name
  preparation.work = { count in
    let more = ProcessInfo.processInfo.environment["KEYFERRY_BENCH_STORED"].flatMap { Int($0) }
    let sizes = [min(count, 1_000_000), min(count * 10, 10_000_000)] + (more.map { [$0] } ?? [])
    let batch = StoredBatches(StoredBatches.size).all
    var contenders = [
      Contender.ours("among 0") {
        let folder = try ScratchFolder()
        let store = try SQLiteStorage(folder: folder.path, now: StoredBatches.now)
        return try batch.reduce(0) { try $0 + record($1, in: store).new }
      }
    ]
    for size in sizes {
      let folder = try ScratchFolder()
      let store = try SQLiteStorage(folder: folder.path, now: StoredBatches.now)
      var batches = StoredBatches(.max, seed: UInt64(size))
      for _ in 0..<size / StoredBatches.size { _ = try record(batches.next(), in: store) }
      print(try describe(folder.path, claims: size / StoredBatches.size * StoredBatches.size))
      contenders.append(
        .yardstick("among \(size)") {
          _ = folder
          return try record(batches.next(), in: store).new
        })
    }
    return Work(name: name, count: StoredBatches.size, contenders: contenders)
  }
  return preparation
}

private func describe(_ folder: String, claims: Int) throws -> String {
  let bytes = try FileManager.default.contentsOfDirectory(atPath: folder).map { name in
    let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
    return "\(name) \((attributes[.size] as? Int ?? 0)) bytes"
  }
  return "\(claims) claims: " + bytes.sorted().joined(separator: ", ")
}

/// Admitted batches of random keys of fourteen days.
private struct StoredBatches {
  static let size = 75_000
  static let now = RandomKeys.usualDay.start

  private var random: SeededRandom
  private var left: Int
  private var number = 0

  init(_ count: Int, seed: UInt64 = 5) {
    random = SeededRandom(seed: seed)
    left = count
  }

  var all: [AdmittedBatch] {
    var batches = self
    var all: [AdmittedBatch] = []
    while batches.left > 0 { all.append(batches.next()) }
    return all
  }

  mutating func next() -> AdmittedBatch {
    var regions = RegionTable()
    let region = regions.intern(RegionClaim(origin: "DE", visited: ["DE", "NL"])) ?? .none
    let keys = (0..<min(left, Self.size)).map { index in
      var claim = ClaimedKey(key: TemporaryExposureKey(high: random.next(), low: random.next()))
      claim.rollingStart = Int32(RandomKeys.usualDay.firstInterval.rawValue - 144 * Int64(1 + index % 14))
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
    var admission = Admission(source: Source(name: "efgs"), policy: policy, now: Self.now)
    return keys.withUnsafeBufferPointer { admission.admit($0, regions: regions) }
  }
}

private func record(_ batch: AdmittedBatch, in store: SQLiteStorage) throws -> ImportReceipt {
  try waiting {
    try await store.write { transaction in
      let document = try transaction.discover(["batch"], of: "efgs", at: StoredBatches.now)[0].id
      try transaction.setCursor("next", of: "efgs")
      return try transaction.record(batch, of: document, at: StoredBatches.now)
    }
  }
}

private func read(_ store: SQLiteStorage) throws -> Int {
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

/// A folder that is gone with the last reference to it.
private final class ScratchFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "keyferry-bench-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Waits for asynchronous work; the harness measures one thread.
private func waiting<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
  final class Box: @unchecked Sendable { var result: Swift.Result<Result, any Error>? }
  let box = Box()
  let isDone = DispatchSemaphore(value: 0)
  Task {
    do { box.result = .success(try await body()) } catch { box.result = .failure(error) }
    isDone.signal()
  }
  isDone.wait()
  guard let result = box.result else { throw HarnessError(description: "no result") }
  return try result.get()
}
