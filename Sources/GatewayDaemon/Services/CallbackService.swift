internal import BundleTrust
internal import ExposureKeys
internal import Federation
internal import GatewayServer
internal import KeyIntake
internal import KeyStorage
internal import Logging
internal import PeerTransport
internal import ProgramMetrics
internal import ServiceLifecycle
internal import Synchronization

/// Calls national back ends when there is a download batch that they have not heard of.
///
/// What is to be announced is what the store has behind a subscription's last batch, so that a process that dies forgets
/// nothing, and a batch is announced at least once. Each subscriber has its own queue: one that hangs keeps nobody waiting
/// but itself.
struct CallbackService: Service {
  let tenure: WorkOwnership
  let ledger: Ledger
  let clock: @Sendable () -> Instant
  let trust: HeldFederationTrust
  let caller: CallbackCaller
  let takesAuthenticationCertificates: Bool
  let metrics: GatewayMetrics
  /// Seconds between two looks into the store.
  private let interval: Int64

  private let logger = Logger(label: "keyferry.callbacks")
  private let busy = Busy()
  /// Subscribers that are called at the same time.
  private static let mostAtATime = 256

  init(
    tenure: WorkOwnership, ledger: Ledger, clock: @escaping @Sendable () -> Instant, trust: HeldFederationTrust,
    caller: CallbackCaller,
    takesAuthenticationCertificates: Bool, metrics: GatewayMetrics, interval: Int64 = 5
  ) {
    self.interval = interval
    self.tenure = tenure
    self.ledger = ledger
    self.clock = clock
    self.trust = trust
    self.caller = caller
    self.takesAuthenticationCertificates = takesAuthenticationCertificates
    self.metrics = metrics
  }

  /// Which subscriptions are being called. The lock owns the set.
  private final class Busy: Sendable {
    private let names = Mutex<Set<String>>([])

    func begin(_ name: String) -> Bool {
      names.withLock { $0.count < CallbackService.mostAtATime && $0.insert(name).inserted }
    }

    func end(_ name: String) { names.withLock { _ = $0.remove(name) } }
  }

  func run() async throws {
    await withDiscardingTaskGroup { group in
      repeat {
        for subscription in await due() where busy.begin(subscription.name) {
          group.addTask {
            _ = await tenure.during([.callbacks]) { await announce(to: subscription, noting: $0) }
            busy.end(subscription.name)
          }
        }
      } while await pause(seconds: interval)
    }
  }

  private func due() async -> [CallbackSubscription] {
    do {
      let all = try await ledger.read { try $0.callbackSubscriptions() }.all
      metrics.subscriptions.replaceAll(
        Dictionary(grouping: all, by: \.country).flatMap { country, some in
          let active = some.count { $0.suspended == nil }
          return [([country, "active"], Double(active)), ([country, "suspended"], Double(some.count - active))]
        })
      guard tenure.holds(.callbacks) else { return [] }
      let now = clock()
      return all.filter { $0.isDue(at: now) }
    } catch {
      logger.error("the subscriptions cannot be read", metadata: ["reason": .string("\(error)")])
      return []
    }
  }

  /// One batch after another, until one cannot be announced or there is none.
  private func announce(to first: CallbackSubscription, noting ledger: Ledger) async {
    var subscription = first
    do {
      while !Task.isCancelled, !Task.isShuttingDownGracefully,
        let batch = try await ledger.read({ [subscription] in try $0.batch(behind: subscription) })
      {
        let attempt = await attempt(batch, subscription)
        guard let now = try await ledger.callbackAttempted(attempt, by: subscription, at: clock()) else { return }
        tell(attempt, now)
        guard attempt.faultCode == nil else { return }
        subscription = now
      }
    } catch {
      logger.error("what was announced cannot be noted", metadata: ["reason": .string("\(error)")])
    }
  }

  private func attempt(_ batch: FederationBatch, _ subscription: CallbackSubscription) async -> CallbackAttempt {
    var attempt = CallbackAttempt(batch: batch.id.rawValue, tag: batch.tag)
    do throws(CallbackFault) {
      let target = try CallbackTarget(subscription.url)
      try await caller.call(target, query: [("batchTag", batch.tag), ("date", "\(batch.day)")]) { certificate in
        refusal(of: certificate, at: target.host, country: subscription.country)
      }
    } catch {
      (attempt.faultCode, attempt.faultReason) = (error.code.rawValue, error.reason)
    }
    return attempt
  }

  /// The whitelist must have the certificate for callbacks of this country at this host.
  private func refusal(of der: [UInt8], at host: String, country: String) -> String? {
    do {
      let (certificate, trust, now) = (try FederationCertificate(der: der), trust.value, clock())
      do throws(CertificateRefusal) {
        let row = try trust.certificate(
          thumbprint: certificate.thumbprint, country: country, use: .callback, at: now)
        guard row.host?.lowercased() == host else {
          return "the whitelist has its certificate for \(row.host ?? "no host"), and not for \(host)"
        }
      } catch {
        guard takesAuthenticationCertificates else { throw error }
        _ = try trust.certificate(
          thumbprint: certificate.thumbprint, country: country, use: .authentication, at: now)
      }
      return nil
    } catch {
      return "\(error)"
    }
  }

  private func tell(_ attempt: CallbackAttempt, _ subscription: CallbackSubscription) {
    metrics.callbacks.increment([subscription.country, attempt.faultCode ?? "announced"])
    var metadata: Logger.Metadata = [
      "subscription": .string(subscription.name), "batch": .string(attempt.tag),
    ]
    guard let code = attempt.faultCode else { return logger.info("a batch was announced", metadata: metadata) }
    metadata["code"] = .string(code)
    metadata["reason"] = .string(attempt.faultReason ?? "")
    guard subscription.suspended == nil else {
      return logger.error(
        "a subscription is suspended: keyferry callbacks resume lets it go on", metadata: metadata)
    }
    metadata["failures"] = .stringConvertible(subscription.failures)
    logger.warning("a batch could not be announced", metadata: metadata)
  }
}

extension StoredState {
  /// The next one that the subscriber is to hear of; `nil` where it has heard of all.
  fileprivate func batch(behind subscription: CallbackSubscription) throws -> FederationBatch? {
    guard subscription.announced > 0 else { return try firstFederationBatch(since: Day(daysSince1970: 0)) }
    return try federationBatch(behind: FederationBatchID(rawValue: subscription.announced))
  }
}

extension CallbackService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  var description: String { "callbacks" }
}
