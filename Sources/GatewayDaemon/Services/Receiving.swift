package import ExposureKeys
package import GatewaySettings
package import KeyPeers
package import KeyReceiving
package import KeyStorage
internal import PeerTransport
internal import Tracing

/// The receiving half of a gateway, put together: the puller, and the way to each peer.
package final class Receiving: Sendable {
  private let puller: Puller
  private let paths: PeerPaths
  private let ledger: Ledger
  private let retention: Retention
  /// What the peers' clocks say.
  package let hostTimes = HostTimes()

  /// - Parameters:
  ///   - version: what peers are told of this program.
  ///   - watch: is told what happens, from any thread.
  package init(
    _ plan: GatewayPlan, ledger: Ledger, version: String, clock: @escaping @Sendable () -> Instant,
    watch: @escaping @Sendable (PullEvent) -> Void = { _ in }
  ) throws {
    puller = try Puller(
      ledger: ledger, spool: "\(plan.stateFolder)/spool", ownOrigins: plan.ownOrigins, retention: plan.retention,
      clock: clock, watch: watch)
    paths = PeerPaths(version: version, clock: clock, hosts: hostTimes)
    self.ledger = ledger
    retention = plan.retention
  }

  package func close() async { await paths.close() }

  /// Pulls from all these sources at once; the receipts come in their order.
  package func pull(_ sources: [SourceSettings], isForced: Bool = false, isOnce: Bool = false) async throws
    -> [PullReceipt]
  {
    try await withThrowingTaskGroup(of: (Int, PullReceipt).self) { group in
      for (index, source) in sources.enumerated() {
        group.addTask { (index, try await self.pull(source, isForced: isForced, isOnce: isOnce)) }
      }
      var receipts: [(Int, PullReceipt)] = []
      for try await receipt in group { receipts.append(receipt) }
      return receipts.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  package func pull(_ source: SourceSettings, isForced: Bool, isOnce: Bool) async throws -> PullReceipt {
    try await pull(source, with: puller, isForced: isForced, isOnce: isOnce)
  }

  /// - Parameter ledger: records what comes in.
  func pull(_ source: SourceSettings, into ledger: Ledger) async throws -> PullReceipt {
    try await pull(source, with: puller.recording(into: ledger), isForced: false, isOnce: false)
  }

  private func pull(
    _ source: SourceSettings, with puller: Puller, isForced: Bool, isOnce: Bool
  ) async throws -> PullReceipt {
    try await withSpan("keyferry.pull") { span in
      span.attributes["keyferry.source"] = source.name
      let receipt = try await pulled(source, with: puller, isForced: isForced, isOnce: isOnce)
      if case .failed(let fault) = receipt.outcome { span.attributes["keyferry.fault"] = fault.code.rawValue }
      return receipt
    }
  }

  private func pulled(
    _ source: SourceSettings, with puller: Puller, isForced: Bool, isOnce: Bool
  ) async throws -> PullReceipt {
    let transport: any Transport
    do {
      transport = try paths.transport(for: source)
    } catch let fault as TransportFault {
      // A source whose certificates cannot be used is no reason to leave the others alone.
      return try await puller.fail(source, fault.documentFault)
    }
    return try await puller.pull(source, through: transport, isForced: isForced, isOnce: isOnce)
  }

  package func retry(_ document: DocumentRecord, of source: SourceSettings) async throws -> PullReceipt? {
    try await puller.retry(document, of: source)
  }

  /// Removes what was to go at this time, at most once an hour; `nil` where that was done not long ago.
  /// ``ClockLook/settled`` is a day ago as a rule, so that nothing is lost by one look at a clock.
  package func expire(at settled: SoundTime) async throws -> ExpiryReceipt? {
    try await expire(at: settled, in: ledger)
  }

  /// - Parameter ledger: writes it down.
  func expire(at settled: SoundTime, in ledger: Ledger) async throws -> ExpiryReceipt? {
    try await retention.carryOut(in: ledger, at: settled)
  }
}

/// The ways to peers.
package struct PeerPaths: Sendable {
  private let clients: PeerClients
  private let clock: @Sendable () -> Instant
  private let hosts: HostTimes

  /// - Parameter hosts: hears what time it is where peers are.
  package init(version: String, clock: @escaping @Sendable () -> Instant, hosts: HostTimes = HostTimes()) {
    self.hosts = hosts
    clients = PeerClients(version: version)
    self.clock = clock
  }

  /// How bytes come from this source: a folder, or HTTP.
  package func transport(for source: SourceSettings) throws -> any Transport {
    switch source.peer.description.way {
    case .folder: FolderTransport(path: source.location, now: clock)
    case .web: HeardTransport(try clients.transport(for: source), hosts: hosts)
    }
  }

  package func close() async { await clients.shutdown() }
}
