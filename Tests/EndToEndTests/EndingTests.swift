#if PostgreSQL
  import Foundation
  import GatewayTesting
  import Testing

  /// A gateway that is told to end does, whatever holds it up.
  @Suite(
    "A gateway that is told to end", .serialized,
    .enabled(if: PostgresServer.programs != nil, Comment(rawValue: PostgresServer.advice)), .timeLimit(.minutes(4)))
  struct EndingTests {
    /// Yesterday's key.
    private static let upload: String = {
      let day = Int(Date().timeIntervalSince1970) / 86_400 - 1
      return
        "[{\"keyData\":\"AQIDBAUGBwgJCgsMDQ4PEA==\",\"rollingStartNumber\":\(day * 144),\"rollingPeriod\":144,\"transmissionRiskLevel\":1}]"
    }()

    /// A gateway with a store in the database, and where it listens.
    private func withGateway(
      of server: PostgresServer, _ body: (Neighbourhood, Process, _ port: Int) async throws -> Void
    ) async throws {
      try await Neighbourhood.visit { place in
        try place.gateway("nl", origin: "NL", series: "NL")
        let config = try String(contentsOfFile: place.path("nl/gateway.yaml"), encoding: .utf8)
          .replacing("state: state", with: "state: state\nstore: {postgresql: {connection: {file: database}}}")
          .replacing(
            "server: {listen: \"127.0.0.1:0\"}",
            with: "server: {listen: \"127.0.0.1:0\", uploads: {origin: NL, token: {file: token}, answer-after: 1s}}")
        try place.write(config, "nl/gateway.yaml")
        for (name, text) in [("database", server.words), ("token", "0123456789abcdef0123456789abcdef")] {
          try place.write(text, "nl/\(name)")
          try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: place.path("nl/\(name)"))
        }
        let process = try place.start(["run", "--config", "nl/gateway.yaml"], log: "log")
        defer {
          kill(process.processIdentifier, SIGKILL)
          process.waitUntilExit()
        }
        var port: Int?
        for _ in 0..<600 where port == nil && process.isRunning {
          try await Task.sleep(for: .milliseconds(50))
          let said = try String(contentsOfFile: place.path("log"), encoding: .utf8)
          port = said.components(separatedBy: "http://127.0.0.1:").dropFirst().first.flatMap { rest in
            Int(rest.prefix { $0.isNumber })
          }
        }
        try await body(place, process, try #require(port))
      }
    }

    private func connect(to port: Int) throws -> Int32 {
      let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let status = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      try #require(status == 0)
      return client
    }

    private func post(_ text: String, length: Int, over client: Int32) {
      let head =
        "POST /apple/NL/keys HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\nContent-Length: \(length)\r\n\r\n"
      let bytes = Array((head + text).utf8)
      #expect(send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    }

    private func ends(_ process: Process) async throws -> Duration {
      let start = ContinuousClock.now
      kill(process.processIdentifier, SIGTERM)
      while process.isRunning, start.duration(to: .now) < .seconds(100) {
        try await Task.sleep(for: .milliseconds(100))
      }
      return start.duration(to: .now)
    }

    @Test("while a client has sent half an upload and waits")
    func half() async throws {
      try await withGateway(of: try PostgresServer.shared) { _, process, port in
        let client = try connect(to: port)
        defer { close(client) }
        post(String(Self.upload.prefix(20)), length: Self.upload.utf8.count, over: client)
        try await Task.sleep(for: .milliseconds(500))
        let took = try await ends(process)
        print("with half an upload it ended after \(took)")
        #expect(took < .seconds(30) && !process.isRunning && process.terminationStatus == 0, "\(took)")
      }
    }

    @Test("while its database is stopped and an upload waits for it")
    func database() async throws {
      let server = try PostgresServer()
      try await withGateway(of: server) { place, process, port in
        let numbers = try server.query("SELECT pid FROM pg_stat_activity").split(separator: "\n").compactMap {
          Int32($0)
        }
        let first = try String(contentsOfFile: "\(server.folder)/data/postmaster.pid", encoding: .utf8)
        let postmaster = try #require(Int32(first.split(separator: "\n").first ?? ""))
        let all = [postmaster] + numbers
        for number in all { kill(number, SIGSTOP) }
        defer { for number in all { kill(number, SIGCONT) } }
        let client = try connect(to: port)
        defer { close(client) }
        post(Self.upload, length: Self.upload.utf8.count, over: client)
        try await Task.sleep(for: .seconds(2))
        let took = try await ends(process)
        print("with a database that is stopped it ended after \(took)")
        let said = try String(contentsOfFile: place.path("log"), encoding: .utf8)
        #expect(took < .seconds(15) && !process.isRunning, "\(took): \(said)")
        #expect(process.terminationReason == .exit, "\(process.terminationReason)")
        // What was not kept is told so, before the connection goes.
        var answer = [UInt8](repeating: 0, count: 4096)
        let count = recv(client, &answer, answer.count, Int32(MSG_DONTWAIT))
        let text = String(decoding: answer.prefix(max(0, count)), as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 503 ") && text.contains("store-away"), "\(text)")
      }
    }
  }
#endif
