/// Where the items of a JSON document are, in the form `batches[]` or `daily_batches[].batch_file_paths[]`: members by their
/// names with dots between them, and `[]` for each element of a list.
struct ItemSelector: Hashable {
  enum Step: Hashable {
    case member(String)
    case eachElement
  }

  static let stepLimit = 16

  let steps: [Step]

  /// `nil` for what is no selector.
  init?(_ text: some StringProtocol) {
    var steps: [Step] = []
    for (index, part) in text.split(separator: ".", omittingEmptySubsequences: false).enumerated() {
      var name = Substring(part)
      var lists = 0
      while name.hasSuffix("[]") {
        name = name.dropLast(2)
        lists += 1
      }
      // The document itself can be a list.
      guard !name.isEmpty || index == 0 && lists > 0 else { return nil }
      guard name.utf8.count <= JSONSkimmer.nameLimit, name.utf8.allSatisfy(Self.isOfName) else { return nil }
      if !name.isEmpty { steps.append(.member(String(name))) }
      steps += Array(repeating: .eachElement, count: lists)
      guard steps.count <= Self.stepLimit else { return nil }
    }
    guard !steps.isEmpty else { return nil }
    self.steps = steps
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"): true
    default: false
    }
  }

  /// Several with commas between them; `nil` where one of them is none.
  static func all(in text: String) -> [ItemSelector]? {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    let selectors = parts.compactMap { ItemSelector($0) }
    return selectors.count == parts.count ? selectors : nil
  }
}

/// What a JSON document lists: the texts and whole numbers that a selector means, found in one pass that keeps nothing else.
struct ListedItems {
  /// In the order of the document, as often as they are listed.
  private(set) var items: [String] = []
  /// Values in the place of items that are none: of another type, or a text with spaces or of other characters than ASCII.
  private(set) var passedOver = 0
  /// Whether one of the lists or values that are meant is there, even if it is empty.
  private(set) var isFound = false
  /// Whether there were more than the limit.
  private(set) var isTooLong = false

  static let itemByteLimit = 2048

  /// `nil` for what is no JSON (RFC 8259) to a depth of ``JSONSkimmer/depthLimit``.
  init?(in body: [UInt8], _ selectors: [ItemSelector], limit: Int) {
    let isWhole = body.withUnsafeBytes { bytes in
      var reader = JSONSkimmer(bytes)
      reader.skipSpace()
      let isValue = visit(&reader, selectors.map { $0.steps[...] }, limit)
      reader.skipSpace()
      return isValue && reader.isAtEnd
    }
    guard isWhole || isTooLong else { return nil }
  }

  /// - Parameter paths: what is left of each selector that leads here.
  private mutating func visit(
    _ reader: inout JSONSkimmer, _ paths: [ArraySlice<ItemSelector.Step>], _ limit: Int
  ) -> Bool {
    guard !isTooLong else { return false }
    if paths.contains(where: \.isEmpty) { return takeItem(&reader, limit) }
    switch reader.next {
    case UInt8(ascii: "["):
      let inner = paths.filter { $0.first == .eachElement }.map { $0.dropFirst() }
      guard !inner.isEmpty else { return reader.value() }
      isFound = true
      return reader.array { visit(&$0, inner, limit) } != nil
    case UInt8(ascii: "{"):
      return reader.object { name, reader in
        let inner = paths.filter { $0.first == .member(name) }.map { $0.dropFirst() }
        return inner.isEmpty ? reader.value() : visit(&reader, inner, limit)
      }
    default: return reader.value()
    }
  }

  private mutating func takeItem(_ reader: inout JSONSkimmer, _ limit: Int) -> Bool {
    var item: String?
    switch reader.next {
    case UInt8(ascii: "\""):
      guard let text = reader.visibleText(limit: Self.itemByteLimit) else { return false }
      item = text
    case .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
      guard let text = reader.number() else { return false }
      item = text.utf8.count <= 18 && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? text : nil
    default:
      guard reader.value() else { return false }
    }
    isFound = true
    guard let item, !item.isEmpty else {
      passedOver += 1
      return true
    }
    guard items.count < limit else {
      isTooLong = true
      return false
    }
    items.append(item)
    return true
  }
}
