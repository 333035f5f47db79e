import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// What a stub server read of a request.
struct StubRequest: Sendable {
  /// 1 for the first request to this server.
  var number: Int
  var method: String
  var target: String
  var headers: [(name: String, value: String)]

  subscript(name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
}

/// A server on a port of loopback that writes whatever bytes a test wants, HTTP or not.
struct StubServer: Sendable {
  /// Writes a response. When it returns, the next request is read; when it throws, the connection is closed.
  typealias Respond = @Sendable (StubRequest, StubConnection) async throws -> Void

  let port: Int
  let log: StubLog

  /// Runs a server as long as `body` runs.
  static func run<Result>(
    tls: NIOSSLContext? = nil, _ respond: @escaping Respond, _ body: (StubServer) async throws -> Result
  ) async throws -> Result {
    let log = StubLog()
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .bind(host: "127.0.0.1", port: 0) { channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
          return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: false))
        }
      }
    guard let port = listener.channel.localAddress?.port else { throw StubFault.noPort }
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await listener.executeThenClose { connections in
          try await withThrowingDiscardingTaskGroup { tasks in
            for try await connection in connections {
              tasks.addTask { await serve(connection, log, respond) }
            }
          }
        }
      }
      defer { group.cancelAll() }
      return try await body(StubServer(port: port, log: log))
    }
  }

  private static func serve(
    _ channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>, _ log: StubLog, _ respond: Respond
  ) async {
    log.connectionOpened()
    defer { log.connectionClosed() }
    // Peers that go away in the middle are what many tests are about.
    try? await channel.executeThenClose { inbound, outbound in
      var received = ""
      for try await piece in inbound {
        received += String(buffer: piece)
        // What servers do when someone speaks TLS to them.
        if received.utf8.first == 0x16 {
          try await outbound.write(ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n\r\n"))
        }
        while let end = received.firstRange(of: "\r\n\r\n") {
          let request = log.record(received[..<end.lowerBound])
          received = String(received[end.upperBound...])
          try await respond(request, StubConnection(outbound: outbound, log: log))
        }
      }
    }
  }
}

enum StubFault: Error {
  case noPort
  case hangUp
}

struct StubConnection: Sendable {
  fileprivate let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  fileprivate let log: StubLog

  func send(_ text: String) async throws { try await send(ByteBuffer(string: text)) }
  func send(_ bytes: [UInt8]) async throws { try await send(ByteBuffer(bytes: bytes)) }

  private func send(_ buffer: ByteBuffer) async throws {
    try await outbound.write(buffer)
    log.sent(buffer.readableBytes)
  }

  /// A whole response with a length.
  func respond(_ status: String = "200 OK", _ headers: [String] = [], body: [UInt8] = []) async throws {
    let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.count)"] + headers
    try await send(Array(lines.joined(separator: "\r\n").utf8) + Array("\r\n\r\n".utf8) + body)
  }

  func respond(_ status: String = "200 OK", _ headers: [String] = [], body: String) async throws {
    try await respond(status, headers, body: Array(body.utf8))
  }

  func hangUp() throws -> Never { throw StubFault.hangUp }

  /// Leaves the peer waiting until it goes away.
  func waitForever() async throws {
    while true { try await Task.sleep(for: .seconds(60)) }
  }
}

/// What has happened at a stub server so far.
final class StubLog: Sendable {
  private struct State {
    var requests: [StubRequest] = []
    var open = 0
    var mostOpen = 0
    var bytes = 0
  }

  private let state = Mutex(State())

  var requests: [StubRequest] { state.withLock { $0.requests } }
  var mostConnections: Int { state.withLock { $0.mostOpen } }
  var bytesSent: Int { state.withLock { $0.bytes } }

  fileprivate func record(_ head: Substring) -> StubRequest {
    let lines = head.split(separator: "\r\n")
    let words = (lines.first ?? "").split(separator: " ")
    let headers = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return (name: String(parts[0]), value: parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
    }
    return state.withLock { state in
      let request = StubRequest(
        number: state.requests.count + 1, method: String(words.first ?? ""),
        target: words.count > 1 ? String(words[1]) : "", headers: headers)
      state.requests.append(request)
      return request
    }
  }

  fileprivate func connectionOpened() {
    state.withLock {
      $0.open += 1
      $0.mostOpen = max($0.mostOpen, $0.open)
    }
  }

  fileprivate func connectionClosed() { state.withLock { $0.open -= 1 } }
  fileprivate func sent(_ bytes: Int) { state.withLock { $0.bytes += bytes } }
}
