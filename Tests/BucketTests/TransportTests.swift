import Foundation
import GatewayTesting
import NetworkFaults
import Testing

@testable import S3Objects

/// A server that keeps nobody's time: what a store must not be able to do to a gateway.
@Suite(
  "Requests over HTTP", .enabled(if: Tool(named: "python3") != nil, "python3 is not installed"), .timeLimit(.minutes(2))
)
struct TransportTests {
  private static let script = """
    import os, socket, threading, time
    server = socket.create_server(("127.0.0.1", 0))
    open("port.part", "w").write(str(server.getsockname()[1]))
    os.rename("port.part", "port")
    def serve(s):
        data = b""
        while b"\\r\\n\\r\\n" not in data:
            piece = s.recv(65536)
            if not piece: return
            data += piece
        path = data.split(b" ")[1]
        try:
            if path == b"/slow-head": time.sleep(30)
            elif path == b"/slow-body":
                s.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 10\\r\\n\\r\\n1")
                time.sleep(30)
            elif path == b"/endless":
                s.sendall(b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
                while True: s.sendall(b"10000\\r\\n" + b"x" * 65536 + b"\\r\\n")
            elif path == b"/large":
                s.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 1000000000000\\r\\n\\r\\nabc")
                time.sleep(30)
            elif path == b"/short":
                s.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: 10\\r\\n\\r\\nabc")
            elif path == b"/elsewhere":
                s.sendall(b"HTTP/1.1 307 Temporary Redirect\\r\\nConnection: close\\r\\nLocation: /good\\r\\nContent-Length: 0\\r\\n\\r\\n")
            elif path == b"/packed":
                s.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Encoding: gzip\\r\\nContent-Length: 3\\r\\n\\r\\nabc")
            elif path == b"/a%20%2Bb%24?x=%2F":
                s.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\ngood")
            else: s.sendall(b"HTTP/1.1 404 Not Found\\r\\nContent-Length: 0\\r\\n\\r\\n")
        except OSError: pass
        s.close()
    while True: threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
    """

  private func serving(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-slow-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let process = Process()
    process.executableURL = URL(filePath: try #require(Tool(named: "python3")).path)
    process.arguments = ["-c", Self.script]
    process.currentDirectoryURL = folder
    try process.run()
    defer {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    var port: String?
    for _ in 0..<400 where port == nil {
      port = try? String(contentsOf: folder.appending(path: "port"), encoding: .utf8)
      if port == nil { try await Task.sleep(for: .milliseconds(25)) }
    }
    try await body("127.0.0.1:\(try #require(port))")
  }

  private func send(_ path: String, _ host: String, seconds: Double = 1, limit: Int = 1 << 20) async throws -> S3Answer
  {
    try await HTTPS3Transport().send(
      S3Request("GET", host: host, path: path), to: "http://\(host)", limit: limit, seconds: seconds)
  }

  @Test("the address is sent as it was signed") func address() async throws {
    try await serving { host in
      let request = S3Request("GET", host: host, path: "/a +b$", query: [("x", "/")])
      let answer = try await HTTPS3Transport().send(request, to: "http://\(host)", limit: 10, seconds: 10)
      #expect(answer.status == 200 && answer.body == Array("good".utf8))
    }
  }

  @Test("neither a slow head nor a slow body takes longer than it may", arguments: ["/slow-head", "/slow-body"])
  func slow(_ path: String) async throws {
    try await serving { host in
      let clock = ContinuousClock()
      let duration = await clock.measure {
        await #expect(throws: (any Error).self) { _ = try await send(path, host) }
      }
      #expect(duration < .seconds(10))
    }
  }

  @Test("what is too large is not read", arguments: ["/endless", "/large"]) func large(_ path: String) async throws {
    try await serving { host in
      let answer = try await send(path, host, seconds: 20)
      #expect(answer.status == 200 && answer.isTooLarge && answer.body.isEmpty)
    }
  }

  /// Of this process, the most since the mark was reset.
  private func peak() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(Int(line.split(separator: " ").dropFirst().first ?? "")) << 10
  }

  @Test("an answer that never ends takes no more memory than its limit") func memory() async throws {
    try await serving { host in
      let limit = 64 << 20
      // Whatever is made once is made before.
      _ = try await send("/endless", host, seconds: 20)
      try Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))
      let before = try peak()
      let answer = try await send("/endless", host, seconds: 60, limit: limit)
      #expect(answer.isTooLarge && answer.body.isEmpty)
      let taken = try peak() - before
      #expect(taken < limit + limit / 4, "\(taken >> 20) MB")
    }
  }

  @Test("pieces are what came, in its order", arguments: [[], [1], [5000, 1, 1 << 20, 3], [3 << 20]])
  func pieces(lengths: [Int]) {
    var pieces = BodyPieces()
    var expected: [UInt8] = []
    for (number, length) in lengths.enumerated() {
      let part = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
      pieces.append(part)
      expected += part
    }
    #expect(pieces.count == expected.count && pieces.joined() == expected)
  }

  @Test("what the network does is told in words of ours") func words() async throws {
    func said(_ origin: String, roots: String? = nil) async -> NetworkFault? {
      do {
        _ = try await HTTPS3Transport(rootsPEM: roots).send(
          S3Request("GET", host: "127.0.0.1", path: "/"), to: origin, limit: 10, seconds: 5)
        return nil
      } catch {
        return error as? NetworkFault
      }
    }
    #expect(await said("http://127.0.0.1:9") == NetworkFault(.connectionRefused, "no server listens there"))
    #expect(await said("http://name.invalid")?.kind == .nameNotFound)
    #expect(await said("ftp://127.0.0.1")?.words == "the address is not well-formed")
    #expect(
      await said("https://127.0.0.1:9", roots: "no certificate")
        == NetworkFault(.tls, "no PEM certificate can be read"))
    try await serving { host in
      let slow = await { () async -> NetworkFault? in
        do {
          _ = try await send("/slow-head", host)
          return nil
        } catch { return error as? NetworkFault }
      }()
      #expect(slow == NetworkFault(.noAnswer, "no answer in time"))
    }
  }

  @Test("what ends early is no answer, nothing is followed, nothing is unpacked") func honest() async throws {
    try await serving { host in
      await #expect(throws: (any Error).self) { _ = try await send("/short", host, seconds: 10) }
      let moved = try await send("/elsewhere", host, seconds: 10)
      #expect(moved.status == 307)
      let packed = try await send("/packed", host, seconds: 10)
      #expect(packed.body == Array("abc".utf8))
    }
  }
}
