import ExposureKeys
import Foundation
import GatewaySettings
import GatewayTesting
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import GatewayServer

@Suite("Behind a proxy")
struct ProxyTests {
  private func proxies(_ blocks: [String], _ field: TrustedProxies.Field = .xForwardedFor) -> TrustedProxies {
    TrustedProxies(blocks.compactMap { AddressBlock($0) }, field: field)
  }

  private func client(_ address: String) throws -> RateLimitedClient {
    RateLimitedClient(address: try #require(IPAddress(address)).bytes)
  }

  private func who(_ proxies: TrustedProxies, _ lines: [String], from address: String = "127.0.0.1") throws
    -> RateLimitedClient
  {
    let connection = try SocketAddress(ipAddress: address, port: 4711)
    return proxies.client(of: RateLimitedClient(connection), at: connection, fields: lines)
  }

  @Test(
    "The last hop that is no proxy of ours is who asks",
    arguments: [
      (["203.0.113.9"], "203.0.113.9"), (["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
      (["203.0.113.9, 10.1.2.3"], "203.0.113.9"), (["203.0.113.9", "10.1.2.3"], "203.0.113.9"),
      (["203.0.113.9:4711"], "203.0.113.9"), (["[2001:db8::1]:80"], "2001:db8::1"), (["2001:db8::1"], "2001:db8::1"),
      (["10.0.0.1, 10.0.0.2"], "10.0.0.1"), ([], "127.0.0.1"), ([""], "127.0.0.1"), (["unknown"], "127.0.0.1"),
      (["203.0.113.9, unknown, 10.0.0.7"], "10.0.0.7"), (["203.0.113.9, "], "127.0.0.1"),
      (["::ffff:203.0.113.9"], "203.0.113.9"),
    ])
  func hops(lines: [String], expected: String) throws {
    #expect(try who(proxies(["127.0.0.1", "10.0.0.0/8"]), lines) == client(expected))
  }

  @Test(
    "Forwarded is read as RFC 7239 has it",
    arguments: [
      ("for=203.0.113.9", "203.0.113.9"), ("proto=https; For=\"203.0.113.9:80\" ;by=10.0.0.1", "203.0.113.9"),
      ("for=1.1.1.1, for=\"[2001:db8::1]:80\"", "2001:db8::1"), ("for=_hidden", "127.0.0.1"),
      ("proto=https", "127.0.0.1"),
    ])
  func forwarded(line: String, expected: String) throws {
    #expect(try who(proxies(["127.0.0.1"], .forwarded), [line]) == client(expected))
  }

  @Test("Nobody else is believed")
  func strangers() throws {
    let lines = ["203.0.113.9"]
    #expect(try who(proxies(["10.0.0.0/8"]), lines) == client("127.0.0.1"))
    #expect(try who(proxies([]), lines) == client("127.0.0.1"))
    #expect(try who(proxies(["10.0.0.0/8"]), lines, from: "11.0.0.1") == client("11.0.0.1"))
    #expect(try who(proxies(["fd00::/8"]), lines, from: "fd12::1") == client("203.0.113.9"))
  }

  @Test("Blocks", arguments: ["", "a", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "::/129", "1.2.3", "1.2.3.4/8/8"])
  func bad(text: String) { #expect(AddressBlock(text) == nil) }

  // MARK: A country

  private static let upload = Array(
    #"[{"keyData":"AQIDBAUGBwgJCgsMDQ4PEA==","rollingStartNumber":2677680,"rollingPeriod":144,"transmissionRiskLevel":2}]"#
      .utf8)

  private func fields(_ number: Int, field: String) -> HTTPFields {
    let address = "198.51.\(number / 250).\(number % 250 + 1)"
    var fields: HTTPFields = [
      .contentType: "application/json", .authorization: "Bearer secret-token-of-all",
    ]
    fields[HTTPField.Name(field)!] = field == "Forwarded" ? "for=\(address)" : "6.6.6.6, \(address)"
    return fields
  }

  @Test(
    "Behind one proxy every phone of a country has a rate of its own",
    arguments: [
      ("X-Forwarded-For", "proxies: [127.0.0.1, \"::1\"]"),
      ("Forwarded", "proxies: [127.0.0.1]\n    proxy-field: forwarded"),
    ])
  func country(field: String, proxies: String) async throws {
    let gateway = try ConfiguredGateway(
      doors: "origin: US-VA\n      token: {file: token}\n      rate: 2/min", server: "rate: 6/min\n    \(proxies)")
    #expect(!gateway.warnings.contains { $0.reason.contains("behind a proxy") }, "\(gateway.warnings)")
    try await gateway.application().application().live { client in
      for phone in 0..<LongList.size(80, long: 300) {
        let fields = fields(phone, field: field)
        let taken = try await client.execute(
          uri: "/apple/VA/keys", method: .post, headers: fields, body: ByteBuffer(bytes: Self.upload))
        #expect(taken.code == 200, "phone \(phone)")
        var get = fields
        get[.contentType] = nil
        get[.authorization] = nil
        let page = try await client.execute(uri: "/", method: .get, headers: get)
        #expect(page.code == 200, "phone \(phone)")
      }
      // One that asks for too much is held back alone.
      var codes: [Int] = []
      for _ in 0..<6 {
        codes.append(try await client.execute(uri: "/", method: .get, headers: fields(7, field: field)).code)
      }
      #expect(codes.contains(429))
      #expect(try await client.execute(uri: "/", method: .get, headers: fields(8, field: field)).code == 200)
    }
  }

  @Test("Without proxies a country is one client, and the check says so")
  func withoutProxies() async throws {
    let gateway = try ConfiguredGateway(doors: "origin: US-VA\n      token: {file: token}", server: "rate: 6/min")
    #expect(
      gateway.warnings.filter { $0.reason.contains("behind a proxy") }.map(\.place) == [
        "server.rate", "server.uploads",
      ])
    try await gateway.application().application().live { client in
      var codes: Set<Int> = []
      for phone in 0..<10 {
        codes.insert(
          try await client.execute(uri: "/", method: .get, headers: fields(phone, field: "X-Forwarded-For")).code)
      }
      #expect(codes == [200, 429])
    }
  }

  @Test("What is refused takes nothing from the phones that share an address")
  func refused() async throws {
    let gateway = try ConfiguredGateway(doors: "origin: US-VA\n      token: {file: token}\n      rate: 4/min")
    let app = try gateway.application()
    let good: HTTPFields = [.contentType: "application/json", .authorization: "Bearer secret-token-of-all"]
    var codes: [Int] = []
    for _ in 0..<4 {
      codes.append(
        try await app.ask("/apple/VA/keys", .post, headers: [.contentType: "application/json"], body: Self.upload).code)
    }
    // Who is refused too often is told nothing more.
    #expect(codes == [401, 401, 429, 429])
    for status in [200, 200, 429] {
      #expect(try await app.ask("/apple/VA/keys", .post, headers: good, body: Self.upload).code == status)
    }
  }
}
