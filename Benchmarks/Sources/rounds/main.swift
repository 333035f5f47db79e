import BundleTrust
import Dispatch
import ExposureKeys
import Foundation
import GatewayTesting
import KeyNormalization
import KeyPublishing
import KeyStorage
import PostgresDriver
import SQLiteDriver

// What a large store takes: `rounds CLAIMS [SERIES] [postgresql]`, 1,000,000 and 5 by default, with the store in a file or in a
// PostgreSQL server of its own. It fills a store of random claims in batches
// of 75,000, lets each series have released them all, and then tells of each work the seconds by the clock and of the processor.
// 50 million take about ten minutes and twelve gigabytes in TMPDIR.

let size = 75_000
let now = Instant(secondsSince1970: 18_600 * 86_400)
let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
let claimCount = arguments.first ?? 1_000_000
let seriesCount = arguments.dropFirst().first ?? 5

let folder = FileManager.default.temporaryDirectory.appending(path: "rounds-\(UUID().uuidString)").path
try FileManager.default.createDirectory(atPath: folder + "/state", withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }

/// With the usual settings of the system's packages; it goes with this process.
let server = CommandLine.arguments.contains("postgresql") ? try PostgresServer(isDurable: true) : nil

func open() throws -> any Store {
  if let server { return try PostgresStore(try ConnectionWords(server.words)) }
  return try SQLiteStore(folder: folder + "/state", now: now)
}

/// This process.
let own: Int32 = 0

