import Foundation

/// A whole run, as it is written to the JSON file.
struct Report: Encodable {
  var machine = Machine()
  var isQuick: Bool
  var measurements: [Measurement] = []
  /// The most memory that the process held, in bytes.
  var peakMemory = 0

  struct Machine: Encodable {
    var processor: String
    var cores = ProcessInfo.processInfo.activeProcessorCount
    var memory = ProcessInfo.processInfo.physicalMemory
    var system = ProcessInfo.processInfo.operatingSystemVersionString

    init() {
      let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n") ?? []
      let model = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last
      processor = model.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown processor"
    }
  }

  var heading: String {
    "\(machine.processor), \(machine.cores) cores, \(machine.memory >> 30) GiB, \(machine.system)"
  }

  /// Reads the peak from the system: kernel and shared pages are not in it.
  mutating func notePeakMemory() {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.split(separator: "\n") ?? []
    let line = status.first { $0.hasPrefix("VmHWM:") }
    peakMemory = line?.split(separator: " ").compactMap { Int($0) }.first.map { $0 << 10 } ?? 0
  }

  /// The table as a page of the documentation shows it.
  var markdown: String { "\(heading).\n\n\(Table.markdown(measurements))" }

  func write(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try encoder.encode(self).write(to: URL(filePath: path))
  }
}

/// Measurements as lines of a table. A work is named where we do it, which is its first line.
struct Table {
  private static let head = ["work", "contender", "ns a unit", "ratio", "reach", "", "memory"]
  private static let widths = [44, 34, 11, 9, 9, 8, 10]
  private static let numbers = 2...4

  static var headLine: String { line(head) }

  static func lines(_ measurements: [Measurement]) -> String {
    rows(measurements).map(line).joined(separator: "\n")
  }

  static func markdown(_ measurements: [Measurement]) -> String {
    let rule = head.indices.map { numbers.contains($0) ? "---:" : "---" }
    return ([head, rule] + rows(measurements)).map { "| \($0.joined(separator: " | ")) |\n" }.joined()
  }

  private static func rows(_ measurements: [Measurement]) -> [[String]] {
    measurements.map { measurement in
      [
        measurement.isOurs ? title(measurement) : "",
        measurement.contender, measurement.missing == nil ? number(measurement.median) : "missing",
        measurement.isOurs ? "" : number(measurement.ratio) + (measurement.ratio == nil ? "" : "x"),
        measurement.reach.map { "\(number($0))x" } ?? "",
        measurement.isReached.map { $0 ? "reached" : "not yet" } ?? measurement.missing ?? "",
        measurement.peakMemory.map { "\($0 >> 20) MiB" } ?? "",
      ]
    }
  }

  private static func title(_ measurement: Measurement) -> String {
    measurement.work
      + (measurement.unit == "key" ? ", \(grouped(measurement.count))" : ", per \(measurement.unit)")
  }

  private static func line(_ cells: [String]) -> String {
    zip(cells, widths).enumerated().map { index, cell in
      let blanks = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
      return numbers.contains(index) ? blanks + cell.0 : cell.0 + blanks
    }.joined(separator: "  ")
  }

  private static func number(_ value: Double?) -> String {
    guard let value else { return "" }
    return String(format: value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value)
  }

  static func grouped(_ count: Int) -> String {
    count >= 1_000_000 && count % 1_000_000 == 0
      ? "\(count / 1_000_000)M" : count >= 1000 && count % 1000 == 0 ? "\(count / 1000)k" : "\(count)"
  }
}
