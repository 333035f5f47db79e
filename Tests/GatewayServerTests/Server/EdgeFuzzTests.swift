import Foundation
import GatewayTesting
import HTTPTypes
import NIOCore
import NIOHTTP1
import Testing

@testable import GatewayServer

/// The parsers at the door whose values are a framework's: whatever a stranger writes, they end, and nothing traps.
@Suite("Heads of strangers")
struct EdgeFuzzTests {
  private static let rounds = 4000 * max(1, Int(ProcessInfo.processInfo.environment["KEYFERRY_FUZZ"] ?? "") ?? 1)

  /// Texts of which one or more places were changed.
  private func inputs(from seeds: [String], _ body: ([UInt8]) throws -> Void) rethrows {
    var random = SeededRandom(seed: 13)
    let pieces = [
      "%", "%00", "%ff", "//", "..", "http://", "HTTPS://[", "]", "@", ":", ":99999999999999999999", "?", "&", "=", ",",
      ";", "\"", "\r\n", "\0", "\u{80}", "é", "for=", "::ffff:", "/129", "-1", " ",
    ]
    for round in 0..<Self.rounds {
      var bytes = Array(seeds[round % seeds.count].utf8)
      for _ in 0...Int.random(in: 0..<4, using: &random) where !bytes.isEmpty {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes.remove(at: place)
        case 1: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 2: bytes.removeSubrange(place...)
        default: bytes.insert(contentsOf: (pieces.randomElement(using: &random) ?? "").utf8, at: place)
        }
      }
      try body(bytes)
    }
  }

  @Test func targets() {
    inputs(from: ["/NL/index.txt?a=b&unit=1", "http://h.example:80/v1/a%20b/?index=1", "*", "/apple/NL/keys?index=5"]) {
      let text = String(decoding: $0, as: UTF8.self)
      if let target = try? RequestTarget(text, byteLimit: 200) {
        #expect(target.path.utf8.count <= text.utf8.count)
        #expect(!target.segments.contains("..") && !target.segments.contains("."))
      }
      var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: text, headers: ["Host": text])
      RequestFramingHandler.settleHost(of: &head)
      #expect(head.headers["host"].count <= 1)
      #expect(head.headers["host"].allSatisfy { RequestTarget.isAuthority($0.utf8) })
    }
  }

  @Test func heads() {
    let reader = RequestReader(
      limits: ServerLimits(), readsHost: true, proxies: TrustedProxies(AddressBlock("127.0.0.1").map { [$0] } ?? []))
    let seed =
      "GET /NL/index.txt?a=b HTTP/1.1\r\nHost: h:80\r\nAccept-Encoding: gzip;q=0.5, *;q=0\r\nRange: bytes=0-5,-1\r\n"
      + "If-None-Match: W/\"a\", \"b\"\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n"
    inputs(from: [seed]) { bytes in
      guard let head = RequestHead(ByteBuffer(bytes: bytes), reader), let retrieval = head.retrieval else { return }
      #expect(retrieval.weight <= bytes.count * 8 + 4096)
      #expect(retrieval.host.map { RequestTarget.isAuthority($0.utf8) } ?? true)
    }
  }

  @Test func proxies() throws {
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
    for field in TrustedProxies.Field.allCases {
      let proxies = TrustedProxies(
        ["127.0.0.1", "10.0.0.0/8", "fd00::/8"].compactMap { AddressBlock($0) }, field: field)
      inputs(from: [
        "192.0.2.1, 10.0.0.1", "for=192.0.2.1;proto=https, for=\"[2001:db8::1]:80\"", "unknown, ::ffff:10.1.1.1",
        "[::1",
      ]) { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        _ = proxies.client(of: RateLimitedClient(address), at: address, fields: [text, text])
        _ = AddressBlock(text)
      }
    }
  }
}

