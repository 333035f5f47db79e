import ExposureKeys
import Foundation
import GatewayTesting
import KeyNormalization
import KeyStorage
import SQLiteDriver
import Testing

@testable import BundleTrust

#if PostgreSQL
  import PostgresDriver
#endif

/// The implementations that keep the contract.
enum StoreKind: String, CustomTestStringConvertible {
  case memory
  case sqlite
  /// Slow, and asks for each body that writes a second time.
  case repeating
  case postgresql

  /// All that this machine can have: ``PostgresTests`` says what PostgreSQL needs.
  static var allCases: [StoreKind] { [.memory, .sqlite, .repeating] + (hasPostgres ? [.postgresql] : []) }

  static var hasPostgres: Bool {
    #if PostgreSQL
      PostgresServer.programs != nil
    #else
      false
    #endif
  }

  var testDescription: String { rawValue }
}

enum Times {
  /// 2020-12-01.
  static let now = Instant(secondsSince1970: 18_597 * 86_400)

  static func after(_ seconds: Int64) -> Instant { Instant(secondsSince1970: now.secondsSince1970 + seconds) }
  static func days(_ count: Int64) -> Instant { after(count * 86_400) }
}

/// Calls `body` with a new store, which is gone when it returns.
func withStore(_ kind: StoreKind, _ body: (any Store) async throws -> Void) async throws {
  switch kind {
  case .memory: try await body(MemoryStore())
  case .repeating: try await body(RepeatingStore(MemoryStore()))
  case .sqlite:
    try await withFolder { folder in
      try await body(try SQLiteStore(folder: folder, now: Times.now))
    }
  case .postgresql:
    #if PostgreSQL
      let words = try ConnectionWords(try PostgresServer.shared.words)
      try await body(try PostgresStore(words, schema: PostgresServer.newSchema()))
    #else
      throw StorageFault(.unsupported, "built without the trait PostgreSQL")
    #endif
  }
}

func withFolder(_ body: (String) async throws -> Void) async throws {
  let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-store-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  defer { try? FileManager.default.removeItem(at: folder) }
  try await body(folder.path)
}

/// Everything that a store lets see, with names in place of numbers.
struct Snapshot: Equatable, Sendable {
  var sources: [SourceRecord]
  var documents: [WaitingDocument]
  var contents: [[UInt8]?]
  var summaries: [SourceSummary]
  var claims: Set<StatedClaim>
  var claimCount: Int
  var volumes: [[String: Int]]
  var pauses: [Pause]
  var recalls: [Recall]
  var bundles: [BundleRecord]
  var bundleContents: [[UInt8]?]
  var released: [[ReleasedKey]]
  var notes: [[UInt8]?]
  var pushes: [PushRecord]
  var pushContents: [[UInt8]?]
  var pushedKeys: [PushedKey]
  var uploads: [UploadRecord]
  var federationUploads: [FederationUpload]
  var federationKeys: [[UInt8]?]
  var federationBatches: [FederationBatch]
  var federationDays: [FederationDay]
  var events: [EventRecord]
  var queue: [QueuedEntry]

  init(_ state: any StoredState) throws {
    sources = try state.sources()
    documents = try state.documents(of: nil, in: Set(DocumentState.allCases), limit: .max).map(state.waiting)
    contents = try documents.map { try state.content(of: $0.id) }
    summaries = try sources.map { try state.summary(of: $0.name) }
    claims = try allClaims(state, limit: 1000)
    claimCount = try state.claimCount()
    volumes = try sources.map { try state.usualVolumes(before: Day(daysSince1970: 1_000_000), of: $0.name) }
    pauses = try state.pauses()
    recalls = try state.recalls()
    bundles = try state.bundles(of: nil, in: Set(BundleState.allCases))
    bundleContents = try bundles.map { try state.content(of: $0.id) }
    released = try ["NL", "travel"].map { try state.released(by: $0, from: .first, limit: .max) }
    notes = try ["NL.secret", "round"].map { try state.note(named: $0) }
    pushes = try state.pushes(to: nil, in: Set(PushState.allCases))
    pushContents = try pushes.map { try state.content(of: $0.id) }
    pushedKeys = try state.pushedKeys(to: "efgs", from: .first, before: nil)
    uploads = try ["a", "b"].flatMap { try state.uploads(certificate: $0) }
    var batch = try state.firstFederationBatch(since: Day(daysSince1970: 0))
    var batches: [FederationBatch] = []
    while let one = batch {
      batches.append(one)
      batch = try state.federationBatch(behind: one.id)
    }
    federationBatches = batches
    federationUploads =
      try batches.flatMap { try state.federationUploads(in: $0.id) } + state.waitingFederationUploads(limit: .max)
    federationKeys = try federationUploads.map { try state.federationKeys(of: $0.id) }
    federationDays = try state.federationDays(since: Day(daysSince1970: 0))
    events = try state.events(from: EventID(rawValue: 0), limit: .max)
    queue = try state.queuedEntries(limit: .max)
  }
}

extension Snapshot {
  /// For what may happen again without effect.
  var withoutEvents: Self {
    var state = self
    state.events = []
    return state
  }
}

extension TemporaryExposureKey {
  static let first = TemporaryExposureKey(high: 0, low: 0)
}

extension Store {
  func snapshot() async throws -> Snapshot { try await read { try Snapshot($0) } }
}

