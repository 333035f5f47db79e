internal import Synchronization

/// One metric with all its samples, in the text format of Prometheus (version 0.0.4).
///
/// A metric has a fixed list of label names, and one sample for each combination of their values. The lock owns the samples.
package final class MetricFamily: Sendable {
  package enum Kind: Sendable {
    case counter
    case gauge
    /// With the upper bounds of its buckets, in ascending order.
    case histogram([Double])

    var name: String {
      switch self {
      case .counter: "counter"
      case .gauge: "gauge"
      case .histogram: "histogram"
      }
    }
  }

  /// More sets of labels than this are not taken: something invents them.
  package static let maximumSamples = 4096

  private let kind: Kind
  private let name: String
  private let help: String
  private let labels: [String]
  private let samples = Mutex<[[String]: Sample]>([:])

  private struct Sample {
    var value = 0.0
    var buckets: [UInt64] = []
    var count: UInt64 = 0
  }

  /// - Parameter labels: their names.
  package convenience init(_ kind: Kind, _ name: String, _ help: String, _ labels: String...) {
    self.init(kind, name, help, labels)
  }

  package init(_ kind: Kind, _ name: String, _ help: String, _ labels: [String]) {
    self.kind = kind
    self.name = name
    self.help = help
    self.labels = labels
  }

  /// Counters only grow: a negative amount counts for nothing.
  package func increment(_ values: [String] = [], by amount: Double = 1) {
    change(values) { $0.value += max(0, amount) }
  }

  /// Counters only grow; gauges go both ways.
  package func shift(_ values: [String], by amount: Double) {
    if case .gauge = kind { change(values) { $0.value += amount } } else { increment(values, by: amount) }
  }

  package func set(_ values: [String] = [], to value: Double) {
    change(values) { $0.value = value }
  }

  /// Takes samples away, such as those of a source that was taken out of the configuration.
  package func removeAll(where condition: ([String]) -> Bool) {
    samples.withLock { samples in
      for key in samples.keys where condition(key) { samples[key] = nil }
    }
  }

  /// All samples at once: nobody reads a part of them.
  package func replaceAll(_ new: [(labels: [String], value: Double)]) {
    let new = new.prefix(Self.maximumSamples).filter { $0.labels.count == labels.count }
    samples.withLock { $0 = Dictionary(new.map { ($0.labels, Sample(value: $0.value)) }, uniquingKeysWith: { $1 }) }
  }

  package func observe(_ values: [String] = [], _ value: Double) {
    guard case .histogram(let bounds) = kind else { return }
    change(values) { sample in
      if sample.buckets.isEmpty { sample.buckets = [UInt64](repeating: 0, count: bounds.count) }
      if let index = bounds.firstIndex(where: { value <= $0 }) { sample.buckets[index] += 1 }
      sample.count += 1
      sample.value += value
    }
  }

  private func change(_ values: [String], _ body: (inout Sample) -> Void) {
    guard values.count == labels.count else { return }
    samples.withLock { samples in
      guard samples[values] != nil || samples.count < Self.maximumSamples else { return }
      body(&samples[values, default: Sample()])
    }
  }

  package var text: String {
    let samples = samples.withLock { $0 }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    guard !samples.isEmpty else { return "" }
    var text = "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.name)\n"
    for (values, sample) in samples {
      let pairs = zip(labels, values).map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }
      guard case .histogram(let bounds) = kind else {
        text += "\(name)\(Self.braced(pairs)) \(Self.number(sample.value))\n"
        continue
      }
      var total: UInt64 = 0
      for (bound, count) in zip(bounds, sample.buckets) {
        total += count
        text += "\(name)_bucket\(Self.braced(pairs + ["le=\"\(Self.number(bound))\""])) \(total)\n"
      }
      text += "\(name)_bucket\(Self.braced(pairs + ["le=\"+Inf\""])) \(sample.count)\n"
      text += "\(name)_sum\(Self.braced(pairs)) \(Self.number(sample.value))\n"
      text += "\(name)_count\(Self.braced(pairs)) \(sample.count)\n"
    }
    return text
  }

  private static func braced(_ pairs: [String]) -> String {
    pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
  }

  private static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return String(whole) }
    return String(value)
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var result = ""
    for character in text.unicodeScalars {
      switch character {
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\"" where quotes: result += "\\\""
      default: result.unicodeScalars.append(character)
      }
    }
    return result
  }
}
