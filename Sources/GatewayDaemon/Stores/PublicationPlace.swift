internal import FoundationEssentials
internal import GatewayServer
package import GatewaySettings
package import KeyPublishing
package import KeyStorage
internal import Logging
internal import PeerTransport
internal import S3Publications
internal import ServiceLifecycle
package import TransparencyLog

/// Where a gateway publishes, and where it serves from: one folder, or a bucket and the copy of it on this machine.
package struct PublicationPlace: Sendable {
  /// What is published into.
  package let folder: any PublicationFolder
  /// On this machine: what is served.
  package let path: String
  /// Keeps what is served; `nil` where that is what is published into.
  private let copy: BucketCopy?

  package var hasCopy: Bool { copy != nil }

  /// - Parameter environment: where credentials are looked for, unless the configuration has them.
  /// - Returns: `nil` where nothing is published.
  package init?(
    _ plan: GatewayPlan, environment: [String: String] = ProcessInfo.processInfo.environment
  ) {
    guard let path = plan.publicationFolder else { return nil }
    self.path = path
    if let settings = plan.publicationBucket {
      let bucket = BucketFolder(settings, environment: environment)
      folder = bucket
      copy = BucketCopy(of: bucket, in: path, log: plan.log?.folder)
    } else {
      folder = LocalFolder(path)
      copy = nil
    }
  }

  /// Brings what is served up to date.
  ///
  /// - Parameter plan: the configuration as it is now.
  /// - Returns: whether anything is new; never where what is published into is served itself.
  @discardableResult
  package func bringUpToDate(_ plan: GatewayPlan) async throws -> Bool {
    try await copy?.refresh(plan.series.map(\.name) + plan.mirrors.map(\.name)) ?? false
  }

  /// - Parameters:
  ///   - program: name and version of what publishes.
  ///   - log: how the log of what is published is kept.
  ///   - taker: who takes what is queued into the log, where replicas share one.
  package func publisher(
    _ ledger: Ledger, series: [SeriesSettings], mirrors: [MirrorSettings] = [], program: String = "keyferry",
    log: EvidenceSettings? = nil, taker: LogKeeper.Taker = .this
  ) -> Publisher {
    guard copy == nil else {
      var keeper: (@Sendable () -> LogKeeper)?
      if let log { keeper = { self.keeper(of: log, ledger, taker: log.place == .replicas ? taker : .this) } }
      return Publisher(
        ledger: ledger, series: series, mirrors: mirrors, folder: folder, program: program, log: keeper)
    }
    return Publisher(
      ledger: ledger, series: series, mirrors: mirrors, folder: path, program: program, log: log, caller: WitnessPath())
  }

  /// Takes what is queued into the log; see ``LogKeeper``.
  package func keeper(of log: EvidenceSettings, _ ledger: Ledger, taker: LogKeeper.Taker = .this) -> LogKeeper {
    LogKeeper(
      log, ledger: ledger, folder: folder, shelf: shelf(of: log), state: Self.state(of: log, ledger), taker: taker,
      caller: WitnessPath(), isEnding: { Task.isShuttingDownGracefully })
  }

  /// Where others see the log.
  package func shelf(of log: EvidenceSettings) -> any LogShelf {
    if copy == nil { return LogFolder("\(path)/\(log.folder)") }
    return PublishedLog(in: folder, at: log.folder)
  }

  /// Where what was signed is kept.
  ///
  /// - Parameter ledger: of the store, which has it where replicas share the log.
  package static func state(of log: EvidenceSettings, _ ledger: Ledger?) -> any LogStatePlace {
    guard log.place == .replicas, let ledger else { return log.stateFolder() }
    return StoredLog(of: log.name, in: ledger, keys: log.stateFolder())
  }
}

/// Keeps the copy of a bucket that is served. What cannot be got leaves it as it is.
package struct CopyService: Service {
  private let place: PublicationPlace
  private let plan: @Sendable () -> GatewayPlan
  private let serving: Serving
  private let logger = Logger(label: "keyferry.copy")
  /// Seconds between two looks: so much later, at most, others' bundles are served here.
  private static let interval: Int64 = 10

  /// - Parameter plan: the configuration as it is at any moment.
  /// - Returns: `nil` where what is published into is served itself.
  package init?(_ place: PublicationPlace?, for serving: Serving, plan: @escaping @Sendable () -> GatewayPlan) {
    guard let place, place.hasCopy else { return nil }
    self.place = place
    self.plan = plan
    self.serving = serving
  }

  package func run() async throws {
    var told: String?
    let bell = serving.publications.bell
    repeat {
      await bell?.begin()
      do {
        if try await place.bringUpToDate(plan()) { serving.publications.reload() }
        await bell?.end(isSeen: true)
        if told != nil { logger.notice("the copy of the bucket is up to date again") }
        told = nil
        serving.publishing?.release(.copy)
      } catch is CancellationError {
        await bell?.end(isSeen: false)
        return
      } catch {
        await bell?.end(isSeen: false)
        let reason = "the copy of the bucket cannot be brought up to date: \(error)"
        if told != reason { logger.error("the copy stays as it is", metadata: ["reason": .string("\(error)")]) }
        told = reason
        serving.publishing?.hold(.copy, because: reason)
      }
    } while await pauseBeforeLook(bell)
    await bell?.end(isSeen: false)
  }

  /// A look comes earlier where somebody asks for what is not here yet, once a second at most.
  private func pauseBeforeLook(_ bell: CopyRefresher?) async -> Bool {
    for _ in 0..<Self.interval {
      guard await pause(seconds: 1) else { return false }
      if await bell?.isRung == true { break }
    }
    return true
  }
}

extension CopyService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  package var description: String { "the copy of the bucket" }
}