/// All claims, page by page; as of an event, or now.
func allClaims(_ state: any StoredState, limit: Int, asOf event: EventID? = nil) throws -> Set<StatedClaim> {
  var claims: Set<StatedClaim> = []
  var start: TemporaryExposureKey? = .first
  while let from = start {
    let page = try state.claims(from: from, limit: limit, asOf: event)
    claims.formUnion(page.claims.statedClaims)
    start = page.next
  }
  return claims
}

/// Random batches of few keys, so that claims meet.
struct Arrivals {
  var random: SeededRandom

  static let sources = [
    Source(name: "efgs", provenance: .signed(by: "efgs")),
    Source(name: "DE", origin: "DE", provenance: .assertedByOperator),
    Source(name: "mirror", isRelay: true, provenance: .host("mirror.example")),
    Source(name: "mirror", isRelay: true, carries: ["IT", "DE"], provenance: .host("mirror.example")),
    Source(name: "DE", origin: "DE", provenance: .signed(by: "262 v1")),
    Source(name: "efgs", provenance: .origins), Source(name: "efgs", provenance: .host("efgs.example")),
  ]

  mutating func key() -> ClaimedKey {
    var key = ClaimedKey(
      key: TemporaryExposureKey(high: UInt64.random(in: 0..<12, using: &random) << 60, low: random.pick([0, 1, .max])))
    // One start for each key data: what becomes of another one has a test of its own.
    let place = Int(key.key.high >> 60) + (key.key.low == 0 ? 1 : 0)
    let midnight = Day(daysSince1970: Int64(18_597 - [1, 3, 14][place % 3])).firstInterval.rawValue
    key.rollingStart = Int32(midnight + (place % 4 == 0 ? 17 : 0))
    key.rollingPeriod = random.pick([144, 144, 1, 143])
    key.transmissionRisk = random.pick([nil, 0, 8, 3])
    key.reportType = random.pick([nil] + ReportType.allCases.map(\.rawValue))
    key.daysSinceOnset = random.pick([nil, -14, 0, 14, 205, 1914, 3000, 4014, 1986])
    key.isRevised = random.once(in: 5)
    return key
  }

  mutating func keys(_ count: Int) -> [(key: ClaimedKey, region: RegionClaim)] {
    (0..<count).map { _ in
      let visited: [[String]?] = [nil, [], ["DE"], ["IT", "DE"], ["ES, \"x\""]]
      return (key(), RegionClaim(origin: random.pick(["DE", "IT", "CH", nil]), visited: random.pick(visited)))
    }
  }

  mutating func batch(_ count: Int? = nil) -> AdmittedBatch {
    admit(keys(count ?? Int.random(in: 0...40, using: &random)), from: random.pick(Self.sources))
  }

  mutating func batches(_ count: Int) -> [AdmittedBatch] { (0..<count).map { _ in batch() } }
}

/// - Parameter usual: the usual volume of every origin; beyond twice that, claims are held.
func admit(
  _ keys: [(key: ClaimedKey, region: RegionClaim)], from source: Source, usual: Int? = nil
) -> AdmittedBatch {
  var regions = RegionTable()
  let claims = keys.map { said in
    var key = said.key
    key.regions = regions.intern(said.region) ?? .none
    return key
  }
  var policy = ReadingPolicy()
  if usual != nil {
    policy.floodFactor = 2
    policy.floodFloor = 0
  }
  policy.reportTypes = Set(ReportType.allCases)
  policy.declaredRegions = Set(
    keys.flatMap { ($0.region.visited ?? []) + [$0.region.origin ?? ""] }.map { $0.uppercased() })
  let volumes = usual.map { OriginVolumes(usual: ["DE": $0, "IT": $0, "CH": $0]) }
  var admission = Admission(
    of: VerifiedDocument(basis: source.provenance.basis), from: source.sender, policy: policy, volumes: volumes,
    now: Times.now)
  return claims.withUnsafeBufferPointer { admission.admit($0, regions: regions) }
}

extension Provenance {
  /// What a document had to be verified by.
  fileprivate var basis: VerifiedDocument.Basis {
    switch self {
    case .signed(by: let name): .signed(by: KeyIdentity(id: name, version: nil, fingerprint: ""))
    case .host(let name): .host(name)
    case .origins: .origins
    case .assertedByOperator: .assertedByOperator
    }
  }
}

extension StoreTransaction {
  /// A document of this name, as good as fetched.
  func document(_ name: String, of source: String = "DE", at now: Instant = Times.now) throws -> DocumentID {
    try discover([name], of: source, at: now)[0].id
  }
}

extension DocumentFacts {
  static let small = DocumentFacts(byteCount: 3, digest: "abc", format: "gaen-export", vouchedBy: "operator")

  init(_ receipt: ImportReceipt) {
    self = .small
    counts.add(receipt)
  }
}

extension NewBundle {
  init(_ series: String, _ ordinal: Int, kind: BundleKind = .increment) {
    self.init(
      series: series, kind: kind, ordinal: ordinal, start: 1_606_780_800, end: 1_606_788_000,
      path: "\(series)/\(kind)-\(ordinal).zip", keyCount: 30, revisedKeyCount: 2, byteCount: 3, archiveDigest: "aa",
      exportDigest: "bb", keyID: "204", keyVersion: "v1")
  }
}
