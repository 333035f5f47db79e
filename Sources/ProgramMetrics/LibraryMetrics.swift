package import CoreMetrics
internal import Synchronization

/// What libraries report through swift-metrics, for `/metrics`: under `keyferry_library_` and their own names.
///
/// No library sets a bound: there are ``mostSeries`` series at most, and no label is longer than ``longestLabel`` bytes. The first that
/// reports under a name says which labels it has, and what kind of number it is. What is left out is counted. The lock owns what is known.
package final class LibraryMetrics: MetricsFactory {
  static let mostSeries = 500
  static let longestLabel = 120

  /// As swift-metrics has one of these in a process, so have we.
  private static let ofProcess = Mutex<LibraryMetrics?>(nil)

  /// From now on `/metrics` has what libraries report. Once in a process, and not where a program has told swift-metrics of a
  /// back end of its own.
  package static func bootstrap() {
    let metrics = LibraryMetrics()
    ofProcess.withLock { $0 = metrics }
    MetricsSystem.bootstrap(metrics)
  }

  /// Empty where nobody has asked for it.
  static var text: String { ofProcess.withLock { $0 }?.text ?? "" }

  private struct Known {
    var families: [String: (kind: Kind, labels: [String], family: MetricFamily)] = [:]
    var series: Set<[String]> = []
  }

  enum Kind: Hashable { case counter, gauge, histogram, seconds }

  private let known = Mutex(Known())
  private let leftOut = MetricFamily(
    .counter, "keyferry_library_series_left_out_total",
    "Series of libraries that are not shown: there are too many, or another has taken the name.")

  var text: String {
    let families = known.withLock { $0.families }.sorted { $0.key < $1.key }
    return leftOut.text + families.map(\.value.family.text).joined()
  }

  /// The series of this name and these labels; `nil` where there is no room for it.
  private func series(_ label: String, _ dimensions: [(String, String)], _ kind: Kind) -> Series? {
    let name =
      "keyferry_library_\(Self.word(label))" + (kind == .counter ? "_total" : kind == .seconds ? "_seconds" : "")
    let pairs = Dictionary(
      dimensions.map { (Self.label($0.0), Self.value($0.1)) }, uniquingKeysWith: { first, _ in first }
    ).sorted { $0.key < $1.key }
    let (labels, values) = (pairs.map(\.key), pairs.map(\.value))
    let family: MetricFamily? = known.withLock { known in
      guard known.series.contains([name] + values) || known.series.count < Self.mostSeries else { return nil }
      if let found = known.families[name] {
        guard found.kind == kind, found.labels == labels else { return nil }
        known.series.insert([name] + values)
        return found.family
      }
      let family = MetricFamily(kind.family, name, "Reported by a library.", labels)
      known.families[name] = (kind, labels, family)
      known.series.insert([name] + values)
      return family
    }
    guard let family else {
      leftOut.increment()
      return nil
    }
    return Series(family: family, labels: values)
  }

  /// Letters, digits and `_`.
  private static func word(_ text: String) -> String {
    String(
      text.prefix(longestLabel).map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
  }

  /// A name of a label begins with a letter, and `le` is that of a histogram.
  private static func label(_ text: String) -> String {
    let word = word(text)
    return word.first?.isLetter == true && word != "le" ? word : "label_\(word)"
  }

  private static func value(_ text: String) -> String {
    text.utf8.count <= longestLabel ? text : String(decoding: text.utf8.prefix(longestLabel), as: UTF8.self)
  }

  // MARK: What libraries ask for

  package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    series(label, dimensions, .counter) ?? NOOPMetricsHandler.instance
  }

  package func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    series(label, dimensions, .counter) ?? NOOPMetricsHandler.instance
  }

  package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    series(label, dimensions, .gauge) ?? NOOPMetricsHandler.instance
  }

  package func makeRecorder(
    label: String, dimensions: [(String, String)], aggregate: Bool
  ) -> any RecorderHandler {
    guard let series = series(label, dimensions, aggregate ? .histogram : .gauge) else {
      return NOOPMetricsHandler.instance
    }
    return Recorder(series: series, isAggregate: aggregate)
  }

  package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    series(label, dimensions, .seconds) ?? NOOPMetricsHandler.instance
  }

  // A series that was reported stays, as Prometheus expects of counters.
  package func destroyCounter(_ handler: any CounterHandler) {}
  package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
  package func destroyMeter(_ handler: any MeterHandler) {}
  package func destroyRecorder(_ handler: any RecorderHandler) {}
  package func destroyTimer(_ handler: any TimerHandler) {}
}

extension LibraryMetrics.Kind {
  fileprivate var family: MetricFamily.Kind {
    switch self {
    case .counter: .counter
    case .gauge: .gauge
    // Of what is not known there are only the sum and how many there were.
    case .histogram: .histogram([])
    case .seconds: .histogram([0.001, 0.01, 0.1, 1, 10])
    }
  }
}

/// One set of labels of one metric.
private final class Series: CounterHandler, FloatingPointCounterHandler, MeterHandler, TimerHandler {
  private let family: MetricFamily
  private let labels: [String]

  init(family: MetricFamily, labels: [String]) { (self.family, self.labels) = (family, labels) }

  func increment(by amount: Int64) { family.increment(labels, by: Double(amount)) }
  func increment(by amount: Double) { family.shift(labels, by: amount) }
  func decrement(by amount: Double) { family.shift(labels, by: -amount) }
  func set(_ value: Int64) { family.set(labels, to: Double(value)) }
  func set(_ value: Double) { family.set(labels, to: value) }
  func recordNanoseconds(_ duration: Int64) { family.observe(labels, Double(duration) / 1e9) }
  func observe(_ value: Double) { family.observe(labels, value) }
  /// Prometheus does not forget what it has seen.
  func reset() {}
}

private final class Recorder: RecorderHandler {
  private let series: Series
  private let isAggregate: Bool

  init(series: Series, isAggregate: Bool) { (self.series, self.isAggregate) = (series, isAggregate) }

  func record(_ value: Int64) { record(Double(value)) }
  func record(_ value: Double) { isAggregate ? series.observe(value) : series.set(value) }
}
