import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyIntake
import KeyNormalization
import KeyPublishing
import KeyStorage
import Synchronization
import Testing

/// A round that is interrupted anywhere ends, when it is run again, where an undisturbed one ends.
@Suite struct CrashTests {
  struct Killed: Error {}

  /// Counts the steps of a run, and stops it at one of them: each change of the folder, and each transaction before and
  /// after it was kept.
  final class Fuse: Sendable {
    private let left: Mutex<Int?>
    private let error: any Error
    let steps = Mutex(0)

    init(at step: Int?, error: any Error = Killed()) {
      left = Mutex(step)
      self.error = error
    }

    func burn() throws {
      steps.withLock { $0 += 1 }
      let isOver = left.withLock { left in
        guard let count = left else { return false }
        left = count - 1
        // What is dead does nothing more.
        return count <= 0
      }
      if isOver { throw error }
    }
  }

  struct BurningStore: Store {
    let store: MemoryStore
    let fuse: Fuse

    var role: StoreRole { store.role }

    func read<Result: Sendable>(_ body: @escaping @Sendable (any StoredState) throws -> Result) async throws -> Result {
      try fuse.burn()
      return try await store.read(body)
    }

    func write<Result: Sendable>(
      as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result {
      try fuse.burn()
      let result = try await store.write(as: authority, body)
      try fuse.burn()
      return result
    }
  }

  static let series: [SeriesSettings] = {
    let (old, new) = (makeIdentity("v1"), makeIdentity("v2"))
    let keys = [ScheduledIdentity(identity: old), ScheduledIdentity(identity: new, from: at(11))]
    return [
      .sample("NL", identities: keys) {
        $0.minimumKeys = 6
        $0.pads = true
        $0.maximumKeys = 4
        $0.graceSeconds = 3600
      },
      .sample("all", include: nil, identities: keys) {
        $0.publishesEmptyWindows = true
        $0.makesSince = true
      },
    ]
  }()

  /// What a first round has published already when the one that is watched begins: with a new key, late keys, a revision
  /// and old files to remove.
  static func prepare(_ press: Press) async throws {
    try await press.say([key(1, type: .selfReport), key(2)])
    try await press.round(at(8))
    try await press.say([key(3)], origin: "DE")
    try await press.round(at(10))
    try await press.say([key(1, type: .confirmedTest), key(4), key(5)])
  }

  static let now = at(12)

