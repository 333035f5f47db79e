import ExposureKeys
import Foundation
import GatewayTesting
import KeyPeers
import KeyStorage
import PeerTransport
import Testing

@Suite struct BodyTests {
  private static let keys = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

  @Test func fetchesIntoAFile() async throws {
    try await Bench.run { _, connection in
      try await connection.respond("200 OK", ["ETag: \"5\""], body: Self.keys)
    } _: { bench, server in
      let transport = try bench.transport(server) { $0.headers = [.init("Authorization", "Bearer secret")] }
      let request = PeerRequest(url: "/day/1.zip?a=b", headers: [.init("If-None-Match", "\"4\"")])
      let head = try await transport.fetch(request, into: bench.target, byteLimit: Self.keys.count)
      #expect(head.status == 200)
      #expect(head["etag"] == "\"5\"")
      #expect(try bench.document == Self.keys)
      #expect(try bench.files == ["document"])

      let sent = try #require(server.log.requests.first)
      #expect(sent.method == "GET")
      #expect(sent.target == "/day/1.zip?a=b")
      #expect(sent["user-agent"] == "Keyferry/0.0.0-test (diagnosis key gateway)")
      #expect(sent["accept-encoding"] == "identity")
      #expect(sent["authorization"] == "Bearer secret")
      #expect(sent["if-none-match"] == "\"4\"")

      let counts = bench.events.all.compactMap { event in
        if case .received(let count, Self.keys.count, _) = event { count } else { nil }
      }
      #expect(counts.count > 1)
      #expect(counts == counts.sorted())
      #expect(counts.last == Self.keys.count)
    }
  }

