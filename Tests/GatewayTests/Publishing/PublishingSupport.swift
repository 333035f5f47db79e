import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyInspection
import KeyIntake
import KeyNormalization
import KeyPublishing
import KeyStorage
import S3Objects
import S3Publications
import Synchronization
import Testing
import TransparencyLog

/// 2020-12-04.
let firstDay = Day(daysSince1970: 18_600)

/// An instant on the first day, or `days` later.
func at(_ hour: Int64, _ minute: Int64 = 0, days: Int64 = 0) -> Instant {
  Instant(secondsSince1970: firstDay.start.secondsSince1970 + days * 86_400 + hour * 3600 + minute * 60)
}

/// A sound key that expired `age` days before the first day began; other numbers give other key data.
func key(
  _ number: UInt64, age: Int64 = 1, period: Int32 = 144, type: ReportType = .confirmedTest, risk: Int32? = 4,
  onset: Int32? = 2
) -> ClaimedKey {
  var random = SeededRandom(seed: number &* 0x9e37_79b9)
  var key = ClaimedKey(key: TemporaryExposureKey(high: random.next(), low: random.next()))
  key.rollingStart = Int32((firstDay.daysSince1970 - age - 1) * 144)
  key.rollingPeriod = period
  key.transmissionRisk = risk
  key.reportType = type.rawValue
  key.daysSinceOnset = onset
  return key
}

extension ClaimedKey {
  var subject: KeySubject { KeySubject(key: key, rollingStart: rollingStartWord) }

  func with(_ change: (inout ClaimedKey) -> Void) -> ClaimedKey {
    var key = self
    change(&key)
    return key
  }
}

/// A gateway's publishing half in a folder of its own: what is said goes in, what apps would see comes out.
struct Press: Sendable {
  var store: any Store
  /// The store itself, where ``store`` stands before it and fails.
  let base: MemoryStore
  let root: String
  var series: [SeriesSettings]
  var folder: LocalFolder
  /// What is published into in place of the folder, and is laid down there to be looked at.
  var bucket: (folder: BucketFolder, store: StrictObjectStore)?
  /// What was checked once need only be the same bytes later.
  private let checked = Checked()

  private final class Checked: Sendable {
    let digests = Mutex<Set<String>>([])
  }

  init(base: MemoryStore, root: String, series: [SeriesSettings]) {
    (store, self.base, self.root, self.series) = (base, base, root, series)
    folder = LocalFolder(root)
  }

  /// Runs `body` with an empty store and an empty folder, which is removed afterwards.
  static func run(
    _ series: [SeriesSettings], _ body: (inout Press) async throws -> Void
  ) async throws {
    // Syncing a folder in memory takes no time.
    let shared = URL(filePath: "/dev/shm")
    let place =
      FileManager.default.isWritableFile(atPath: shared.path) ? shared : FileManager.default.temporaryDirectory
    let root = place.appending(path: "keyferry-publishing-\(UUID().uuidString)").path
    defer {
      for place in ["", "-log-state", "-log-state-old", ".kept"] {
        try? FileManager.default.removeItem(atPath: root + place)
      }
    }
    var press = Press(base: MemoryStore(), root: root, series: series)
    try await body(&press)
  }

  static func run(_ series: SeriesSettings, _ body: (inout Press) async throws -> Void) async throws {
    try await run([series], body)
  }

  /// The log of what is published; `nil` where there is none.
  var log: EvidenceSettings?
  /// Stops the log at one of its steps.
  var logHook: @Sendable (LogFolder.Step, String) throws -> Void = { _, _ in }

  /// Who takes entries into a log in the bucket.
  var logTaker = LogKeeper.Taker.this

  /// Further policies that an auditor has, by their digests; and the name of his program.
  var policies: [String: Policy] = [:]
  var program = "keyferry test"
  /// Each round looks at changes, and compares that with everything.
  var habit = RoundMode.compared

  /// The way to its witnesses.
  var witnesses: (any WitnessCaller)?

