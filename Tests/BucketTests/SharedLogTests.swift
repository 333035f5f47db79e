import ExposureKeys
import Foundation
import GatewayTesting
import KeyPublishing
import KeyStorage
import S3Objects
import S3Publications
import Synchronization
import Testing
import TransparencyLog

/// A log that several replicas keep in turn: its state in their store, its files in a bucket.
@Suite("A log of several replicas") struct SharedLogTests {
  static let name = "keys.example.org/log"

  /// One that keeps the log dies, or stands still and wakes after another one has taken over, at each of its steps; both believe
  /// to be the only one. Without fences nothing but the store's own word keeps them apart.
  @Test("of two holders at every step one goes on", arguments: [Life.End.dies, .wakesLate], [true, false])
  func aHolderIsReplacedAtEveryStep(_ end: Life.End, isFenced: Bool) async throws {
    var step = 0
    while true {
      let isOver = try await replace(at: step, end, isFenced: isFenced)
      if isOver { break }
      step += LongList.size(5, long: 1)
    }
    #expect(step > 20)
  }

  /// The same beside a witness, which sees each size once, whoever asks: what it has signed is shown for as long as that size is, and
  /// whoever goes on has its signature.
  @Test("a witness signs for each holder, at every step at which it changes", arguments: [Life.End.dies, .wakesLate])
  func aWitnessSignsForEachHolder(_ end: Life.End) async throws {
    var step = 0
    while true {
      let witness = try LiteralWitness("witness.example/w1")
      let isOver = try await replace(at: step, end, isFenced: true, witness)
      if isOver { break }
      step += LongList.size(5, long: 1)
    }
    #expect(step > 20)
  }

  /// - Returns: whether the first one had ended before.
  private func replace(
    at step: Int, _ end: Life.End, isFenced: Bool, _ witness: LiteralWitness? = nil
  ) async throws -> Bool {
    try await LogWorld.run(witness) { world in
      try await world.begin()
      try await world.queue(250)
      try await world.keeper(try await world.lease(LogWorld.a)).integrate(of: "", at: LogWorld.now)
      try await world.queue(10)
      world.pass()
      let life = Life(end, at: step)
      let first = world.keeper(isFenced ? try await world.lease(LogWorld.a) : nil, life)
      let work = Task { try await first.integrate(of: "", at: LogWorld.now) }
      let isOver = await life.stopped(or: work)
      try await world.queue(3)
      world.pass()
      let second = world.keeper(isFenced ? try await world.lease(LogWorld.b) : nil)
      try await second.integrate(of: "", at: LogWorld.now)
      life.wake()
      let outcome = await work.result
      if isOver { #expect(throws: Never.self) { try outcome.get() } }
      try await world.queue(2)
      // Whoever woke late and was refused begins anew, as any other does.
      try await world.keeper(isFenced ? try await world.lease(LogWorld.a, after: true) : nil)
        .integrate(of: "", at: LogWorld.now)
      try await world.check("step \(step)")
      return isOver
    }
  }

  @Test("a replica with another key is refused, and changes nothing") func anotherKey() async throws {
    try await LogWorld.run { world in
      try await world.begin()
      try await world.queue(3)
      try FileManager.default.removeItem(atPath: world.keys.path + "/log.key")
      _ = try await LogWriter.create(name: Self.name, state: world.keys, folder: LogFolder(world.keys.path + "-other"))
      for file in ["signed", "queue"] { try? FileManager.default.removeItem(atPath: world.keys.path + "/" + file) }
      let before = world.store.objects
      let fault = await #expect(throws: LogFault.self) {
        try await world.keeper(nil).integrate(of: "", at: LogWorld.now)
      }
      #expect(fault?.code == .badState && fault?.reason.contains("is not the key of this log") == true)
      #expect(world.store.objects == before)
      #expect(try await world.base.read { try $0.queuedEntries(limit: 9) }.count == 3)
    }
  }