  /// Runs the round with a fuse, and then again without.
  static func run(_ press: inout Press, fuse: Fuse, again: Bool = true) async throws {
    let undisturbed = (press.store, press.folder)
    press.store = BurningStore(store: press.base, fuse: fuse)
    press.folder = LocalFolder(press.root) { _, _ in try fuse.burn() }
    let receipts = try await press.publisher.round(now: now)
    for receipt in receipts { #expect(receipt.isBalanced) }
    try press.checkConsistency(at: now)
    (press.store, press.folder) = undisturbed
    if again { try await press.round(now) }
  }

  @Test func aStoreThatAsksForEachBodyAgainHearsTheSame() async throws {
    var ends: [End] = []
    for isRepeating in [false, true] {
      try await Press.run(Self.series) { press in
        if isRepeating { press.store = RepeatingStore(press.base) }
        try await Self.prepare(press)
        try await press.round(Self.now)
        ends.append(try await End(press))
      }
    }
    #expect(ends.count == 2 && ends[0] == ends[1] && !ends[0].files.isEmpty)
  }

  struct End: Equatable {
    var digests: [String: String] = [:]
    var indexes: [String] = []
    var files: Set<String> = []
    var released: [[ReleasedKey]] = []
    var states: [String: BundleState] = [:]

    init() {}

    init(_ press: Press) async throws {
      digests = try press.exportDigests()
      indexes = try press.series.map { try press.text("\($0.name)/index.txt") }
      files = try press.files()
      let names = press.series.map(\.name)
      (released, states) = try await press.base.read { state in
        let start = TemporaryExposureKey(high: 0, low: 0)
        let states = try state.bundles(of: nil, in: Set(BundleState.allCases)).map { ($0.bundle.path, $0.state) }
        return (
          try names.map { try state.released(by: $0, from: start, limit: 1000).map { $0.withoutBundle } },
          Dictionary(uniqueKeysWithValues: states)
        )
      }
    }
  }

  /// Kills the round at every step, and fails the disk at every step of the folder.
  @Test(arguments: [false, true]) func everyStep(isFullDisk: Bool) async throws {
    let error: any Error = isFullDisk ? FileFault("write", "folder", number: 28) : Killed()
    var undisturbed = End()
    var steps = 0
    try await Press.run(Self.series) { press in
      try await Self.prepare(press)
      let fuse = Fuse(at: nil)
      try await Self.run(&press, fuse: fuse, again: false)
      steps = fuse.steps.withLock { $0 }
      undisturbed = try await End(press)
    }
    #expect(steps > 100)
    // A few of the steps, others each time; KEYFERRY_EVERY_STEP=1 takes all.
    let stride = ProcessInfo.processInfo.environment["KEYFERRY_EVERY_STEP"] == nil ? LongList.size(36, long: 12) : 1
    var random = SeededRandom(for: "crash steps")
    let first = Int.random(in: 0..<stride, using: &random)
    for step in Swift.stride(from: first, to: steps, by: stride) {
      try await Press.run(Self.series) { press in
        try await Self.prepare(press)
        try await Self.run(&press, fuse: Fuse(at: step, error: error))
        #expect(try await End(press) == undisturbed, "interrupted at step \(step) of \(steps)")
      }
    }
  }

  /// Many times in a row, each a step later.
  @Test func againAndAgain() async throws {
    var undisturbed = End()
    try await Press.run(Self.series) { press in
      try await Self.prepare(press)
      try await press.round(Self.now)
      undisturbed = try await End(press)
    }
    try await Press.run(Self.series) { press in
      try await Self.prepare(press)
      for step in stride(from: 0, to: 60, by: 5) {
        try await Self.run(&press, fuse: Fuse(at: step), again: false)
      }
      try await press.round(Self.now)
      #expect(try await End(press) == undisturbed)
    }
  }

  /// Its first round stops somewhere, and its manifest is damaged meanwhile: the store has known the series before its
  /// folder did.
  @Test func aManifestDamagedBeforeTheFirstWindowIsMadeAgain() async throws {
    var damaged = 0
    for step in 0..<40 {
      try await Press.run(.sample()) { press in
        try await press.say([key(1)])
        let undisturbed = (press.store, press.folder)
        let fuse = Fuse(at: step)
        press.store = BurningStore(store: press.base, fuse: fuse)
        press.folder = LocalFolder(press.root) { _, _ in try fuse.burn() }
        _ = try? await press.publisher.round(now: at(10))
        (press.store, press.folder) = undisturbed
        let manifest = URL(filePath: "\(press.root)/\(SeriesManifest.path(of: "NL"))")
        if FileManager.default.fileExists(atPath: manifest.path) {
          damaged += 1
          try Data("{".utf8).write(to: manifest)
        }
        let receipt = try await press.publisher.round(now: at(10))[0]
        #expect(receipt.fault == nil, "stopped at step \(step)")
        #expect(try press.increments("NL").map(\.keys) == [[key(1)]])
      }
    }
    #expect(damaged > 1)
  }

  /// The codes that an operator watches.
  @Test func aFullDiskIsNamed() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1)])
      press.folder = LocalFolder(press.root) { step, path in
        if step == .write, path.hasSuffix(".zip") { throw FileFault("write", path, number: 28) }
      }
      let receipt = try await press.publisher.round(now: at(10))[0]
      #expect(receipt.fault?.code == "disk-full" && receipt.isBalanced)
      #expect(try press.index("NL") == [] && press.files().allSatisfy { !$0.hasSuffix(".partial") })
      press.folder = LocalFolder(press.root)
      let next = try await press.round(at(10, 1))[0]
      #expect(next.bundles.count == 2)
      #expect(try press.increments("NL").map(\.keys) == [[key(1)]])
    }
  }

  /// A file that a crash left half-written, or that somebody touched, is written again from the staged bytes.
  @Test func whatIsLeftBesideIsNoObstacle() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1)])
      press.folder = LocalFolder(press.root) { step, path in
        if step == .rename, path.hasSuffix("-00001.zip") { throw Killed() }
      }
      _ = try await press.publisher.round(now: at(10))
      #expect(try press.files().contains { $0.hasSuffix(".partial") })
      let path = try await press.base.read { try $0.bundles(of: "NL", in: [.staged])[0].bundle.path }
      try Data("half".utf8).write(to: URL(filePath: "\(press.root)/\(path)"))
      press.folder = LocalFolder(press.root)
      try await press.round(at(10))
      #expect(try press.files().allSatisfy { !$0.hasSuffix(".partial") })
      #expect(try press.increments("NL").map(\.keys) == [[key(1)]])
    }
  }

  @Test func pathsStayInTheFolder() async throws {
    let folder = LocalFolder("/nonexistent")
    for path in ["../index.txt", "NL/../x", "/etc/x", "NL//x", "NL/", "", ".x"] {
      #expect(throws: FileFault.self, "\(path)") { try folder.put([], at: path) }
    }
    for name in ["", "a/b", "..", "a b", "é"] {
      let publisher = Publisher(ledger: Ledger(MemoryStore()), series: [.sample(name)], folder: "/nonexistent")
      #expect(try await publisher.round(now: at(10))[0].fault?.code == "invalid-series")
    }
  }
}

extension ReleasedKey {
  /// Numbers of bundles depend on how often a round was begun.
  fileprivate var withoutBundle: ReleasedKey {
    ReleasedKey(key: key, bundle: BundleID(rawValue: 0), revisions: revisions)
  }
}
