// Nobody opens a store to write without saying beside which publications.
// expect: missing argument for parameter 'beside' in call
import ExposureKeys
import GatewayDaemon
import GatewaySettings
import KeyStorage

func open(_ plan: GatewayPlan, at now: Instant) async throws -> Ledger {
  #if MISTAKE
    try await Stores.ledger(at: plan.store, in: plan.stateFolder, as: .owner, now: now)
  #else
    try await Stores.ledger(
      at: plan.store, in: plan.stateFolder, as: .owner, beside: PublishedSeries(of: plan), now: now)
  #endif
}