  @Test func replacesAnOldFileAndAnAbandonedAttempt() async throws {
    try await Bench.run { _, connection in
      try await connection.respond(body: "new")
    } _: { bench, server in
      try Data("old, and longer".utf8).write(to: URL(filePath: bench.target))
      try Data("from a crash".utf8).write(to: URL(filePath: bench.target + ".part"))
      _ = try await bench.transport(server).fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 100)
      #expect(try bench.document == Array("new".utf8))
      #expect(try bench.files == ["document"])
    }
  }

  @Test func readsChunksOfOneByte() async throws {
    let text = String(repeating: "keys", count: 200)
    try await Bench.run { _, connection in
      let chunks = text.map { "1\r\n\($0)\r\n" }.joined()
      try await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n")
    } _: { bench, server in
      let transport = try bench.transport(server)
      _ = try await transport.fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: text.utf8.count)
      #expect(try bench.document == Array(text.utf8))
      #expect(try await transport.ask(PeerRequest(url: "a")).body == Array(text.utf8))
    }
  }

  @Test func readsHTTP10ToTheEndOfTheConnection() async throws {
    try await Bench.run { _, connection in
      try await connection.send("HTTP/1.0 200 OK\r\n\r\nkeys of old")
      try connection.hangUp()
    } _: { bench, server in
      let answer = try await bench.transport(server).ask(PeerRequest(url: "a"))
      #expect(answer.body == Array("keys of old".utf8))
    }
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf",
    "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf",
    "HTTP/1.1 200 OK\r\nContent-Le", "",
  ])
  func neverTakesAPartForTheWhole(response: String) async throws {
    try await Bench.run { _, connection in
      try await connection.send(response)
      try connection.hangUp()
    } _: { bench, server in
      let transport = try bench.transport(server) { $0.retries = 1 }
      let fetched = try await fault {
        _ = try await transport.fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 5000)
      }
      #expect(fetched.code == "connection-closed")
      #expect(fetched.isTemporary)
      #expect(try bench.files.isEmpty)
      #expect(server.log.requests.count == 2)
      #expect(try await fault { _ = try await transport.ask(PeerRequest(url: "a")) }.code == "connection-closed")
    }
  }

  @Test func leavesWhatComesAfterTheAnnouncedLength() async throws {
    try await Bench.run { _, connection in
      try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkeys and more that was not announced")
      try await connection.waitForever()
    } _: { bench, server in
      let answer = try await bench.transport(server).ask(PeerRequest(url: "a"))
      #expect(answer.body == Array("keys".utf8))
    }
  }

  @Test(arguments: [
    "hello, this is no HTTP\r\n\r\n", "\u{16}\u{3}\u{1}\r\n\r\n", "HTTP/1.1 banana\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nkeys",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nkeys\r\n",
  ])
  func refusesWhatIsNotHTTP(response: String) async throws {
    try await Bench.run { _, connection in
      try await connection.send(response)
      try await connection.waitForever()
    } _: { bench, server in
      let transport = try bench.transport(server) { $0.retries = 2 }
      let fault = try await fault {
        _ = try await transport.fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 5000)
      }
      #expect(fault.code == "malformed-response")
      #expect(!fault.isTemporary)
      #expect(try bench.files.isEmpty)
      #expect(bench.clock.slept.isEmpty)
    }
  }

  @Test func refusesEndlessHeaders() async throws {
    try await Bench.run { _, connection in
      try await connection.send("HTTP/1.1 200 OK\r\n")
      while true { try await connection.send("X-More: \(String(repeating: "a", count: 4000))\r\n") }
    } _: { bench, server in
      let fault = try await fault { _ = try await bench.transport(server).ask(PeerRequest(url: "a")) }
      #expect(fault.code == "malformed-response")
      #expect(server.log.bytesSent < 16 << 20)
    }
  }

  @Test(arguments: ["br", "aws-chunked", "deflate", "gzip, gzip"])
  func refusesEncodedDocuments(encoding: String) async throws {
    try await Bench.run { _, connection in
      try await connection.respond("200 OK", ["Content-Encoding: \(encoding)"], body: [0x1F, 0x8B, 8])
    } _: { bench, server in
      let fault = try await fault { _ = try await bench.transport(server).ask(PeerRequest(url: "a")) }
      #expect(fault.code == "malformed-response")
      #expect(fault.reason.contains("Content-Encoding is \(encoding)"))
    }
  }

  /// Some servers and caches compress although `identity` is asked for.
  @Test(arguments: ["gzip", "x-gzip", "GZIP"])
  func decodesGzip(encoding: String) async throws {
    let packed = try Zlib.gzip(Self.keys)
    try await Bench.run { request, connection in
      guard request.target == "/chunks" else {
        return try await connection.respond("200 OK", ["Content-Encoding: \(encoding)"], body: packed)
      }
      try await connection.send(
        "HTTP/1.1 200 OK\r\nContent-Encoding: \(encoding)\r\nTransfer-Encoding: chunked\r\n\r\n")
      for start in stride(from: 0, to: packed.count, by: 1000) {
        let chunk = Array(packed[start..<min(start + 1000, packed.count)])
        try await connection.send(Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Array("\r\n".utf8))
      }
      try await connection.send("0\r\n\r\n")
    } _: { bench, server in
      let transport = try bench.transport(server)
      for url in ["length", "chunks"] {
        _ = try await transport.fetch(PeerRequest(url: url), into: bench.target, byteLimit: Self.keys.count)
        #expect(try bench.document == Self.keys)
        #expect(try await transport.ask(PeerRequest(url: url, byteLimit: Self.keys.count)).body == Self.keys)
      }
      #expect(server.log.requests.allSatisfy { $0["accept-encoding"] == "identity" })
    }
  }

  /// The answers of witnesses, of services of codes, and key sets of verification servers.
  @Test func decodesAShortAnswer() async throws {
    let packed = try Zlib.gzip(Array(repeating: 0x20, count: 5000))
    try await StubServer.run { _, connection in
      try await connection.respond("200 OK", ["Content-Encoding: gzip"], body: packed)
    } _: { server in
      func call(_ limit: Int) -> ShortCall {
        ShortCall(
          address: "http://127.0.0.1:\(server.port)/keys", body: nil, token: nil, timeoutSeconds: 10, byteLimit: limit)
      }
      let answer = try await call(5000).answer()
      #expect(answer.body == Array(repeating: 0x20, count: 5000))
      await #expect(throws: (any Error).self) { try await call(4999).answer() }
    }
  }

  /// The limit of a document counts what is decoded: a small answer may hold gigabytes.
  @Test func stopsDecodingAtTheLimit() async throws {
    let packed = try Zlib.gzip([UInt8](repeating: 0, count: 64 << 20))
    try await Bench.run { _, connection in
      try await connection.respond("200 OK", ["Content-Encoding: gzip"], body: packed)
    } _: { bench, server in
      let transport = try bench.transport(server)
      let fetched = try await fault {
        _ = try await transport.fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 1 << 20)
      }
      #expect(fetched.code == "too-large" && fetched.reason.hasSuffix("at most 1048576 are read"), "\(fetched.reason)")
      #expect(try bench.files.isEmpty)
      let asked = try await fault { _ = try await transport.ask(PeerRequest(url: "a", byteLimit: 1 << 20)) }
      #expect(asked.code == "too-large")
    }
  }

  @Test(arguments: ["damaged", "short", "tail", "none"])
  func refusesGzipThatIsNone(kind: String) async throws {
    let packed = try Zlib.gzip(Self.keys)
    let bytes: [UInt8]
    switch kind {
    case "damaged": bytes = Array(packed.prefix(packed.count / 2)) + [1, 2, 3] + Array(packed.suffix(packed.count / 2))
    case "short": bytes = packed.dropLast(9)
    case "tail": bytes = packed + [1, 2, 3]
    default: bytes = Array("keys".utf8)
    }
    try await Bench.run { _, connection in
      try await connection.respond("200 OK", ["Content-Encoding: gzip"], body: bytes)
    } _: { bench, server in
      let transport = try bench.transport(server)
      let fetched = try await fault {
        _ = try await transport.fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 1 << 20)
      }
      #expect(fetched.code == "malformed-response" && fetched.reason.contains("its gzip "), "\(fetched.reason)")
      #expect(try bench.files.isEmpty)
    }
  }

  @Test func answersWithHTMLAsItCame() async throws {
    try await Bench.run { _, connection in
      try await connection.respond("200 OK", ["Content-Type: text/html"], body: "<html>Not found</html>")
    } _: { bench, server in
      let answer = try await bench.transport(server).ask(PeerRequest(url: "index.txt"))
      #expect(answer.head["content-type"] == "text/html")
      #expect(answer.body == Array("<html>Not found</html>".utf8))
    }
  }
}

