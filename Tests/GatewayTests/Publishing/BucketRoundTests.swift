import ExposureKeys
import Foundation
import GatewayTesting
import KeyPublishing
import KeyStorage
import S3Objects
import S3Publications
import Synchronization
import Testing

/// Rounds of publishing into a bucket: killed between any two requests, answered wrongly, at the same time as others.
@Suite("Publishing into a bucket", .serialized) struct BucketRoundTests {
  /// A press whose bucket has what ``CrashTests/prepare(_:)`` publishes.
  private func prepared(_ body: (inout Press) async throws -> Void) async throws {
    try await Press.run(CrashTests.series) { press in
      Self.connect(&press, StrictObjectStore())
      try await CrashTests.prepare(press)
      try await body(&press)
    }
  }

  /// As a process does that starts.
  private static func connect(_ press: inout Press, _ store: StrictObjectStore) {
    store.calm()
    press.bucket = (BucketFolder(store.bucket()), store)
  }

  private static func undisturbed(_ press: Press) async throws -> CrashTests.End {
    try await press.round(CrashTests.now)
    return try await CrashTests.End(press)
  }

  @Test("what is in the bucket in the end is what would be in a folder") func sameAsFolder() async throws {
    var ends: [CrashTests.End] = []
    try await Press.run(CrashTests.series) { press in
      try await CrashTests.prepare(press)
      ends.append(try await Self.undisturbed(press))
    }
    try await prepared { press in
      ends.append(try await Self.undisturbed(press))
      let store = try #require(press.bucket).store
      #expect(store.changed.isEmpty)
      // Nothing is new: nothing is written.
      store.calm()
      try await press.round(CrashTests.now)
      #expect(store.seen.filter { $0.isWrite } == [])
    }
    #expect(ends.count == 2 && ends[0] == ends[1] && !ends[0].files.isEmpty)
  }

  @Test("bundles come first, then the manifest, then the lists") func order() async throws {
    try await prepared { press in
      let store = try #require(press.bucket).store
      store.calm()
      try await press.round(CrashTests.now)
      for series in ["NL", "all"] {
        let writes = store.seen.filter { $0.isWrite && $0.key.hasPrefix("eu/\(series)/") }
        func last(_ ending: String) throws -> Int {
          try #require(writes.lastIndex { $0.method == "PUT" && $0.key.hasSuffix(ending) })
        }
        let places = [try last(".zip"), try last("/manifest.json"), try last("/SHA256SUMS"), try last("/index.txt")]
        #expect(places == places.sorted(), "\(writes)")
      }
    }
  }