  private var listeners: [any LedgerListener] { log == nil ? [] : [EvidenceListener(program: "keyferry test")] }

  var publisher: Publisher {
    let ledger = Ledger(store, listeners: listeners)
    var keeper: (@Sendable () -> LogKeeper)?
    if let log, let bucket = bucket?.folder {
      keeper = { [logTaker] in Self.keeper(log, ledger, bucket, logTaker) }
    } else if let log {
      keeper = { [folder, root, logHook, witnesses] in
        LogKeeper(log, ledger: ledger, folder: folder, at: root, caller: witnesses, willDo: logHook)
      }
    }
    return Publisher(
      ledger: ledger, series: series, folder: bucket?.folder ?? folder, program: "keyferry test", habit: habit,
      randomBytes: Self.secret, log: keeper)
  }

  /// Of a log whose state is in the store, and whose files are in the bucket.
  static func keeper(
    _ log: EvidenceSettings, _ ledger: Ledger, _ bucket: BucketFolder, _ taker: LogKeeper.Taker
  ) -> LogKeeper {
    LogKeeper(
      log, ledger: ledger, folder: bucket, shelf: PublishedLog(in: bucket, at: log.folder),
      state: StoredLog(of: log.name, in: ledger, keys: log.stateFolder()), taker: taker)
  }

  /// Lays the objects of the bucket down in the folder.
  func layDown() throws {
    guard let store = bucket?.store else { return }
    try? FileManager.default.removeItem(atPath: root)
    for (key, object) in store.objects {
      let file = URL(filePath: root).appending(path: String(key.dropFirst(store.address.prefix.count)))
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(object.bytes).write(to: file)
    }
  }

  /// What happens beside the publisher, past whatever stops it.
  var ledger: Ledger { Ledger(base, listeners: listeners) }

  static let secret: @Sendable (Int) -> [UInt8] = { count in (0..<count).map { UInt8(truncatingIfNeeded: $0) } }

  /// A round whose receipts add up, and after which the folder is consistent.
  @discardableResult
  func round(_ now: Instant, sourceLocation: SourceLocation = #_sourceLocation) async throws -> [SeriesReceipt] {
    let receipts = try await publisher.round(now: now)
    #expect(receipts.map(\.series) == series.map(\.name), sourceLocation: sourceLocation)
    for receipt in receipts {
      #expect(receipt.fault == nil, sourceLocation: sourceLocation)
      #expect(receipt.isBalanced, "\(receipt)", sourceLocation: sourceLocation)
    }
    try layDown()
    try checkConsistency(at: now, sourceLocation: sourceLocation)
    return receipts
  }

  // MARK: What is said

  @discardableResult
  func say(
    _ keys: [ClaimedKey], origin: String? = "NL", visited: [String]? = nil, source: String = "peer",
    now: Instant = at(0)
  ) async throws -> DocumentID {
    try await say(keys.map { ($0, origin, visited) }, source: source, now: now)
  }

  /// - Parameter sender: who hands them over; `nil` is a source that is called so, and speaks for anybody.
  @discardableResult
  func say(
    _ said: [(key: ClaimedKey, origin: String?, visited: [String]?)], source: String = "peer",
    from sender: Sender? = nil,
    now: Instant = at(0)
  ) async throws -> DocumentID {
    var regions = RegionTable()
    let keys = said.map { claim in
      claim.key.with { $0.regions = regions.intern(RegionClaim(origin: claim.origin, visited: claim.visited)) ?? .none }
    }
    let table = regions
    let known = try await ledger.read { try $0.documents(of: nil, in: Set(DocumentState.allCases), limit: .max).count }
    let document = try await ledger.discovered(["\(known)"], of: source, at: now)[0]
    _ = try await ledger.recorded(document.id, evidence: nil, cursor: nil, at: now) { recorder in
      var policy = ReadingPolicy()
      policy.declaredRegions = Set(said.flatMap { ($0.visited ?? []) + [$0.origin].compactMap(\.self) })
      var admission = Admission(
        of: .assertedByOperator(), from: sender ?? Sender(name: source), policy: policy, now: now)
      let batch = keys.withUnsafeBufferPointer { admission.admit($0, regions: table) }
      #expect(batch.claims.count == keys.count, "a test says what would not be admitted")
      _ = try recorder.record(batch)
      return DocumentFacts(byteCount: 0, digest: "", format: "test", vouchedBy: "operator")
    }
    return document.id
  }

