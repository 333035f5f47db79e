/// What a `Range` header asks for (RFC 9110, 14): one range of bytes, the only kind that is served in part.
enum ByteRange: Equatable {
  /// The header is absent, malformed, of another unit, or has several ranges: everything is served.
  case whole
  case part(Range<Int>)
  /// No byte of the range exists.
  case unsatisfiable

  init(_ header: String?, length: Int) {
    self = .whole
    guard let header, header.utf8.count <= 100 else { return }
    let halves = header.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.count == 2, halves[0].lowercased() == "bytes" else { return }
    let bounds = halves[1].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map {
      $0.trimmingSpaces
    }
    guard bounds.count == 2 else { return }
    switch (bounds[0].isEmpty, bounds[1].isEmpty) {
    case (true, true): return
    case (true, false):
      guard let count = Self.number(bounds[1]) else { return }
      self = count == 0 || length == 0 ? .unsatisfiable : .part(max(0, length - count)..<length)
    case (false, let isOpen):
      guard let first = Self.number(bounds[0]) else { return }
      guard let last = isOpen ? Int.max - 1 : Self.number(bounds[1]), last >= first else { return }
      self = first >= length ? .unsatisfiable : .part(first..<min(last, length - 1) + 1)
    }
  }

  /// Digits alone; more of them than fit are a number beyond every file.
  private static func number(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return min(Int(text) ?? Int.max - 1, Int.max - 1)
  }
}

extension Substring {
  /// Without spaces and tabs at its ends.
  var trimmingSpaces: Substring {
    var text = self
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}
