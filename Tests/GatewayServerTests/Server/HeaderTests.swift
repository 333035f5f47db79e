import ExposureKeys
import GatewayTesting
import HTTPTypes
import Testing

@testable import GatewayServer

@Suite("What headers say")
struct HeaderTests {
  @Test("Dates are written in one form and read in three")
  func dates() {
    let instant = Instant(secondsSince1970: 784_111_777)
    #expect(HTTPDate.text(instant) == "Sun, 06 Nov 1994 08:49:37 GMT")
    for text in [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ] {
      #expect(HTTPDate.instant(text) == instant, "\(text)")
    }
    #expect(HTTPDate.text(Instant(secondsSince1970: 0)) == "Thu, 01 Jan 1970 00:00:00 GMT")
    for seconds in stride(from: Int64(0), to: 4_000_000_000, by: 86_400 * 97 + 3607) {
      let instant = Instant(secondsSince1970: seconds)
      #expect(HTTPDate.instant(HTTPDate.text(instant)) == instant)
    }
  }

  @Test(
    "What is no date is none",
    arguments: [
      "", "now", "Sun, 31 Feb 2021 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
      "Sun, 06 Nov 1994 8:49:37 GMT", "06 Nov 1994 08:49:37 GMT",
      "a Nov 9223372036854775807 08:49:37 1", "a Nov -9223372036854775808 08:49:37 1",
      "a Nov 6 08:49:37 9223372036854775807", "a, 6 Nov -9223372036854775808 08:49:37 GMT", "Sun Nov +6 08:49:37 1994",
      "Sun, 06 Nov 199 08:49:37 GMT", "Sun, 06 Nov 0000 08:49:37 GMT", String(repeating: "1 ", count: 4000),
    ])
  func badDates(text: String) {
    #expect(HTTPDate.instant(text) == nil)
  }

  @Test("Entity tags come alone, in lists, weak, or as a star")
  func tags() {
    #expect(EntityTag.condition("*") == .any)
    #expect(EntityTag.condition("\"a\"") == .tags([EntityTag(value: "a")]))
    #expect(
      EntityTag.condition(" \"a,b\" , W/\"c\",, \"\"")
        == .tags([EntityTag(value: "a,b"), EntityTag(value: "c", isWeak: true), EntityTag(value: "")]))
    for text in ["", "a", "\"a", "\"a\" \"b\"", "* , \"a\"", "w/\"a\"", ","] {
      #expect(EntityTag.condition(text) == nil, "\(text)")
    }
    #expect(EntityTag.condition("W/\"a\"")?.includes(EntityTag(value: "a")) == true)
    #expect(EntityTag.condition("\"b\"")?.includes(EntityTag(value: "a")) == false)
  }

  @Test(
    "One range of bytes is served, others are not understood",
    arguments: [
      (nil, ByteRange.whole), ("bytes=0-0", .part(0..<1)), ("bytes=2-", .part(2..<10)), ("bytes=-3", .part(7..<10)),
      ("bytes=0-99", .part(0..<10)), ("bytes=-99", .part(0..<10)), ("bytes=10-", .unsatisfiable),
      ("bytes=-0", .unsatisfiable), ("bytes=0-1,3-4", .whole), ("bytes=3-2", .whole), ("bytes=-", .whole),
      ("bytes=a-b", .whole), ("items=0-1", .whole), ("bytes=99999999999999999999-", .unsatisfiable),
      ("bytes=0-99999999999999999999", .part(0..<10)), ("bytes=+1-2", .whole), ("Bytes= 1-2 ", .part(1..<3)),
    ] as [(String?, ByteRange)])
  func ranges(header: String?, expected: ByteRange) {
    #expect(ByteRange(header, length: 10) == expected)
  }

  @Test("A range of nothing cannot be satisfied")
  func emptyRange() {
    #expect(ByteRange("bytes=0-", length: 0) == .unsatisfiable)
    #expect(ByteRange("bytes=-1", length: 0) == .unsatisfiable)
  }

  @Test(
    "Gzip is used where it is accepted",
    arguments: [
      (nil, false), ("gzip", true), ("br, gzip;q=0.5", true), ("gzip;q=0", false), ("*", true), ("*;q=0", false),
      ("identity", false), ("GZIP", true), ("gzip;q=0, *", false), ("deflate", false),
    ] as [(String?, Bool)])
  func gzip(header: String?, expected: Bool) {
    #expect(GzipCompression.isAccepted(by: header) == expected)
  }

  @Test("Targets are decoded and checked")
  func targets() throws {
    #expect(try RequestTarget("/", byteLimit: 100).segments == [])
    #expect(try RequestTarget("/a/b/", byteLimit: 100).segments == ["a", "b"])
    #expect(try RequestTarget("/a%20b/%C3%A9", byteLimit: 100).segments == ["a b", "é"])
    #expect(
      try RequestTarget("/a?index=1&inde%78=2&unit&x=1&startingAt=%26+%2B", byteLimit: 100).query
        == [.index: "2", .unit: "", .startingAt: "& +"])
    #expect(try RequestTarget("http://example.org/a?b=c", byteLimit: 100).segments == ["a"])
    #expect(try RequestTarget("http://example.org", byteLimit: 100).segments == [])
    #expect(try RequestTarget("/a//b", byteLimit: 100).segments == ["a", "", "b"])
  }

  @Test("The short way to a path leads where the long one does")
  func plainTargets() throws {
    var random = SeededRandom(for: "targets")
    var plain = 0
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...8, using: &random)).map { _ in
        random.pick(Array("/..aZ9-_~%2?&=\\ \u{E9}".utf8))
      }
      let target = "/" + String(decoding: bytes, as: UTF8.self)
      guard let path = RequestTarget.plainPath(target.utf8) else { continue }
      plain += 1
      let decoded = try RequestTarget(decoding: target)
      #expect(decoded.path == path && decoded.query.isEmpty, "\(target)")
    }
    #expect(plain > 1000)
  }

  @Test(
    "Targets that lead astray are refused",
    arguments: [
      "/..", "/a/../b", "/%2e%2e/x", "/a/%2E", "/a%2fb", "/a%5Cb", "/a%00b", "/%zz", "/%f", "/%ff%fe", "/a?b=%",
      "/a%0d%0ab",
    ])
  func badTargets(target: String) {
    #expect(throws: Problem.self) { try RequestTarget(target, byteLimit: 100) }
  }

  @Test("A target is refused for its length before anything else")
  func longTarget() {
    let problem = #expect(throws: Problem.self) {
      try RequestTarget("/" + String(repeating: "%", count: 100), byteLimit: 100)
    }
    #expect(problem?.status == .uriTooLong)
    let many = #expect(throws: Problem.self) {
      try RequestTarget("/?" + (0...32).map { "a\($0)=1" }.joined(separator: "&"), byteLimit: 1000)
    }
    #expect(many?.status == .badRequest)
  }
}
