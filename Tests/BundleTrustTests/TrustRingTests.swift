import BundleTrust
import ExposureKeys
import Foundation
import Testing

@Suite struct TrustRingTests {
  private let first = SigningKey.generate().publicKey
  private let second = SigningKey.generate().publicKey

  private func faults(_ body: () throws -> TrustRing) throws -> [KeyFault] {
    do {
      let ring = try body()
      Issue.record("no fault, but \(ring.keys.count) keys")
      return []
    } catch let error as TrustRingError {
      #expect(error.description.split(separator: "\n").count == error.faults.count)
      return error.faults
    }
  }

  // MARK: PEM

  @Test func onePEMTextWithSeveralKeys() throws {
    let text = "subject=somebody\r\n" + (first.pem + "\n# and\n" + second.pem).replacing("\n", with: "\r\n")
    let ring = try TrustRing(pem: text)
    #expect(ring.keys.map(\.publicKey) == [first, second])
    #expect(ring.keys.allSatisfy { $0.id == nil && $0.version == nil && $0.identity.matchesAnyName })
    #expect(ring.keys(id: "anything", version: nil).count == 2)
    #expect(ring.notes.isEmpty)
  }

  @Test(arguments: [
    ("", KeyFault.Code.notPEM), ("no block", .notPEM), ("-----BEGIN PUBLIC KEY-----\nAAAA", .notPEM),
    ("-----BEGIN PUBLIC KEY-----\n????\n-----END PUBLIC KEY-----", .notPEM),
    ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END CERTIFICATE-----", .notPEM),
    ("-----BEGIN PUBLIC KEY-----\n-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----", .notPEM),
    ("-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----", .malformed),
    ("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----", .malformed),
    ("-----BEGIN RSA PUBLIC KEY-----\nMAA=\n-----END RSA PUBLIC KEY-----", .wrongBlock),
    ("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----", .wrongBlock),
    ("-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----", .wrongBlock),
  ])
  func badPEM(text: String, code: KeyFault.Code) throws {
    #expect(try faults { try TrustRing(pem: text) }.map(\.code) == [code])
  }

  @Test func aCertificateIsRefusedWithTheWayOut() throws {
    let text = "\n-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----"
    let fault = try #require(try faults { try TrustRing(pem: text) }.first)
    #expect(fault.place == "line 2")
    #expect(fault.reason.contains("openssl x509 -pubkey"))
  }

  @Test func hugeTextIsRefused() throws {
    let text = String(repeating: "x", count: 4 << 20) + "x"
    #expect(try faults { try TrustRing(pem: text) }.map(\.code) == [.limitExceeded])
    #expect(try faults { try TrustRing(json: Array(text.utf8)) }.map(\.code) == [.limitExceeded])
  }

  // MARK: A folder

  @Test func namesOfFiles() throws {
    let ring = try TrustRing(files: [("310-v1.pem", first.pem), ("ch-dp3t-v2.pem", second.pem)])
    #expect(ring.keys.map(\.id) == ["310", "ch-dp3t"])
    #expect(ring.keys.map(\.version) == ["v1", "v2"])
    #expect(ring.keys.map(\.label) == ["310-v1.pem", "ch-dp3t-v2.pem"])
    #expect(ring.keys(id: "310", version: "v1").map(\.publicKey) == [first])
    #expect(ring.keys(id: "310", version: nil).isEmpty)
  }

  @Test func everyFileWithAFaultIsNamed() throws {
    let files = [
      ("310.pem", first.pem), ("-v1.pem", first.pem), ("310-.pem", first.pem), ("README", "hello"), (".pem", ""),
      ("ok-1.pem", first.pem), ("bad-1.pem", "nothing"), ("bad-2.pem", SigningKey.generate().pemRepresentation),
    ]
    let found = try faults { try TrustRing(files: files) }
    #expect(found.map(\.code) == [.fileName, .fileName, .fileName, .fileName, .fileName, .notPEM, .wrongBlock])
    #expect(found.map(\.place).prefix(2) == ["\"310.pem\"", "\"-v1.pem\""])
    #expect(found.last?.place == "\"bad-2.pem\": line 1")
  }

