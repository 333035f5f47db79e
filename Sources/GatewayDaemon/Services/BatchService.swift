internal import ExposureKeys
internal import Federation
internal import GatewaySettings
internal import KeyStorage
internal import Logging
internal import ServiceLifecycle

/// Closes the download batches of a federation gateway by a schedule, so that uploads of one moment share one.
///
/// A batch is closed when it is made and never changes, because clients may have seen it. Uploads are answered before: a
/// country does not wait for this.
struct BatchService: Service {
  let plan: CurrentPlan
  let tenure: WorkOwnership
  let clock: GatewayClock

  private let logger = Logger(label: "keyferry.federation")

  init(plan: CurrentPlan, tenure: WorkOwnership, clock: GatewayClock) {
    self.plan = plan
    self.tenure = tenure
    self.clock = clock
  }

  func run() async throws {
    var last: Int64?
    repeat {
      guard let settings = plan.value.federation else { continue }
      let window = clock.now.secondsSince1970 / max(1, settings.batchSeconds)
      guard window != last else { continue }
      do {
        guard try await tenure.during([.batches], { try await close(settings, in: $0) }) != nil else { continue }
        last = window
      } catch {
        logger.error("download batches could not be made", metadata: ["reason": .string("\(error)")])
      }
    } while await pause(seconds: 2)
  }

  private func close(_ settings: FederationGatewaySettings, in ledger: Ledger) async throws {
    while let batch = try await ledger.batched(
      within: settings.batchKeys, keptFor: settings.keptDays, except: settings.rehearsals, at: clock.now)
    {
      logger.info("download batch made", metadata: ["batch": .string(batch.tag)])
    }
  }
}

extension BatchService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  var description: String { "batching" }
}
