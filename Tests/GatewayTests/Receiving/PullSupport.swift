import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyConversion
import KeyFormats
import KeyIntake
import KeyNormalization
import KeyPeers
import KeyReceiving
import KeyStorage
import PolicyFiles
import Synchronization
import Testing

/// A peer in memory: what it answers under each path, whatever the host.
final class MemoryPeer: Transport {
  struct Answer: Sendable {
    var status = 200
    var body: [UInt8] = []
    var headers: [PeerRequest.Header] = []
    var fault: TransportFault?
  }

  private struct State {
    var answers: [String: Answer] = [:]
    var asked: [String] = []
    var asides: [String: String] = [:]
    var provenHost: ProvenHost?
  }

  private let state = Mutex(State())

  /// Whose name TLS has proved; `nil` is a peer without TLS.
  var provenHost: ProvenHost? {
    get { state.withLock { $0.provenHost } }
    set { state.withLock { $0.provenHost = newValue } }
  }

  subscript(path: String) -> Answer? {
    get { state.withLock { $0.answers[path] } }
    set { state.withLock { $0.answers[path] = newValue } }
  }

  /// The paths that were asked for, in order.
  var asked: [String] { state.withLock { $0.asked } }
  func forget() { state.withLock { $0.asked = [] } }
  var asides: [String: String] { state.withLock { $0.asides } }

  func ask(_ request: PeerRequest) async throws -> (head: ResponseHead, body: [UInt8]) {
    let answer = try answer(to: request)
    return (ResponseHead(status: answer.status, headers: answer.headers, provenHost: provenHost), answer.body)
  }

  func fetch(_ request: PeerRequest, into path: String, byteLimit: Int) async throws -> ResponseHead {
    let answer = try answer(to: request)
    let head = ResponseHead(status: answer.status, headers: answer.headers, provenHost: provenHost)
    if let tag = head["etag"], request.headers.contains(where: { $0.name == "If-None-Match" && $0.value == tag }) {
      return ResponseHead(status: 304, headers: answer.headers)
    }
    if answer.status == 200 {
      let file = try OutputFile(path: path)
      try file.write(answer.body)
      try file.commit()
    }
    return head
  }

  func putAside(_ document: String, because reason: String) { state.withLock { $0.asides[document] = reason } }

  private func answer(to request: PeerRequest) throws -> Answer {
    let path =
      request.url.contains("://")
      ? "/" + request.url.split(separator: "/", omittingEmptySubsequences: true).dropFirst(2).joined(separator: "/")
      : request.url.hasPrefix("/") ? request.url : "/" + request.url
    let answer = state.withLock { state in
      state.asked.append(path)
      return state.answers[path]
    }
    if let fault = answer?.fault { throw fault }
    return answer ?? Answer(status: 404)
  }
}

/// A regional server of Google's kind with a signing key, and what it has published.
struct IndexServer {
  let peer = MemoryPeer()
  let identity: SigningIdentity
  private(set) var names: [String] = []

  init(keyID: String = "310") throws {
    identity = try SigningIdentity(key: .generate(), keyID: keyID, keyVersion: "v1")
    peer["/index.txt"] = MemoryPeer.Answer()
  }

  var ring: TrustRing { TrustRing(keys: [identity.verificationKey]) }

  /// Publishes a bundle, signed by the server's key or another one.
  mutating func publish(
    _ document: DecodedDocument, as name: String, signedBy other: SigningIdentity? = nil, tag: String? = nil
  ) throws {
    try replace(name, with: document, signedBy: other, tag: tag)
    names.append(name)
    peer["/index.txt"] = MemoryPeer.Answer(body: Array((names.joined(separator: "\n") + "\n").utf8))
  }

  func replace(
    _ name: String, with document: DecodedDocument, signedBy other: SigningIdentity? = nil, tag: String? = nil
  ) throws {
    peer["/" + name] = MemoryPeer.Answer(
      body: try bundle(document, signedBy: other ?? identity), headers: tag.map { [.init("ETag", $0)] } ?? [])
  }

  func settings(
    _ name: String = "us", trust: TrustRing? = nil, origin: String? = "US", isRelay: Bool = false
  ) -> SourceSettings {
    SourceSettings(
      name: name, peer: .index, location: "https://keys.example.org/", options: ["index": "index.txt"],
      trust: .ring(trust ?? ring), reading: Policy(name: "default"), origin: origin, isRelay: isRelay)
  }
}