  @Test func anEmptyFolderIsNoRing() throws {
    #expect(try faults { try TrustRing(files: []) }.map(\.code) == [.empty])
  }

  // MARK: JSON

  private func json(_ entries: String) -> [UInt8] { Array("{\"keys\": [\(entries)]}".utf8) }

  @Test func jsonWithEverySpellingOfAKey() throws {
    let pem = first.pem.replacing("\n", with: "\\n")
    let point = Data(second.x963).base64EncodedString()
    let ring = try TrustRing(
      json: json(
        """
        {"id": "310", "version": "v1", "publicKey": "\(pem)", "from": "2020-06-01T00:00:00Z", "until": null},
        {"id": "310", "version": "v1", "publicKey": "\(second.base64)", "until": "2021-06-01T00:00:00Z"},
        {"id": "262", "version": "", "publicKey": "\(point)", "label": "the point by itself"},
        {"publicKey": "\(first.base64)"}
        """))
    #expect(ring.keys.map(\.publicKey) == [first, second, second, first])
    #expect(ring.keys.map(\.id) == ["310", "310", "262", nil])
    #expect(ring.keys[0].from == Instant("2020-06-01T00:00:00Z"))
    #expect(ring.keys[0].until == nil)
    #expect(ring.keys[1].until == Instant("2021-06-01T00:00:00Z"))
    #expect(ring.keys[2].label == "the point by itself")
    #expect(ring.keys(id: "310", version: "v1").count == 3)
    #expect(ring.keys(id: "262", version: nil).count == 2)
    #expect(ring.notes.isEmpty)
  }

  @Test func identicalEntriesAreNoted() throws {
    let entry = "{\"id\": \"310\", \"version\": \"v1\", \"publicKey\": \"\(first.base64)\"}"
    let ring = try TrustRing(json: json([entry, entry].joined(separator: ",")))
    #expect(ring.keys.count == 1)
    #expect(ring.notes.map(\.code) == [.repeated])
    #expect(ring.notes.map(\.place) == ["keys[1]"])
  }

