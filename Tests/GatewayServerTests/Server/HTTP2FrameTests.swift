import Foundation
import GatewayTesting
import KeyPublishing
import Logging
import ProgramMetrics
import Testing

@testable import GatewayServer

/// Clients that speak HTTP/2 badly, frame by frame.
@Suite("Frames of HTTP/2", .serialized)
struct HTTP2FrameTests {
  let fixture: PublicationFixture
  let settings: ServerSettings
  let large: SeriesManifest.Bundle

  init() throws {
    fixture = try PublicationFixture()
    try fixture.publish("NL", bundles: 1, keys: 100)
    large = try #require(try fixture.publish("BE", bundles: 1, keys: 30_000).bundles.first)
    var settings = ServerSettings()
    try settings.useCertificate(in: fixture.folder)
    settings.port = 0
    settings.uploads = [UploadSettings(token: "a-token-of-some-length")]
    self.settings = settings
  }

  private func script(
    _ text: String, limits: ServerLimits = ServerLimits(), metrics: GatewayMetrics = GatewayMetrics(),
    lines: Lines = Lines(), level: Logger.Level = .info, until isDone: @Sendable () -> Bool = { true }
  ) async throws -> String {
    let app = try GatewayApplication.testing(
      fixture, settings: settings, metrics: metrics, limits: limits, logger: lines.logger(level: level))
    return try await app.whileServing { port in
      let output = try await python(
        HTTP2Scripts.frames + Self.client + text, input: Array("\(port) /\(large.path)".utf8))
      for _ in 0..<1000 where !isDone() { try await Task.sleep(for: .milliseconds(10)) }
      return output
    }
  }

  /// Fields are literals without Huffman's code.
  private static let client = #"""
    import time
    port, large = sys.stdin.read().split()

    def string(text):
        if len(text) < 127:
            return bytes([len(text)]) + text
        rest, out = len(text) - 127, [127]
        while rest >= 128:
            out.append(rest % 128 + 128)
            rest //= 128
        return bytes(out + [rest]) + text

    def field(name, value):
        return b"\x00" + string(name) + string(value)

    def fields(method=b"GET", path=b"/NL/index.txt", *more, authority=b"localhost"):
        pseudo = [(b":method", method), (b":scheme", b"https"), (b":path", path), (b":authority", authority)]
        return b"".join(field(name, value) for name, value in pseudo + list(more))

    UPLOAD = fields(
        b"POST", b"/v1/publish", (b"content-type", b"application/json"), (b"authorization", b"Bearer a-token-of-some-length"))

    def headers(stream, block, flags=4):
        pieces = [block[i : i + 16000] for i in range(0, len(block), 16000)]
        whole = b""
        for number, piece in enumerate(pieces):
            isLast = number == len(pieces) - 1
            whole += frame(1 if number == 0 else 9, (flags & 1 if number == 0 else 0) | (4 if isLast else 0), stream, piece)
        return whole

    def status(block):
        if block[0] & 0x80:
            return {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}.get(block[0] & 0x7F)
        text = block[2 : 2 + (block[1] & 0x7F)]
        if not block[1] & 0x80:
            return int(text)
        bits, digits = "".join(format(byte, "08b") for byte in text), ""
        while len(digits) < 3:
            if bits[:2] == "00":
                digits, bits = digits + str(int(bits[:5], 2)), bits[5:]
            else:
                digits, bits = digits + str(int(bits[:6], 2) - 22), bits[6:]
        return int(digits)

    def start(**values):
        connection = connect(int(port))
        connection.sendall(PREFACE + frame(4, 0, 0, settings(**values)))
        return connection, Frames(connection)

