import CoreMetrics
import Foundation
import Testing

@testable import GatewayServer
@testable import ProgramMetrics

@Suite("What libraries report through swift-metrics")
struct LibraryMetricsTests {
  @Test("Counters, gauges, recorders and timers have a place at /metrics under their names")
  func kinds() {
    let metrics = LibraryMetrics()
    #expect(metrics.text.isEmpty)
    for _ in 0..<2 {
      metrics.makeCounter(label: "http.client-requests", dimensions: [("status", "200")]).increment(by: 2)
    }
    metrics.makeFloatingPointCounter(label: "bytes", dimensions: []).increment(by: 0.5)
    let meter = metrics.makeMeter(label: "pool", dimensions: [("le", "x"), ("1st", "y\n\"")])
    meter.set(Int64(7))
    meter.decrement(by: 3)
    meter.increment(by: 1)
    metrics.makeRecorder(label: "depth", dimensions: [], aggregate: false).record(Int64(4))
    metrics.makeRecorder(label: "size", dimensions: [], aggregate: true).record(2.5)
    metrics.makeTimer(label: "wait", dimensions: []).recordNanoseconds(20_000_000)
    #expect(
      metrics.text == """
        # HELP keyferry_library_bytes_total Reported by a library.
        # TYPE keyferry_library_bytes_total counter
        keyferry_library_bytes_total 0.5
        # HELP keyferry_library_depth Reported by a library.
        # TYPE keyferry_library_depth gauge
        keyferry_library_depth 4
        # HELP keyferry_library_http_client_requests_total Reported by a library.
        # TYPE keyferry_library_http_client_requests_total counter
        keyferry_library_http_client_requests_total{status="200"} 4
        # HELP keyferry_library_pool Reported by a library.
        # TYPE keyferry_library_pool gauge
        keyferry_library_pool{label_1st="y\\n\\"",label_le="x"} 5
        # HELP keyferry_library_size Reported by a library.
        # TYPE keyferry_library_size histogram
        keyferry_library_size_bucket{le="+Inf"} 1
        keyferry_library_size_sum 2.5
        keyferry_library_size_count 1
        # HELP keyferry_library_wait_seconds Reported by a library.
        # TYPE keyferry_library_wait_seconds histogram
        keyferry_library_wait_seconds_bucket{le="0.001"} 0
        keyferry_library_wait_seconds_bucket{le="0.01"} 0
        keyferry_library_wait_seconds_bucket{le="0.1"} 1
        keyferry_library_wait_seconds_bucket{le="1"} 1
        keyferry_library_wait_seconds_bucket{le="10"} 1
        keyferry_library_wait_seconds_bucket{le="+Inf"} 1
        keyferry_library_wait_seconds_sum 0.02
        keyferry_library_wait_seconds_count 1

        """)
  }

  /// A library that puts paths into labels would fill the memory.
  @Test("No library sets a bound: of too many series, and of too long labels, there is no more than is allowed")
  func bounds() {
    let metrics = LibraryMetrics()
    for number in 0..<3 * LibraryMetrics.mostSeries {
      metrics.makeCounter(label: "calls", dimensions: [("path", "/\(number)")]).increment(by: 1)
    }
    // Those that are known go on.
    metrics.makeCounter(label: "calls", dimensions: [("path", "/0")]).increment(by: 1)
    let lines = metrics.text.split(separator: "\n").filter { $0.hasPrefix("keyferry_library_calls_total{") }
    #expect(lines.count == LibraryMetrics.mostSeries)
    #expect(lines.contains("keyferry_library_calls_total{path=\"/0\"} 2"))
    #expect(metrics.text.contains("keyferry_library_series_left_out_total \(2 * LibraryMetrics.mostSeries)\n"))

    let long = LibraryMetrics()
    let text = String(repeating: "ä", count: 10_000)
    long.makeCounter(label: text, dimensions: [(text, text)]).increment(by: 1)
    #expect(long.text.utf8.count < 10 * LibraryMetrics.longestLabel)
  }

  @Test("A name stands for one kind of number with the same labels; another under it is left out and counted")
  func oneMeaning() {
    let metrics = LibraryMetrics()
    metrics.makeMeter(label: "a", dimensions: [("x", "1")]).set(1.0)
    metrics.makeMeter(label: "a", dimensions: [("y", "1")]).set(2.0)
    metrics.makeRecorder(label: "a", dimensions: [("x", "1")], aggregate: true).record(3.0)
    #expect(metrics.text.components(separatedBy: "# TYPE keyferry_library_a ").count == 2)
    #expect(metrics.text.contains("keyferry_library_a{x=\"1\"} 1\n"))
    #expect(metrics.text.contains("keyferry_library_series_left_out_total 2\n"))
  }

  @Test("Where swift-metrics has been told of it, the page has it beside the gateway's own")
  func ofTheProcess() {
    LibraryMetrics.bootstrap()
    Counter(label: "told.through.swift-metrics").increment()
    let text = GatewayMetrics().text
    #expect(text.contains("keyferry_library_told_through_swift_metrics_total 1\n"))
    #expect(text.contains("keyferry_http_rate_limited_total 0\n"))
  }
}