  @Test("who waits for the log ends at once where the gateway does, and says so") func endsWhileWaiting() async throws {
    try await LogWorld.run { world in
      try await world.begin()
      try await world.queue(3)
      let isEnding = Mutex(false)
      let begun = ContinuousClock.now
      let work = Task {
        try await world.keeper(nil, taker: .another, isEnding: { isEnding.withLock { $0 } })
          .integrate(of: "", at: LogWorld.now)
      }
      try await Task.sleep(for: .milliseconds(400))
      isEnding.withLock { $0 = true }
      let fault = await #expect(throws: LogFault.self) { try await work.value }
      #expect(fault?.code == .inUse && fault?.reason.contains("the gateway ends") == true)
      #expect(ContinuousClock.now - begun < .seconds(10))
      // What waits is there for the next one.
      try await world.keeper(nil).integrate(of: "", at: LogWorld.now)
      try await world.keeper(nil, taker: .another).integrate(of: "", at: LogWorld.now)
      try await world.check("after the end")
    }
  }

  @Test("what the store does not know any more is taken over from the bucket") func adopted() async throws {
    try await LogWorld.run { world in
      try await world.begin()
      try await world.queue(300)
      try await world.keeper(nil).integrate(of: "", at: LogWorld.now)
      // A new store, as after a loss.
      let other = Ledger(MemoryStore())
      let state = StoredLog(of: Self.name, in: other, keys: world.keys)
      let lost = await #expect(throws: LogFault.self) {
        _ = try await LogWriter.open(state: state, folder: world.shelf())
      }
      #expect(lost?.code == .badState)
      let again = await #expect(throws: LogFault.self) {
        _ = try await LogWriter.create(name: Self.name, state: state, folder: world.shelf())
      }
      #expect(again?.code == .wouldOverwrite)
      #expect(try await LogWriter.adopt(state: state, folder: world.shelf()).size == 300)
      #expect(try await LogWriter.open(state: state, folder: world.shelf()).checkpoint.size == 300)
    }
  }

  @Test("objects say how they are kept") func fields() async throws {
    try await LogWorld.run { world in
      try await world.begin()
      try await world.queue(257)
      try await world.keeper(nil).integrate(of: "", at: LogWorld.now)
      func field(_ path: String, _ name: String) -> String? {
        world.store.objects[world.store.address.prefix + path]?.fields[name]
      }
      #expect(field("log/checkpoint", "cache-control") == "no-cache")
      #expect(field("log/checkpoint", "content-type") == "text/plain; charset=utf-8")
      #expect(field("log/tile/0/000", "cache-control") == BucketFolder.immutable)
      #expect(field("log/tile/0/000", "content-type") == "application/octet-stream")
      #expect(field("log/tile/entries/000", "content-type") == "application/octet-stream")
    }
  }
}

/// A gateway's store and bucket with what belongs to its log.
struct LogWorld {
  static let now = Instant(secondsSince1970: 1_606_867_200)
  static let a = ReplicaName("a") ?? .unnamed
  static let b = ReplicaName("b") ?? .unnamed

  let base: MemoryStore
  let store = StrictObjectStore()
  let keys: LogFolder
  /// Who signs each checkpoint, too.
  let witness: LiteralWitness?
  fileprivate let history = LogHistory()
  private let clock = StoreTime()

  private final class StoreTime: Sendable {
    let time = Mutex(Duration.seconds(0))
    let queued = Mutex(0)
  }

  static func run<Outcome>(
    _ witness: LiteralWitness? = nil, _ body: (LogWorld) async throws -> Outcome
  ) async throws -> Outcome {
    let place = FileManager.default.temporaryDirectory.appending(path: "keyferry-shared-\(UUID().uuidString)").path
    defer { for end in ["", "-other"] { try? FileManager.default.removeItem(atPath: place + end) } }
    return try await body(LogWorld(keys: LogFolder(place), witness))
  }

  private init(keys: LogFolder, _ witness: LiteralWitness?) {
    self.keys = keys
    self.witness = witness
    base = MemoryStore(sharedBy: { [clock] in clock.time.withLock { $0 } })
  }

  func begin() async throws {
    let state = StoredLog(of: SharedLogTests.name, in: Ledger(base), keys: keys)
    _ = try await LogWriter.create(name: SharedLogTests.name, state: state, folder: shelf())
  }

  /// So that every lease is over.
  func pass() { clock.time.withLock { $0 += .seconds(100) } }

