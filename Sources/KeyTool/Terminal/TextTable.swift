/// Rows in columns, under a line of heads.
struct TextTable {
  let heads: [String]
  /// As many cells as there are heads.
  let rows: [[String]]

  /// Ends with a newline; no line ends with a space.
  var text: String {
    let lines = [heads] + rows
    let widths = heads.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    return lines.map { cells in
      var line = ""
      for (cell, width) in zip(cells, widths) { line += cell + String(repeating: " ", count: width - cell.count + 2) }
      while line.last == " " { line.removeLast() }
      return line + "\n"
    }.joined()
  }
}
