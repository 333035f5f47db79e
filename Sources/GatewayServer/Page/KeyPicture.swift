internal import KeyIntake

/// Keys by day as bars, drawn in SVG. Colours come from the page; the numbers stand in a table below it as well.
struct KeyPicture {
  private let days: [PublicationReport.KeyDay]
  private let id: String
  private let title: String

  private static let width = 640.0
  private static let top = 24.0
  private static let floor = 150.0
  private static let height = 200.0
  private static let left = 56.0
  /// What `Dec 2020` takes with the large letters of a phone.
  private static let monthWidth = 130.0

  /// - Parameter id: unique on the page; letters, digits and hyphens.
  init(_ days: [PublicationReport.KeyDay], id: String, title: String = "Keys by day") {
    self.title = title
    self.days = days
    self.id = id
  }

  var svg: String {
    let highest = days.map { $0.keys + $0.revisedKeys }.max() ?? 0
    let ceiling = Self.ceiling(above: highest)
    let scale = (Self.floor - Self.top) / Double(ceiling)
    let slot = (Self.width - Self.left) / Double(max(1, days.count))
    var text = """
      <svg class="picture" viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" role="img" \
      aria-labelledby="\(id)-title \(id)-text">
      <title id="\(id)-title">\(escaped(title))</title>
      <desc id="\(id)-text">\(escaped(summary))</desc>

      """
    for line in [0, ceiling / 2, ceiling] {
      let y = Self.floor - Double(line) * scale
      text += """
        <line class="grid" x1="\(Int(Self.left))" x2="\(Int(Self.width))" y1="\(rounded(y))" y2="\(rounded(y))"/>
        <text class="axis" x="\(Int(Self.left) - 8)" y="\(rounded(y + 4))" text-anchor="end">\
        \(ReadableNumber.short(line))</text>

        """
    }
    for (index, day) in days.enumerated() {
      let x = Self.left + (Double(index) + 0.18) * slot
      text += bars(of: day, x: x, width: slot * 0.64, scale: scale)
      text += """
        <text class="axis" x="\(rounded(x + slot * 0.32))" y="\(Int(Self.floor) + 18)" text-anchor="middle">\
        \(escaped(day.day.suffix(2)))</text>

        """
      // The month stands under its first day.
      if index == 0 || day.day.prefix(7) != days[index - 1].day.prefix(7) {
        // Under one of the last it ends at the edge, and is not cut off there.
        let fits = x + Self.monthWidth <= Self.width
        text += """
          <text class="axis" x="\(fits ? rounded(x) : "\(Int(Self.width))")" y="\(Int(Self.floor) + 42)"\
          \(fits ? "" : " text-anchor=\"end\"")>\(escaped(Self.month(of: day.day)))</text>

          """
      }
    }
    return text + "</svg>\n"
  }

  /// `Dec 2020`.
  private static func month(of day: String) -> String {
    let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    guard let number = Int(day.dropFirst(5).prefix(2)), names.indices.contains(number - 1) else {
      return String(day.prefix(7))
    }
    return "\(names[number - 1]) \(day.prefix(4))"
  }

  private func bars(of day: PublicationReport.KeyDay, x: Double, width: Double, scale: Double) -> String {
    let keys = Double(day.keys) * scale
    let revised = Double(day.revisedKeys) * scale
    let tip = "\(day.day): \(ReadableNumber.grouped(day.keys)) keys, \(ReadableNumber.grouped(day.revisedKeys)) revised"
    var text = "<g><title>\(escaped(tip))</title>\n"
    if day.keys > 0 { text += bar("keys", x, Self.floor - keys, width, max(keys, 1)) }
    if day.revisedKeys > 0 { text += bar("revised", x, Self.floor - keys - revised, width, max(revised, 1)) }
    if day.keys + day.revisedKeys > 0 {
      text += """
        <text class="value" x="\(rounded(x + width / 2))" y="\(rounded(Self.floor - keys - revised - 6))" \
        text-anchor="middle">\(ReadableNumber.short(day.keys + day.revisedKeys))</text>

        """
    }
    return text + "</g>\n"
  }

  private func bar(_ name: String, _ x: Double, _ y: Double, _ width: Double, _ height: Double) -> String {
    """
    <rect class="\(name)" x="\(rounded(x))" y="\(rounded(y))" width="\(rounded(width))" \
    height="\(rounded(height))" rx="2"/>

    """
  }

  private var summary: String {
    guard let first = days.first, let last = days.last else { return "No days." }
    let total = days.reduce(0) { $0 + $1.keys }
    let best = days.max { $0.keys < $1.keys } ?? last
    return "\(ReadableNumber.grouped(total)) keys from \(first.day) to \(last.day); the most on \(best.day) with "
      + "\(ReadableNumber.grouped(best.keys)). The table below has every number."
  }

  /// A round number that nothing reaches beyond, and that halves.
  private static func ceiling(above highest: Int) -> Int {
    var unit = 2
    while true {
      for factor in [1, 2, 5] where unit * factor >= highest { return unit * factor }
      guard unit < Int.max / 100 else { return highest }
      unit *= 10
    }
  }

  private func rounded(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return tenths % 10 == 0 ? String(tenths / 10) : "\(tenths / 10).\(abs(tenths % 10))"
  }
}
