internal import ExposureKeys
internal import KeyFormats
internal import KeyInspection
internal import KeyIntake

/// Renders a report for a terminal or a file: plain text, aligned; a terminal colours it.
enum InspectionText {
  struct Options: Sendable, Hashable {
    /// Columns to fill; long lines of text are broken there.
    var width: Int
    /// Bars of `#` instead of block characters.
    var ascii: Bool
    /// Distributions with more rows than this are shortened in the middle.
    var rows: Int

    init(width: Int = 96, ascii: Bool = false, rows: Int = 40) {
      self.width = max(40, width)
      self.ascii = ascii
      self.rows = max(5, rows)
    }
  }

  static func render(_ report: InspectionReport, options: Options = Options()) -> String {
    var lines = [printableText(report.name)]
    lines += facts(report, options)
    // What is wrong comes before what is only to be looked at.
    let remarks = remarks(report, options)
    if !remarks.isEmpty { lines += [""] + remarks }
    let tables = tables(report, options)
    if !tables.isEmpty { lines += [""] + flow(tables, options) }
    return lines.joined(separator: "\n") + "\n"
  }

  // MARK: Facts

  private static func facts(_ report: InspectionReport, _ options: Options) -> [String] {
    var rows: [(String, [String])] = [("format", [format(report)])]
    if let container = report.container, container.kind == .zip {
      rows.append(("entries", entries(container, options)))
    }
    if let header = report.fileHeader { rows.append(("file header", [fileHeader(header)])) }
    if report.format == KeyFormat.gaenExport.rawValue || report.window.start != nil || report.window.end != nil {
      rows.append(("window", window(report.window)))
      rows.append(("region", [report.region.map(printableText) ?? "not stated"]))
      rows.append(("batch", [batch(report.batch)]))
    }
    if report.format == KeyFormat.gaenExport.rawValue {
      rows.append(("infos", infos(report.signatureInfos)))
      rows.append(("signatures", signatures(report)))
    }
    if let sha256 = report.sha256 { rows.append(("sha-256", [sha256] + [report.sha256Base64].compactMap(\.self))) }
    rows.append(("keys", [keys(report)]))
    let uniform = named(report.distributions).filter { $0.distribution.isUniform }
    if !uniform.isEmpty, report.keys.total > 1 {
      rows.append(("every key", limited(uniform.map { "\($0.title) \(printableText($0.distribution.rows[0].label))" })))
    }
    for reason in report.rejections.byReason {
      rows.append(("", ["rejected \(reason.reason): \(grouped(reason.count))"]))
    }
    return rows.flatMap { label, values in
      values.enumerated().flatMap { fact(pad($0.offset == 0 ? label : "", 13), $0.element, options.width) }
    }
  }

  /// On a narrow terminal broken between words, and a digest within it.
  private static func fact(_ label: String, _ text: String, _ width: Int) -> [String] {
    let room = width - 2 - label.count
    guard width < 80, text.count > room else { return ["  " + label + text] }
    let words = text.split(separator: " ").flatMap { word -> [Substring] in
      stride(from: 0, to: word.count, by: room).map { word.dropFirst($0).prefix(room) }
    }
    return wrapped(words.joined(separator: " "), label: label, hanging: "", width)
  }

  private static func format(_ report: InspectionReport) -> String {
    var text = report.format
    switch report.container?.kind {
    case .zip: text += " in a zip archive"
    case .bare: text += ", bare"
    case nil: break
    }
    if let size = report.size { text += ", \(counted(size, "byte"))" }
    return text
  }

  private static func entries(_ container: InspectionReport.Container, _ options: Options) -> [String] {
    let shown = container.entries.prefix(12)
    let arrow = options.ascii ? "<-" : "←"
    let names = shown.map { printableText($0.name) }
    let nameWidth = names.map(\.count).max() ?? 0
    let packed = shown.map { grouped($0.compressedSize) }
    let packedWidth = packed.map(\.count).max() ?? 0
    let plain = shown.map { grouped($0.size) }
    let plainWidth = plain.map(\.count).max() ?? 0
    var lines = shown.enumerated().map { index, entry in
      var line = pad(names[index], nameWidth) + "  " + pad(plain[index], plainWidth, right: true) + " bytes \(arrow) "
      line += pad(packed[index], packedWidth, right: true) + " " + pad(entry.method, 8)
      line += "  " + (entry.date?.replacing("T", with: " ") ?? "no date")
      return line + (entry.hasDataDescriptor ? ", data descriptor" : "")
    }
    if container.entries.count > shown.count { lines.append("and \(container.entries.count - shown.count) more") }
    return lines.isEmpty ? ["none"] : lines
  }

  private static func fileHeader(_ header: InspectionReport.FileHeader) -> String {
    switch header {
    case .exact: "EK Export v1"
    case .wrongPadding: "EK Export v1, wrongly padded"
    case .absent: "none"
    }
  }