  /// An upload of one key that its endpoint has let in.
  ///
  /// - Parameter regions: the origin alone, where `nil`.
  func upload(
    _ key: ClaimedKey, at door: String, of origin: String, regions named: [String]? = nil, isProven: Bool,
    now: Instant = at(0)
  ) async throws {
    let names = named ?? [origin]
    var regions = RegionTable()
    var key = key
    key.regions = regions.intern(RegionClaim(origin: nil, visited: names)) ?? .none
    var policy = ReadingPolicy()
    policy.declaredRegions = Set(names + [origin])
    var admission = Admission(
      of: .assertedByOperator(), from: Sender(name: door, origin: origin), policy: policy, now: now)
    let batch = [key].withUnsafeBufferPointer { admission.admit($0, regions: regions) }
    #expect(batch.claims.count == 1, "a test says what would not be admitted")
    let upload = AdmittedUpload(
      door: door, batch: batch, regions: names, certificate: nil, isProven: isProven, byteCount: 1)
    _ = try await ledger.uploaded([upload], at: now)
  }

  // MARK: What apps see

  func text(_ path: String) throws -> String {
    try String(contentsOf: URL(filePath: "\(root)/\(path)"), encoding: .utf8)
  }

  func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: "\(root)/\(path)"))) }

  func index(_ series: String) throws -> [String] {
    try text("\(series)/index.txt").split(separator: "\n").map(String.init)
  }

  func manifest(_ series: String) throws -> SeriesManifest {
    try SeriesManifest(document: bytes("\(series)/manifest.json"))
  }

  func bundle(_ path: String) throws -> Document { try read(memory(bytes(path), name: path)) }

  /// Everything that the index names, in its order.
  func increments(_ series: String) throws -> [Document] { try index(series).map(bundle) }

  func listed(_ series: String, _ kind: BundleKind) throws -> [SeriesManifest.Bundle] {
    try manifest(series).bundles.filter { $0.kind == kind.rawValue && $0.isListed }
  }

  /// The files of the folder by their paths.
  func files() throws -> Set<String> {
    let all = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
    return Set(
      all.filter { path in
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: "\(root)/\(path)", isDirectory: &isFolder) && !isFolder.boolValue
      })
  }

  /// What must hold whenever a round is not running: every name of an index and of a manifest stands for a whole, signed
  /// file with the digests that were stated, and clients accept it.
  func checkConsistency(at now: Instant, sourceLocation: SourceLocation = #_sourceLocation) throws {
    for settings in series {
      guard let manifest = try? manifest(settings.name) else {
        #expect((try? index(settings.name)) == nil, "an index without a manifest", sourceLocation: sourceLocation)
        continue
      }
      let listed = manifest.bundles.filter(\.isListed)
      let ring = TrustRing(
        keys: settings.identities.map(\.identity.verificationKey))
      #expect(Set(listed.map(\.keyID)).count <= 1, "an index mixes keys", sourceLocation: sourceLocation)
      #expect(
        Set(manifest.bundles.map { $0.path.split(separator: "/").last }).count == manifest.bundles.count,
        "names repeat", sourceLocation: sourceLocation)
      let increments = listed.filter { $0.kind == "increment" }
      if let index = try? index(settings.name) {
        #expect(Set(index).isSubset(of: manifest.bundles.map(\.path)), sourceLocation: sourceLocation)
        for path in index { #expect(throws: Never.self, sourceLocation: sourceLocation) { try bytes(path) } }
      }
      let ends = manifest.bundles.filter { $0.kind == "increment" }.map(\.end)
      #expect(
        Set(increments.map(\.end)).count == increments.count,
        "ends of \(ends)", sourceLocation: sourceLocation)
      for facts in listed { try check(facts, ring, settings, now: now, sourceLocation: sourceLocation) }
    }
  }

  private func check(
    _ facts: SeriesManifest.Bundle, _ ring: TrustRing, _ settings: SeriesSettings, now: Instant,
    sourceLocation: SourceLocation
  ) throws {
    let content = try bytes(facts.path)
    #expect(content.count == facts.bytes, sourceLocation: sourceLocation)
    #expect(ExportDigests(of: content).hexadecimal == facts.sha256, sourceLocation: sourceLocation)
    guard checked.digests.withLock({ $0.insert(facts.path + facts.sha256).inserted }) else { return }
    let document = memory(content, name: facts.path)
    let export = try entry("export.bin", of: content) ?? []
    #expect(ExportDigests(of: export).hexadecimal == facts.exportSHA256, sourceLocation: sourceLocation)
    let report = try #require(try document.verify(trusting: ring, at: now))
    #expect(report.verifiedDocument != nil, "\(report.lines)", sourceLocation: sourceLocation)
    let examination = try examineBytes(content, name: facts.path)
    let verdict = DeviceProfile.strict.judge(examination, signature: .verified)
    #expect(
      verdict.verdict == .accepts || verdict.verdict == .acceptsWithWarnings,
      "\(facts.path): \(verdict.rules.filter { $0.outcome.isRemarkable }.map(\.text))", sourceLocation: sourceLocation)
    let read = try self.bundle(facts.path)
    #expect(read.header.region == settings.headerRegion, sourceLocation: sourceLocation)
    #expect(read.header.startTimestamp == UInt64(facts.start), sourceLocation: sourceLocation)
    #expect(read.header.endTimestamp == UInt64(facts.end), sourceLocation: sourceLocation)
    #expect(read.header.batchNum == 1 && read.header.batchSize == 1, sourceLocation: sourceLocation)
    let keys = read.keys
    #expect(keys.count { !$0.isRevised } == facts.keys, sourceLocation: sourceLocation)
    #expect(keys.count { $0.isRevised } == facts.revisedKeys, sourceLocation: sourceLocation)
    #expect(keys.allSatisfy { $0.rollingPeriod != nil }, sourceLocation: sourceLocation)
    for list in [keys.filter { !$0.isRevised }, keys.filter(\.isRevised)] {
      #expect(list.map(\.key) == list.map(\.key).sorted(), sourceLocation: sourceLocation)
    }
  }
}

