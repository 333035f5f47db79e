internal import KeyIntake

/// Counts by day as bars: as wide as the page, from a phone to paper, with a table behind it.
struct TimePlot {
  struct Bar {
    let day: String
    /// From the foot up, one value a part.
    let values: [Int]
  }

  /// What the reader sees, in a sentence.
  let title: String
  /// What is counted: `keys`.
  let unit: String
  /// The names of the parts.
  let parts: [String]
  let bars: [Bar]
  /// Whether a day without anything is shown as one where something is missing.
  var marksGaps = false

  var html: String {
    guard bars.count <= Self.mostBars else {
      return
        "<p>\(shown(title)). They are \(ReadableNumber.grouped(bars.count)) days far apart, too many to be plotted.</p>\n"
    }
    let most = max(bars.map { $0.values.reduce(0, +) }.max() ?? 0, 1)
    let top = Self.round(most)
    var svg = ""
    for (index, bar) in bars.enumerated() {
      let total = bar.values.reduce(0, +)
      if total == 0, marksGaps {
        svg += "<rect class=gap x=\(index) y=0 width=1 height=100><title>\(bar.day): nothing</title></rect>"
      }
      var foot = 0
      for (part, value) in bar.values.enumerated() where value > 0 {
        let height = Self.hundredths(value, of: top)
        let y = 10_000 - Self.hundredths(foot, of: top) - height
        svg +=
          "<rect class=part\(part) x=\(index).06 y=\(Self.decimal(y)) width=.88 height=\(Self.decimal(max(height, 40)))>"
          + "<title>\(bar.day): \(value) \(shown(parts.count > 1 ? parts[part] : unit))</title></rect>"
        foot += value
      }
    }
    let marks = Self.marks(bars.map(\.day)).map { "<span>\($0)</span>" }.joined()
    let legend =
      parts.count < 2
      ? ""
      : parts.enumerated().map { "<span><i class=\"swatch part\($0)\"></i>\(shown($1))</span>" }.joined()
    let rows = bars.map { bar in
      (header: bar.day, cells: bar.values.map { ReadableNumber.grouped($0) })
    }
    return """
      <figure><figcaption>\(shown(title))</figcaption><p class=legend>\(legend)</p>
      <div class=plot><div class=scale><span>\(ReadableNumber.short(top)) \(shown(unit))</span>\
      <span>\(ReadableNumber.short(top / 2))</span><span>0</span></div>
      <svg viewBox="0 0 \(max(bars.count, 1)) 100" preserveAspectRatio=none role=img aria-label="\(shown(title))">\
      <path class=grid d="M0 .3H\(bars.count)M0 50H\(bars.count)M0 99.7H\(bars.count)"/>\(svg)</svg></div>
      <div class=marks>\(marks)</div>
      <details><summary>The same as a table</summary>\
      \(ReportTable.html(["day"] + (parts.count > 1 ? parts : [unit]), rows))</details></figure>

      """
  }

  /// Eleven years.
  private static let mostBars = 4000

  private static func hundredths(_ value: Int, of top: Int) -> Int {
    Int((Double(value) / Double(top) * 10_000).rounded())
  }

  private static func decimal(_ hundredths: Int) -> String {
    let rest = hundredths % 100
    return rest == 0 ? "\(hundredths / 100)" : "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
  }

  /// The next number with one digit that counts, or with 5 behind it; even, so that its half is one too.
  static func round(_ most: Int) -> Int {
    var step = 1
    while most > step * 10 { step *= 10 }
    for factor in [1, 2, 4, 5, 6, 8, 10] where factor * step >= most { return max(factor * step, 2) }
    return step * 10
  }

  /// A few days, evenly apart.
  private static func marks(_ days: [String]) -> [String] {
    guard days.count > 4 else { return days }
    return (0...3).map { days[$0 * (days.count - 1) / 3] }
  }
}

/// Text of a file as the page shows it: nothing in it is taken for HTML, and nothing turns the direction of what follows.
package func shown(_ text: some StringProtocol) -> String { escaped(TerminalText.harmless(String(text))) }

/// Tables of the page.
enum ReportTable {
  /// - Parameters:
  ///   - heads: of the columns, escaped here.
  ///   - rows: the first cell is the row's name, escaped here, too; the others are numbers, unless `isText`.
  static func html(_ heads: [String], _ rows: [(header: String, cells: [String])], isText: Bool = false) -> String {
    let number = isText ? "" : " class=number"
    let head = heads.enumerated().map { "<th scope=col\($0 > 0 ? number : "")>\(shown($1))</th>" }.joined()
    let body = rows.map { row in
      "<tr><th scope=row>\(shown(row.header))</th>"
        + row.cells.map { "<td\(number)>\(shown($0))</td>" }.joined() + "</tr>\n"
    }.joined()
    return "<div class=wide tabindex=0><table><thead><tr>\(head)</tr></thead><tbody>\n\(body)</tbody></table></div>"
  }

  /// A table whose rows have bars: the plot is the table.
  static func bars(_ title: String, _ name: String, _ rows: [(name: String, count: Int)], unit: String = "keys")
    -> String
  {
    guard !rows.isEmpty else { return "" }
    let most = max(rows.map(\.count).max() ?? 0, 1)
    let total = max(rows.reduce(0) { $0 + $1.count }, 1)
    let body = rows.map { row in
      let width = Int((Double(row.count) / Double(most) * 1000).rounded())
      let share = Int((Double(row.count) / Double(total) * 1000).rounded())
      return
        "<tr><th scope=row>\(shown(row.name))</th><td class=bar><i style=\"width:\(width / 10).\(width % 10)%\"></i></td>"
        + "<td class=number>\(ReadableNumber.grouped(row.count))</td><td class=number>\(share / 10).\(share % 10)\u{00A0}%</td></tr>\n"
    }.joined()
    return """
      <figure><figcaption>\(shown(title))</figcaption><div class=wide tabindex=0><table class=bars>\
      <thead><tr><th scope=col>\(shown(name))</th><td></td><th scope=col class=number>\(shown(unit))</th>\
      <th scope=col class=number>share</th></tr></thead><tbody>
      \(body)</tbody></table></div></figure>

      """
  }
}
