import BundleTrust
import GatewayTesting
import KeyPeers
import PeerTransport
import Testing

@Suite struct RedirectTests {
  private static let secret = TransportSettings.Header("X-Api-Key", "secret")

  @Test(arguments: [301, 302, 303, 307, 308])
  func followsWithinTheHost(status: Int) async throws {
    try await Bench.run { request, connection in
      if request.target.hasPrefix("/v1/a") {
        return try await connection.respond("\(status) There", ["Location: ../b?c=d"], body: "moved")
      }
      try await connection.respond(body: "keys")
    } _: { bench, server in
      let transport = try bench.transport("http://127.0.0.1:\(server.port)/v1") { $0.headers = [Self.secret] }
      let request = PeerRequest(url: "a?token=x", headers: [.init("If-None-Match", "5")])
      _ = try await transport.fetch(request, into: bench.target, byteLimit: 10)
      #expect(try bench.document == Array("keys".utf8))
      #expect(server.log.requests.map(\.target) == ["/v1/a?token=x", "/b?c=d"])
      #expect(server.log.requests.allSatisfy { $0["x-api-key"] == "secret" && $0["if-none-match"] == "5" })
      let base = "http://127.0.0.1:\(server.port)"
      #expect(bench.events.all.first == .redirected(from: "\(base)/v1/a", to: "\(base)/b"))
    }
  }

  @Test func allowedHostsGetNoSecrets() async throws {
    try await StubServer.run({ try await $1.respond(body: "keys") }) { other in
      try await Bench.run { _, connection in
        try await connection.respond("302 There", ["Location: http://localhost:\(other.port)/b"])
      } _: { bench, server in
        let transport = try bench.transport(server) {
          $0.headers = [Self.secret]
          $0.allowedHosts = ["LocalHost:\(other.port)"]
        }
        #expect(try await transport.ask(PeerRequest(url: "a")).body == Array("keys".utf8))
        #expect(try await transport.ask(PeerRequest(url: "http://localhost:\(other.port)/c")).head.status == 200)
        #expect(other.log.requests.map(\.target) == ["/b", "/c"])
        #expect(other.log.requests.allSatisfy { $0["x-api-key"] == nil })
        #expect(server.log.requests.first?["x-api-key"] == "secret")
      }
    }
  }

  @Test func anotherPortOfAHostIsAnotherPlace() async throws {
    try await StubServer.run({ try await $1.respond(body: "internal") }) { other in
      try await Bench.run { _, connection in
        try await connection.respond("302 There", ["Location: http://127.0.0.1:\(other.port)/b"])
      } _: { bench, server in
        let transport = try bench.transport(server) { $0.allowedHosts = ["127.0.0.1"] }
        #expect(try await fault { _ = try await transport.ask(PeerRequest(url: "a")) }.code == "redirect-refused")
        let absolute = PeerRequest(url: "http://127.0.0.1:\(other.port)/c")
        #expect(try await fault { _ = try await transport.ask(absolute) }.code == "host-refused")
        #expect(other.log.requests.isEmpty)
      }
    }
  }

  @Test func httpsLeadsToNoHTTPByALinkEither() async throws {
    try await StubServer.run({ try await $1.respond(body: "keys") }) { server in
      try await Bench.run({ _, connection in try await connection.respond() }) { bench, _ in
        let transport = try bench.transport("https://127.0.0.1:\(server.port)") { _ in }
        let fault = try await fault {
          _ = try await transport.ask(PeerRequest(url: "http://127.0.0.1:\(server.port)/keys.zip"))
        }
        #expect(fault.code == "host-refused")
        #expect(fault.reason.contains("does not lead to http"))
        #expect(server.log.requests.isEmpty)
      }
    }
  }

  @Test func anotherPortOfTheHostGetsNoSecrets() async throws {
    try await StubServer.run({ try await $1.respond(body: "keys") }) { other in
      try await Bench.run { _, connection in
        try await connection.respond("302 There", ["Location: http://127.0.0.1:\(other.port)/b"])
      } _: { bench, server in
        let transport = try bench.transport(server) {
          $0.headers = [Self.secret]
          $0.allowedHosts = ["127.0.0.1:\(other.port)"]
        }
        #expect(try await transport.ask(PeerRequest(url: "a")).head.status == 200)
        #expect(other.log.requests.first.map { $0["x-api-key"] == nil } == true)
      }
    }
  }