extension Document {
  var newKeys: [ClaimedKey] { keys.filter { !$0.isRevised } }
  var revisedKeys: [ClaimedKey] { keys.filter(\.isRevised) }
}

/// Keys that differ in their order alone are the same.
func subjects(_ keys: [ClaimedKey]) -> [KeySubject] { keys.map(\.subject).sorted() }

let identity: SigningIdentity = makeIdentity("v1")

func makeIdentity(_ version: String, id: String = "204") -> SigningIdentity {
  guard let identity = try? SigningIdentity(key: .generate(), keyID: id, keyVersion: version) else {
    preconditionFailure("a sound name was refused")
  }
  return identity
}

extension SeriesSettings {
  static func sample(
    _ name: String = "NL", include: Set<String>? = ["NL"], identities: [ScheduledIdentity]? = nil,
    _ change: (inout SeriesSettings) -> Void = { _ in }
  ) -> SeriesSettings {
    var policy = Policy(name: "test")
    policy.publishing.emptyVisited = .origin
    var settings = SeriesSettings(
      name: name, selection: RegionSelection(include: include), publishing: policy, headerRegion: "204",
      identities: identities ?? [ScheduledIdentity(identity: identity)])
    change(&settings)
    return settings
  }
}

extension Publisher {
  /// A round at a time that nobody doubts.
  func round(now: Instant) async throws -> [SeriesReceipt] { try await round(at: ClockLook(toldByOperator: now)) }
}
