internal import KeyIntake

/// Shares of keys as bars that lie, one a line, drawn in SVG. It is small, so that its words are as large on a phone as on paper.
struct SharePicture {
  private let title: String
  private let rows: [(name: String, count: Int)]
  private let id: String

  private static let width = 320.0
  private static let line = 26.0
  private static let left = 96.0
  private static let right = 44.0

  /// - Parameter id: unique on the page; letters, digits and hyphens.
  init(_ title: String, _ rows: [(name: String, count: Int)], id: String) {
    (self.title, self.rows, self.id) = (title, rows, id)
  }

  var svg: String {
    let most = Double(max(1, rows.map(\.count).max() ?? 0))
    let room = Self.width - Self.left - Self.right
    let bars = rows.enumerated().map { index, row in
      let y = Double(index) * Self.line
      let width = row.count == 0 ? 0 : max(1, (Double(row.count) / most * room).rounded())
      return """
        <text class="share" x="\(Int(Self.left) - 8)" y="\(Int(y) + 17)" text-anchor="end">\(escaped(row.name))</text>
        <rect class="keys" x="\(Int(Self.left))" y="\(Int(y) + 4)" width="\(Int(width))" height="18" rx="2"/>
        <text class="share" x="\(Int(Self.left + width) + 6)" y="\(Int(y) + 17)">\(ReadableNumber.short(row.count))</text>

        """
    }
    let summary = rows.map { "\($0.name): \(ReadableNumber.grouped($0.count))" }.joined(separator: ", ")
    return """
      <svg class="shares" viewBox="0 0 \(Int(Self.width)) \(max(1, rows.count) * Int(Self.line))" role="img" \
      aria-labelledby="\(id)-title \(id)-text">
      <title id="\(id)-title">\(escaped(title))</title>
      <desc id="\(id)-text">\(escaped(summary)).</desc>
      \(bars.joined())</svg>

      """
  }
}