@Suite struct LimitTests {
  @Test func refusesTenAnnouncedGigabytes() async throws {
    try await Bench.run { _, connection in
      try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\nkeys")
      try await connection.waitForever()
    } _: { bench, server in
      let transport = try bench.transport(server) { $0.retries = 2 }
      let fault = try await fault {
        _ = try await transport.fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 1 << 20)
      }
      #expect(fault.code == "too-large")
      #expect(fault.reason.hasSuffix("has 10737418240 bytes, at most 1048576 are read"))
      #expect(try bench.files.isEmpty)
      #expect(server.log.requests.count == 1)
    }
  }

  @Test func refusesTenStreamedGigabytes() async throws {
    try await Bench.run { _, connection in
      let chunk = Array("40000\r\n".utf8) + [UInt8](repeating: 7, count: 0x40000) + Array("\r\n".utf8)
      try await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      for _ in 0..<40_960 { try await connection.send(chunk) }
    } _: { bench, server in
      let fault = try await fault {
        _ = try await bench.transport(server).fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 1 << 20)
      }
      #expect(fault.code == "too-large")
      #expect(try bench.files.isEmpty)
      #expect(server.log.bytesSent < 64 << 20)
    }
  }

  @Test(arguments: [(4, nil), (3, "too-large")])
  func countsToTheByte(limit: Int, code: String?) async throws {
    try await Bench.run { request, connection in
      if request.target == "/length" { return try await connection.respond(body: "keys") }
      try await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nkeys\r\n0\r\n\r\n")
    } _: { bench, server in
      for url in ["length", "chunks"] {
        let transport = try bench.transport(server)
        let request = PeerRequest(url: url, byteLimit: limit)
        if let code {
          #expect(try await fault { _ = try await transport.ask(request) }.code.rawValue == code)
        } else {
          #expect(try await transport.ask(request).body.count == 4)
        }
      }
    }
  }

  @Test func dropsTheEndlessPageOfAnError() async throws {
    try await Bench.run { _, connection in
      try await connection.send("HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n")
      while true { try await connection.send("8000\r\n\(String(repeating: "x", count: 0x8000))\r\n") }
    } _: { bench, server in
      let transport = try bench.transport(server)
      #expect(try await transport.fetch(PeerRequest(url: "a"), into: bench.target, byteLimit: 100).status == 404)
      let answer = try await transport.ask(PeerRequest(url: "a"))
      #expect(answer.head.status == 404)
      #expect(answer.body.isEmpty)
      #expect(try bench.files.isEmpty)
    }
  }

  @Test func saysWhenAFileCannotBeWritten() async throws {
    try await Bench.run { _, connection in
      try await connection.respond(body: "keys")
    } _: { bench, server in
      let transport = try bench.transport(server) { $0.retries = 2 }
      let folder = bench.folder.appending(path: "folder")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      for path in [bench.folder.appending(path: "absent/document").path, folder.path] {
        let fault = try await fault { _ = try await transport.fetch(PeerRequest(url: "a"), into: path, byteLimit: 10) }
        #expect(fault.code == "storage")
        #expect(fault.reason.contains(path))
      }
      #expect(try bench.files == ["folder"])
      #expect(bench.clock.slept.isEmpty)
    }
  }
}
