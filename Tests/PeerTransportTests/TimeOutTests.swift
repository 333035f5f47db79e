import GatewayTesting
import KeyPeers
import PeerTransport
import Testing

/// Limits are short here, and the stub servers would go on forever: each test ends because the transport ends it.
@Suite struct TimeOutTests {
  private static let short = TimeLimits(connect: .milliseconds(100), idle: .milliseconds(100), total: .seconds(20))

  @Test(arguments: [
    "", "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nkeys\r\n",
  ])
  func leavesASilentPeer(beginning: String) async throws {
    try await Bench.run { _, connection in
      try await connection.send(beginning)
      try await connection.waitForever()
    } _: { bench, server in
      let transport = try bench.transport(server, limits: Self.short) { $0.retries = 1 }
      let fault = try await fault {
        _ = try await transport.fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 10_000)
      }
      #expect(fault.code == "time-out")
      #expect(fault.isTemporary)
      #expect(bench.clock.slept.count == 1)
      #expect(try bench.files.isEmpty)
    }
  }

  @Test(arguments: ["HTTP/1.1 200 OK\r\nX-Slow: ", "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"])
  func leavesASlowLoris(beginning: String) async throws {
    try await Bench.run { _, connection in
      try await connection.send(beginning)
      while true {
        try await connection.send("x")
        try await Task.sleep(for: .milliseconds(10))
      }
    } _: { bench, server in
      let transport = try bench.transport(server, limits: Self.short)
      let fault = try await fault {
        _ = try await transport.fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 100_000)
      }
      #expect(fault.code == "time-out")
      #expect(try bench.files.isEmpty)
    }
  }

  /// A witness, or a service of codes, that answers byte by byte.
  @Test func aShortCallIsShortWithItsBody() async throws {
    try await StubServer.run { _, connection in
      try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
      for _ in 0..<20 {
        try await connection.send("x")
        try await Task.sleep(for: .milliseconds(50))
      }
      try await connection.waitForever()
    } _: { server in
      let call = ShortCall(
        address: "http://127.0.0.1:\(server.port)/add-checkpoint", body: [1], token: nil, timeoutSeconds: 1,
        byteLimit: 4096)
      let start = ContinuousClock.now
      await #expect(throws: (any Error).self) { try await call.answer() }
      #expect(ContinuousClock.now - start < .seconds(10))
    }
  }

  @Test func waitsForASlowPeerThatMakesProgress() async throws {
    try await Bench.run { _, connection in
      try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 20480\r\n\r\n")
      for _ in 0..<20 {
        try await connection.send([UInt8](repeating: 1, count: 1024))
        try await Task.sleep(for: .milliseconds(60))
      }
    } _: { bench, server in
      // The whole takes longer than the idle limit allows between two pieces.
      let limits = TimeLimits(connect: .seconds(5), idle: .seconds(1), total: .seconds(20))
      // On a busy machine the server itself may rest for a second; a transport that cuts it off does so every time.
      var received = 0
      for _ in 0..<4 where received == 0 {
        received = (try? await bench.transport(server, limits: limits).ask(PeerRequest(url: "a")))?.body.count ?? 0
      }
      #expect(received == 20_480)
    }
  }

  @Test func endsWhatTakesTooLongAsAWhole() async throws {
    try await Bench.run { _, connection in
      try await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      while true {
        try await connection.send("800\r\n\(String(repeating: "x", count: 0x800))\r\n")
        try await Task.sleep(for: .milliseconds(5))
      }
    } _: { bench, server in
      let limits = TimeLimits(connect: .seconds(5), idle: .seconds(10), total: .seconds(1))
      let fault = try await fault {
        _ = try await bench.transport(server, limits: limits).ask(PeerRequest(url: "a"))
      }
      #expect(fault.code == "time-out")
      #expect(fault.reason.hasSuffix("after 1 s"))
    }
  }

  @Test func aSlowPeerDelaysNoOther() async throws {
    try await StubServer.run({
      try await $1.send("HTTP/1.1 200 OK\r\n"); try await $1.waitForever()
    }) { slow in
      try await Bench.run { _, connection in
        try await connection.respond(body: "keys")
      } _: { bench, quick in
        let slowTransport = try bench.transport(slow) { $0.connectionsPerHost = 1 }
        let quickTransport = try bench.transport(quick) { $0.connectionsPerHost = 1 }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<3 { group.addTask { _ = try await slowTransport.ask(PeerRequest(url: "a")) } }
          while slow.log.requests.isEmpty { await Task.yield() }
          for _ in 0..<20 { _ = try await quickTransport.ask(PeerRequest(url: "a")) }
          #expect(slow.log.requests.count == 1)
          group.cancelAll()
        }
      }
    }
  }

  @Test func cancellingLeavesNothing() async throws {
    try await Bench.run { _, connection in
      try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")
      try await connection.send([UInt8](repeating: 1, count: 290_000))
      try await connection.waitForever()
    } _: { bench, server in
      let transport = try bench.transport(server) { $0.retries = 3 }
      let task = Task { try await transport.fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 1 << 20) }
      while try bench.files.isEmpty || bench.events.all.isEmpty { await Task.yield() }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try bench.files.isEmpty)
      #expect(server.log.requests.count == 1)
    }
  }
}
