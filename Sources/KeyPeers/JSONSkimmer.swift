internal import ExposureKeys

/// Goes through JSON and checks its form, value by value. Nothing is made of what it passes.
struct JSONSkimmer {
  static let depthLimit = 32
  /// Longer names of members are told as empty.
  static let nameLimit = 64

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
    case UInt8(ascii: "{"): object(isNamed: false) { _, reader in reader.value() }
    case UInt8(ascii: "["): array() != nil
    case UInt8(ascii: "\""): string()
    case UInt8(ascii: "t"): skip("true")
    case UInt8(ascii: "f"): skip("false")
    case UInt8(ascii: "n"): skip("null")
    default: number() != nil
    }
  }

  /// - Parameter element: passes a value.
  /// - Returns: how many values it has.
  mutating func array(_ element: (inout JSONSkimmer) -> Bool = { $0.value() }) -> Int64? {
    guard depth < Self.depthLimit, skip(UInt8(ascii: "[")) else { return nil }
    depth += 1
    defer { depth -= 1 }
    skipSpace()
    if skip(UInt8(ascii: "]")) { return 0 }
    var count: Int64 = 0
    while true {
      skipSpace()
      guard element(&self) else { return nil }
      count += 1
      skipSpace()
      if skip(UInt8(ascii: "]")) { return count }
      guard skip(UInt8(ascii: ",")) else { return nil }
    }
  }

  /// - Parameter member: passes the value of a member. Names that are long are told as empty, and escapes as they are written.
  ///   Without `isNamed` all are.
  mutating func object(isNamed: Bool = true, _ member: (_ name: String, inout JSONSkimmer) -> Bool) -> Bool {
    guard depth < Self.depthLimit, skip(UInt8(ascii: "{")) else { return false }
    depth += 1
    defer { depth -= 1 }
    skipSpace()
    if skip(UInt8(ascii: "}")) { return true }
    while true {
      skipSpace()
      let start = position + 1
      guard string() else { return false }
      let isShort = isNamed && position - 1 - start <= Self.nameLimit
      let name = isShort ? String(decoding: bytes[start..<position - 1], as: UTF8.self) : ""
      skipSpace()
      guard skip(UInt8(ascii: ":")) else { return false }
      skipSpace()
      guard member(name, &self) else { return false }
      skipSpace()
      if skip(UInt8(ascii: "}")) { return true }
      guard skip(UInt8(ascii: ",")) else { return false }
    }
  }

  /// A string, if it is of visible ASCII and of so many bytes at most.
  ///
  /// - Returns: `nil` where no string was passed; what was passed, or `.some(nil)` for another one.
  mutating func visibleText(limit: Int) -> String?? {
    let start = position + 1
    guard string() else { return nil }
    var text: [UInt8] = []
    var place = start
    while place < position - 1 {
      guard text.count < limit else { return .some(nil) }
      var byte = bytes[place]
      place += 1
      if byte == UInt8(ascii: "\\") {
        byte = bytes[place]
        place += 1
        if byte == UInt8(ascii: "u") {
          let digits = String(decoding: bytes[place..<place + 4], as: UTF8.self)
          guard let value = UInt8(digits, radix: 16) else { return .some(nil) }
          byte = value
          place += 4
        } else if "bfnrt".utf8.contains(byte) {
          return .some(nil)
        }
      }
      guard (0x21...0x7E).contains(byte) else { return .some(nil) }
      text.append(byte)
    }
    return String(decoding: text, as: UTF8.self)
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
