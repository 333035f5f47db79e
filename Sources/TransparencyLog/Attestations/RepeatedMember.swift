internal import FoundationEssentials

/// A name that an object of JSON has twice. Programs differ in which of the two members they take, so what has one says two
/// things, and is refused.
enum RepeatedMember {
  /// - Parameter document: JSON that was read without a fault.
  /// - Returns: the first name that an object has twice, at any depth; `nil` where none has.
  static func name(in document: some Sequence<UInt8>) -> String? {
    let bytes = Array(document)
    // The names of each object that is open; `nil` for a list.
    var open: [Set<String>?] = []
    var place = 0
    while place < bytes.count {
      let start = place
      place += 1
      switch bytes[start] {
      case UInt8(ascii: "{"): open.append([])
      case UInt8(ascii: "["): open.append(nil)
      case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = open.popLast()
      case UInt8(ascii: "\""):
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
          place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        place += 1
        guard place <= bytes.count, isName(bytes[place...]), let last = open.indices.last else { continue }
        let name = text(bytes[start..<place])
        if open[last]?.insert(name).inserted == false { return name }
      default: break
      }
    }
    return nil
  }

  /// Whether what follows a text makes it the name of a member.
  private static func isName(_ rest: ArraySlice<UInt8>) -> Bool {
    rest.first { ![0x20, 0x09, 0x0a, 0x0d].contains($0) } == UInt8(ascii: ":")
  }

  /// - Parameter token: with its quotation marks.
  private static func text(_ token: ArraySlice<UInt8>) -> String {
    // The same name can be spelled with escapes.
    guard token.contains(UInt8(ascii: "\\")), let text = try? JSONDecoder().decode(String.self, from: Data(token))
    else {
      return String(decoding: token.dropFirst().dropLast(), as: UTF8.self)
    }
    return text
  }
}
