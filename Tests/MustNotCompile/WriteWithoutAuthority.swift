// Nobody writes to a store without the right to.
// expect: missing argument for parameter 'as' in call
import ExposureKeys
import KeyStorage

func resume(_ store: any Store, _ subject: Pause.Subject, at now: Instant) async throws -> Bool {
  #if MISTAKE
    try await store.write { try $0.resume(subject) }
  #else
    try await Ledger(store).resumed(subject, by: Attribution(by: "ada"), at: now)
  #endif
}
