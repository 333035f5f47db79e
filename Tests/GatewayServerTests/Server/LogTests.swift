import Foundation
import Logging
import Testing

@testable import GatewayServer

@Suite("Logs")
struct LogTests {
  @Test("JSON lines are JSON, whatever is in them")
  func json() throws {
    let lines = Lines()
    var logger = lines.logger(.json)
    logger[metadataKey: "region"] = "NL"
    logger.info(
      "pulled",
      metadata: [
        "text": "a\"b\\c\nd\u{1}\u{2028}é", "count": .stringConvertible(3), "ratio": .stringConvertible(0.5),
        "flag": .stringConvertible(true), "list": ["a", "b"], "more": ["z": "1", "y": "2"],
      ])
    let line = try #require(lines.all.first)
    #expect(lines.all.count == 1)
    #expect(line.hasSuffix("}\n"))
    #expect(line.dropLast().allSatisfy { !$0.isNewline })
    let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(object["level"] as? String == "info")
    #expect(object["message"] as? String == "pulled")
    #expect(object["logger"] as? String == "test")
    let time = try #require(object["time"] as? String)
    #expect(time.utf8.count == 24 && time.hasSuffix("Z"))
    let data = try #require(object["data"] as? [String: Any])
    #expect(data["text"] as? String == "a\"b\\c\nd\u{1}\u{2028}é")
    #expect(data["count"] as? Int == 3)
    #expect(data["ratio"] as? Double == 0.5)
    #expect(data["flag"] as? Bool == true)
    #expect(data["list"] as? [String] == ["a", "b"])
    #expect(data["more"] as? [String: String] == ["z": "1", "y": "2"])
    #expect(data["region"] as? String == "NL")
  }

  @Test("A line for systemd's journal begins with its priority", arguments: [LogFormat.json, .text])
  func priorities(format: LogFormat) {
    let lines = Lines()
    let logger = Logger(label: "test") {
      format.handler(label: $0, level: .trace, hasPriority: true) { lines.add($0) }
    }
    for level in Logger.Level.allCases { logger.log(level: level, "said") }
    #expect(lines.all.map { String($0.prefix(3)) } == ["<7>", "<7>", "<6>", "<5>", "<4>", "<3>", "<2>"])
    #expect(lines.all.allSatisfy { !$0.dropFirst(3).hasPrefix("<") })
  }

  @Test("Text lines are one line each, and quote what would be ambiguous")
  func text() throws {
    let lines = Lines()
    lines.logger(.text).warning("late", metadata: ["b": "two words", "a": "x\ny", "c": "plain"])
    let line = try #require(lines.all.first)
    #expect(line.hasSuffix("Z warning test: late a=\"x\\ny\" b=\"two words\" c=plain\n") == true)
    #expect(line.filter(\.isNewline).count == 1)
  }

  @Test("Level and metadata are values")
  func values() {
    let lines = Lines()
    var one = lines.logger()
    var two = one
    one.logLevel = .error
    two[metadataKey: "only"] = "two"
    one.info("not said")
    two.info("said")
    #expect(lines.all.count == 1)
    one.error("without")
    #expect(lines.all.last?.contains("only") == false)
  }
}
