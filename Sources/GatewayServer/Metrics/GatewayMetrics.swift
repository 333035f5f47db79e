package import ExposureKeys

/// What the gateway counts, for `/metrics`. Pulling and publishing report here; serving reports itself.
///
/// Names begin with `keyferry_`; times are seconds since 1970, durations seconds.
package final class GatewayMetrics: Sendable {
  private let registry = MetricsRegistry()

  // Serving.
  private let requests: MetricFamily
  private let durations: MetricFamily
  private let sentBytes: MetricFamily
  private let cacheLookups: MetricFamily
  private let repeated: MetricFamily
  private let limited: MetricFamily
  private let uploads: MetricFamily
  private let uploadedKeys: MetricFamily

  // Receiving.
  private let pulls: MetricFamily
  private let lastPull: MetricFamily
  private let lastPullSuccess: MetricFamily
  private let pullDuration: MetricFamily
  private let sourceLag: MetricFamily
  private let receivedKeys: MetricFamily
  private let documents: MetricFamily
  private let quarantined: MetricFamily

  // Publishing.
  private let publications: MetricFamily
  private let lastPublication: MetricFamily
  private let lastPublicationSuccess: MetricFamily
  private let publishedBundles: MetricFamily
  private let publishedKeys: MetricFamily
  private let listedBundles: MetricFamily
  private let keyExpiry: MetricFamily
  private let hasSigningKey: MetricFamily

  package init() {
    requests = registry.add(
      .counter, "keyferry_http_requests_total", "Requests by class of address, method and status.",
      labels: ["route", "method", "status"])
    durations = registry.add(
      .histogram([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]),
      "keyferry_http_request_duration_seconds", "Time until a response was ready to be sent.", labels: ["route"])
    sentBytes = registry.add(
      .counter, "keyferry_http_response_bytes_total", "Bytes of response bodies.", labels: ["route"])
    cacheLookups = registry.add(
      .counter, "keyferry_bundle_cache_lookups_total", "Lookups of files in memory.", labels: ["result"])
    repeated = registry.add(
      .counter, "keyferry_http_repeated_answers_total",
      "Requests whose answer was that of an equal one in the same second.")
    limited = registry.add(.counter, "keyferry_http_rate_limited_total", "Requests refused as too many.")
    uploads = registry.add(
      .counter, "keyferry_uploads_total", "Uploads by door and outcome.", labels: ["door", "outcome"])
    uploadedKeys = registry.add(
      .counter, "keyferry_uploaded_keys_total", "Uploaded keys by outcome.", labels: ["door", "outcome"])

    pulls = registry.add(.counter, "keyferry_pulls_total", "Pulls by outcome.", labels: ["source", "outcome"])
    lastPull = registry.add(
      .gauge, "keyferry_last_pull_timestamp_seconds", "When a pull ended last.", labels: ["source"])
    lastPullSuccess = registry.add(
      .gauge, "keyferry_last_successful_pull_timestamp_seconds", "When a pull ended without a fault last.",
      labels: ["source"])
    pullDuration = registry.add(
      .gauge, "keyferry_last_pull_duration_seconds", "How long the last pull took.", labels: ["source"])
    sourceLag = registry.add(
      .gauge, "keyferry_source_lag_seconds", "Age of the newest key material that a source has given.",
      labels: ["source"])
    receivedKeys = registry.add(
      .counter, "keyferry_received_keys_total", "Received keys by outcome: new, known or rejected.",
      labels: ["source", "outcome"])
    documents = registry.add(
      .counter, "keyferry_documents_total", "Fetched documents by outcome.", labels: ["source", "outcome"])
    quarantined = registry.add(
      .gauge, "keyferry_quarantined_documents", "Documents that wait for an operator.", labels: ["source"])

    publications = registry.add(
      .counter, "keyferry_publications_total", "Publishing rounds by outcome.", labels: ["series", "outcome"])
    lastPublication = registry.add(
      .gauge, "keyferry_last_publication_timestamp_seconds", "When a round ended last.", labels: ["series"])
    lastPublicationSuccess = registry.add(
      .gauge, "keyferry_last_successful_publication_timestamp_seconds", "When a round ended without a fault last.",
      labels: ["series"])
    publishedBundles = registry.add(
      .counter, "keyferry_published_bundles_total", "Bundles published.", labels: ["series", "kind"])
    publishedKeys = registry.add(
      .counter, "keyferry_published_keys_total", "Keys published by what became of them.",
      labels: ["series", "outcome"])
    listedBundles = registry.add(
      .gauge, "keyferry_listed_bundles", "Bundles that indexes name now.", labels: ["series", "kind"])
    keyExpiry = registry.add(
      .gauge, "keyferry_signing_key_expiry_timestamp_seconds", "When a signing key ends; +Inf without an end.",
      labels: ["series", "key_id", "key_version"])
    hasSigningKey = registry.add(
      .gauge, "keyferry_signing_key_valid", "1 where a key can sign now, 0 where nothing is published.",
      labels: ["series"])
  }

  /// Everything, in the text format of Prometheus.
  package var text: String { registry.text }

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

  /// - Parameter outcome: `recorded`, `quarantined`, `failed`, …
  package func recordDocuments(source: String, outcome: String, count: Int = 1) {
    documents.increment([source, outcome], by: Double(count))
  }

  /// Seconds by which a source is behind.
  package func setSourceLag(source: String, seconds: Int64) { sourceLag.set([source], to: Double(seconds)) }

  /// Documents of the source that are quarantined now.
  package func setQuarantined(source: String, documents: Int) { quarantined.set([source], to: Double(documents)) }

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

  /// - Parameter outcome: `published`, `revised`, `held`, `left-out`, `padding`.
  package func recordPublishedKeys(series: String, outcome: String, count: Int) {
    publishedKeys.increment([series, outcome], by: Double(count))
  }

  /// Bundles of one kind that indexes name now.
  package func setListedBundles(series: String, kind: String, count: Int) {
    listedBundles.set([series, kind], to: Double(count))
  }

  /// The keys of a series and when each ends, and whether one of them can sign now; replaces what was said before.
  package func setSigningKeys(
    series: String, canSign: Bool, keys: [(id: String, version: String, until: Instant?)]
  ) {
    hasSigningKey.set([series], to: canSign ? 1 : 0)
    keyExpiry.removeAll { $0.first == series }
    for key in keys {
      keyExpiry.set([series, key.id, key.version], to: key.until.map { Double($0.secondsSince1970) } ?? .infinity)
    }
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

  func recordUpload(door: String, outcome: String, accepted: Int, dropped: Int) {
    uploads.increment([door, outcome])
    uploadedKeys.increment([door, "accepted"], by: Double(accepted))
    uploadedKeys.increment([door, "dropped"], by: Double(dropped))
  }
}