  private static func window(_ window: InspectionReport.Window) -> [String] {
    guard window.start != nil || window.end != nil else { return ["not stated"] }
    func text(_ raw: UInt64?) -> String {
      guard let raw else { return "?" }
      guard let instant = Instant(timestamp: raw) else { return "\(raw)" }
      return raw.isMultiple(of: 60)
        ? minuteText(instant) : String(instant.description.dropLast().replacing("T", with: " "))
    }
    var line = "\(text(window.start)) to \(text(window.end)) UTC"
    if let start = window.start, let end = window.end, end > start { line += ", \(durationText(end - start))" }
    return [line, "\(window.start.map(String.init) ?? "?") to \(window.end.map(String.init) ?? "?")"]
  }

  private static func batch(_ batch: InspectionReport.Batch) -> String {
    guard batch.number != nil || batch.size != nil else { return "not stated" }
    return "\(batch.number.map(String.init) ?? "?") of \(batch.size.map(String.init) ?? "?")"
  }

  private static func infos(_ infos: [InspectionReport.Info]) -> [String] {
    infos.isEmpty ? ["none"] : limited(infos.map(info))
  }

  private static func info(_ info: InspectionReport.Info) -> String {
    var text = "id \(info.verificationKeyID.map(printableText) ?? "-")"
    text += ", version \(info.verificationKeyVersion.map(printableText) ?? "-")"
    text += ", " + (info.signatureAlgorithm.map(printableText) ?? "no algorithm")
    if let bundle = info.appBundleID { text += ", app \(printableText(bundle))" }
    if let package = info.androidPackage { text += ", package \(printableText(package))" }
    return text
  }

  private static func signatures(_ report: InspectionReport) -> [String] {
    guard let size = report.signatureFileSize else { return ["no export.sig"] }
    guard !report.signatures.isEmpty else { return ["none (export.sig has \(counted(size, "byte")))"] }
    return limited(
      report.signatures.map { signature in
        "\(info(signature.info)), \(signature.encoding.words), \(counted(signature.size, "byte"))"
      })
  }

  private static func limited(_ lines: [String]) -> [String] {
    lines.count <= 12 ? lines : lines.prefix(12) + ["and \(lines.count - 12) more"]
  }

  private static func keys(_ report: InspectionReport) -> String {
    var parts = [grouped(report.keys.total)]
    if let distinct = report.keys.distinct { parts.append("\(grouped(distinct)) distinct") }
    parts.append("\(grouped(report.keys.revised)) revised")
    parts.append("\(grouped(report.keys.rejected)) rejected")
    if let padding = report.padding, padding.multiplier > 1 {
      parts.append("padded \(padding.multiplier)-fold, it seems")
    }
    return parts.joined(separator: ", ")
  }

  // MARK: Tables

  private static func tables(_ report: InspectionReport, _ options: Options) -> [[String]] {
    named(report.distributions).filter { $0.distribution.rows.count > 0 }
      .filter { !$0.distribution.isUniform || report.keys.total == 1 }
      .map { table($0.title, $0.distribution, options) }
  }

  private static func named(
    _ all: InspectionReport.Distributions
  ) -> [(title: String, distribution: InspectionReport.Distribution)] {
    [
      ("key day", all.keyDay), ("days since onset", all.daysSinceOnsetOfSymptoms),
      ("risk level", all.transmissionRiskLevel), ("report type", all.reportType),
      ("rolling period", all.rollingPeriod),
    ] + (all.origin.map { [("origin", $0)] } ?? [])
  }

  private static func table(
    _ title: String, _ distribution: InspectionReport.Distribution, _ options: Options
  ) -> [String] {
    var rows = withGaps(distribution.rows.map { (label: shortLabel($0.label), count: $0.count as Int?) })
    if distribution.others > 0 { rows.append(("others", distribution.others)) }
    if rows.count > options.rows {
      // Both ends tell more than a middle of a thousand rows.
      let head = options.rows / 2
      let tail = options.rows - head - 1
      let hidden = rows[head..<rows.count - tail]
      let left = "(\(hidden.count) rows)"
      let sum = hidden.reduce(0) { $0 + ($1.count ?? 0) }
      rows = rows.prefix(head) + [(left, sum)] + rows.suffix(tail)
    }
    let most = distribution.rows.map(\.count).max() ?? 0
    let labelWidth = max(title.count, rows.map(\.label.count).max() ?? 0)
    let counts = rows.map { $0.count.map(grouped) ?? "" }
    let countWidth = max(4, counts.map(\.count).max() ?? 0)
    let barWidth = min(16, max(4, options.width - labelWidth - countWidth - 6))
    // Numbers line up at their last digit, names at their first letter.
    let right = rows.allSatisfy { Int($0.label) != nil || $0.label == "not stated" || $0.label.hasPrefix("(") }
    var lines = [pad(title, labelWidth) + "  " + pad("keys", countWidth, right: true)]
    for (row, count) in zip(rows, counts) {
      let line =
        pad(row.label, labelWidth, right: right) + "  " + pad(count, countWidth, right: true) + "  "
        + bar(min(row.count ?? 0, most), of: most, barWidth, options)
      lines.append(line)
    }
    let width = labelWidth + countWidth + barWidth + 4
    return lines.map { pad($0, width) }
  }

