/// Rows in columns, under a line of heads.
package struct TextTable {
  package let heads: [String]
  /// As many cells as there are heads.
  package let rows: [[String]]

  package init(heads: [String], rows: [[String]]) { (self.heads, self.rows) = (heads, rows) }

  /// Ends with a newline; no line ends with a space. On a terminal that is too narrow the last column is broken at its
  /// spaces, or, where there is no room for it beside the others, each row becomes a few lines: a head and its cell on each.
  package var text: String { text(width: Console.outputWidth) }

  /// The least room in which the words of a last column are worth reading.
  private static let leastRoom = 16

  /// - Parameter width: the columns of the terminal; `nil` where a line may have any length.
  package func text(width: Int?) -> String {
    let lines = [heads] + rows
    let widths = heads.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    let whole = widths.reduce(0, +) + 2 * max(0, widths.count - 1)
    guard let width, whole > width else { return lines.map { Self.line($0, widths) }.joined() }
    let indent = whole - (widths.last ?? 0)
    guard width - indent >= Self.leastRoom else { return stacked(width) }
    return lines.map { cells in
      let parts = Self.broken(cells[cells.count - 1], width - indent)
      return Self.line(cells.dropLast() + [parts[0]], widths)
        + parts.dropFirst().map { String(repeating: " ", count: indent) + $0 + "\n" }.joined()
    }.joined()
  }

  private func stacked(_ width: Int) -> String {
    let label = (heads.map(\.count).max() ?? 0) + 2
    return rows.map { cells in
      zip(heads, cells).filter { !$1.isEmpty }.map { head, cell in
        Self.broken(cell, max(Self.leastRoom, width - label)).enumerated().map { index, part in
          pad(index == 0 ? head : "", label) + part + "\n"
        }.joined()
      }.joined()
    }.joined(separator: "\n")
  }

  private static func line(_ cells: [String], _ widths: [Int]) -> String {
    var line = ""
    for (cell, width) in zip(cells, widths) { line += pad(cell, width) + "  " }
    while line.last == " " { line.removeLast() }
    return line + "\n"
  }

  /// At least one line; a word that is longer than the room stands alone.
  private static func broken(_ text: String, _ room: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, line.count + 1 + word.count > room {
        lines.append(line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    return lines + [line]
  }
}
