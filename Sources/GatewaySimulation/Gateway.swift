import ExposureKeys
import GatewayDaemon
import GatewayServer
import KeyNormalization
import KeyPeers
import KeyPublishing
import KeyReceiving
import KeyStorage
import PeerTransport

/// One process of the gateway, from its start until it is killed: the parts that the program has, with the clock and the
/// ways to peers passed in.
struct Gateway {
  let ledger: Ledger
  let clock: GatewayClock
  let publications: PublicationStore
  private let machine: Machine
  private let hosts: HostTimes
  private let puller: Puller
  private let publisher: Publisher

  static func start(
    on machine: Machine, _ disk: Disk, _ series: [SeriesSettings], log: PublicLog?
  ) async throws -> Gateway {
    let listeners: [any LedgerListener] = log == nil ? [] : [EvidenceListener(program: PublicLog.program)]
    let ledger = Ledger(try disk.openStore(at: machine.reading.wall), listeners: listeners)
    let clock = try await GatewayClock.opened(
      ledger, bounds: ClockBounds(), folder: LocalFolder(disk.publicFolder), series: series.map(\.name)
    ) { machine.reading }
    return Gateway(
      ledger: ledger, clock: clock, publications: PublicationStore(folder: disk.publicFolder, checkInterval: 0),
      machine: machine, hosts: HostTimes { machine.reading },
      puller: try Puller(ledger: ledger, spool: disk.spool, ownOrigins: ["NL"], clock: clock.time),
      publisher: Publisher(
        ledger: ledger, series: series, folder: disk.fuse.folder(disk.publicFolder), program: PublicLog.program,
        habit: .compared, randomBytes: { count in (0..<count).map { UInt8(truncatingIfNeeded: $0) } },
        log: log?.keeper(of: ledger, on: disk)))
  }

  struct Turn {
    /// The time by which the gateway published.
    let look: ClockLook
    let pulls: [PullReceipt]
    let receipts: [SeriesReceipt]
  }

  /// What the services of a gateway do in one turn: the clock, the sources, what is due to be removed, the series.
  func work(_ sources: [(settings: SourceSettings, transport: any Transport)]) async throws -> Turn {
    var look = clock.look()
    if look.doubt != nil {
      let word = try await ledger.read { try $0.clockWord() }
      let isAccepted = clock.hear(hostsDiffer: hosts.differences)
      if !isAccepted, let word { _ = clock.heed(word) }
      look = clock.look()
    }
    try await clock.keep(in: ledger)
    var pulls: [PullReceipt] = []
    for (settings, transport) in sources {
      pulls.append(try await puller.pull(settings, through: HeardTransport(transport, hosts: hosts)))
    }
    if let settled = look.settled { _ = try await Retention().carryOut(in: ledger, at: settled) }
    look = clock.look()
    let receipts = try await publisher.round(at: look)
    publications.reload()
    try await clock.keep(in: ledger)
    return Turn(look: look, pulls: pulls, receipts: receipts)
  }

  /// What the first series makes of a key, as `keyferry explain` says it, and whether something that was said about it
  /// waits for the operator.
  func answer(
    about key: KeySubject, _ series: [SeriesSettings]
  ) async throws -> (answer: SeriesAnswer.Subject?, isHeld: Bool) {
    let now = clock.now
    return try await ledger.read { state in
      let record = try state.record(of: key.key)
      let bundles = try SeriesAnswer.bundles(of: record, from: state)
      let answers = try SeriesAnswer.all(of: key.key, in: series, from: state, record, bundles: bundles, now: now)
      return (
        answers.flatMap(\.subjects).first { $0.subject == key }, record.held.contains { $0.claim.subject == key }
      )
    }
  }
}