func print(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

func seconds(of usage: timeval) -> Double { Double(usage.tv_sec) + Double(usage.tv_usec) / 1_000_000 }

func processor() -> Double {
  var usage = rusage()
  getrusage(own, &usage)
  return seconds(of: usage.ru_utime) + seconds(of: usage.ru_stime)
}

/// Tells how long a work took, and what a key of it did.
func measured<Result>(_ name: String, keys: Int? = nil, _ work: () async throws -> Result) async rethrows -> Result {
  let (clock, before) = (ContinuousClock(), processor())
  let start = clock.now
  let result = try await work()
  let took = Double((clock.now - start).components.seconds) + Double((clock.now - start).components.attoseconds) / 1e18
  let spent = processor() - before
  let each = keys.map { String(format: ", %.2f µs of the processor a key", spent * 1e6 / Double($0)) } ?? ""
  print(String(format: "%@: %.3f s, %.3f s of the processor%@", name, took, spent, each))
  return result
}

struct Batches {
  var random: SeededRandom

  mutating func next(_ count: Int) -> AdmittedBatch {
    var regions = RegionTable()
    let region = regions.intern(RegionClaim(origin: "DE", visited: ["DE", "NL"])) ?? .none
    let keys = (0..<count).map { index in
      var claim = ClaimedKey(key: TemporaryExposureKey(high: random.next(), low: random.next()))
      // Yesterday's are held for two hours after midnight still.
      claim.rollingStart = Int32(now.day.firstInterval.rawValue) - 144 * Int32(2 + index % 12)
      claim.rollingPeriod = 144
      claim.transmissionRisk = Int32(index % 8)
      claim.reportType = 1
      claim.daysSinceOnset = Int32(index % 10)
      claim.regions = region
      return claim
    }
    var policy = ReadingPolicy()
    policy.floodFactor = nil
    var admission = Admission(of: .assertedByOperator(), from: Sender(name: "efgs"), policy: policy, now: now)
    return keys.withUnsafeBufferPointer { admission.admit($0, regions: regions) }
  }
}

func record(_ batch: AdmittedBatch, as name: String, in ledger: Ledger) async throws {
  guard let document = try await ledger.discovered([name], of: "efgs", at: now).first else { return }
  _ = try await ledger.recorded(
    document.id, evidence: nil, cursor: CursorMove(of: "efgs", to: "next"), at: now
  ) { recorder in
    let recorded = try recorder.record(batch)
    return DocumentFacts(
      byteCount: 0, digest: "", format: "bench", vouchedBy: "operator",
      counts: KeyCounts(received: recorded.received, new: recorded.new, known: recorded.known))
  }
}

let identity = try SigningIdentity(key: SigningKey.generate(), keyID: "262", keyVersion: "v1")
let all = (0..<seriesCount).map { number in
  SeriesSettings(
    name: "S\(number)", selection: RegionSelection(), publishing: Policy(name: "bench"),
    identities: [ScheduledIdentity(identity: identity)], makesDays: false, editionsPerDay: 0)
}

func round(_ store: any Store, hour: Int64) async throws -> [SeriesReceipt] {
  let look = ClockLook(toldByOperator: Instant(secondsSince1970: now.secondsSince1970 + hour * 3600))
  let receipts = try await Publisher(ledger: Ledger(store), series: all, folder: folder + "/public").round(at: look)
  for receipt in receipts { if let fault = receipt.fault { print("\(receipt.series): \(fault)") } }
  return receipts
}

func say(_ receipts: [SeriesReceipt]) {
  let words = receipts.map { "\($0.published) new\($0.looksAtChanges ? " of changes" : "")" }
  print("  \(words.joined(separator: ", "))")
}

var batches = Batches(random: SeededRandom(seed: 5))
do {
  let store = try open()
  let ledger = Ledger(store)
  var sum = (keys: 0, time: 0.0)
  while sum.keys < claimCount {
    let batch = batches.next(min(size, claimCount - sum.keys))
    let before = processor()
    try await record(batch, as: "\(sum.keys)", in: ledger)
    sum = (sum.keys + batch.claims.count, sum.time + processor() - before)
  }
  print(
    String(format: "filled with %d claims: %.2f µs of the processor a key", sum.keys, sum.time * 1e6 / Double(sum.keys))
  )
  for number in 0..<5 {
    let batch = batches.next(size)
    try await measured("a batch of \(size) among \(claimCount)", keys: size) {
      try await record(batch, as: "more \(number)", in: ledger)
    }
  }
  // As if each series had published them.
  for settings in all {
    try await measured("\(settings.name) releases them", keys: claimCount + 5 * size) {
      let bundle = NewBundle(
        series: settings.name, kind: .increment, ordinal: 0, start: now.secondsSince1970 - 7200,
        end: now.secondsSince1970, path: "\(settings.name)/x.zip", keyCount: claimCount, revisedKeyCount: 0,
        byteCount: 1,
        archiveDigest: "aa", exportDigest: "bb", keyID: "262", keyVersion: "v1")
      let (count, seed) = (claimCount, UInt64(5))
      _ = try await ledger.staged(
        [NewStaging(bundle, [1])], by: settings.name, at: now,
        releasing: { release in
          // They come in the order of key data.
          var random = SeededRandom(seed: seed)
          var keys: [(key: TemporaryExposureKey, index: Int)] = []
          var left = count
          while left > 0 {
            for index in 0..<min(size, left) {
              keys.append((TemporaryExposureKey(high: random.next(), low: random.next()), index))
            }
            left -= min(size, left)
          }
          for _ in 0..<5 {
            for index in 0..<size {
              keys.append((TemporaryExposureKey(high: random.next(), low: random.next()), index))
            }
          }
          keys.sort { $0.key < $1.key }
          for (key, index) in keys {
            var claim = ClaimedKey(key: key)
            claim.rollingStart = Int32(now.day.firstInterval.rawValue) - 144 * Int32(2 + index % 12)
            claim.rollingPeriod = 144
            claim.transmissionRisk = Int32(index % 8)
            claim.reportType = 1
            claim.daysSinceOnset = Int32(index % 10)
            try release(0, NewRelease(key: claim, revisions: 0, origins: ReleasingOrigins(["DE"])))
          }
        }
      ) { _ in [] }
      // Its file is nowhere, so no index names it any more.
      let number = BundleID(rawValue: Int64(1 + (all.firstIndex { $0.name == settings.name } ?? 0)))
      try await ledger.published([number], by: settings.name, at: now)
      try await ledger.unlisted([number], by: settings.name, at: SoundTime(toldByOperator: now))
    }
  }
  try await say(
    measured("a round of \(seriesCount) series that looks at everything") { try await round(store, hour: 2) })
  try await say(measured("a round with nothing new") { try await round(store, hour: 4) })
  for hour in [Int64(6), 8] {
    try await record(batches.next(100_000), as: "new \(hour)", in: ledger)
    try await say(measured("a round with 100,000 new keys") { try await round(store, hour: hour) })
  }
  try await say(measured("a round with nothing new") { try await round(store, hour: 10) })
  var random = SeededRandom(seed: 5)
  for _ in 0..<3 {
    let key = TemporaryExposureKey(high: random.next(), low: random.next())
    let record = try await measured("everything about one key") { try await ledger.read { try $0.record(of: key) } }
    print("  \(record.claims.count) claims, \(record.released.count) releases")
  }
}
let store = try await measured("opening the store") { try open() }
print("\(try await store.read { try $0.claimCount() }) claims")
let files = try FileManager.default.contentsOfDirectory(atPath: folder + "/state")
for file in files.sorted() {
  let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/state/" + file)
  print("\(file): \(attributes[.size] ?? 0) bytes")
}
if let server { print("database: \(try server.query("SELECT pg_database_size('postgres')")) bytes") }
var usage = rusage()
getrusage(own, &usage)
print("most memory: \(usage.ru_maxrss / 1024) MiB")
