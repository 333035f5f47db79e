import BundleTrust
import Crypto
import ExposureKeys
import Foundation
import FoundationNetworking
import GatewayDaemon
import GatewayServer
import GatewaySettings
import KeyPublishing
import KeyReceiving
import KeyStorage
import Synchronization
import Testing

/// A gateway that runs in this process for some simulated days: read from the file that an operator writes, with its store on
/// the disk and its server on a port. Its clock stands still until a test moves it on.
final class SeedGateway: Sendable {
  let folder: URL
  let plan: GatewayPlan
  /// `http://127.0.0.1:49152`, without a slash at the end.
  let address: String
  /// What phones know of the key that signs its bundles.
  let signer: P256.Signing.PublicKey

  private let ledger: Ledger
  private let publications: PublicationStore
  private let clock: Clock
  private let place: PublicationPlace

  var now: Instant { clock.now }
  var today: Day { clock.now.day }

  /// Keys of those whom it believes; their private halves are the tests'.
  struct Authority: Sendable {
    let verifier = P256.Signing.PrivateKey()
    let dp3t = P256.Signing.PrivateKey()
    let responses = P256.Signing.PrivateKey()
  }

  /// Runs a gateway meanwhile.
  ///
  /// - Parameters:
  ///   - settings: everything but `state`, `publication` and `listen`; `KEY` in it is a series' `sign`.
  ///   - place: where it publishes.
  ///   - begin: what its clock shows first.
  ///   - files: besides its own keys, by name.
  static func run(
    _ settings: String, publishing place: String = "{folder: public}", trusting authority: Authority = Authority(),
    from begin: String, files: [String: String] = [:],
    _ body: (SeedGateway) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-seed-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let signer = P256.Signing.PrivateKey()
    for (name, text) in [
      ("sign.key", signer.pemRepresentation), ("response.key", authority.responses.pemRepresentation),
      ("next-day.key", P256.Signing.PrivateKey().pemRepresentation),
      ("verifier.pem", authority.verifier.publicKey.pemRepresentation),
      ("dp3t.pem", authority.dp3t.publicKey.pemRepresentation), ("token", "a-token-of-the-operator"),
      ("revision", String(repeating: "secret-word-", count: 4)),
    ] + files.map({ ($0.key, $0.value) }) {
      let file = folder.appending(path: name)
      try Data(text.utf8).write(to: file)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }
    let text =
      "state: state\npublication: \(place)\n"
      + settings.replacing("KEY", with: "[{key: {file: sign.key}, id: \"310\", version: v1}]")
    try Data(text.utf8).write(to: folder.appending(path: "gateway.yaml"))
    let now = try #require(Instant(begin))
    var (plan, _) = try GatewayConfiguration.read(
      folder.appending(path: "gateway.yaml").path, environment: [:], now: now)
    // The time of answers is looked at elsewhere; days would take too long with it.
    for index in plan.uploads.indices { plan.server?.uploads[index].answerSeconds = 0 }
    let clock = Clock(now)
    let ledger = try await Stores.ledger(
      at: plan.store, in: plan.stateFolder, as: .owner, beside: PublishedSeries(of: plan, environment: [:]), now: now)
    let (ports, told) = AsyncStream.makeStream(of: String.self)
    let serving = try Serving(
      try #require(plan.server), publishedIn: try #require(plan.publicationFolder), series: plan.series,
      mirrors: plan.mirrors,
      uploads: (plan.uploads, ledger), clock: { clock.now }
    ) { told.yield($0) }
    let service = serving.server
    let server = Task { try await service.run() }
    defer { server.cancel() }
    var address: String?
    for await text in ports {
      address = text
      break
    }
    try await body(
      SeedGateway(
        folder: folder, plan: plan, address: String(try #require(address).dropLast()), signer: signer.publicKey,
        ledger: ledger, publications: serving.publications, clock: clock,
        place: try #require(PublicationPlace(plan, environment: [:]))))
  }

  private init(
    folder: URL, plan: GatewayPlan, address: String, signer: P256.Signing.PublicKey, ledger: Ledger,
    publications: PublicationStore,
    clock: Clock, place: PublicationPlace
  ) {
    self.place = place
    (self.folder, self.plan, self.address, self.signer) = (folder, plan, address, signer)
    (self.ledger, self.publications, self.clock) = (ledger, publications, clock)
  }

  /// Pulls from all its sources, due or not.
  func pull() async throws -> [PullReceipt] {
    let receiving = try Receiving(plan, ledger: ledger, version: "seeds", clock: clock.time)
    let receipts = try await receiving.pull(plan.sources, isForced: true)
    await receiving.close()
    return receipts
  }

  /// Moves the clock on by so many hours, and publishes after each step what is due then.
  func goOn(hours: Int64, step: Int64 = 2) async throws {
    for _ in 0..<hours / step {
      clock.now = Instant(secondsSince1970: clock.now.secondsSince1970 + step * 3600)
      let publisher = place.publisher(ledger, series: plan.series, mirrors: plan.mirrors)
      for receipt in try await publisher.round(at: ClockLook(toldByOperator: clock.now)) {
        if let fault = receipt.fault { throw fault }
      }
      try await place.bringUpToDate(plan)
      publications.reload()
    }
  }

  /// The clock of a gateway, shared with its server.
  private final class Clock: Sendable {
    var time: @Sendable () -> Instant { { self.now } }
    private let instant: Mutex<Instant>
    init(_ instant: Instant) { self.instant = Mutex(instant) }
    var now: Instant {
      get { instant.withLock { $0 } }
      set { instant.withLock { $0 = newValue } }
    }
  }
}
