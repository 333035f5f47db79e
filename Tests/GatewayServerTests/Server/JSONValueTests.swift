import Foundation
import GatewayTesting
import Testing

@testable import GatewayServer

@Suite("Any JSON")
struct JSONValueTests {
  private static func parse(_ text: String) -> JSONValue? { JSONValue.parse(Array(text.utf8)) }

  @Test("Every kind of value is read")
  func values() {
    #expect(Self.parse(" null ") == .null)
    #expect(Self.parse("[true,false]") == .array([.bool(true), .bool(false)]))
    #expect(Self.parse("[0,-1,12.5e1,1E-2,-0.5e+1]") == .array([0, -1, 125, 0.01, -5].map(JSONValue.number)))
    #expect(
      Self.parse(#"{"a":"\"\\\/\b\f\n\r\té\u00e9\uD83D\uDE00","":{}}"#)
        == .object(["a": .string("\"\\/\u{8}\u{C}\n\r\téé😀"), "": .object([:])]))
    #expect(Self.parse("{\"a\" : [ ] ,\n\"b\":\t1\r}") == .object(["a": .array([]), "b": .number(1)]))
    #expect(Self.parse(#"{"a":1,"a":2}"#) == .object(["a": .number(1)]))
    #expect(JSONValue.parse(Array(#"[{"a":1,"b":{"a":2}}]"#.utf8), allowingRepeats: false) != nil)
    #expect(JSONValue.parse(Array(#"[{"a":1,"a":1}]"#.utf8), allowingRepeats: false) == nil)
    #expect(JSONValue.parse([0xEF, 0xBB, 0xBF, UInt8(ascii: "1")]) == .number(1))
  }

  @Test(
    "What is no JSON is none",
    arguments: [
      "", " ", "{", "[", "]", "[1", "[1,", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:1}", "[1}",
      "{\"a\":1]", "1 2", "tru", "nul", "True", "+1", "01", "1.", ".5", "1e", "1e+", "-", "0x1", "1e999", "NaN", "\"",
      "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\n\"", "\"\n\"", "'a'",
      "\"\\", "\"\\u", "\"\\ud800\\u",
    ])
  func malformed(text: String) {
    #expect(Self.parse(text) == nil)
  }

  @Test("Text that is not UTF-8 is none")
  func badText() { #expect(JSONValue.parse([0x22, 0xC3, 0x28, 0x22]) == nil) }

  /// Foundation does not look into the later ones of members with one name, so there are none here.
  @Test("What Foundation reads is read alike, and what it refuses is refused")
  func agreesWithFoundation() throws {
    var random = SeededRandom(seed: 3)
    for _ in 0..<400 {
      var bytes = Array(Self.document(&random, depth: 0).utf8)
      #expect(JSONValue.parse(bytes) == Reference.parse(bytes))
      // One byte is another one.
      let others = Array("[]{},:\"\\0e-. tfn".utf8)
      bytes[Int.random(in: bytes.indices, using: &random)] = others[Int.random(in: others.indices, using: &random)]
      let (ours, reference) = (JSONValue.parse(bytes), Reference.parse(bytes))
      #expect(ours == reference, "\(String(decoding: bytes, as: UTF8.self))")
    }
  }

  @Test("Depth is bounded")
  func depth() {
    func nested(_ depth: Int, _ open: String, _ close: String) -> String {
      String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
    }
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), (" [ ", " ] ")] {
      #expect(Self.parse(nested(JSONValue.maximumDepth, open, close)) != nil)
      #expect(Self.parse(nested(JSONValue.maximumDepth + 1, open, close)) == nil)
      #expect(Self.parse(nested(64_000, open, close)) == nil)
    }
    #expect(Self.parse(String(repeating: "[", count: 64_000)) == nil)
  }

  private static func list(_ item: String, _ count: Int) -> String {
    "[" + [String](repeating: item, count: count).joined(separator: ",") + "]"
  }

  private static let bodies: [String] = {
    let deep = String(repeating: "[", count: 31) + String(repeating: "]", count: 31)
    var bodies = [String(repeating: "[", count: 64_000), String(repeating: "{\"a\":", count: 12_800)]
    bodies += [list(deep, 1000), list("[]", 21_000), list("{}", 21_000), list("1", 31_000)]
    bodies += ["[" + String(repeating: "1", count: 63_998) + "]", String(repeating: " ", count: 64_000)]
    bodies.append("\"" + String(repeating: "\\n", count: 31_999) + "\"")
    bodies.append("{" + (0..<7000).map { "\"\($0)\":1" }.joined(separator: ",") + "}")
    return bodies
  }()

  /// Each is as large as an upload may be. A second is plenty for any of them, unless the work grows faster than the body.
  @Test("No body takes long", arguments: bodies)
  func effort(body: String) {
    #expect((60_000...64_000).contains(body.utf8.count))
    let time = (0..<3).map { _ in ContinuousClock().measure { _ = Self.parse(body) } }.min() ?? .seconds(1000)
    #expect(time < .seconds(1), "\(body.prefix(20))… took \(time)")
  }

  private static func document(_ random: inout SeededRandom, depth: Int) -> String {
    let words = ["true", "false", "null", "0", "-0", "12", "1.5", "-2e3", "1E-7", "123456789012345678901234567890"]
    let texts = ["a", "é😀", "\\n", "\\u00e9", "\\ud83d\\ude00", ""]
    let kind = Int.random(in: depth < 6 ? 0...5 : 0...1, using: &random)
    guard kind > 1 else {
      if kind == 0 { return words[Int.random(in: words.indices, using: &random)] }
      return "\"" + texts.shuffled(using: &random).prefix(2).joined() + "\""
    }
    var items: [String] = []
    for number in 0..<Int.random(in: 0...3, using: &random) {
      let item = document(&random, depth: depth + 1)
      items.append(kind > 3 ? item : "\"\(number)\" : \(item)")
    }
    let list = items.joined(separator: ", ")
    return kind > 3 ? "[\(list)]" : "{\(list)}"
  }
}

/// What Foundation makes of it.
private struct Reference: Decodable {
  var value: JSONValue

  static func parse(_ bytes: [UInt8]) -> JSONValue? {
    try? JSONDecoder().decode(Reference.self, from: Data(bytes)).value
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      value = .null
    } else if let bool = try? container.decode(Bool.self) {
      value = .bool(bool)
    } else if let number = try? container.decode(Double.self) {
      value = .number(number)
    } else if let text = try? container.decode(String.self) {
      value = .string(text)
    } else if let values = try? container.decode([Reference].self) {
      value = .array(values.map(\.value))
    } else {
      value = .object(try container.decode([String: Reference].self).mapValues(\.value))
    }
  }
}
