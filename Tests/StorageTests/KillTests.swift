import ExposureKeys
import Foundation
import GatewayTesting
import KeyNormalization
import KeyStorage
import SQLiteDriver
import Testing

private let folderName = "KEYFERRY_KILL_FOLDER"
private let seedName = "KEYFERRY_KILL_SEED"
private let environment = ProcessInfo.processInfo.environment

/// This test program runs itself as another process that records batches, and kills that at random moments.
/// `KEYFERRY_KILL_ROUNDS` says how often; 6 by default.
@Suite("SQLite store: killed while it records", .serialized)
struct KillTests {
  private static let batchCount = 60

  /// The batch with this number, the same in each process.
  private static func batch(_ number: Int, seed: UInt64) -> AdmittedBatch {
    var arrivals = Arrivals(random: SeededRandom(seed: seed &+ UInt64(number)))
    var keys = arrivals.keys(60)
    for _ in 0..<200 {
      var key = arrivals.key()
      key.key = TemporaryExposureKey(high: arrivals.random.next(), low: arrivals.random.next())
      keys.append((key, RegionClaim(origin: "O\(number)", visited: ["V\(number)"])))
    }
    return admit(keys, from: Arrivals.sources[number % Arrivals.sources.count])
  }

  /// One step of a pull, and of a federation: the claims, their document, the audit entry and the cursor, in one
  /// transaction.
  @Sendable private static func record(_ number: Int, seed: UInt64, in transaction: any StoreTransaction) throws {
    let now = Times.after(Int64(number) * 3600)
    let document = try transaction.document("\(number)", at: now)
    try transaction.move(document, to: .fetching, fault: nil, nextAttempt: nil, at: now)
    let receipt = try transaction.record(batch(number, seed: seed), of: document, at: now)
    try transaction.keep([UInt8(number)], of: document, until: Times.days(30))
    try transaction.complete(document, DocumentFacts(receipt), at: now)
    let upload = NewFederationUpload.example("\(number)", keys: 20, from: "DE", until: Times.days(30))
    let kept = try transaction.add(upload, as: document, at: now)
    if number % 3 == 0 {
      _ = try transaction.addFederationBatch(of: [kept.id], on: now.day, until: Times.days(30), at: now)
    }
    try transaction.setCursor("\(number + 1)", of: "DE")
  }

  private static func cursor(_ store: any Store) async throws -> Int {
    try await store.read { try $0.source(named: "DE")?.cursor.flatMap { Int($0) } ?? 0 }
  }

  /// What the other process does.
  @Test("the other process", .enabled(if: environment[folderName] != nil, "run by the test beside it"))
  func child() async throws {
    let folder = try #require(environment[folderName])
    let seed = try #require(environment[seedName].flatMap { UInt64($0) })
    let store = try SQLiteStore(folder: folder, now: Times.now, command: "the other process")
    _ = FileManager.default.createFile(atPath: folder + "/ready", contents: nil)
    for number in try await Self.cursor(store)..<Self.batchCount {
      try await store.write { try Self.record(number, seed: seed, in: $0) }
    }
  }

  @Test(
    "whole batches are there or not at all", .enabled(if: environment[folderName] == nil), .timeLimit(.minutes(5)))
  func kill() async throws {
    let rounds = environment["KEYFERRY_KILL_ROUNDS"].flatMap { Int($0) } ?? LongList.size(3, long: 6)
    var random = SeededRandom(for: "kill")
    let seed = random.next() >> 1
    try await withFolder { folder in
      // The undisturbed run, as far as each cursor.
      let undisturbed = MemoryStore()
      var reached = 0
      func compare(_ cursor: Int) async throws {
        while reached < cursor {
          let number = reached
          try await undisturbed.write { try Self.record(number, seed: seed, in: $0) }
          reached += 1
        }
        let store = try SQLiteStore(folder: folder, now: Times.now)
        #expect(try await store.snapshot() == undisturbed.snapshot(), "at cursor \(cursor)")
      }
      for round in 0..<rounds {
        let child = try Self.start(folder: folder, seed: seed)
        await Self.waitUntil { FileManager.default.fileExists(atPath: folder + "/ready") || !child.isRunning }
        if child.isRunning {
          do {
            // It may have ended in this moment; otherwise it has the store.
            _ = try SQLiteStore(folder: folder, now: Times.now)
          } catch let fault as StorageFault {
            #expect(fault.code == .held)
            #expect(fault.reason.contains("process \(child.processIdentifier) on"))
          }
        }
        try await Task.sleep(for: .microseconds(Int.random(in: 0...40_000, using: &random)))
        Foundation.kill(child.processIdentifier, SIGKILL)
        child.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder + "/ready")
        let cursor = try await Self.cursor(try SQLiteStore(folder: folder, now: Times.now))
        try await compare(cursor)
        print("kill \(round): at batch \(cursor) of \(Self.batchCount)")
      }
      let last = try Self.start(folder: folder, seed: seed)
      last.waitUntilExit()
      #expect(last.terminationStatus == 0)
      #expect(try await Self.cursor(try SQLiteStore(folder: folder, now: Times.now)) == Self.batchCount)
      try await compare(Self.batchCount)
    }
  }

  private static func start(folder: String, seed: UInt64) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
    process.arguments = ["--testing-library", "swift-testing", "--filter", "KillTests/child"]
    process.environment = environment.merging([folderName: folder, seedName: "\(seed)"]) { $1 }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  private static func waitUntil(_ isDone: () -> Bool) async {
    while !isDone() { try? await Task.sleep(for: .milliseconds(1)) }
  }
}
