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

  /// Runs a server as long as `body` runs. Connections end when their peers do.
  static func run<Result>(
    tls: NIOSSLContext? = nil, _ respond: @escaping Respond, _ body: (StubServer) async throws -> Result
  ) async throws -> Result {
    let log = StubLog()
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
          try channel.pipeline.syncOperations.addHandler(StubHandler(log, respond))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    guard let port = listener.localAddress?.port else { throw StubFault.noPort }
    do {
      let result = try await body(StubServer(port: port, log: log))
      try await listener.close()
      return result
    } catch {
      try await listener.close()
      throw error
    }
  }
}

/// One connection. What comes is handed to a task that lives as long as the connection.
private final class StubHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let log: StubLog
  private let respond: StubServer.Respond
  private var pieces: AsyncStream<ByteBuffer>.Continuation?
  private var task: Task<Void, Never>?

  init(_ log: StubLog, _ respond: @escaping StubServer.Respond) {
    self.log = log
    self.respond = respond
  }

  func channelActive(context: ChannelHandlerContext) {
    log.connectionOpened()
    let (stream, pieces) = AsyncStream<ByteBuffer>.makeStream()
    self.pieces = pieces
    let connection = StubConnection(channel: context.channel, log: log)
    let respond = respond
    task = Task { await connection.serve(stream, respond) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { pieces?.yield(unwrapInboundIn(data)) }

  func channelInactive(context: ChannelHandlerContext) {
    log.connectionClosed()
    pieces?.finish()
    task?.cancel()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

enum StubFault: Error {
  case noPort
  case hangUp
}

struct StubConnection: Sendable {
  fileprivate let channel: any Channel
  fileprivate let log: StubLog

  fileprivate func serve(_ pieces: AsyncStream<ByteBuffer>, _ respond: StubServer.Respond) async {
    // Peers that go away in the middle are what many tests are about.
    try? await answer(pieces, respond)
    try? await channel.close()
  }

  private func answer(_ pieces: AsyncStream<ByteBuffer>, _ respond: StubServer.Respond) async throws {
    var received = ""
    for await piece in pieces {
      received += String(buffer: piece)
      // What servers do when someone speaks TLS to them.
      if received.utf8.first == 0x16 { try await send("HTTP/1.1 400 Bad Request\r\n\r\n") }
      while let end = received.firstRange(of: "\r\n\r\n") {
        let request = log.record(received[..<end.lowerBound])
        received = String(received[end.upperBound...])
        try await respond(request, self)
      }
    }
  }

  func send(_ text: String) async throws { try await send(ByteBuffer(string: text)) }
  func send(_ bytes: [UInt8]) async throws { try await send(ByteBuffer(bytes: bytes)) }

  private func send(_ buffer: ByteBuffer) async throws {
    try await channel.writeAndFlush(buffer)
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
