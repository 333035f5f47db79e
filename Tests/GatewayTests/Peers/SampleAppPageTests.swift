import Foundation
import GatewayTesting
import Testing

@testable import KeyPeers

@Suite("Pages of Apple's sample")
struct SampleAppPageTests {
  @Test(
    arguments: [
      (#"[]"#, 0, nil, nil), (#" [ {} , 1, "a\"]", [[]] ] "#, 4, nil, nil), (#"{"keys":[]}"#, 0, nil, nil),
      (#"{"done":true,"nextIndex":12,"keys":[{"keyData":"AA=="},{}]}"#, 2, true, 12),
      (#"{"keys":[null],"done":null,"nextIndex":null,"other":{"keys":[1,2,3],"done":7}}"#, 1, nil, nil),
      (#"{"keys":[-0.5e+3],"nextIndex":1e3,"done":false}"#, 1, false, 1000),
    ] as [(String, Int64, Bool?, Int64?)])
  func pages(text: String, count: Int64, isLast: Bool?, nextIndex: Int64?) throws {
    let page = try #require(SampleAppPage(Array(text.utf8)))
    #expect(page.count == count && page.isLast == isLast && page.nextIndex == nextIndex)
  }

  @Test(arguments: [
    "", " ", "7", "\"keys\"", "{}", #"{"done":true}"#, #"{"keys":{}}"#, #"{"keys":[}"#, "[1,]", "[,1]", "[1 2]", "[01]",
    "[1.]", "[+1]", "[1e]", "[tru]", "[\"\u{01}\"]", #"["\x"]"#, #"["\u12g4"]"#, #"["a]"#, "[1]x",
    #"{"keys":[],"done":1}"#, #"{"keys":[],"nextIndex":1.5}"#, #"{"keys":[],"nextIndex":"1"}"#,
    #"{"keys":[],"nextIndex":99999999999999999999}"#, #"{"keys":[],}"#, #"{keys:[]}"#,
    String(repeating: "[", count: 100_000), String(repeating: "[", count: 33) + String(repeating: "]", count: 33),
  ])
  func noPages(text: String) { #expect(SampleAppPage(Array(text.utf8)) == nil) }

  /// What is well-formed is what Foundation takes for JSON, whatever is done to a page.
  @Test func theFormIsThatOfJSON() {
    var random = SeededRandom(seed: 20_201_201)
    let seeds = [
      #"{"keys":[{"keyData":"AAA=","rollingStartNumber":-12.5e3,"a\u00e9\n":[true,false,null]}],"done":true,"nextIndex":4}"#,
      #"[[],{},"",0,-1,1e9,{"a":{"b":[]}}]"#,
    ]
    let marks = Array(#"[]{}",:\0123456789.eE+-tfnu "#.utf8)
    for round in 0..<20_000 {
      var bytes = Array(seeds[round % seeds.count].utf8)
      for _ in 0...Int(random.next() % 3) {
        let place = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes.remove(at: place)
        case 1: bytes.insert(marks[Int(random.next() % UInt64(marks.count))], at: place)
        default: bytes[place] = marks[Int(random.next() % UInt64(marks.count))]
        }
        if bytes.isEmpty { bytes = [0x5B] }
      }
      let isWellFormed = bytes.withUnsafeBytes { buffer in
        var reader = JSONSkimmer(buffer)
        reader.skipSpace()
        guard reader.value() else { return false }
        reader.skipSpace()
        return reader.isAtEnd
      }
      let isJSON = (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
      // Foundation refuses surrogates that have no partner, and numbers that no type holds; it takes a comma at the end.
      let text = String(decoding: bytes.filter { $0 != 0x20 }, as: UTF8.self)
      let isFoundations =
        isWellFormed
        ? bytes.contains(UInt8(ascii: "u")) || bytes.contains(UInt8(ascii: "e"))
        : text.contains(",]") || text.contains(",}")
      if isWellFormed != isJSON, !isFoundations {
        Issue.record("\(String(decoding: bytes, as: UTF8.self)): \(isWellFormed), and JSON: \(isJSON)")
      }
    }
  }

  /// The page itself is in memory once; 26 times as much was taken before.
  @Test(.enabled(if: FileManager.default.isWritableFile(atPath: "/proc/self/clear_refs")))
  func aLargePageTakesNoMore() throws {
    let key = Array(#"{"keyData":"AAAAAAAAAAAAAAAAAAAAAA==","rollingStartNumber":2655360,"rollingPeriod":144},"#.utf8)
    var body = Array(#"{"keys":["#.utf8)
    body.reserveCapacity(24 << 20)
    while body.count < 20 << 20 { body += key }
    body.removeLast()
    body += Array(#"],"done":false}"#.utf8)
    let before = try Self.peak(reset: true)
    let page = try #require(SampleAppPage(body))
    #expect(try Self.peak(reset: false) - before < 8 << 10)
    #expect(page.isLast == false && page.count == Int64(20 << 20) / Int64(key.count) + 1)
  }

  /// KiB of memory at most since the last reset.
  private static func peak(reset: Bool) throws -> Int {
    if reset { try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8) }
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(Int(line.filter(\.isNumber)))
  }
}