  @Test func allFaultsAtOnceEachWithItsPlace() throws {
    let p384 =
      "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE"
      + Data(repeating: 1, count: 96).base64EncodedString()
    let offCurve = Data([4] + [UInt8](repeating: 1, count: 64)).base64EncodedString()
    let found = try faults {
      try TrustRing(
        json: json(
          """
          {"id": "a", "version": "1", "publicKey": "\(p384)"},
          {"id": "b", "version": "1", "publicKey": "\(offCurve)"},
          {"id": "c", "version": 1, "publicKey": "!"},
          {"id": "d", "version": "1"},
          {"id": "e", "publickey": "\(first.base64)", "publicKey": "\(first.base64)"},
          {"id": "f", "publicKey": "\(first.base64)", "from": "yesterday", "until": 12},
          {"id": "g", "publicKey": "\(first.base64)", "from": "2021-01-01T00:00:00Z", "until": "2020-01-01T00:00:00Z"},
          "h"
          """))
    }
    #expect(
      found.map(\.description) == [
        "keys[0].publicKey: curve P-384, only P-256 is allowed",
        "keys[1].publicKey: the point is not on the curve P-256",
        "keys[2].version: a number, expected a string",
        "keys[2].publicKey: neither a PEM block nor base64",
        "keys[3].publicKey: missing, expected PEM or base64",
        "keys[4].\"publickey\": unknown member, allowed are id, version, publicKey, from, until, label",
        "keys[5].from: \"yesterday\", expected a time like 2020-06-01T00:00:00Z",
        "keys[5].until: a number, expected a string",
        "keys[6].until: 2020-01-01T00:00:00Z is not after from, 2021-01-01T00:00:00Z",
        "keys[7]: a string, expected an object",
      ])
  }

  @Test(arguments: [
    ("{\"keys\": [}", KeyFault.Code.notJSON), ("{\"keys\": []} x", .notJSON), ("{", .notJSON), ("[]", .wrongType),
    ("{}", .missingMember), ("{\"keys\": {}}", .wrongType), ("{\"keys\": []}", .empty),
    (String(repeating: "[", count: 100_000), .notJSON),
  ])
  func badJSON(text: String, code: KeyFault.Code) throws {
    #expect(try faults { try TrustRing(document: Array(text.utf8)) }.map(\.code) == [code])
  }

  @Test(arguments: [
    ("{\"keys\": [}", "line 1, column 11: not JSON: expected a value"),
    ("{\"keys\":\n [\"a\" 1]}", "line 2, column 7: not JSON: expected a comma or a closing bracket"),
    ("{\"id\": 1, \"id\": 2}", "line 1, column 11: not JSON: the member \"id\" stands twice in one object"),
    ("{\"a\\u00e", "line 1, column 6: not JSON: expected four hexadecimal digits"),
    ("{\"a\\ud800\"", "line 1, column 10: not JSON: half of a surrogate pair"),
    ("{\"a\\ud800\\u0041\"", "line 1, column 16: not JSON: half of a surrogate pair"),
    ("{\"a\": 01}", "line 1, column 8: not JSON: expected a comma or a closing brace"),
    ("{\"a\": 1.}", "line 1, column 9: not JSON: expected a digit"),
    ("{\"a\": -}", "line 1, column 8: not JSON: expected a digit"),
    ("{\"a\": 1e+}", "line 1, column 10: not JSON: expected a digit"),
    ("{\"a\": nul}", "line 1, column 7: not JSON: expected a value"),
    ("{\"a\": \"\t\"}", "line 1, column 8: not JSON: a control character in a string"),
    ("{\"a\": \"\\x\"}", "line 1, column 9: not JSON: an unknown escape in a string"),
    ("{\"a\": \"\\", "line 1, column 9: not JSON: the document ends in a string"),
    ("{\"a\"}", "line 1, column 5: not JSON: expected a colon"),
    ("{,}", "line 1, column 2: not JSON: expected the name of a member"),
    ("{\"keys\": []}{", "line 1, column 13: not JSON: text after the end of the document"),
    (String(repeating: "[", count: 17), "line 1, column 17: not JSON: nested deeper than 16 levels"),
  ])
  func faultsOfJSONHaveAPlace(text: String, message: String) throws {
    #expect(try faults { try TrustRing(json: Array(text.utf8)) }.map(\.description) == [message])
  }

  @Test func jsonInOtherEncodings() throws {
    #expect(try faults { try TrustRing(json: [0x7B, 0xFF, 0x7D]) }.map(\.description) == ["is not UTF-8"])
    let entry = #"{ "\u0069d":"\ud83d\ude00\n\/", "publicKey" : "\#(first.base64)","from":null }"#
    let ring = try TrustRing(json: [0xEF, 0xBB, 0xBF] + json(entry) + Array(" \r\n\t".utf8))
    #expect(ring.keys.map(\.id) == ["😀\n/"])
  }

  @Test func anUnknownMemberOfTheRing() throws {
    let found = try faults { try TrustRing(json: Array("{\"keys\": [], \"Keys\": []}".utf8)) }
    #expect(found.map(\.place) == ["\"Keys\""])
  }

  @Test func contentTellsJSONFromPEM() throws {
    #expect(try TrustRing(document: Array(first.pem.utf8)).keys[0].id == nil)
    let entry = "{\"id\": \"310\", \"publicKey\": \"\(first.base64)\"}"
    #expect(try TrustRing(document: Array(" \n".utf8) + json(entry)).keys[0].id == "310")
  }
}
