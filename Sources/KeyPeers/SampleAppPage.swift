internal import ExposureKeys

/// What a page of Apple's sample says beside its keys, found in one pass that keeps nothing: a page is as long as its
/// sender likes, and a tree of its values would take many times its bytes.
///
/// It is a page where the JSON (RFC 8259) is well-formed to a depth of ``depthLimit``; what the keys say is read later.
struct SampleAppPage: Hashable {
  var count: Int64 = 0
  var isLast: Bool?
  var nextIndex: Int64?

  static let depthLimit = 32

  /// `nil` for what is no page.
  init?(_ body: [UInt8]) {
    var page = (count: Int64(0), isLast: Bool?.none, nextIndex: Int64?.none)
    let isPage = body.withUnsafeBytes { bytes in
      var reader = JSONSkimmer(bytes)
      reader.skipSpace()
      if reader.next == UInt8(ascii: "[") {
        guard let count = reader.array() else { return false }
        page.count = count
      } else {
        guard Self.read(&reader, &page) else { return false }
      }
      reader.skipSpace()
      return reader.isAtEnd
    }
    guard isPage else { return nil }
    (count, isLast, nextIndex) = page
  }

  private static func read(
    _ reader: inout JSONSkimmer, _ page: inout (count: Int64, isLast: Bool?, nextIndex: Int64?)
  ) -> Bool {
    var hasKeys = false
    let isObject = reader.object { name, reader in
      switch name {
      case "keys":
        guard let count = reader.array() else { return false }
        page.count = count
        hasKeys = true
      case "done":
        if reader.skip("true") {
          page.isLast = true
        } else if reader.skip("false") {
          page.isLast = false
        } else {
          return reader.skip("null")
        }
      case "nextIndex":
        if reader.skip("null") { return true }
        guard let text = reader.number(), let number = Int64(text) ?? Double(text).flatMap({ Int64(exactly: $0) })
        else {
          return false
        }
        page.nextIndex = number
      default: return reader.value()
      }
      return true
    }
    return isObject && hasKeys
  }
}

/// Goes through JSON and checks its form, value by value. Nothing is made of what it passes.
struct JSONSkimmer {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0
  private var depth = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var next: UInt8? { position < bytes.count ? bytes[position] : nil }
  var isAtEnd: Bool { position == bytes.count }

  mutating func skipSpace() {
    while let byte = next, byte == 0x20 || (0x09...0x0A).contains(byte) || byte == 0x0D { position += 1 }
  }

  /// Whether these letters come next; they are passed then.
  mutating func skip(_ word: StaticString) -> Bool {
    let count = word.utf8CodeUnitCount
    guard bytes.count - position >= count else { return false }
    let isNext = word.withUTF8Buffer { $0.elementsEqual(bytes[position..<position + count]) }
    if isNext { position += count }
    return isNext
  }

  private mutating func skip(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  // Each of these is called at the first byte of a value, and says whether one was passed.

  mutating func value() -> Bool {
    switch next {
    case UInt8(ascii: "{"): object { _, reader in reader.value() }
    case UInt8(ascii: "["): array() != nil
    case UInt8(ascii: "\""): string()
    case UInt8(ascii: "t"): skip("true")
    case UInt8(ascii: "f"): skip("false")
    case UInt8(ascii: "n"): skip("null")
    default: number() != nil
    }
  }

  /// - Returns: how many values it has.
  mutating func array() -> Int64? {
    guard depth < SampleAppPage.depthLimit, skip(UInt8(ascii: "[")) else { return nil }
    depth += 1
    defer { depth -= 1 }
    skipSpace()
    if skip(UInt8(ascii: "]")) { return 0 }
    var count: Int64 = 0
    while true {
      skipSpace()
      guard value() else { return nil }
      count += 1
      skipSpace()
      if skip(UInt8(ascii: "]")) { return count }
      guard skip(UInt8(ascii: ",")) else { return nil }
    }
  }

  /// - Parameter member: passes the value of a member. Names that are long, or escaped, are told as empty.
  mutating func object(_ member: (_ name: String, inout JSONSkimmer) -> Bool) -> Bool {
    guard depth < SampleAppPage.depthLimit, skip(UInt8(ascii: "{")) else { return false }
    depth += 1
    defer { depth -= 1 }
    skipSpace()
    if skip(UInt8(ascii: "}")) { return true }
    while true {
      skipSpace()
      let start = position + 1
      guard string() else { return false }
      let name =
        position - 1 - start <= 15 && depth == 1 ? String(decoding: bytes[start..<position - 1], as: UTF8.self) : ""
      skipSpace()
      guard skip(UInt8(ascii: ":")) else { return false }
      skipSpace()
      guard member(name, &self) else { return false }
      skipSpace()
      if skip(UInt8(ascii: "}")) { return true }
      guard skip(UInt8(ascii: ",")) else { return false }
    }
  }

  private mutating func string() -> Bool {
    guard skip(UInt8(ascii: "\"")) else { return false }
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return true
      case UInt8(ascii: "\\"):
        guard let escape = next else { return false }
        position += 1
        switch escape {
        case UInt8(ascii: "u"):
          guard bytes.count - position >= 4, bytes[position..<position + 4].allSatisfy(Hexadecimal.isDigit) else {
            return false
          }
          position += 4
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
          UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
          break
        default: return false
        }
      case 0..<0x20: return false
      default: break
      }
    }
    return false
  }

  /// - Returns: its text.
  mutating func number() -> String? {
    let start = position
    _ = skip(UInt8(ascii: "-"))
    let hasLeadingZero = next == UInt8(ascii: "0")
    let whole = digits()
    guard whole > 0, whole == 1 || !hasLeadingZero else { return nil }
    if skip(UInt8(ascii: ".")), digits() == 0 { return nil }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      position += 1
      if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
      if digits() == 0 { return nil }
    }
    // No number that means something here is longer.
    return position - start <= 40 ? String(decoding: bytes[start..<position], as: UTF8.self) : ""
  }

  private mutating func digits() -> Int {
    let start = position
    while let byte = next, (0x30...0x39).contains(byte) { position += 1 }
    return position - start
  }
}