extension IndexServer {
  /// What the server publishes, as files in a folder.
  func settings(_ name: String, readingFolder path: String) -> SourceSettings {
    var settings = settings(name)
    (settings.peer, settings.options, settings.location) = (.files, [:], path)
    return settings
  }
}

/// An archive of these keys, signed.
func bundle(_ document: DecodedDocument, signedBy identity: SigningIdentity) throws -> [UInt8] {
  var plan = ConversionPlan(to: .gaenExport)
  plan.signers = [identity]
  let csv = try document.csv()
  return try Converted(plan, [memory(csv, format: .csv)]).bytes
}

/// Plausible keys that are old enough to go out on the usual day.
func keys(_ count: Int, seed: UInt64) -> DecodedDocument {
  var random = SeededRandom(seed: seed)
  return RandomKeys(.plausible).document(count, using: &random)
}

let usualNoon = Instant(secondsSince1970: RandomKeys.usualDay.start.secondsSince1970 + 43_200)

/// A gateway's receiving half on a store, with a clock that tests move.
final class Receiver: Sendable {
  let store: any Store
  private let time: Mutex<Instant>
  private let folder: String
  private let own: Set<String>
  private let pieceSize: Int

  init(
    _ store: any Store = MemoryStore(), folder: String, own: Set<String> = [], at now: Instant = usualNoon,
    pieceSize: Int = Puller.pieceSize
  ) {
    self.store = store
    self.folder = folder
    self.own = own
    self.pieceSize = pieceSize
    time = Mutex(now)
  }

  var ledger: Ledger { Ledger(store) }

  func advance(seconds: Int64) {
    time.withLock { $0 = Instant(secondsSince1970: $0.secondsSince1970 + seconds) }
  }

  var now: Instant { time.withLock { $0 } }

  func puller() throws -> Puller {
    try Puller(
      ledger: ledger, spool: folder + "/spool", ownOrigins: own, pieceSize: pieceSize, clock: { [self] in now })
  }

  func pull(
    _ source: SourceSettings, _ peer: any Transport, isForced: Bool = true
  ) async throws -> PullReceipt {
    let receipt = try await puller().pull(source, through: peer, isForced: isForced)
    #expect(receipt.counts.isBalanced)
    return receipt
  }

  func claims() async throws -> Set<StatedClaim> {
    try await store.read { state in
      var all: Set<StatedClaim> = []
      var start: TemporaryExposureKey? = TemporaryExposureKey(high: 0, low: 0)
      while let from = start {
        let page = try state.claims(from: from, limit: 1000)
        all.formUnion(page.claims.statedClaims)
        start = page.next
      }
      return all
    }
  }

  func documents(_ states: Set<DocumentState> = Set(DocumentState.allCases)) async throws -> [DocumentRecord] {
    try await store.read { try $0.documents(of: nil, in: states, limit: .max) }
  }

  /// How many claims wait for the operator, by the code of the reason.
  func held() async throws -> [String: Int] {
    let documents = try await documents()
    let holds = try await ledger.read { state in try documents.map { try state.holds(of: $0.id) } }
    return holds.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
  }
}

/// A store that fails at one of its writes, before the body, or after it and so without effect.
final class FailingStore: Store {
  struct Failure: Error {}

  private let store: any Store
  private let remaining: Mutex<Int>

  /// - Parameter number: the write that fails, counted from 0.
  init(_ store: any Store, failingAt number: Int) {
    self.store = store
    remaining = Mutex(number)
  }

  var role: StoreRole { store.role }

  var hasFailed: Bool { remaining.withLock { $0 < 0 } }

  func read<Result: Sendable>(_ body: @escaping @Sendable (any StoredState) throws -> Result) async throws -> Result {
    try await store.read(body)
  }

  func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    let left = remaining.withLock { count in
      count -= 1
      return count
    }
    guard left < 0 else { return try await store.write(as: authority, body) }
    return try await store.write(as: authority) { transaction in
      _ = try body(transaction)
      throw Failure()
    }
  }
}

/// A folder of its own for an asynchronous test.
func withFolder(_ body: (String) async throws -> Void) async throws {
  let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  try await body(folder.path())
}
