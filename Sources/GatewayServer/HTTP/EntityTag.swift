/// An entity tag (RFC 9110, 8.8.3) without its quotes.
struct EntityTag: Hashable {
  var value: String
  var isWeak = false

  /// `"abc"` or `W/"abc"`.
  var text: String { (isWeak ? "W/" : "") + "\"\(value)\"" }

  /// What `If-None-Match` and `If-Match` carry.
  enum Condition: Equatable {
    case any
    case tags([EntityTag])

    /// By weak comparison, as a GET is judged.
    func includes(_ tag: EntityTag) -> Bool {
      switch self {
      case .any: true
      case .tags(let tags): tags.contains { $0.value == tag.value }
      }
    }
  }

  /// `nil` where the text is no list of tags.
  static func condition(_ text: some StringProtocol) -> Condition? {
    var rest = text.utf8[...]
    func skipSpace() { while let byte = rest.first, byte == 0x20 || byte == 0x09 { rest.removeFirst() } }
    skipSpace()
    if rest.first == UInt8(ascii: "*") {
      rest.removeFirst()
      skipSpace()
      return rest.isEmpty ? .any : nil
    }
    var tags: [EntityTag] = []
    while !rest.isEmpty {
      if rest.first == UInt8(ascii: ",") {
        rest.removeFirst()
        skipSpace()
        continue
      }
      var isWeak = false
      if rest.starts(with: Array("W/".utf8)) {
        isWeak = true
        rest = rest.dropFirst(2)
      }
      guard rest.popFirst() == UInt8(ascii: "\""), let end = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
      tags.append(EntityTag(value: String(decoding: rest[..<end], as: UTF8.self), isWeak: isWeak))
      rest = rest[rest.index(after: end)...]
      skipSpace()
      guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return nil }
    }
    return tags.isEmpty ? nil : .tags(tags)
  }
}