  func queue(_ count: Int) async throws {
    let start = clock.queued.withLock { queued in
      defer { queued += count }
      return queued
    }
    try await Ledger(base).queueForLog(
      (start..<start + count).map { Array("entry \($0)".utf8) }, kind: "test", at: Self.now)
  }

  func lease(_ name: ReplicaName, after isLater: Bool = false) async throws -> Lease {
    if isLater { pass() }
    let office = try #require(base.leases)
    return try #require(try await office.take([.log], as: name, for: .seconds(10)).first)
  }

  func shelf(_ life: Life = Life(.dies, at: nil)) -> PublishedLog { PublishedLog(in: folder(life), at: "log") }

  private func folder(_ life: Life) -> BucketFolder {
    let transport = WatchedTransport(store: store, life: life, history: history)
    let chain = CredentialChain(
      .stated(store.credentials), environment: [:], region: store.address.region, transport: store)
    return BucketFolder(Bucket(store.address, credentials: chain, transport: transport, sleep: { _ in }))
  }

  func keeper(
    _ lease: Lease?, _ life: Life = Life(.dies, at: nil), taker: LogKeeper.Taker = .this,
    isEnding: @escaping @Sendable () -> Bool = { false }
  ) -> LogKeeper {
    let ledger = Ledger(LivingStore(base: base, life: life)).under(lease.map { [$0] } ?? [])
    var settings = EvidenceSettings(name: SharedLogTests.name, state: keys.path)
    settings.place = .replicas
    settings.witnesses = witness.map { [WitnessSettings(key: $0.key, address: "https://w1.example")] } ?? []
    return LogKeeper(
      settings, ledger: ledger, folder: folder(life), shelf: shelf(life),
      state: StoredLog(of: settings.name, in: ledger, keys: keys), taker: taker,
      caller: witness.map { WatchedWitness(witness: $0, life: life) }, isEnding: isEnding)
  }

  /// One log, with every entry once, and nothing that was ever shown is denied by it.
  func check(_ place: String) async throws {
    #expect(history.faults.withLock { $0 } == [], "\(place)")
    let key = try LogWriter.signed(by: keys)
    let source = FrozenLog(store)
    let shown = try await LogWatch.checkpoint(of: source, by: key)
    let expected = clock.queued.withLock { $0 }
    #expect(shown.size == expected, "\(place)")
    if let witness {
      #expect(await witness.size == expected && shown.note.signatures.contains(where: witness.key.claims), "\(place)")
    }
    var entries: [[UInt8]] = []
    for number in 0..<(shown.size + Tile.width - 1) / Tile.width {
      entries += try await TreeReader(source, size: shown.size).bundle(number).entries
    }
    #expect(entries == (0..<expected).map { Array("entry \($0)".utf8) }, "\(place)")
    let head = try await base.read { try $0.logHead(named: SharedLogTests.name) }
    #expect(head?.tree == LogHead.Tree(size: Int64(shown.size), root: shown.root.base64) && head?.pending == nil)
    #expect(try await base.read { try $0.queuedEntries(limit: 1) }.isEmpty, "\(place)")
  }
}

extension LogWriter {
  fileprivate static func signed(by keys: LogFolder) throws -> NoteVerifier { try signer(of: keys).verifier }
}

/// How far somebody comes: each request and each transaction has a step before and one behind it.
final class Life: Sendable {
  enum End: String, CustomTestStringConvertible {
    case dies
    case wakesLate = "wakes late"
    var testDescription: String { rawValue }
  }
  struct Dead: Error {}

  private let end: End
  private let step: Int?
  private let count = Mutex(0)
  private let stops = AsyncStream.makeStream(of: Bool.self)
  private let alarm = AsyncStream.makeStream(of: Void.self)

  init(_ end: End, at step: Int?) { (self.end, self.step) = (end, step) }

  func pass() async throws {
    let number = count.withLock { count in
      defer { count += 1 }
      return count
    }
    guard let step, number >= step else { return }
    if end == .dies {
      stops.continuation.yield(false)
      throw Dead()
    }
    guard number == step else { return }
    stops.continuation.yield(false)
    for await _ in alarm.stream { break }
  }