  @Test(arguments: [
    "http://localhost:PORT/b?token=hidden", "//localhost:PORT/b", "file:///etc/passwd", "gopher://127.0.0.1/",
    "http://user:hidden@127.0.0.1:PORT/b", "http://127.0.0.1:PORT@localhost:PORT/", "http://", "javascript:alert(1)",
  ])
  func refusesToLeaveTheHost(target: String) async throws {
    try await StubServer.run({ try await $1.respond() }) { other in
      try await Bench.run { _, connection in
        let location = target.replacing("PORT", with: "\(other.port)")
        try await connection.respond("302 There", ["Location: \(location)"])
      } _: { bench, server in
        let transport = try bench.transport(server) { $0.retries = 2 }
        let fault = try await fault {
          _ = try await transport.fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 10)
        }
        #expect(fault.code == "redirect-refused")
        #expect(!fault.reason.contains("hidden"))
        #expect(other.log.requests.isEmpty)
        #expect(server.log.requests.count == 1)
        #expect(try bench.files.isEmpty)
      }
    }
  }

  @Test func leavesALoop() async throws {
    try await Bench.run { request, connection in
      try await connection.respond("302 There", ["Location: \(request.target == "/a" ? "/b" : "/a")"])
    } _: { bench, server in
      let fault = try await fault { _ = try await bench.transport(server).ask(PeerRequest(url: "a")) }
      #expect(fault.code == "too-many-redirects")
      #expect(server.log.requests.count == 6)
    }
  }

  @Test(arguments: ["302 There", "304 Same", "300 Choose"])
  func takesARedirectWithoutATargetAsAnAnswer(status: String) async throws {
    try await Bench.run { _, connection in
      try await connection.send("HTTP/1.1 \(status)\r\nConnection: close\r\n\r\n")
      try connection.hangUp()
    } _: { bench, server in
      let answer = try await bench.transport(server).ask(PeerRequest(url: "a"))
      #expect(answer.head.status == Int(status.prefix(3)))
    }
  }

  @Test func refusesAbsoluteAddressesOfOtherHosts() async throws {
    try await Bench.run { bench in
      let transport = try bench.transport("https://keys.example.org")
      let other = try await fault {
        _ = try await transport.ask(PeerRequest(url: "https://evil.example/?token=hidden"))
      }
      #expect(other.code == "host-refused")
      #expect(!other.reason.contains("hidden"))
      let scheme = try await fault { _ = try await transport.ask(PeerRequest(url: "ftp://keys.example.org/a")) }
      #expect(scheme.code == "bad-address")
    }
  }
}

@Suite struct SettingsTests {
  @Test(arguments: [
    ("X-Key", "a\r\nHost: evil"), ("X-Key", "a\nb"), ("X-Key", "a\u{0}"), ("X-Key", "a\u{7F}"), ("X Key", "a"),
    ("X-Key:", "a"), ("", "a"), ("X\r\nHost", "a"), ("Kéy", "a"),
  ])
  func refusesHeadersThatCannotBeSent(name: String, value: String) async throws {
    try await Bench.run { bench in
      let made = #expect(throws: TransportFault.self) {
        _ = try bench.transport("http://127.0.0.1:1") { $0.headers = [.init(name, Secret(value))] }
      }
      #expect(made?.code == "bad-header")
      #expect(made?.reason.contains("evil") == false)
      let transport = try bench.transport("http://127.0.0.1:1")
      let request = PeerRequest(url: "a", headers: [.init(name, value)])
      #expect(try await fault { _ = try await transport.ask(request) }.code == "bad-header")
    }
  }

  @Test(arguments: ["", "/srv/keys", "ftp://h.example", "https://me:hidden@h.example", "https://h.example/?t=hidden"])
  func refusesLocations(location: String) async throws {
    try await Bench.run { bench in
      let fault = #expect(throws: TransportFault.self) { _ = try bench.transport(location) }
      #expect(fault?.code == "bad-address")
      #expect(fault?.reason.contains("hidden") == false)
    }
  }
}