    """#

  @Test(
    "A malformed request is reset, and the other streams of its connection go on", .timeLimit(.minutes(1)),
    arguments: [
      #"fields(b"GET", b"/", (b"X-Capital", b"1"))"#, #"fields(b"GET", b"/", (b"connection", b"close"))"#,
      #"fields(b"GET", b"/", (b"x a", b"1"))"#, #"fields(b"GET", b"/", (b"x-a", b"a\x00b"))"#,
      #"fields(b"GET", b"/", (b"te", b"gzip"))"#, #"fields(b"GET", b"")"#, #"fields(b"GET", b"/", (b":path", b"/"))"#,
      #"field(b"x-a", b"1") + fields()"#, #"field(b":method", b"GET")"#,
      #"fields(b"POST", b"/", (b"content-length", b"abc"))"#, #"fields(b"GET", b"/", (b":unknown", b"1"))"#,
    ])
  func malformed(block: String) async throws {
    let output = try await script(
      """
      connection, frames = start()
      connection.sendall(headers(1, UPLOAD) + frame(0, 0, 1, b"{"))
      connection.sendall(headers(3, \(block), 5) + headers(5, fields(), 5))
      seen, ended = {}, False
      while 1 not in seen and (got := frames.next()) is not None:
          kind, flags, stream, content = got
          if kind == 3:
              seen[stream] = "reset %d" % int.from_bytes(content, "big")
          if kind == 1:
              seen[stream] = status(content)
          if 3 in seen and 5 in seen and not ended:
              ended = True
              connection.sendall(frame(0, 1, 1, b"}"))
      print(seen)
      """)
    #expect(output == "{3: 'reset 1', 5: 200, 1: 400}\n", "\(output)")
  }

  @Test("A target is a path, and an authority a host", .timeLimit(.minutes(1)))
  func targets() async throws {
    let output = try await script(
      """
      connection, frames = start()
      asked = [
          fields(), fields(b"GET", b"NL/index.txt"), fields(b"GET", b"https://localhost/NL/index.txt"),
          fields(b"GET", b"*"), fields(b"OPTIONS", b"*"), fields(b"GET", b"?a=b"), fields(authority=b"a/b"), fields()]
      for number, block in enumerate(asked):
          connection.sendall(headers(2 * number + 1, block, 5))
          while (got := frames.next())[0] != 1:
              pass
          print(status(got[3]))
      """)
    #expect(output == "200\n400\n400\n400\n204\n400\n400\n200\n")
  }

  @Test("A head that is too large is answered with 431, and the connection goes on", .timeLimit(.minutes(1)))
  func largeHeads() async throws {
    let output = try await script(
      """
      connection, frames = start()
      # The settings count when they are acknowledged.
      acknowledged = 0
      while acknowledged < 2:
          kind, flags, stream, content = frames.next()
          acknowledged += kind == 4 and not flags & 1
      for stream, length in [(1, 10_000), (3, 60_000), (5, 0)]:
          connection.sendall(headers(stream, fields(b"GET", b"/NL/index.txt", (b"x-a", b"a" * length)), 5))
          while (got := frames.next())[0] != 1:
              pass
          print(status(got[3]))
      """)
    #expect(output == "200\n431\n200\n")
  }

  @Test("Clients that are too slow are let go in time, and counted", .timeLimit(.minutes(2)))
  func times() async throws {
    var limits = ServerLimits()
    (limits.headSeconds, limits.stalledSeconds, limits.idleSeconds) = (1, 3, 5)
    let metrics = GatewayMetrics()
    let output = try await script(
      """
      import threading
      def judge(name, low, high, first, feed=None, **values):
          connection, frames = start(**values)
          began = time.time()
          connection.sendall(first)
          if feed:
              def dribble():
                  try:
                      while True:
                          connection.sendall(frame(0, 0, 1, b" "))
                          time.sleep(0.2)
                  except OSError:
                      pass
              threading.Thread(target=dribble, daemon=True).start()
          reset = said = None
          while (got := frames.next()) is not None:
              if got[0] == 3 and got[2] == 1:
                  reset = time.time() - began
              if got[0] == 7 and said is None:
                  said = time.time() - began
          closed = time.time() - began
          at = said if reset is None else reset
          isRight = at is not None and low <= at <= high and closed <= high + 2 and said is not None
          print(name, isRight if isRight else (reset, said, closed))
      judge("least", 0.9, 2.5, headers(1, UPLOAD), feed=True)
      judge("stopped", 4.5, 7, headers(1, UPLOAD) + frame(0, 0, 1, b" " * 10_000))
      judge("stalled", 2.5, 4.5, headers(1, fields(b"GET", large.encode()), 5), window=0)
      judge("idle", 4.5, 7, headers(1, fields(), 5))
      """, limits: limits, metrics: metrics)
    #expect(output == "least True\nstopped True\nstalled True\nidle True\n")
    for (reason, count) in [("content", 2), ("stalled", 1), ("idle", 1)] {
      #expect(
        metrics.text.contains("keyferry_http_dropped_connections_total{reason=\"\(reason)\"} \(count)\n"), "\(reason)")
    }
  }

  @Test("An upload that is cut off is no error of ours", .timeLimit(.minutes(1)))
  func cutOff() async throws {
    let lines = Lines()
    let ended = { @Sendable (lines: Lines) in
      lines.text.split(separator: "\n").count { $0.contains(#""path":"/v1/publish""#) && $0.contains(#""status":400"#) }
    }
    let output = try await script(
      """
      for end in ["whole", "half", "reset"]:
          connection, frames = start()
          connection.sendall(headers(1, UPLOAD) + frame(0, 0, 1, b"{") + headers(3, fields(), 5))
          while (got := frames.next())[0] != 1:
              pass
          if end == "half":
              connection.sendall(frame(0, 0, 1, b" ") + b"\\0\\0")
          if end == "reset":
              connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
          connection.close()
      print("cut off")
      """, lines: lines, level: .debug, until: { ended(lines) == 3 })
    #expect(output == "cut off\n")
    // Whether its body ends or its stream is closed first is a matter of chance.
    #expect(ended(lines) == 3, "\(lines.text)")
    for level in ["error", "warning"] { #expect(!lines.text.contains("\"level\":\"\(level)\""), "\(lines.text)") }
  }
}
