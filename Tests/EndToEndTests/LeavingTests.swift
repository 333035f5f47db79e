import Foundation
import FoundationNetworking
import GatewayTesting
import Testing

/// Who stands in front of several gateways asks `/ready` once in a while, and goes on sending until it says no.
@Suite("A gateway that ends behind a load balancer", .timeLimit(.minutes(3))) struct LeavingTests {
  private static let every = Duration.milliseconds(500)

  private struct Answer {
    var status: Int
    var closes: Bool
  }

  private static func ask(_ address: URL, _ path: String, over session: URLSession) async throws -> Answer {
    let (_, response) = try await session.data(from: address.appending(path: path))
    let http = response as? HTTPURLResponse
    return Answer(
      status: http?.statusCode ?? 0, closes: http?.value(forHTTPHeaderField: "Connection")?.lowercased() == "close")
  }

  private func gateway(_ place: Neighbourhood, ending: String, keys: Int = 40, server: String = "") throws {
    try place.gateway("nl", origin: "NL")
    try place.drop(keys, seed: 1, in: "nl", as: "a.csv")
    let config = try String(contentsOfFile: place.path("nl/gateway.yaml"), encoding: .utf8)
      .replacing("speaks-for: [NL]", with: "speaks-for: [NL], reading: open.yaml")
      .replacing("listen: \"127.0.0.1:0\"", with: "listen: \"127.0.0.1:0\", connections: {ending: \(ending)}\(server)")
    try place.write("name: open\nreading: {flood: {factor: never, most-a-day: none}}\n", "nl/open.yaml")
    try place.write(config, "nl/gateway.yaml")
    for command in ["pull", "publish"] {
      try place.keyferry(command, "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
    }
  }

  @Test("answers each request until the balancer has seen that it goes", arguments: ["run", "serve"])
  func nothingIsLost(_ command: String) async throws {
    try await Neighbourhood.visit { place in
      try gateway(place, ending: "4 s")
      try await place.running("nl", command) { process, address in
        let session = URLSession(configuration: .ephemeral)
        var ready = false
        for _ in 0..<100 where !ready {
          ready = try await Self.ask(address, "ready", over: session).status == 200
          if !ready { try await Task.sleep(for: .milliseconds(50)) }
        }
        #expect(ready)
        let told = ContinuousClock.now
        var (answered, next, isGone) = (0, told, false)
        kill(process.processIdentifier, SIGTERM)
        while !isGone, told.duration(to: .now) < .seconds(20) {
          let answer = try await Self.ask(address, "all/index.txt", over: session)
          #expect(answer.status == 200)
          answered += 1
          if ContinuousClock.now >= next {
            isGone = try await Self.ask(address, "ready", over: session).status == 503
            next = .now + Self.every
          }
          try await Task.sleep(for: .milliseconds(20))
        }
        #expect(isGone && answered > 0)
        // Each connection is told to go.
        let closing = try await Self.ask(address, "all/index.txt", over: session)
        #expect(closing.status == 200 && closing.closes)
        while process.isRunning, told.duration(to: .now) < .seconds(30) { try await Task.sleep(for: .milliseconds(50)) }
        let took = told.duration(to: .now)
        #expect(!process.isRunning && process.terminationStatus == 0)
        #expect(took > .seconds(3.9) && took < .seconds(15), "\(took)")
      }
    }
  }

  @Test("ends at once where nothing is said of that") func atOnce() async throws {
    try await Neighbourhood.visit { place in
      try gateway(place, ending: "0 s")
      try await place.running("nl") { process, _ in
        let told = ContinuousClock.now
        kill(process.processIdentifier, SIGTERM)
        while process.isRunning, told.duration(to: .now) < .seconds(30) { try await Task.sleep(for: .milliseconds(50)) }
        #expect(told.duration(to: .now) < .seconds(3.5) && process.terminationStatus == 0)
      }
    }
  }

  /// What did not fit into the system's buffers was cut off when the connection was closed behind it: every bundle on a network, and only
  /// large ones on the machine itself.
  @Test("sends what it has begun to the end, however slowly it is taken, and answers what comes behind it") func whole()
    async throws
  {
    try await Neighbourhood.visit { place in
      try gateway(place, ending: "6 s", keys: 300_000)
      try await place.running("nl", "serve") { process, address in
        let index = try place.index(of: "nl")
        let path = try #require(index.first { $0.hasSuffix(".zip") })
        kill(process.processIdentifier, SIGTERM)
        try await Task.sleep(for: .milliseconds(300))
        let script = """
          import socket, sys, time
          port, path = sys.stdin.read().split()
          s = socket.socket()
          s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
          s.settimeout(20)
          s.connect(("127.0.0.1", int(port)))
          def head():
              data = b""
              while b"\\r\\n\\r\\n" not in data:
                  data += s.recv(1)
              return data.lower()
          def ask(path): s.sendall(b"GET /" + path.encode() + b" HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
          ask(path)
          first = head()
          length = int(first.split(b"content-length: ")[1].split(b"\\r")[0])
          time.sleep(1)
          ask("all/index.txt")
          left = length
          while left and (piece := s.recv(min(left, 65536))): left -= len(piece)
          print(length > 3_000_000, left, b"connection: close" in first, head()[:12].decode())
          """
        let python = try #require(Tool(named: "python3"))
        let outcome = try python.run(["-c", script], input: Array("\(address.port ?? 0) \(path)".utf8))
        #expect(outcome.text == "True 0 True http/1.1 200\n", "\(outcome.text)\(outcome.errors)")
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
      }
    }
  }

  /// Two thirds of these ended by a trap: a connection that was accepted in the last moment had been half made, and nobody took it.
  @Test("ends well while clients still come", .timeLimit(.minutes(2)), arguments: 0..<5) func connectionsToTheEnd(
    round: Int
  ) async throws {
    try await Neighbourhood.visit { place in
      try gateway(place, ending: "0 s")
      try await place.running("nl", "serve") { process, address in
        let script = """
          import socket, sys, threading, time
          port, end = int(sys.stdin.read()), time.monotonic() + 3
          def client():
              while time.monotonic() < end:
                  try:
                      s = socket.create_connection(("127.0.0.1", port), 1)
                      s.sendall(b"GET /all/index.txt HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
                      s.recv(4096)
                      s.close()
                  except OSError:
                      pass
          threads = [threading.Thread(target=client) for _ in range(24)]
          for t in threads: t.start()
          for t in threads: t.join()
          """
        let python = try #require(Tool(named: "python3"))
        async let load = Task.detached {
          try python.run(["-c", script], input: Array("\(address.port ?? 0)".utf8)).status
        }.value
        try await Task.sleep(for: .milliseconds(1200))
        kill(process.processIdentifier, SIGTERM)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0, "\(process.terminationStatus)")
        #expect(try await load == 0)
      }
    }
  }

  /// The upload was kept, and its response never sent: the connection was closed before what was written had left.
  @Test(
    "answers an upload over HTTP/2 that is under way when the sockets close",
    .enabled(if: Tool(named: "openssl") != nil && Tool(named: "curl") != nil, "needs openssl and curl"),
    arguments: 0..<3)
  func lastUpload(round: Int) async throws {
    try await Neighbourhood.visit { place in
      try FileManager.default.createDirectory(
        at: place.folder.appending(path: "nl"), withIntermediateDirectories: true)
      try makeCertificate(place)
      try place.write("0123456789abcdef0123456789abcdef", "nl/token")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: place.path("nl/token"))
      try gateway(
        place, ending: "0 s",
        server:
          ", certificate: tls.pem, key: {file: tls.key}, uploads: {origin: NL, token: {file: token}, answer-after: 1 s}"
      )
      // Yesterday's key, by the clock of the test.
      try place.write(
        """
        [{"keyData":"AQIDBAUGBwgJCgsMDQ4PEA==","rollingStartNumber":\(18_596 * 144),"rollingPeriod":144,"transmissionRiskLevel":1}]
        """, "body")
      try await place.running("nl") { process, address in
        let curl = try #require(Tool(named: "curl"))
        let arguments = [
          "-sk", "--http2", "-m", "20", "-o", "/dev/null", "-w", "%{http_code} %{http_version}", "-H",
          "Content-Type: application/json", "-H", "Authorization: Bearer 0123456789abcdef0123456789abcdef",
          "--data-binary",
          "@\(place.path("body"))", "https://localhost:\(address.port ?? 0)/apple/all/keys",
        ]
        async let upload = Task.detached { try curl.run(arguments).text }.value
        try await Task.sleep(for: .milliseconds(500))
        kill(process.processIdentifier, SIGTERM)
        #expect(try await upload == "200 2")
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
      }
    }
  }

  private func makeCertificate(_ place: Neighbourhood) throws {
    let made = try #require(Tool(named: "openssl")).run([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "20", "-subj",
      "/CN=localhost", "-keyout", place.path("nl/tls.key"), "-out", place.path("nl/tls.pem"),
    ])
    try #require(made.status == 0, "\(made.errors)")
  }

  /// A phone that sleeps keeps its connection, and answers neither a farewell of TLS nor one of HTTP/2. The gateway listened no more,
  /// and waited for it for half a minute.
  @Test(
    "does not wait for a phone that sleeps",
    .enabled(if: Tool(named: "openssl") != nil, "needs openssl"), arguments: ["h2", "http/1.1"])
  func sleepingPhone(_ version: String) async throws {
    try await Neighbourhood.visit { place in
      try FileManager.default.createDirectory(
        at: place.folder.appending(path: "nl"), withIntermediateDirectories: true)
      try makeCertificate(place)
      try gateway(place, ending: "0 s", server: ", certificate: tls.pem, key: {file: tls.key}")
      try await place.running("nl", "serve") { process, address in
        let script = """
          import socket, ssl, sys, time
          port, version = sys.stdin.read().split()
          context = ssl._create_unverified_context()
          context.set_alpn_protocols([version])
          client = context.wrap_socket(socket.create_connection(("127.0.0.1", int(port)), 5))
          assert client.selected_alpn_protocol() == version
          if version == "h2": client.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
          else: client.sendall(b"GET /all/index.txt HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
          client.recv(9)
          print("sleeps", flush=True)
          time.sleep(40)
          """
        let phone = Process()
        phone.executableURL = URL(filePath: "/usr/bin/env")
        phone.arguments = ["python3", "-c", script]
        let (input, output) = (Pipe(), Pipe())
        (phone.standardInput, phone.standardOutput) = (input, output)
        try phone.run()
        defer { phone.terminate() }
        input.fileHandleForWriting.write(Data("\(address.port ?? 0) \(version)".utf8))
        try input.fileHandleForWriting.close()
        #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).hasPrefix("sleeps"))
        let told = ContinuousClock.now
        kill(process.processIdentifier, SIGTERM)
        while process.isRunning, told.duration(to: .now) < .seconds(35) { try await Task.sleep(for: .milliseconds(50)) }
        #expect(told.duration(to: .now) < .seconds(4.5), "\(told.duration(to: .now))")
        #expect(!process.isRunning && process.terminationStatus == 0)
      }
    }
  }
}