/// The costliest requests to each address of `schemas/openapi.json`: what they cost is linear in their bytes.
@Suite("What a request may cost", .serialized)
struct RequestCostTests {
  private func addresses() throws -> [(path: String, method: HTTPRequest.Method)] {
    let root = (0..<4).reduce(URL(filePath: #filePath)) { place, _ in place.deletingLastPathComponent() }
    let document = try JSONSerialization.jsonObject(
      with: Data(contentsOf: root.appending(path: "schemas/openapi.json")))
    let paths = try #require((document as? [String: Any])?["paths"] as? [String: [String: Any]])
    return paths.sorted { $0.key < $1.key }.flatMap { path, methods in
      methods.keys.sorted().map { (path, $0 == "post" ? .post : .get) }
    }
  }

  /// Fields that are long, have many members, and name what takes time to look for.
  private func fields(_ bytes: Int) -> [HTTPFields] {
    func repeated(_ text: String) -> String { String(repeating: text, count: bytes / text.utf8.count) }
    var many = HTTPFields()
    for number in 0..<90 { many.append(HTTPField(name: HTTPField.Name("x-\(number)")!, value: repeated("a"))) }
    return [
      [.acceptEncoding: repeated("gzip;q=0.001, ")], [.ifNoneMatch: repeated("W/\"a\", ")],
      [.range: "bytes=" + repeated("0-0,")], [.ifRange: repeated("\"")], [.ifModifiedSince: repeated("Sunday, ")],
      [.authorization: "Bearer " + repeated("a.")], [.contentType: "application/json" + repeated("; a=b")],
      [HTTPField.Name("X-Forwarded-For")!: repeated("10.0.0.1,")], bytes > 1000 ? [:] : many,
    ]
  }

  private func bodies(_ bytes: Int) -> [[UInt8]] {
    func repeated(_ text: String) -> [UInt8] { Array(String(repeating: text, count: bytes / text.utf8.count).utf8) }
    return [
      repeated("["), repeated("{\"a\":"), repeated("\""), repeated("\\u0000"), repeated("1"),
      Array("{\"temporaryExposureKeys\":[".utf8) + repeated("{},") + Array("{}]}".utf8),
      Array("{".utf8) + (0..<bytes / 16).flatMap { Array("\"\($0)\":[],".utf8) } + Array("\"\":0}".utf8),
    ]
  }

  private static let fillings = [
    String(repeating: "9", count: 1800), String(repeating: "%2e", count: 600),
    "a?" + String(repeating: "&", count: 1800),
  ]

  /// The address with something long in the place of its variables, as long as a target may be.
  private static func target(_ path: String, _ filling: String) -> String {
    let parts = path.split(separator: "{", omittingEmptySubsequences: false)
    var target = String(parts[0])
    for part in parts.dropFirst() {
      target += filling.prefix(1800 / parts.count)
      target += part.drop { $0 != "}" }.dropFirst()
    }
    return target
  }

  @Test(.timeLimit(.minutes(1)))
  func everyAddress() async throws {
    let fixture = try PublicationFixture()
    try fixture.publish("NL", bundles: 2, keys: 100)
    var settings = ServerSettings()
    settings.uploads = [UploadSettings(token: "a-token-of-some-length", requestsPerMinute: nil)]
    let app = try GatewayApplication.testing(fixture, settings: settings)
    let addresses = try addresses()
    #expect(addresses.count > 40)
    var slowest: (seconds: Double, what: String) = (0, "")
    let before = try Self.peakKibibytes(reset: true)
    for (path, method) in addresses {
      let all = fields(8000)
      for (index, filling) in Self.fillings.enumerated() {
        let target = Self.target(path, filling)
        for fields in index == 0 ? all : [all[0]] {
          for body in method == .post ? bodies(60_000) : [[]] {
            var headers = fields
            if method == .post {
              headers[.contentType] = headers[.contentType] ?? "application/json"
              headers[.authorization] = headers[.authorization] ?? "Bearer a-token-of-some-length"
            }
            let began = ContinuousClock.now
            let status = try await app.ask(target, method, headers: headers, body: body.isEmpty ? nil : body).code
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            #expect(status < 500, "\(method) \(path)")
            if seconds > slowest.seconds { slowest = (seconds, "\(method) \(path) \(body.prefix(8))") }
            // One body for each of the fields, and each body once.
            if index == 0, fields != all[0] { break }
          }
        }
      }
    }
    // Debug code on a busy machine: it was 30 times less. What is quadratic takes minutes.
    #expect(slowest.seconds < 1.5, "\(slowest)")
    #expect(try Self.peakKibibytes(reset: false) - before < 96 << 10)
  }

  private static func peakKibibytes(reset: Bool) throws -> Int {
    if reset { try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8) }
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(Int(line.filter(\.isNumber)))
  }
}
