import ExposureKeys
import ProgramMetrics
import Testing

@testable import GatewayServer

@Suite("Metrics")
struct MetricsTests {
  @Test("Counters, gauges and histograms in the text format")
  func format() {
    let counter = MetricFamily(.counter, "a_total", "Things with \\ and\nlines.", "x", "y")
    let gauge = MetricFamily(.gauge, "b", "A gauge.")
    let histogram = MetricFamily(.histogram([0.1, 1]), "c_seconds", "Times.", "x")
    let never = MetricFamily(.counter, "never_total", "Not counted yet.")
    counter.increment(["1", "a\"b\\c\nd"])
    counter.increment(["1", "a\"b\\c\nd"], by: 2)
    counter.increment(["0", ""], by: -5)
    counter.increment(["one label only"])
    gauge.set(to: 0.25)
    for value in [0.05, 0.1, 0.5, 7] { histogram.observe(["v"], value) }
    #expect(
      [counter, gauge, histogram, never].map(\.text).joined() == """
        # HELP a_total Things with \\\\ and\\nlines.
        # TYPE a_total counter
        a_total{x="0",y=""} 0
        a_total{x="1",y="a\\"b\\\\c\\nd"} 3
        # HELP b A gauge.
        # TYPE b gauge
        b 0.25
        # HELP c_seconds Times.
        # TYPE c_seconds histogram
        c_seconds_bucket{x="v",le="0.1"} 2
        c_seconds_bucket{x="v",le="1"} 3
        c_seconds_bucket{x="v",le="+Inf"} 4
        c_seconds_sum{x="v"} 7.65
        c_seconds_count{x="v"} 4

        """)
  }

  @Test("A family does not grow without end")
  func bounded() {
    let family = MetricFamily(.counter, "a", "", "x")
    for number in 0..<10_000 { family.increment(["\(number)"]) }
    #expect(family.text.split(separator: "\n").count == MetricFamily.maximumSamples + 2)
  }

  @Test("Counting from many threads loses nothing")
  func concurrency() async {
    let metrics = GatewayMetrics()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask { for _ in 0..<1000 { metrics.cacheLookups.increment(["hit"]) } }
      }
    }
    #expect(metrics.text.contains("keyferry_bundle_cache_lookups_total{result=\"hit\"} 8000\n"))
  }

  @Test("Pulls and publishing are told by source and series")
  func gateway() {
    let metrics = GatewayMetrics()
    let now = Instant(secondsSince1970: 1000)
    metrics.recordPull(source: "nl", outcome: "success", isSuccess: true, seconds: 1.5, at: now)
    metrics.recordPull(
      source: "nl", outcome: "time-out", isSuccess: false, seconds: 30, at: Instant(secondsSince1970: 2000))
    metrics.recordReceivedKeys(source: "nl", new: 5, known: 3, rejected: 1)
    metrics.documents.increment(["nl", "recorded"], by: 2)
    metrics.quarantined.set(["nl"], to: 1)
    metrics.quarantined.set(["gone"], to: 1)
    metrics.whenRead {
      $0.setSources(["nl"], lastSuccess: ["nl": now, "gone": now], at: Instant(secondsSince1970: 1060))
    }
    metrics.recordPublication(series: "NL", outcome: "published", isSuccess: true, at: now)
    metrics.publishedBundles.increment(["NL", "increment"], by: 2)
    metrics.publishedKeys.increment(["NL", "padding"], by: 4)
    metrics.setSigningKeys([
      .init(series: "NL", canSign: true, keys: [("204", "v1", now), ("204", "v2", nil)]),
      .init(series: "BE", canSign: true, keys: []),
    ])
    metrics.setSigningKeys([.init(series: "NL", canSign: true, keys: [("204", "v2", nil)])])
    for line in [
      "keyferry_pulls_total{source=\"nl\",outcome=\"time-out\"} 1",
      "keyferry_last_pull_timestamp_seconds{source=\"nl\"} 2000",
      "keyferry_last_successful_pull_timestamp_seconds{source=\"nl\"} 1000",
      "keyferry_received_keys_total{source=\"nl\",outcome=\"rejected\"} 1",
      "keyferry_source_lag_seconds{source=\"nl\"} 60", "keyferry_quarantined_documents{source=\"nl\"} 1",
      "keyferry_published_bundles_total{series=\"NL\",kind=\"increment\"} 2",
      "keyferry_published_keys_total{series=\"NL\",outcome=\"padding\"} 4",
      "keyferry_http_rate_limited_total 0", "keyferry_signing_key_valid{series=\"NL\"} 1",
      "keyferry_signing_key_expiry_timestamp_seconds{series=\"NL\",key_id=\"204\",key_version=\"v2\"} +Inf",
    ] {
      #expect(metrics.text.contains("\(line)\n"), "\(line)")
    }
    for gone in ["key_version=\"v1\"", "series=\"BE\"", "source=\"gone\""] { #expect(!metrics.text.contains(gone)) }
  }
}