  /// Between days that follow on each other a row of its own says for how many days no key is there.
  private static func withGaps(_ rows: [(label: String, count: Int?)]) -> [(label: String, count: Int?)] {
    var all: [(label: String, count: Int?)] = []
    var last: Day?
    for row in rows {
      let day = Day(row.label)
      if let last, let day, day.daysSince1970 > last.daysSince1970 + 1 {
        let missing = Int(day.daysSince1970 - last.daysSince1970 - 1)
        all.append(("(\(counted(missing, "day")))", 0))
      }
      all.append(row)
      last = day
    }
    return all
  }

  private static func shortLabel(_ label: String) -> String {
    switch label {
    case "CONFIRMED_CLINICAL_DIAGNOSIS": "CLINICAL_DIAGNOSIS"
    default: String(printableText(label).prefix(24))
    }
  }

  private static let eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

  private static func bar(_ count: Int, of most: Int, _ width: Int, _ options: Options) -> String {
    guard count > 0, most > 0 else { return "" }
    let share = Double(count) / Double(most)
    if options.ascii { return String(repeating: "#", count: max(1, Int((share * Double(width)).rounded()))) }
    let parts = max(1, Int((share * Double(width * 8)).rounded()))
    return String(repeating: "█", count: parts / 8) + eighths[parts % 8]
  }

  /// Tables side by side as long as they fit, each row of them as high as its highest.
  private static func flow(_ tables: [[String]], _ options: Options) -> [String] {
    var columns: [[[String]]] = []
    var width = 0
    for table in tables {
      let own = table[0].count
      if columns.isEmpty || width + 4 + own > options.width {
        columns.append([table])
        width = 2 + own
      } else {
        columns[columns.count - 1].append(table)
        width += 4 + own
      }
    }
    var lines: [String] = []
    for row in columns {
      if !lines.isEmpty { lines.append("") }
      for index in 0..<(row.map(\.count).max() ?? 0) {
        let cells = row.map { $0.indices.contains(index) ? $0[index] : String(repeating: " ", count: $0[0].count) }
        lines.append(trimmed("  " + cells.joined(separator: "    ")))
      }
    }
    return lines
  }

  private static func trimmed(_ line: String) -> String {
    guard let last = line.lastIndex(where: { $0 != " " }) else { return "" }
    return String(line[...last])
  }

  // MARK: Remarks

  private static func remarks(_ report: InspectionReport, _ options: Options) -> [String] {
    var lines: [String] = []
    for finding in report.findings {
      lines += wrapped(finding.text, label: finding.severity.label, hanging: "", options.width)
    }
    for note in report.notes {
      let times = note.count > 1 ? " (\(grouped(note.count)) times)" : ""
      lines += wrapped(printableText(note.text) + times, label: "note:    ", hanging: "", options.width)
    }
    for rejection in report.rejections.first {
      lines += wrapped(
        "key \(rejection.index) at byte \(rejection.byteOffset): \(printableText(rejection.detail))",
        label: "rejected: ",
        hanging: "", options.width)
    }
    let more = report.keys.rejected - report.rejections.first.count
    if more > 0 { lines.append("  and \(counted(more, "more rejected key"))") }
    return lines
  }

  /// The label, then the words, broken at spaces; further lines stand under the first word.
  static func wrapped(_ text: String, label: String, hanging: String, _ width: Int) -> [String] {
    let indent = String(repeating: " ", count: label.count + 2)
    var lines: [String] = []
    var line = "  " + label + hanging
    var isFirst = true
    for word in text.split(separator: " ", omittingEmptySubsequences: false).map(String.init) {
      if !isFirst, line.count + 1 + word.count > width {
        lines.append(line)
        line = indent + word
      } else {
        line += isFirst ? word : " " + word
      }
      isFirst = false
    }
    return lines + [line]
  }
}

extension InspectionReport.Distribution {
  fileprivate var isUniform: Bool { rows.count == 1 && others == 0 }
}

extension Finding.Severity {
  /// The word before the colon, the same width for each.
  fileprivate var label: String {
    switch self {
    case .info: "note:    "
    case .warning: "warning: "
    case .error: "error:   "
    }
  }
}

extension SignatureEncoding {
  fileprivate var words: String {
    switch self {
    case .der: "DER"
    case .notCanonical: "DER, not canonical"
    case .raw: "raw r and s"
    case .empty: "empty"
    case .unrecognized: "no DER"
    }
  }
}
