import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTesting
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization
import Testing

/// Any application, at an address and not at a name: what `localhost` is differs between machines. The system chooses the port.
private struct LocalApplication<Base: ApplicationProtocol>: ApplicationProtocol {
  let base: Base
  let onBound: @Sendable (Int) -> Void

  var responder: Base.Responder { get async throws { try await base.responder } }
  var server: HTTPServerBuilder { base.server }
  var eventLoopGroup: any EventLoopGroup { base.eventLoopGroup }
  var configuration: ApplicationConfiguration { base.configuration.with(address: .hostname("127.0.0.1", port: 0)) }
  var logger: Logger { base.logger }
  var services: [any Service] { base.services }
  var processesRunBeforeServerStart: [@Sendable () async throws -> Void] { base.processesRunBeforeServerStart }

  @Sendable func onServerRunning(_ channel: any Channel) async {
    await base.onServerRunning(channel)
    if let port = channel.localAddress?.port { onBound(port) }
  }
}

extension ApplicationProtocol {
  /// Runs it while a body asks it.
  func live<Result: Sendable>(_ body: (LiveClient) async throws -> Result) async throws -> Result {
    let (ports, bound) = AsyncStream.makeStream(of: Int.self)
    let group = ServiceGroup(
      configuration: .init(services: [LocalApplication(base: self) { bound.yield($0) }], logger: logger))
    let running = Task {
      defer { bound.finish() }
      try await group.run()
    }
    var iterator = ports.makeAsyncIterator()
    guard let port = await iterator.next() else {
      try await running.value
      throw CancellationError()
    }
    let client = LiveClient(port: port)
    let result: Swift.Result<Result, any Error>
    do { result = .success(try await body(client)) } catch { result = .failure(error) }
    try await client.close()
    await group.triggerGracefulShutdown()
    try await running.value
    return try result.get()
  }
}

/// Asks a server on one connection, which is opened when it is asked first.
final class LiveClient: Sendable {
  let port: Int
  private let connection = Mutex<TestClient?>(nil)

  init(port: Int) { self.port = port }

  func execute(
    uri: String, method: HTTPRequest.Method, headers: HTTPFields = [:], body: ByteBuffer? = nil
  ) async throws -> LiveResponse {
    let client = connection.withLock { connection in
      if let connection { return connection }
      let client = TestClient(host: "127.0.0.1", port: port, configuration: .init(timeout: .seconds(20)))
      client.connect()
      connection = client
      return client
    }
    var headers = headers
    headers[.connection] = "keep-alive"
    let response = try await client.execute(
      TestClient.Request(uri, method: method, authority: "localhost", headers: headers, body: body))
    return LiveResponse(status: response.status, headers: response.headers, body: response.body ?? ByteBuffer())
  }

  func close() async throws { try await connection.withLock(\.self)?.shutdown() }
}

struct LiveResponse: AnsweredResponse {
  let status: HTTPResponse.Status
  let headers: HTTPFields
  let body: ByteBuffer
}
