/// A size as people write it: `64 MB`, `64MiB`, `2G`, or a number of bytes.
enum ByteSize {
  /// Units of thousands, and of 1,024 where an `i` says so.
  static let forms = "64MB, 64MiB, 2GB, or a number of bytes"

  /// - Returns: `nil` where it is no size, or more than there can be.
  static func bytes(_ text: String) -> Int? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    var unit = text.dropFirst(digits.count)
    if unit.first == " " { unit = unit.dropFirst() }
    guard let number = Int(digits) else { return nil }
    var letters = unit.lowercased()
    if letters.hasSuffix("b") { letters.removeLast() }
    let isBinary = letters.hasSuffix("i")
    if isBinary { letters.removeLast() }
    guard let power = ["", "k", "m", "g", "t"].firstIndex(of: letters), !isBinary || power > 0 else { return nil }
    var size = number
    for _ in 0..<power {
      let (product, isOverflown) = size.multipliedReportingOverflow(by: isBinary ? 1024 : 1000)
      guard !isOverflown else { return nil }
      size = product
    }
    return size
  }
}