  @Test("a round that is killed at any request ends as one that was not", arguments: [false, true])
  func killed(answerIsLost: Bool) async throws {
    var (end, count) = (CrashTests.End(), 0)
    try await prepared { press in
      let store = try #require(press.bucket).store
      store.calm()
      end = try await Self.undisturbed(press)
      count = store.seen.count
    }
    #expect(count > 60)
    let stride = ProcessInfo.processInfo.environment["KEYFERRY_EVERY_STEP"] == nil ? LongList.size(24, long: 6) : 1
    var random = SeededRandom(for: "bucket steps \(answerIsLost)")
    for step in Swift.stride(from: Int.random(in: 1...stride, using: &random), through: count, by: stride) {
      try await prepared { press in
        let store = try #require(press.bucket).store
        store.set { number, _, _ in
          number < step ? nil : number == step && answerIsLost ? .answerLost : .lost
        }
        let receipts = try await press.publisher.round(now: CrashTests.now)
        for receipt in receipts { #expect(receipt.isBalanced) }
        try press.layDown()
        try press.checkConsistency(at: CrashTests.now)
        Self.connect(&press, store)
        #expect(try await Self.undisturbed(press) == end, "killed at request \(step) of \(count)")
        #expect(store.changed.isEmpty, "no name has had two contents")
      }
    }
  }

  @Test(
    "an outage, a right that is missing, or a proxy in the way takes nothing from the index",
    arguments: [
      StrictObjectStore.Trouble.lost, .refuses(status: 403, code: "AccessDenied"),
      .refuses(status: 503, code: "SlowDown"),
      .refuses(status: 404, code: "NoSuchBucket"), .proxy(status: 404, text: "<html>not found</html>"),
      .refuses(status: 500, code: "InternalError"),
    ])
  func nothingIsTaken(_ trouble: StrictObjectStore.Trouble) async throws {
    try await prepared { press in
      let store = try #require(press.bucket).store
      let before = store.objects
      for methods in [["GET", "HEAD"], ["GET"], ["PUT"], ["GET", "HEAD", "PUT", "DELETE"]] {
        store.set { _, method, _ in methods.contains(method) ? trouble : nil }
        let receipts = try await press.publisher.round(now: CrashTests.now)
        #expect(receipts.contains { $0.fault != nil }, "\(methods)")
        for receipt in receipts { #expect(receipt.warnings.allSatisfy { $0.code != .fileMissing }, "\(methods)") }
        for list in ["NL/index.txt", "NL/manifest.json", "all/index.txt", "all/manifest.json"] {
          let isSame = store[list] == before["eu/\(list)"]?.bytes
          #expect(isSame, "\(list), \(methods)")
        }
      }
      // Of a HEAD a store says no more than a number. What it means is asked again, and then the objects are there.
      store.set { _, method, _ in method == "HEAD" ? trouble : nil }
      for receipt in try await press.publisher.round(now: CrashTests.now) {
        #expect(receipt.warnings.allSatisfy { $0.code != .fileMissing })
      }
      Self.connect(&press, store)
      _ = try await Self.undisturbed(press)
      #expect(store.changed.isEmpty)
    }
  }

  @Test("a bundle that is really gone is made again under another name") func gone() async throws {
    try await prepared { press in
      let store = try #require(press.bucket).store
      let path = try #require(try press.index("NL").first)
      store.overwrite(path, with: nil)
      let receipts = try await press.round(at(10, 30))
      #expect(receipts[0].warnings.map(\.code) == [.fileMissing] && receipts[0].madeAgain > 0)
      #expect(try !press.index("NL").contains(path))
      // And one with other bytes.
      let other = try #require(try press.index("NL").first)
      store.overwrite(other, with: Array("damaged".utf8))
      #expect(try await press.round(at(10, 40))[0].warnings.map(\.code) == [.fileDamaged])
      #expect(try !press.index("NL").contains(other))
    }
  }

  @Test("a name that somebody else has taken is a fault that says so, and the index stays") func taken() async throws {
    try await prepared { press in
      let store = try #require(press.bucket).store
      let index = store["NL/index.txt"]
      // Between the look at the names and the first bundle.
      store.set { _, method, key in
        method == "PUT" && key.hasPrefix("eu/NL/") && key.hasSuffix(".zip")
          ? .after { $0.overwrite(String(key.dropFirst(3)), with: Array("theirs".utf8)) } : nil
      }
      let receipt = try await press.publisher.round(now: CrashTests.now)[0]
      #expect(receipt.fault?.code == "name-taken", "\(String(describing: receipt.fault))")
      #expect(receipt.fault?.reason.contains("a name is never given two contents") == true)
      #expect(store["NL/index.txt"] == index)
    }
  }

  @Test("of two gateways with one store and one bucket, both end with what one would have") func two() async throws {
    var end = CrashTests.End()
    try await prepared { press in end = try await Self.undisturbed(press) }
    for round in 0..<5 {
      try await prepared { press in
        let store = try #require(press.bucket).store
        let other = Publisher(
          ledger: Ledger(press.store), series: press.series, folder: BucketFolder(store.bucket()),
          program: "keyferry test", randomBytes: Press.secret)
        let publisher = press.publisher
        async let first = publisher.round(now: CrashTests.now)
        async let second = other.round(now: CrashTests.now)
        for fault in try await (first + second).compactMap(\.fault) {
          #expect(["other-writer", "other-round", "storage-conflict", "name-taken"].contains(fault.code), "\(fault)")
        }
        try press.layDown()
        try press.checkConsistency(at: CrashTests.now)
        let last = try await Self.undisturbed(press)
        #expect(
          last.indexes.map { $0.split(separator: "\n").count } == end.indexes.map { $0.split(separator: "\n").count })
        #expect(last.released == end.released, "round \(round)")
        #expect(store.changed.isEmpty)
      }
    }
  }

  @Test(
    "a gateway that sleeps before any of its writes does not take back what another one has published meanwhile",
    arguments: ["manifest.json", "SHA256SUMS", "index.txt"])
  func sleeper(list: String) async throws {
    try await Press.run(.sample()) { press in
      let store = StrictObjectStore()
      Self.connect(&press, store)
      try await press.say([key(1)])
      try await press.round(at(8))
      try await press.say([key(2)])
      let (sleeps, wakes) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
      // The sleeper has a way of its own to the same objects.
      let sleeping = SleepingTransport(store, before: "eu/NL/\(list)") {
        sleeps.continuation.yield()
        for await _ in wakes.stream { break }
      }
      let chain = CredentialChain(
        .stated(store.credentials), environment: [:], region: store.address.region, transport: store)
      let folder = BucketFolder(Bucket(store.address, credentials: chain, transport: sleeping, sleep: { _ in }))
      let sleeper = Publisher(
        ledger: Ledger(press.store), series: press.series, folder: folder, program: "keyferry test",
        randomBytes: Press.secret)
      async let receipts = sleeper.round(now: at(10))
      for await _ in sleeps.stream { break }
      try await press.round(at(10))
      try await press.say([key(3)])
      try await press.round(at(12))
      let before = ["manifest.json", "SHA256SUMS", "index.txt"].map { store["NL/\($0)"] }
      wakes.continuation.yield()
      #expect(try await receipts[0].fault?.code == "other-writer")
      #expect(["manifest.json", "SHA256SUMS", "index.txt"].map { store["NL/\($0)"] } == before)
      #expect(try press.index("NL").count == 3)
    }
  }

  /// Sleeps once, before one object is put.
  private final class SleepingTransport: S3Transport {
    private let store: StrictObjectStore
    private let key: String
    private let sleep: @Sendable () async -> Void
    private let isOver = Mutex(false)

    init(_ store: StrictObjectStore, before key: String, sleep: @escaping @Sendable () async -> Void) {
      (self.store, self.key, self.sleep) = (store, key, sleep)
    }

    func send(_ request: S3Request, to origin: String, limit: Int, seconds: Double) async throws -> S3Answer {
      if request.method == "PUT", request.path.hasSuffix(key),
        isOver.withLock({ isOver in
          defer { isOver = true }
          return !isOver
        })
      {
        await sleep()
      }
      return try await store.send(request, to: origin, limit: limit, seconds: seconds)
    }
  }

  @Test("a manifest that somebody else has written meanwhile stays, and so do the lists") func otherWriter()
    async throws
  {
    try await prepared { press in
      let store = try #require(press.bucket).store
      let theirs = Array("{\"theirs\": true}".utf8)
      store.set { _, method, key in
        method == "PUT" && key == "eu/NL/manifest.json"
          ? .after { $0.overwrite("NL/manifest.json", with: theirs) } : nil
      }
      let index = store["NL/index.txt"]
      #expect(try await press.publisher.round(now: CrashTests.now)[0].fault?.code == "other-writer")
      #expect(store["NL/manifest.json"] == theirs && store["NL/index.txt"] == index)
      // The next round reads it anew.
      Self.connect(&press, store)
      _ = try await Self.undisturbed(press)
    }
  }
}
