import BundleTrust
import ExposureKeys
import KeyNormalization
import KeyPeers
import PeerTransport
import Testing

/// Secrets within addresses: where they go, and where they never do.
@Suite("Secrets of requests") struct RequestSecretTests {
  /// Of characters that an address does not take, too.
  private static let secret = "hunter2/?%#&+hunter2"
  private static let encoded = "hunter2%2F%3F%25%23%26%2Bhunter2"

  private func transport(_ bench: Bench, _ location: String, allowing port: Int? = nil, retries: Int = 0) throws
    -> HTTPPeerTransport
  {
    var settings = TransportSettings()
    settings.retries = retries
    settings.allowedHosts = port.map { ["localhost:\($0)"] } ?? ["localhost"]
    let source = SourceSettings(
      name: "test", peer: .index, location: location, secrets: ["key": Secret(Self.secret)], trust: .operator,
      reading: Policy(name: "as-sent"), transport: settings)
    return try bench.clients.transport(
      for: source, limits: Bench.calm, clock: bench.clock.transportClock,
      onEvent: { [events = bench.events] in events.append($0) })
  }

  @Test func itIsPutInWhereTheRequestIsMade() async throws {
    try await Bench.run({ try await $1.respond(body: "keys") }) { bench, server in
      let transport = try transport(bench, "http://127.0.0.1:\(server.port)/v1")
      let request = PeerRequest(url: "{key}/a.zip?k={key}&x={other}", headers: [.init("X-Key", "v {key}")])
      _ = try await transport.fetch(request, into: bench.target, byteLimit: 10)
      let sent = try #require(server.log.requests.first)
      #expect(sent.target == "/v1/\(Self.encoded)/a.zip?k=\(Self.encoded)&x=%7Bother%7D")
      #expect(sent["x-key"] == "v \(Self.secret)")
      #expect(
        bench.events.all == [
          .received(byteCount: 4, expected: 4, address: "http://127.0.0.1:\(server.port)/v1/{key}/a.zip")
        ])
      #expect(!"\(request) \(bench.events.all)".contains("hunter2"))
    }
  }

  /// The expected value is what `openssl dgst -sha256 -mac HMAC -macopt hexkey:…` prints.
  @Test("A seal is computed where the request is made, and never leaves for another host")
  func seals() async throws {
    let seal = PeerRequest.Seal(secret: "hmac-key", message: "302:18599:446386")
    try await Bench.run({ try await $1.respond(body: "keys") }) { bench, server in
      var settings = TransportSettings()
      settings.allowedHosts = ["localhost"]
      let source = SourceSettings(
        name: "test", peer: .calendar, location: "http://127.0.0.1:\(server.port)",
        secrets: ["hmac-key": Secret(String(repeating: "0a", count: 32))], trust: .operator,
        reading: Policy(name: "as-sent"), transport: settings)
      let transport = try bench.clients.transport(
        for: source, limits: Bench.calm, clock: bench.clock.transportClock,
        onEvent: { [events = bench.events] in events.append($0) })
      _ = try await transport.ask(PeerRequest(url: "retrieve/302/18599/{seal}", seal: seal))
      #expect(
        server.log.requests.map(\.target) == [
          "/retrieve/302/18599/cd234e8befa9d75aa325ae716cf5a98e6b4056a5da0eac52b8fb7524f286ddb4"
        ])
      #expect(!"\(bench.events.all)".contains("cd234e8b"))
      let fault = await #expect(throws: TransportFault.self) {
        _ = try await transport.ask(PeerRequest(url: "http://localhost:\(server.port)/{seal}", seal: seal))
      }
      #expect(fault?.code == .secretRefused || fault?.code == .hostRefused)
    }
  }

  @Test func anotherHostIsNotAsked() async throws {
    try await StubServer.run({ try await $1.respond(body: "keys") }) { other in
      try await Bench.run { _, connection in
        try await connection.respond("302 There", ["Location: http://localhost:\(other.port)/b?k=\(Self.encoded)"])
      } _: { bench, server in
        let transport = try transport(bench, "http://127.0.0.1:\(server.port)", allowing: other.port)
        let there = "http://localhost:\(other.port)"
        for request in [
          PeerRequest(url: "\(there)/{key}"), PeerRequest(url: "\(there)/?k={key}"),
          PeerRequest(url: "\(there)/", headers: [.init("X-Key", "{key}")]), PeerRequest(url: "{key}"),
        ] {
          let fault = await #expect(throws: TransportFault.self) { _ = try await transport.ask(request) }
          #expect(fault?.code == .secretRefused)
          #expect(fault?.reason.contains("hunter2") == false)
        }
        #expect(other.log.requests.isEmpty)
        #expect(try await transport.ask(PeerRequest(url: "\(there)/plain")).head.status == 200)
      }
    }
  }

  @Test("A peer that repeats it is read without it, and can be followed")
  func echoes() async throws {
    try await Bench.run { request, connection in
      if request.target.hasPrefix("/a") {
        return try await connection.respond("302 There", ["Location: /b/\(Self.encoded)/c"])
      }
      try await connection.respond("200 OK", ["X-You-Said: \(Self.secret)"], body: "\(Self.secret) \(Self.encoded)/d")
    } _: { bench, server in
      let transport = try transport(bench, "http://127.0.0.1:\(server.port)")
      let (head, body) = try await transport.ask(PeerRequest(url: "a/{key}"))
      #expect(String(decoding: body, as: UTF8.self) == "{key} {key}/d")
      #expect(head["x-you-said"] == "{key}")
      #expect(server.log.requests.map(\.target) == ["/a/\(Self.encoded)", "/b/\(Self.encoded)/c"])
      #expect(!"\(bench.events.all)".contains("hunter2"))
      #expect(
        bench.events.all.first
          == .redirected(
            from: "http://127.0.0.1:\(server.port)/a/{key}", to: "http://127.0.0.1:\(server.port)/b/{key}/c"))
    }
  }

  @Test("No fault tells it", arguments: ["503 Not Now", "hang up", "too large", "redirect"])
  func faults(what: String) async throws {
    try await Bench.run { _, connection in
      switch what {
      case "hang up": try connection.hangUp()
      case "too large": try await connection.respond(body: String(repeating: "x", count: 100))
      case "redirect":
        try await connection.respond("302 There", ["Location: http://elsewhere.example/\(Self.encoded)"])
      default: try await connection.respond(what, body: "no")
      }
    } _: { bench, server in
      let transport = try transport(bench, "http://127.0.0.1:\(server.port)", retries: 1)
      var told = ""
      do {
        let head = try await transport.ask(PeerRequest(url: "a/{key}", byteLimit: 10)).head
        told = "\(head)"
        #expect(what.hasPrefix("503"))
      } catch let fault as TransportFault {
        told = "\(fault) \(fault.reason)"
        #expect(fault.reason.contains("{key}"))
      }
      #expect(!"\(told) \(bench.events.all)".contains("hunter2"))
    }
  }
}
