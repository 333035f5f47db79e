/// How the files of windows are called, for apps that read names: `{start}-{end}-{number}.zip` is what the Google key server
/// writes. The number tells apart what begins and ends at the same time, so a pattern has one.
package struct NamePattern: Hashable, Sendable, CustomStringConvertible {
  package static let standard = NamePattern(checked: "{start}-{end}-{number}.zip")

  private let text: String

  private init(checked text: String) { self.text = text }

  /// `nil` where the text is no pattern: letters, digits, `-` and `_` around `{start}`, `{number}` and perhaps `{end}`, each
  /// once, and `.zip` at the end.
  package init?(_ text: String) {
    var rest = text
    for place in ["{start}", "{number}"] {
      guard rest.components(of: place) == 2 else { return nil }
      rest = rest.replacing(place, with: "")
    }
    guard rest.components(of: "{end}") <= 2, text.utf8.count <= 100, text.hasSuffix(".zip") else { return nil }
    rest = String(rest.replacing("{end}", with: "").dropLast(4))
    let isPlain = rest.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    // Two numbers that touch could be read in several ways, and so could name two windows alike.
    guard isPlain, !text.contains("}{") else { return nil }
    self.text = text
  }

  package var description: String { text }

  /// The names of one window, which differ by their number alone.
  struct Names: Hashable {
    fileprivate let before: Substring
    fileprivate let behind: Substring

    /// - Parameter number: of five digits or more.
    subscript(number: Int) -> String {
      let digits = String(number)
      return before + String(repeating: "0", count: max(0, 5 - digits.count)) + digits + behind
    }

    /// `nil` for what is none of these names.
    func number(of name: Substring) -> Int? {
      guard name.hasPrefix(before), name.hasSuffix(behind), name.count > before.count + behind.count else { return nil }
      return Int(name.dropFirst(before.count).dropLast(behind.count))
    }
  }

  func names(start: Int64, end: Int64) -> Names {
    let parts = text.replacing("{start}", with: String(start)).replacing("{end}", with: String(end))
      .split(separator: "{number}", maxSplits: 1, omittingEmptySubsequences: false)
    return Names(before: parts[0], behind: parts[1])
  }
}

extension String {
  /// In how many pieces a separator cuts the text.
  fileprivate func components(of separator: String) -> Int {
    split(separator: separator, omittingEmptySubsequences: false).count
  }
}