  /// Until it is dead or stands still.
  ///
  /// - Returns: whether it came to its end before.
  func stopped(or work: Task<Void, any Error>) async -> Bool {
    Task {
      _ = await work.result
      stops.continuation.yield(true)
    }
    for await isOver in stops.stream { return isOver }
    return true
  }

  func wake() { alarm.continuation.yield() }
}

private struct LivingStore: Store {
  let base: MemoryStore
  let life: Life

  var role: StoreRole { base.role }
  var leases: (any LeaseStore)? { base.leases }

  func read<Result: Sendable>(_ body: @escaping @Sendable (any StoredState) throws -> Result) async throws -> Result {
    try await base.read(body)
  }

  func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    try await life.pass()
    let result = try await base.write(as: authority, body)
    try await life.pass()
    return result
  }
}

/// The way to a witness, of which each call has a step before and one behind it.
private struct WatchedWitness: WitnessCaller {
  let witness: LiteralWitness
  let life: Life

  func post(
    _ body: [UInt8], to address: String, seconds: Int64, limit: Int
  ) async throws -> (status: Int, body: [UInt8]) {
    try await life.pass()
    let answer = try await witness.answer(body)
    try await life.pass()
    return answer
  }
}

/// Everything that the bucket ever showed.
private final class LogHistory: Sendable {
  let roots = Mutex<[Int: String]>([:])
  let newest = Mutex(0)
  let cosigners = Mutex<[Int: Set<String>]>([:])
  let contents = Mutex<[String: [UInt8]]>([:])
  let faults = Mutex<[String]>([])

  func look(at key: String, in store: StrictObjectStore) async {
    guard let bytes = store.objects[key]?.bytes else { return }
    guard key.hasSuffix("/checkpoint") else {
      guard key.contains("/log/tile/") else { return }
      let old = contents.withLock { $0.updateValue(bytes, forKey: key) }
      if let old, old != bytes { faults.withLock { $0.append("\(key) had other bytes") } }
      return
    }
    guard let shown = ShownLog(checkpoint: bytes, key: nil) else {
      return faults.withLock { $0.append("no checkpoint is shown") }
    }
    let other = roots.withLock { $0.updateValue(shown.root, forKey: shown.size) }
    if let other, other != shown.root { faults.withLock { $0.append("two checkpoints of size \(shown.size)") } }
    let cosigned = Set(shown.cosigners)
    let signed = cosigners.withLock { $0.updateValue(cosigned, forKey: shown.size) } ?? []
    if !signed.isSubset(of: cosigned) {
      faults.withLock { $0.append("size \(shown.size) is shown without a signature that it had") }
    }
    let before = newest.withLock { newest in
      defer { newest = max(newest, shown.size) }
      return newest
    }
    if shown.size < before { faults.withLock { $0.append("it went back from \(before) to \(shown.size)") } }
    do {
      let root = try #require(TreeHash(base64: shown.root))
      try await LogVerification(TreeReader(FrozenLog(store), size: shown.size), root: root).run { _, _ in }
    } catch {
      faults.withLock { $0.append("size \(shown.size) is shown without its tiles: \(error)") }
    }
  }
}

/// The log as the bucket has it at one moment.
private struct FrozenLog: LogSource {
  let name = "bucket"
  let objects: [String: StrictObjectStore.Object]
  let prefix: String

  init(_ store: StrictObjectStore) { (objects, prefix) = (store.objects, store.address.prefix) }

  func content(of path: String, limit: Int) -> [UInt8]? { objects["\(prefix)log/\(path)"]?.bytes }
}

private struct WatchedTransport: S3Transport {
  let store: StrictObjectStore
  let life: Life
  let history: LogHistory

  func send(_ request: S3Request, to origin: String, limit: Int, seconds: Double) async throws -> S3Answer {
    try await life.pass()
    let answer = try await store.send(request, to: origin, limit: limit, seconds: seconds)
    if request.method == "PUT", answer.status == 200 {
      let path = request.path.drop { $0 == "/" }
      await history.look(at: String(path.drop { $0 != "/" }.dropFirst()), in: store)
    }
    try await life.pass()
    return answer
  }
}
