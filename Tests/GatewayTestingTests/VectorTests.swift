import GatewayTesting
import Testing

@Suite struct VectorFileTests {
  private let bytes: [UInt8] = Array("key;\r\n\n\u{feff}x".utf8) + [0, 255]

  @Test(arguments: Vector.Body.allCases.filter { $0 != .pieces })
  func roundTrip(body: Vector.Body) throws {
    let fields = [Vector.Field("comment", "a: b"), .init("expect", "refused:malformed"), .init("body", body.rawValue)]
    let vector = Vector(name: "csv/line_ends", fields: fields, bytes: bytes)
    let again = try Vector(name: vector.name, file: vector.file())
    #expect(again.bytes == bytes)
    #expect(again.comment == "a: b")
    #expect(try again.expectation() == .refused("malformed"))
  }

  @Test func pieces() throws {
    let pieces = [Vector.Piece("{\"keys\": "), .init("[", times: 3), .init([0xff], times: 2), .init("\n")]
    let file = Vector(name: "json/deep", fields: [.init("expect", "accepted")], bytes: []).file(pieces: pieces)
    #expect(String(decoding: file, as: UTF8.self).hasSuffix("text {\"keys\": \n3 * text [\n2 * hex ff\nhex 0a\n"))
    #expect(try Vector(name: "json/deep", file: file).bytes == Array("{\"keys\": [[[".utf8) + [0xff, 0xff, 0x0a])
  }

  @Test(arguments: ["no colon\n\n00", "body: rot13\n\n00", "a: b\n\n0", "a: b\n\n0g", "body: pieces\n\nbits 01"])
  func faults(file: String) {
    #expect(throws: Vector.Fault.self) { try Vector(name: "x/y", file: Array(file.utf8)) }
  }

  @Test func expectations() throws {
    for text in ["accepted", "rejected-keys", "refused:truncated"] {
      #expect(Vector.Expectation(text)?.description == text)
    }
    #expect(Vector.Expectation("refused:") == nil)
    #expect(Vector.Expectation("fine") == nil)
    #expect(throws: Vector.Fault.self) { try Vector(name: "x/y", file: Array("keys: two\n\n".utf8)).number("keys") }
  }
}
