internal import ExposureKeys

/// A line of the catalogue: a JSON object of whole numbers and texts in one spelling. Members stand in the order of their names,
/// without spaces, and only what must be escaped is.
package enum RecordText {
  package enum Value: Hashable, Sendable {
    case number(Int64)
    case text(String)
  }

  // MARK: Decode

  /// - Returns: `nil` for anything that ``encode(_:)`` would not write.
  package static func decode(_ line: UnsafeRawBufferPointer) -> [String: Value]? {
    var reader = Reader(bytes: line)
    guard let members = reader.object(), reader.isAtEnd else { return nil }
    return members
  }

  private struct Reader {
    let bytes: UnsafeRawBufferPointer
    var place = 0

    var isAtEnd: Bool { place == bytes.count }

    private mutating func take(_ byte: UInt8) -> Bool {
      guard place < bytes.count, bytes[place] == byte else { return false }
      place += 1
      return true
    }

    mutating func object() -> [String: Value]? {
      guard take(UInt8(ascii: "{")) else { return nil }
      var members: [String: Value] = [:]
      var last: String?
      repeat {
        guard let name = text(), last.map({ $0 < name }) ?? true, take(UInt8(ascii: ":")), let value = value() else {
          return nil
        }
        members[name] = value
        last = name
      } while take(UInt8(ascii: ","))
      return take(UInt8(ascii: "}")) ? members : nil
    }

    private mutating func value() -> Value? {
      guard place < bytes.count else { return nil }
      return bytes[place] == UInt8(ascii: "\"") ? text().map(Value.text) : number().map(Value.number)
    }

    /// Without leading zeros, and no -0.
    private mutating func number() -> Int64? {
      let start = place
      let isNegative = take(UInt8(ascii: "-"))
      let digits = place
      var value: Int64 = 0
      while place < bytes.count, case let byte = bytes[place], (48...57).contains(byte) {
        guard place - digits < 18 else { return nil }
        value = value * 10 + Int64(byte - 48)
        place += 1
      }
      guard place > digits, bytes[digits] != 48 || place - start == 1 else { return nil }
      return isNegative ? -value : value
    }

    private mutating func text() -> String? {
      guard take(UInt8(ascii: "\"")) else { return nil }
      let start = place
      while place < bytes.count, bytes[place] >= 0x20, bytes[place] != 0x22, bytes[place] != 0x5C { place += 1 }
      guard place < bytes.count else { return nil }
      if take(0x22) {
        return String(validating: UnsafeRawBufferPointer(rebasing: bytes[start..<place - 1]), as: UTF8.self)
      }
      var content = Array(bytes[start..<place])
      while place < bytes.count {
        let byte = bytes[place]
        place += 1
        switch byte {
        case 0x22: return String(validating: content, as: UTF8.self)
        case 0x5C:
          guard let escaped = escaped() else { return nil }
          content.append(escaped)
        case ..<0x20: return nil
        default: content.append(byte)
        }
      }
      return nil
    }

    private mutating func escaped() -> UInt8? {
      guard place < bytes.count else { return nil }
      place += 1
      switch bytes[place - 1] {
      case 0x22: return 0x22
      case 0x5C: return 0x5C
      case UInt8(ascii: "b"): return 0x08
      case UInt8(ascii: "f"): return 0x0C
      case UInt8(ascii: "n"): return 0x0A
      case UInt8(ascii: "r"): return 0x0D
      case UInt8(ascii: "t"): return 0x09
      case UInt8(ascii: "u"):
        guard bytes.count - place >= 4, bytes[place] == 48, bytes[place + 1] == 48,
          let text = String(validating: bytes[place + 2..<place + 4], as: UTF8.self), text == text.lowercased(),
          let byte = UInt8(text, radix: 16), byte < 0x20, ![8, 9, 10, 12, 13].contains(byte)
        else { return nil }
        place += 4
        return byte
      default: return nil
      }
    }
  }

  // MARK: Encode

  package static func encode(_ members: [String: Value]) -> [UInt8] {
    var bytes: [UInt8] = []
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      bytes.append(bytes.isEmpty ? UInt8(ascii: "{") : UInt8(ascii: ","))
      append(name, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      switch value {
      case .number(let number): bytes += "\(number)".utf8
      case .text(let text): append(text, to: &bytes)
      }
    }
    bytes.append(UInt8(ascii: "}"))
    return bytes
  }

  private static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(0x22)
    for byte in text.utf8 {
      switch byte {
      case 0x22: bytes += "\\\"".utf8
      case 0x5C: bytes += "\\\\".utf8
      case 0x08: bytes += "\\b".utf8
      case 0x0C: bytes += "\\f".utf8
      case 0x0A: bytes += "\\n".utf8
      case 0x0D: bytes += "\\r".utf8
      case 0x09: bytes += "\\t".utf8
      case ..<0x20:
        bytes += "\\u00\(Hexadecimal.encode([byte]))".utf8
      default: bytes.append(byte)
      }
    }
    bytes.append(0x22)
  }
}
