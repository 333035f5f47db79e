package import ExposureKeys
internal import KeyIntake
internal import KeyPublishing
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
  private let pushes = MetricFamily(.counter, "keyferry_pushes_total", "Pushes by outcome.", "destination", "outcome")
  private let lastPushSuccess = MetricFamily(
    .gauge, "keyferry_last_successful_push_timestamp_seconds", "When a push ended without a fault last.",
    "destination")
  private let pushedKeys = MetricFamily(
    .counter, "keyferry_pushed_keys_total", "Keys handed over: stored, known there already, or refused.",
    "destination", "outcome")
  private let pendingKeys = MetricFamily(
    .gauge, "keyferry_push_pending_keys", "Keys that wait for the next push.", "destination")
  private let pausedDestinations = MetricFamily(
    .gauge, "keyferry_destination_paused",
    "1 while an operator has paused the destination, or the origin whose keys it gets, else 0.",
    "destination")
  private let pushInterval = MetricFamily(
    .gauge, "keyferry_push_interval_seconds", "How often keys are handed over while all is well.",
    "destination")

  // Serving.
  private let requests = MetricFamily(
    .counter, "keyferry_http_requests_total", "Requests by class of address, method and status.",
    "route", "method", "status")
  private let durations = MetricFamily(
    .histogram([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]),
    "keyferry_http_request_duration_seconds", "Time until a response was ready to be sent.", "route")
  private let sentBytes = MetricFamily(
    .counter, "keyferry_http_response_bytes_total", "Bytes of response bodies.", "route")
  private let cacheLookups = MetricFamily(
    .counter, "keyferry_bundle_cache_lookups_total", "Lookups of files in memory.", "result")
  private let repeated = MetricFamily(
    .counter, "keyferry_http_repeated_answers_total",
    "Requests whose answer was that of an equal one in the same second.")
  private let limited = MetricFamily(.counter, "keyferry_http_rate_limited_total", "Requests refused as too many.")
  private let dropped = MetricFamily(
    .counter, "keyferry_http_dropped_connections_total",
    "Connections that were closed before their client was done, by reason.", "reason")
  private let refusedAtFederation = MetricFamily(
    .counter, "keyferry_federation_refused_clients_total",
    "Requests at the federation's door whose client was not let in, by reason.", "reason")
  private let callbacks = MetricFamily(
    .counter, "keyferry_federation_callbacks_total",
    "Attempts to announce a download batch to a national back end, by outcome.", "country", "outcome")
  private let subscriptions = MetricFamily(
    .gauge, "keyferry_federation_subscriptions", "Callbacks that national back ends have asked for, by state.",
    "country", "state")
  private let uploads = MetricFamily(
    .counter, "keyferry_uploads_total", "Uploads by door and outcome.", "door", "outcome")
  private let uploadedKeys = MetricFamily(
    .counter, "keyferry_uploaded_keys_total", "Uploaded keys by outcome.", "door", "outcome")
  private let federationUploads = MetricFamily(
    .counter, "keyferry_federation_uploads_total", "Uploads of countries by outcome.", "country", "outcome")
  private let federationKeys = MetricFamily(
    .counter, "keyferry_federation_keys_total", "Keys that countries uploaded: recorded, or held for the operator.",
    "country", "outcome")
  private let federationDownloads = MetricFamily(
    .counter, "keyferry_federation_downloads_total", "Batches that countries downloaded.", "country")

  // Receiving.
  private let pulls = MetricFamily(.counter, "keyferry_pulls_total", "Pulls by outcome.", "source", "outcome")
  private let lastPull = MetricFamily(
    .gauge, "keyferry_last_pull_timestamp_seconds", "When a pull ended last.", "source")
  private let lastPullSuccess = MetricFamily(
    .gauge, "keyferry_last_successful_pull_timestamp_seconds", "When a pull ended without a fault last.",
    "source")
  private let pullDuration = MetricFamily(
    .gauge, "keyferry_last_pull_duration_seconds", "How long the last pull took.", "source")
  private let sourceLag = MetricFamily(
    .gauge, "keyferry_source_lag_seconds", "How long ago a pull ended without a fault last.",
    "source")
  private let receivedKeys = MetricFamily(
    .counter, "keyferry_received_keys_total", "Keys of recorded documents: new, known or rejected.",
    "source", "outcome")
  private let documents = MetricFamily(
    .counter, "keyferry_documents_total", "Fetched documents: recorded or quarantined.",
    "source", "outcome")
  private let quarantined = MetricFamily(
    .gauge, "keyferry_quarantined_documents", "Documents that wait for an operator.", "source")

  private let sourceKeyAge = MetricFamily(
    .gauge, "keyferry_source_newest_key_age_seconds", "How long ago a new key came last.", "source")
  private let pausedSources = MetricFamily(
    .gauge, "keyferry_source_paused", "1 while an operator has paused the source, else 0.", "source")
  private let pullInterval = MetricFamily(
    .gauge, "keyferry_pull_interval_seconds", "How often the source is asked while all is well.", "source")
  private let heldClaims = MetricFamily(
    .gauge, "keyferry_held_claims",
    "Claims that are held until an operator decides: floods, and other rolling starts.",
    "source")
  private let lastRetention = MetricFamily(
    .gauge, "keyferry_last_retention_timestamp_seconds", "When what had been kept long enough was removed last.")

  // The gateway itself.
  private let faults = MetricFamily(
    .gauge, "keyferry_faults", "Things that are wrong and stay so until they are mended, by kind.", "fault")
  private let clockStep = MetricFamily(
    .gauge, "keyferry_clock_step_seconds",
    "How far the system's clock is from the time that has passed, while it is not believed; else 0.")
  private let storeBytes = MetricFamily(
    .gauge, "keyferry_store_bytes", "Bytes of the store's files, its log of changes included.")
  private let freeBytes = MetricFamily(
    .gauge, "keyferry_disk_free_bytes", "Bytes that can still be written where a folder is.", "folder")
  private let memoryBytes = MetricFamily(.gauge, "keyferry_memory_bytes", "Memory that the process has in use.")
  private let buildInfo = MetricFamily(
    .gauge, "keyferry_build_info", "1; the label says which program it is.", "version")
  private let start = MetricFamily(.gauge, "keyferry_start_timestamp_seconds", "When the process began to run.")
  private let certificateExpiry = MetricFamily(
    .gauge, "keyferry_tls_certificate_expiry_timestamp_seconds",
    "When the TLS certificate ends that new connections are shown.", "address")
  private let uptime = MetricFamily(
    .gauge, "keyferry_uptime_seconds", "How long it has run, whatever happened to the clock.")

  // Publishing.
  private let publications = MetricFamily(
    .counter, "keyferry_publications_total", "Publishing rounds by outcome.", "series", "outcome")
  private let lastPublication = MetricFamily(
    .gauge, "keyferry_last_publication_timestamp_seconds", "When a round ended last.", "series")
  private let lastPublicationSuccess = MetricFamily(
    .gauge, "keyferry_last_successful_publication_timestamp_seconds", "When a round ended without a fault last.",
    "series")
  private let window = MetricFamily(.gauge, "keyferry_window_seconds", "How long a window of the series is.", "series")
  private let nextWindow = MetricFamily(
    .gauge, "keyferry_next_window_timestamp_seconds",
    "When the window ends whose round comes next; in the past where that round is late.", "series")
  private let publishedBundles = MetricFamily(
    .counter, "keyferry_published_bundles_total", "Bundles published.", "series", "kind")
  private let publishedKeys = MetricFamily(
    .counter, "keyferry_published_keys_total",
    "Published keys by outcome: first releases, revisions, and padding, which no phone used.",
    "series", "outcome")
  private let listedBundles = MetricFamily(
    .gauge, "keyferry_listed_bundles", "Bundles that indexes name now.", "series", "kind")
  private let keyExpiry = MetricFamily(
    .gauge, "keyferry_signing_key_expiry_timestamp_seconds", "When a signing key ends; +Inf without an end.",
    "series", "key_id", "key_version")
  private let hasSigningKey = MetricFamily(
    .gauge, "keyferry_signing_key_valid", "1 where a key can sign now, 0 where nothing is published.",
    "series")
  private let logEntries = MetricFamily(
    .gauge, "keyferry_log_entries", "Entries of the public log that others can see.")
  private let logWaiting = MetricFamily(
    .gauge, "keyferry_log_waiting_entries", "Entries that wait for the next round to take them into the public log.")
  private let logOldestWaiting = MetricFamily(
    .gauge, "keyferry_log_oldest_waiting_seconds", "How long ago the oldest of them was queued; 0 where none waits.")
  private let witnessFailures = MetricFamily(
    .counter, "keyferry_log_witness_failures_total", "Checkpoints that a witness has not signed in time.")

  package init() {
    // What has not happened yet has happened no times.
    for counter in [repeated, limited, witnessFailures] { counter.increment(by: 0) }
    for reason in OpenConnections.Reason.allCases { dropped.increment([reason.rawValue], by: 0) }
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

  /// - Parameter outcome: `recorded`, `quarantined`.
  package func recordDocuments(source: String, outcome: String, count: Int = 1) {
    documents.increment([source, outcome], by: Double(count))
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

  /// What the configuration says about asking; replaces what was said before.
  ///
  /// - Parameters:
  ///   - pullIntervals: by source, of those that are asked.
  ///   - pushIntervals: by destination.
  package func setIntervals(pullIntervals: [String: Int64], pushIntervals: [String: Int64]) {
    pullInterval.replaceAll(pullIntervals.map { ([$0.key], Double($0.value)) })
    pushInterval.replaceAll(pushIntervals.map { ([$0.key], Double($0.value)) })
  }

  /// Who stands still, since an operator said so; replaces what was said before.
  package func setPaused(sources: [String: Bool], destinations: [String: Bool]) {
    pausedSources.replaceAll(sources.map { ([$0.key], $0.value ? 1 : 0) })
    pausedDestinations.replaceAll(destinations.map { ([$0.key], $0.value ? 1 : 0) })
  }

  /// Everything that is wrong now.
  package func setFaults(_ now: [StandingFault]) {
    let counts = Dictionary(grouping: now, by: \.kind)
    faults.replaceAll(StandingFault.Kind.allCases.map { ([$0.rawValue], Double(counts[$0]?.count ?? 0)) })
  }

  package func setClock(step: Int64) { clockStep.set([], to: Double(step)) }

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

  /// What the gateway takes of its machine; what is not known is left out.
  ///
  /// - Parameter freeBytes: by `state` and `publication`.
  package func setMachine(storeBytes: Int?, freeBytes: [String: Int], memoryBytes: Int?) {
    if let storeBytes { self.storeBytes.set([], to: Double(storeBytes)) }
    self.freeBytes.replaceAll(freeBytes.map { ([$0.key], Double($0.value)) })
    if let memoryBytes { self.memoryBytes.set([], to: Double(memoryBytes)) }
  }

  package func countWitnessFailures(_ count: Int) { for _ in 0..<count { witnessFailures.increment([]) } }

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

  /// - Parameter seconds: by a clock that nobody sets.
  package func setStart(_ start: Instant, running seconds: Double) {
    self.start.set([], to: Double(start.secondsSince1970))
    uptime.set([], to: seconds)
  }

  /// When the certificate at each address ends; replaces what was said before.
  package func setCertificates(_ ends: [(address: String, end: Instant)]) {
    certificateExpiry.replaceAll(ends.map { ([$0.address], Double($0.end.secondsSince1970)) })
  }

  package func setBuild(version: String) { buildInfo.set([version], to: 1) }

  /// Documents of the source that are quarantined now.
  package func setQuarantined(source: String, documents: Int) { quarantined.set([source], to: Double(documents)) }

  // MARK: Federation

  /// - Parameter outcome: `announced`, or the code of the fault.
  package func recordCallback(country: String, outcome: String) { callbacks.increment([country, outcome]) }

  /// All subscriptions; replaces what was said before.
  package func setSubscriptions(_ all: [(country: String, isActive: Bool)]) {
    var counts: [[String]: Double] = [:]
    for (country, isActive) in all {
      counts[[country, "active"], default: 0] += isActive ? 1 : 0
      counts[[country, "suspended"], default: 0] += isActive ? 0 : 1
    }
    subscriptions.replaceAll(counts.map { ($0.key, $0.value) })
  }

  // MARK: Pushing

  /// A push to a destination has ended.
  ///
  /// - Parameter outcome: a stable word: `success`, `rehearsed`, or the code of the fault.
  package func recordPush(destination: String, outcome: String, at now: Instant) {
    pushes.increment([destination, outcome])
  }

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

  /// Bundles of one kind (`increment`, `day`, `since`) that a round has published.
  package func recordBundles(series: String, kind: String, count: Int) {
    publishedBundles.increment([series, kind], by: Double(count))
  }

  /// - Parameter outcome: `published`, `revised`, `padding`.
  package func recordPublishedKeys(series: String, outcome: String, count: Int) {
    publishedKeys.increment([series, outcome], by: Double(count))
  }

  /// Bundles that indexes name now; replaces what was said before.
  func setListedBundles(_ publications: Publications) {
    listedBundles.replaceAll(
      publications.series.flatMap { series in
        [
          ("increment", series.increments), ("day", series.days), ("since", series.since),
          ("key-day", series.keyDays), ("edition", series.editions),
        ].compactMap { kind, bundles in
          guard kind == "increment" || !bundles.isEmpty else { return nil }
          return ([series.manifest.series, kind], Double(bundles.count { $0.facts.isListed }))
        }
      })
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

  /// How long the windows of all series are, and when each ends that is published next; replaces what was said before.
  package func setWindows(_ all: [(series: String, seconds: Int64, next: Instant)]) {
    window.replaceAll(all.map { ([$0.series], Double($0.seconds)) })
    nextWindow.replaceAll(all.map { ([$0.series], Double($0.next.secondsSince1970)) })
  }

  // MARK: Serving

  func recordRequest(route: String, method: String, status: Int, bytes: Int, seconds: Double) {
    requests.increment([route, method, String(status)])
    durations.observe([route], seconds)
    sentBytes.increment([route], by: Double(bytes))
  }

  func countCacheHit() { cacheLookups.increment(["hit"]) }
  func countCacheMiss() { cacheLookups.increment(["miss"]) }
  func countRepeated() { repeated.increment() }
  func countRateLimited() { limited.increment() }
  func countRefusedAtFederation(_ reason: String) { refusedAtFederation.increment([reason]) }
  func countDroppedConnection(_ reason: String) { dropped.increment([reason]) }

  func countFederationUpload(country: String, _ outcome: FederationOutcome) {
    switch outcome {
    case .recorded(let keys, let held):
      federationUploads.increment([country, "recorded"])
      federationKeys.increment([country, "recorded"], by: Double(keys - held))
      federationKeys.increment([country, "held"], by: Double(held))
    case .repeated: federationUploads.increment([country, "repeated"])
    case .duplicates: federationUploads.increment([country, "duplicates"])
    }
  }

  /// - Parameter country: `nil` where it is not known who asked.
  func countFederationUpload(country: String?, refusedAs code: String) {
    federationUploads.increment([country ?? "unknown", code])
  }

  func countFederationDownload(country: String) { federationDownloads.increment([country]) }

  func recordUpload(door: String, outcome: String, accepted: Int, dropped: Int) {
    uploads.increment([door, outcome])
    uploadedKeys.increment([door, "accepted"], by: Double(accepted))
    uploadedKeys.increment([door, "dropped"], by: Double(dropped))
  }
}
