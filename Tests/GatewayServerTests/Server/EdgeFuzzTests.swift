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
