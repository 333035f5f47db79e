import Foundation
import Testing

/// WCAG 2.1, 1.4.3 and 1.4.11: 4.5 for text, 3 for what is drawn.
enum ColourContrast {
  /// - Parameters:
  ///   - pairs: names of what is in front and behind, and the least contrast.
  ///   - style: with two themes, each a rule `:root{--name:#colour;…}`.
  ///   - more: colours that are no variables.
  /// - Returns: a line for each pair that is too close in a theme.
  static func faults(
    of pairs: [(front: String, back: String, least: Double)], in style: String, more: [String: String]
  ) throws -> [String] {
    // The theme for paper has no colours.
    let screen = style.split(separator: "@media print").first.map(String.init) ?? style
    let themes = screen.matches(of: try Regex(":root\\{([^}]*)\\}")).compactMap { $0.output[1].substring }
    try #require(themes.count == 2)
    return try themes.enumerated().flatMap { number, theme in
      var colours = more
      for item in theme.split(separator: ";") {
        let pair = item.split(separator: ":")
        if pair.count == 2 { colours[String(pair[0].dropFirst(2))] = String(pair[1]) }
      }
      return try pairs.compactMap { front, back, least in
        let lights = try [front, back].map { try luminance(try #require(colours[$0], "\($0)")) }.sorted()
        let contrast = (lights[1] + 0.05) / (lights[0] + 0.05)
        return contrast >= least ? nil : "\(front) on \(back) of theme \(number): \(contrast), needed \(least)"
      }
    }
  }

  private static func luminance(_ colour: String) throws -> Double {
    var digits = String(colour.dropFirst())
    if digits.count == 3 { digits = digits.map { "\($0)\($0)" }.joined() }
    let number = try #require(Int(digits, radix: 16))
    let parts: [Double] = [16, 8, 0].map { (shift: Int) -> Double in
      let part = Double((number >> shift) & 255) / 255
      if part <= 0.03928 { return part / 12.92 }
      return pow((part + 0.055) / 1.055, 2.4)
    }
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
  }
}
