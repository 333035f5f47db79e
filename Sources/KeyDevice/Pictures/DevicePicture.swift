/// A drawing for a report, and the same as a table for people and programs that do not see it.
///
/// The drawing is one static SVG: no script, nothing from elsewhere, as wide as its page, and legible on paper and on dark screens.
/// Names that it shows are escaped here.
package struct DevicePicture: Hashable, Sendable {
  package let svg: String
  package let table: PictureTable
}

/// Columns and rows of text; the first cell of a row is its name.
package struct PictureTable: Hashable, Sendable {
  package let columns: [String]
  package let rows: [[String]]
}

/// Puts shapes and texts into an SVG. All places are whole, in points of a page that is as wide as a phone's.
struct PictureCanvas {
  static let width = 440
  private var shapes = ""

  mutating func rectangle(_ kind: String, x: Int, y: Int, width: Int, height: Int, title: String? = nil) {
    guard width > 0, height > 0 else { return }
    add("rect", kind, "x=\"\(x)\" y=\"\(y)\" width=\"\(width)\" height=\"\(height)\"", title)
  }

  mutating func dot(_ kind: String, x: Int, y: Int, title: String) {
    add("circle", kind, "cx=\"\(x)\" cy=\"\(y)\" r=\"4\"", title)
  }

  mutating func line(x: ClosedRange<Int>, y: Int) {
    shapes += "<path class=\"grid\" d=\"M\(x.lowerBound) \(y)H\(x.upperBound)\"/>"
  }

  mutating func line(x: Int, y: ClosedRange<Int>) {
    shapes += "<path class=\"grid\" d=\"M\(x) \(y.lowerBound)V\(y.upperBound)\"/>"
  }

  enum Anchor: String { case start, middle, end }

  mutating func text(_ text: String, x: Int, y: Int, _ anchor: Anchor = .start, kind: String = "soft") {
    shapes +=
      "<text class=\"\(kind)\" x=\"\(x)\" y=\"\(y)\" text-anchor=\"\(anchor.rawValue)\">\(Self.escaped(text))</text>"
  }

  private mutating func add(_ element: String, _ kind: String, _ place: String, _ title: String?) {
    let content = title.map { "<title>\(Self.escaped($0))</title></\(element)>" }
    shapes += "<\(element) class=\"\(kind)\" \(place)\(content.map { ">" + $0 } ?? "/>")"
  }

  /// - Parameter title: what the reader sees, in a sentence.
  func svg(_ title: String, height: Int) -> String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.width) \(height)" role="img" \
    aria-label="\(Self.escaped(title))" class="device-picture"><title>\(Self.escaped(title))</title>\
    <style>\(Self.style)</style>\(shapes)</svg>
    """
  }

  /// How many kinds of dots and bands differ in colour; further ones begin again.
  static let kinds = 6

  private static let style = """
    .device-picture{font:12px system-ui,sans-serif;width:100%;max-width:44rem;--ink:#14202a;--soft:#52626f;--line:#d9e1e7;--one:#0b5d7a}\
    .device-picture text{fill:var(--ink)}.device-picture .soft{fill:var(--soft)}\
    .device-picture .grid{stroke:var(--line);fill:none}.device-picture .bar,.device-picture .alarm{fill:var(--one)}\
    .device-picture rect{shape-rendering:crispEdges}.device-picture .lost{fill:#a3201d;fill-opacity:.35}.device-picture .quiet{fill:var(--line);fill-opacity:.5}\
    .device-picture .band{fill:var(--one)}.device-picture .band0{fill-opacity:.28}.device-picture .band1{fill-opacity:.18}\
    .device-picture .band2{fill-opacity:.1}.device-picture .band3,.device-picture .band4,\
    .device-picture .band5{fill-opacity:.04}\
    .device-picture .dot{stroke:#fff;stroke-width:1}.device-picture .dot0{fill:#0b5d7a}.device-picture .dot1{fill:#c4660a}\
    .device-picture .dot2{fill:#5b3a8e}.device-picture .dot3{fill:#2f7d32}.device-picture .dot4{fill:#a3201d}\
    .device-picture .dot5{fill:#6b6b6b}\
    @media (prefers-color-scheme:dark){.device-picture{--ink:#e6edf2;--soft:#a3b4c0;--line:#2a3843;--one:#4fb3d1}\
    .device-picture .dot0{fill:#4fb3d1}.device-picture .dot1{fill:#f3bd62}.device-picture .dot2{fill:#b79ae0}\
    .device-picture .dot3{fill:#7fc983}.device-picture .dot4{fill:#ff9a94}.device-picture .dot5{fill:#b9b9b9}}\
    @media print{.device-picture{--ink:#000;--soft:#333}}
    """

  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value): result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
