import ExposureKeys
import GatewayTesting
import KeyPeers
import PeerTransport
import Testing

@Suite struct RetryPolicyTests {
  @Test func backsOffWithFullJitterUpToTheCap() {
    let policy = RetryPolicy(retries: 10)
    let longest = (1...10).map { policy.delay(beforeRetry: $0, random: 1) }
    #expect(longest.prefix(4) == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4)])
    #expect(longest.suffix(4).allSatisfy { $0 == .seconds(30) })
    #expect(policy.delay(beforeRetry: 5, random: 0) == .zero)
    #expect(policy.delay(beforeRetry: 11, random: 0) == nil)
  }

  @Test func waitsAsLongAsTheServerAsksButNotForever() {
    let policy = RetryPolicy(retries: 2)
    #expect(policy.delay(beforeRetry: 1, wish: 9, random: 1) == .seconds(9))
    #expect(policy.delay(beforeRetry: 1, wish: 60, random: 1) == .seconds(60))
    #expect(policy.delay(beforeRetry: 1, wish: 61, random: 1) == nil)
  }

  @Test(
    arguments: [
      ("0", 0), ("120", 120), ("99999999999999999999", Int64.max), ("Sun, 06 Nov 1994 08:49:47 GMT", 10),
      ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("Mon, 07 Nov 1994 08:49:37 GMT", 86_400), ("-1", nil), ("soon", nil),
      ("Sun, 9223372036854775807 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 9223372036854775807 08:49:37 GMT", nil),
      ("Sun, -9223372036854775808 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov -9223372036854775808 08:49:37 GMT", nil),
      ("Sun, +6 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 9999 08:49:47 GMT", 252_613_382_410),
      ("", nil), ("Sun, 31 Feb 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 25:49:37 GMT", nil),
    ] as [(String, Int64?)])
  func readsRetryAfter(text: String, seconds: Int64?) {
    #expect(RetryPolicy.seconds(retryAfter: text, now: Instant(secondsSince1970: 784_111_777)) == seconds)
  }
}

@Suite struct RetryTests {
  @Test func triesTemporaryStatusesAgain() async throws {
    try await Bench.run { request, connection in
      let status = ["503 Busy", "500 Oh", "429 Slow Down"]
      if request.number <= status.count { return try await connection.respond(status[request.number - 1]) }
      try await connection.respond(body: "keys")
    } _: { bench, server in
      let answer = try await bench.transport(server) { $0.retries = 3 }.ask(PeerRequest(url: "index"))
      #expect(answer.head.status == 200)
      #expect(answer.body == Array("keys".utf8))
      #expect(bench.clock.slept == [.milliseconds(250), .milliseconds(500), .seconds(1)])
      let retries = bench.events.all.compactMap { event in
        if case .retrying(let number, 3, _, let reason) = event { "\(number) \(reason.suffix(3))" } else { nil }
      }
      #expect(retries == ["1 503", "2 500", "3 429"])
    }
  }

  @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
  func answersWithTheStatusWhenRetriesAreSpent(status: Int) async throws {
    try await Bench.run { _, connection in
      try await connection.respond("\(status) No", body: "why")
    } _: { bench, server in
      let transport = try bench.transport(server) { $0.retries = 2 }
      let answer = try await transport.ask(PeerRequest(url: "index"))
      #expect(answer.head.status == status)
      #expect(answer.body == Array("why".utf8))
      #expect(server.log.requests.count == 3)
    }
  }

  @Test(arguments: [204, 304, 400, 401, 403, 404, 410, 501])
  func takesOtherStatusesAsAnswers(status: Int) async throws {
    try await Bench.run { _, connection in
      try await connection.send("HTTP/1.1 \(status) So\r\n\(status < 400 ? "" : "Content-Length: 0\r\n")\r\n")
    } _: { bench, server in
      let transport = try bench.transport(server) { $0.retries = 2 }
      #expect(try await transport.fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 10).status == status)
      #expect(server.log.requests.count == 1)
      #expect(try bench.files.isEmpty)
    }
  }

  @Test(arguments: [
    ("7", [Duration.seconds(7)], 200), ("Sun, 06 Nov 1994 08:49:47 GMT", [.seconds(10)], 200), ("3600", [], 429),
  ])
  func heedsRetryAfter(header: String, slept: [Duration], status: Int) async throws {
    try await Bench.run { request, connection in
      try await connection.respond(request.number == 1 ? "429 Slow" : "200 OK", ["Retry-After: \(header)"])
    } _: { bench, server in
      let answer = try await bench.transport(server) { $0.retries = 4 }.ask(PeerRequest(url: "index"))
      #expect(answer.head.status == status)
      #expect(bench.clock.slept == slept)
    }
  }

  @Test func recoversFromABrokenConnection() async throws {
    try await Bench.run { request, connection in
      switch request.number {
      case 1: try connection.hangUp()
      case 2:
        try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
        try connection.hangUp()
      default: try await connection.respond(body: "the keys")
      }
    } _: { bench, server in
      let transport = try bench.transport(server) { $0.retries = 2 }
      _ = try await transport.fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 100)
      #expect(try bench.document == Array("the keys".utf8))
      #expect(try bench.files == ["document"])
    }
  }

  @Test func givesUpOnAClosedPort() async throws {
    let port = try await StubServer.run({ _, _ in }, { $0.port })
    try await Bench.run { bench in
      let transport = try bench.transport("http://127.0.0.1:\(port)") { $0.retries = 3 }
      let fault = try await fault { _ = try await transport.ask(PeerRequest(url: "index?token=secret")) }
      #expect(fault.code == "connection-refused")
      #expect(fault.isTemporary)
      #expect(fault.reason == "http://127.0.0.1:\(port)/index: no server listens at 127.0.0.1:\(port)")
      #expect(bench.clock.slept.count == 3)
    }
  }

  @Test func saysWhenANameIsNotKnown() async throws {
    try await Bench.run { bench in
      // Too long for a label, so that no name server is asked.
      let transport = try bench.transport("http://\(String(repeating: "a", count: 70)).invalid")
      #expect(try await fault { _ = try await transport.ask(PeerRequest(url: "a")) }.code == "name-not-found")
    }
  }
}
