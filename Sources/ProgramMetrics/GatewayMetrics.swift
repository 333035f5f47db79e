package import ExposureKeys
internal import Synchronization

/// What the gateway counts, for `/metrics`. Pulling and publishing report here; serving reports itself.
///
/// Names begin with `keyferry_`; times are seconds since 1970, durations seconds. The page on metrics documents every one;
/// a test compares it with a gateway that runs. A metric is one property: `text` prints all of them, in their order.
package final class GatewayMetrics: Sendable {
  private let observers = Observers()

  /// The lock owns the list of those who are asked. It is no property of the metrics, whose properties are listed.
  private final class Observers: Sendable {
    let all = Mutex<[@Sendable (GatewayMetrics) -> Void]>([])
  }

  // Pushing.
  package let pushes = MetricFamily(.counter, "keyferry_pushes_total", "Pushes by outcome.", "destination", "outcome")
  package let lastPushSuccess = MetricFamily(
    .gauge, "keyferry_last_successful_push_timestamp_seconds", "When a push ended without a fault last.",
    "destination")
  package let pushedKeys = MetricFamily(
    .counter, "keyferry_pushed_keys_total", "Keys handed over: stored, known there already, or refused.",
    "destination", "outcome")
  package let pendingKeys = MetricFamily(
    .gauge, "keyferry_push_pending_keys", "Keys that wait for the next push.", "destination")
  package let pausedDestinations = MetricFamily(
    .gauge, "keyferry_destination_paused",
    "1 while an operator has paused the destination, or the origin whose keys it gets, else 0.",
    "destination")
  package let pushInterval = MetricFamily(
    .gauge, "keyferry_push_interval_seconds", "How often keys are handed over while all is well.",
    "destination")

  // Serving.
  package let requests = MetricFamily(
    .counter, "keyferry_http_requests_total", "Requests by class of address, method and status.",
    "route", "method", "status")
  package let durations = MetricFamily(
    .histogram([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]),
    "keyferry_http_request_duration_seconds", "Time until a response was ready to be sent.", "route")
  package let sentBytes = MetricFamily(
    .counter, "keyferry_http_response_bytes_total", "Bytes of response bodies.", "route")
  package let cacheLookups = MetricFamily(
    .counter, "keyferry_bundle_cache_lookups_total", "Lookups of files in memory.", "result")
  package let repeatedAnswers = MetricFamily(
    .counter, "keyferry_http_repeated_answers_total",
    "Requests whose answer was that of an equal one in the same second.")
  package let rateLimited = MetricFamily(.counter, "keyferry_http_rate_limited_total", "Requests refused as too many.")
  package let droppedConnections = MetricFamily(
    .counter, "keyferry_http_dropped_connections_total",
    "Connections that were closed before their client was done, by reason.", "reason")
  package let refusedAtFederation = MetricFamily(
    .counter, "keyferry_federation_refused_clients_total",
    "Requests at the federation's door whose client was not let in, by reason.", "reason")
  package let callbacks = MetricFamily(
    .counter, "keyferry_federation_callbacks_total",
    "Attempts to announce a download batch to a national back end, by outcome.", "country", "outcome")
  package let subscriptions = MetricFamily(
    .gauge, "keyferry_federation_subscriptions", "Callbacks that national back ends have asked for, by state.",
    "country", "state")
  package let uploads = MetricFamily(
    .counter, "keyferry_uploads_total", "Uploads by door and outcome.", "door", "outcome")
  package let uploadedKeys = MetricFamily(
    .counter, "keyferry_uploaded_keys_total", "Uploaded keys by outcome.", "door", "outcome")
  package let federationUploads = MetricFamily(
    .counter, "keyferry_federation_uploads_total", "Uploads of countries by outcome.", "country", "outcome")
  package let federationKeys = MetricFamily(
    .counter, "keyferry_federation_keys_total", "Keys that countries uploaded: recorded, or held for the operator.",
    "country", "outcome")
  package let federationDownloads = MetricFamily(
    .counter, "keyferry_federation_downloads_total", "Batches that countries downloaded.", "country")

  // Receiving.
  package let pulls = MetricFamily(.counter, "keyferry_pulls_total", "Pulls by outcome.", "source", "outcome")
  package let lastPull = MetricFamily(
    .gauge, "keyferry_last_pull_timestamp_seconds", "When a pull ended last.", "source")
  package let lastPullSuccess = MetricFamily(
    .gauge, "keyferry_last_successful_pull_timestamp_seconds", "When a pull ended without a fault last.",
    "source")
  package let pullDuration = MetricFamily(
    .gauge, "keyferry_last_pull_duration_seconds", "How long the last pull took.", "source")
  package let sourceLag = MetricFamily(
    .gauge, "keyferry_source_lag_seconds", "How long ago a pull ended without a fault last.",
    "source")
  package let receivedKeys = MetricFamily(
    .counter, "keyferry_received_keys_total", "Keys of recorded documents: new, known or rejected.",
    "source", "outcome")
  package let documents = MetricFamily(
    .counter, "keyferry_documents_total", "Fetched documents: recorded or quarantined.",
    "source", "outcome")
  package let quarantined = MetricFamily(
    .gauge, "keyferry_quarantined_documents", "Documents that wait for an operator.", "source")

  package let sourceKeyAge = MetricFamily(
    .gauge, "keyferry_source_newest_key_age_seconds", "How long ago a new key came last.", "source")
  package let pausedSources = MetricFamily(
    .gauge, "keyferry_source_paused", "1 while an operator has paused the source, else 0.", "source")
  package let pullInterval = MetricFamily(
    .gauge, "keyferry_pull_interval_seconds", "How often the source is asked while all is well.", "source")
  package let heldClaims = MetricFamily(
    .gauge, "keyferry_held_claims",
    "Claims that are held until an operator decides: floods, and other rolling starts.",
    "source")
  package let lastRetention = MetricFamily(
    .gauge, "keyferry_last_retention_timestamp_seconds", "When what had been kept long enough was removed last.")

  // The gateway itself.
  package let faults = MetricFamily(
    .gauge, "keyferry_faults", "Things that are wrong and stay so until they are mended, by kind.", "fault")
  package let clockStep = MetricFamily(
    .gauge, "keyferry_clock_step_seconds",
    "How far the system's clock is from the time that has passed, while it is not believed; else 0.")
  package let storeBytes = MetricFamily(
    .gauge, "keyferry_store_bytes", "Bytes of the store's files, its log of changes included.")
  package let freeBytes = MetricFamily(
    .gauge, "keyferry_disk_free_bytes", "Bytes that can still be written where a folder is.", "folder")
  package let memoryBytes = MetricFamily(.gauge, "keyferry_memory_bytes", "Memory that the process has in use.")
  package let buildInfo = MetricFamily(
    .gauge, "keyferry_build_info", "1; the label says which program it is.", "version")
  package let startTime = MetricFamily(.gauge, "keyferry_start_timestamp_seconds", "When the process began to run.")
  package let certificateExpiry = MetricFamily(
    .gauge, "keyferry_tls_certificate_expiry_timestamp_seconds",
    "When the TLS certificate ends that new connections are shown.", "address")
  package let uptime = MetricFamily(
    .gauge, "keyferry_uptime_seconds", "How long it has run, whatever happened to the clock.")

  // Publishing.
  package let publications = MetricFamily(
    .counter, "keyferry_publications_total", "Publishing rounds by outcome.", "series", "outcome")
  package let lastPublication = MetricFamily(
    .gauge, "keyferry_last_publication_timestamp_seconds", "When a round ended last.", "series")
  package let lastPublicationSuccess = MetricFamily(
    .gauge, "keyferry_last_successful_publication_timestamp_seconds", "When a round ended without a fault last.",
    "series")
  package let window = MetricFamily(.gauge, "keyferry_window_seconds", "How long a window of the series is.", "series")
  package let nextWindow = MetricFamily(
    .gauge, "keyferry_next_window_timestamp_seconds",
    "When the window ends whose round comes next; in the past where that round is late.", "series")
  package let publishedBundles = MetricFamily(
    .counter, "keyferry_published_bundles_total", "Bundles published.", "series", "kind")
  package let publishedKeys = MetricFamily(
    .counter, "keyferry_published_keys_total",
    "Published keys by outcome: first releases, revisions, and padding, which no phone used.",
    "series", "outcome")
  package let listedBundles = MetricFamily(
    .gauge, "keyferry_listed_bundles", "Bundles that indexes name now.", "series", "kind")
  package let keyExpiry = MetricFamily(
    .gauge, "keyferry_signing_key_expiry_timestamp_seconds", "When a signing key ends; +Inf without an end.",
    "series", "key_id", "key_version")
  package let hasSigningKey = MetricFamily(
    .gauge, "keyferry_signing_key_valid", "1 where a key can sign now, 0 where nothing is published.",
    "series")
  package let logEntries = MetricFamily(
    .gauge, "keyferry_log_entries", "Entries of the public log that others can see.")
  package let logWaiting = MetricFamily(
    .gauge, "keyferry_log_waiting_entries", "Entries that wait for the next round to take them into the public log.")
  package let logOldestWaiting = MetricFamily(
    .gauge, "keyferry_log_oldest_waiting_seconds", "How long ago the oldest of them was queued; 0 where none waits.")
  package let witnessFailures = MetricFamily(
    .counter, "keyferry_log_witness_failures_total", "Checkpoints that a witness has not signed in time.")

  package init() {
    // What has not happened yet has happened no times.
    for counter in [repeatedAnswers, rateLimited, witnessFailures] { counter.increment(by: 0) }
    for result in ["hit", "miss"] { cacheLookups.increment([result], by: 0) }
  }

  /// Everything as it is now, in the text format of Prometheus.
  package var text: String {
    for observe in observers.all.withLock({ $0 }) { observe(self) }
    let families = Mirror(reflecting: self).children.lazy.compactMap { $0.value as? MetricFamily }
    return families.map(\.text).joined() + LibraryMetrics.text
  }

  /// Asks for numbers whenever somebody reads them: for what changes by the clock or by the configuration, and is to be
  /// right also when nothing else happens.
  package func whenRead(_ observe: @escaping @Sendable (GatewayMetrics) -> Void) {
    observers.all.withLock { $0.append(observe) }
  }

  // MARK: Receiving

  /// A pull from a source has ended.
  ///
  /// - Parameters:
  ///   - outcome: a stable word: `success`, or the code of the fault.
  ///   - seconds: how long it took.
  package func recordPull(source: String, outcome: String, isSuccess: Bool, seconds: Double, at now: Instant) {
    pulls.increment([source, outcome])
    lastPull.set([source], to: Double(now.secondsSince1970))
    if isSuccess { lastPullSuccess.set([source], to: Double(now.secondsSince1970)) }
    pullDuration.set([source], to: seconds)
  }

  /// Keys of recorded documents: what an import receipt says.
  package func recordReceivedKeys(source: String, new: Int, known: Int, rejected: Int) {
    receivedKeys.increment([source, "new"], by: Double(new))
    receivedKeys.increment([source, "known"], by: Double(known))
    receivedKeys.increment([source, "rejected"], by: Double(rejected))
  }

  /// When each source was last pulled without a fault; replaces what was said before. Others are not told of any more.
  ///
  /// - Parameter names: of all sources.
  package func setSources(_ names: Set<String>, lastSuccess: [String: Instant], at now: Instant) {
    sourceLag.replaceAll(
      lastSuccess.filter { names.contains($0.key) }.map {
        ([$0.key], Double(now.secondsSince1970 - $0.value.secondsSince1970))
      })
    for family in [lastPull, lastPullSuccess, pullDuration, quarantined] {
      family.removeAll { !names.contains($0[0]) }
    }
  }

  /// What the store knows of its sources; replaces what was said before.
  ///
  /// - Parameters:
  ///   - newest: by source, when a new key came last.
  ///   - held: by source, how many claims are held for the operator.
  ///   - retention: when it was carried out last.
  package func setStored(newest: [String: Instant], held: [String: Int], retention: Instant?, at now: Instant) {
    sourceKeyAge.replaceAll(
      newest.map { ([$0.key], Double(max(0, now.secondsSince1970 - $0.value.secondsSince1970))) })
    heldClaims.replaceAll(held.map { ([$0.key], Double($0.value)) })
    if let retention { lastRetention.set([], to: Double(retention.secondsSince1970)) }
  }

  /// How the public log stands.
  ///
  /// - Parameters:
  ///   - entries: `nil` where there is no checkpoint.
  ///   - oldest: since when the oldest entry waits; `nil` where none does.
  package func setLog(entries: Int?, waiting: Int, oldest: Instant?, at now: Instant) {
    if let entries { logEntries.set([], to: Double(entries)) }
    logWaiting.set([], to: Double(waiting))
    logOldestWaiting.set([], to: Double(oldest.map { max(0, now.secondsSince1970 - $0.secondsSince1970) } ?? 0))
  }

  // MARK: Pushing

  /// What a push did with keys.
  package func recordPushedKeys(destination: String, stored: Int, known: Int, refused: Int, pending: Int) {
    for (outcome, count) in [("stored", stored), ("known", known), ("refused", refused)] {
      pushedKeys.increment([destination, outcome], by: Double(count))
    }
    pendingKeys.set([destination], to: Double(pending))
  }

  /// When each destination was last pushed to without a fault; replaces what was said before. Others are not told of any more.
  ///
  /// - Parameter names: of all destinations.
  package func setDestinations(_ names: Set<String>, lastSuccess: [String: Instant]) {
    lastPushSuccess.replaceAll(
      lastSuccess.filter { names.contains($0.key) }.map { ([$0.key], Double($0.value.secondsSince1970)) })
    pendingKeys.removeAll { !names.contains($0[0]) }
  }

  // MARK: Publishing

  /// A publishing round of a series has ended.
  ///
  /// - Parameter outcome: a stable word: `published`, `nothing-due`, `no-signing-key`, `disk-full`, …
  package func recordPublication(series: String, outcome: String, isSuccess: Bool, at now: Instant) {
    publications.increment([series, outcome])
    lastPublication.set([series], to: Double(now.secondsSince1970))
    if isSuccess { lastPublicationSuccess.set([series], to: Double(now.secondsSince1970)) }
  }

  /// The keys of one series.
  package struct SigningKeys {
    package var series: String
    /// Whether one of them can sign now.
    package var canSign: Bool
    /// With the end of each; `nil` is none.
    package var keys: [(id: String, version: String, until: Instant?)]

    package init(series: String, canSign: Bool, keys: [(id: String, version: String, until: Instant?)]) {
      self.series = series
      self.canSign = canSign
      self.keys = keys
    }
  }

  /// The keys of all series; replaces what was said before. Other series are not told of any more.
  ///
  /// - Parameter mirrors: series that show what others have signed, and so have no key.
  package func setSigningKeys(_ all: [SigningKeys], mirrors: [String] = []) {
    hasSigningKey.replaceAll(all.map { ([$0.series], $0.canSign ? 1 : 0) })
    keyExpiry.replaceAll(
      all.flatMap { series in
        series.keys.map { key in
          ([series.series, key.id, key.version], key.until.map { Double($0.secondsSince1970) } ?? .infinity)
        }
      })
    let names = Set(all.map(\.series) + mirrors)
    for family in [lastPublication, lastPublicationSuccess] { family.removeAll { !names.contains($0[0]) } }
  }

  // MARK: Serving

  package func recordRequest(route: String, method: String, status: Int, bytes: Int, seconds: Double) {
    requests.increment([route, method, String(status)])
    durations.observe([route], seconds)
    sentBytes.increment([route], by: Double(bytes))
  }

  package func recordUpload(door: String, outcome: String, accepted: Int, dropped: Int) {
    uploads.increment([door, outcome])
    uploadedKeys.increment([door, "accepted"], by: Double(accepted))
    uploadedKeys.increment([door, "dropped"], by: Double(dropped))
  }
}
