internal import ExposureKeys
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdHTTP2
internal import Logging
internal import NIOCore
internal import NIOHTTP2
internal import NIOHTTPTypesHTTP1
internal import NIOSSL

/// A connection: over TLS of HTTP/2 or HTTP/1.1, whichever the client prefers (ALPN, RFC 7301); without TLS of HTTP/1.1.
struct GatewayChannel: ServerChildChannel {
  struct Value: ServerChildChannelValue {
    let channel: any Channel
    /// `nil` without TLS: then it is HTTP/1.1, and begins when somebody takes the connection.
    fileprivate let version: EventLoopFuture<Version>?
  }

  fileprivate typealias Version = NIONegotiatedHTTPVersion<HTTP1Channel.Value, HTTP2Channel.Value>

  /// A response in one piece does not make the connection unwritable, which everybody on it is told.
  private static let waterMark = {
    let high = ResponseBody.pieceLength * 2 + 16 << 10
    return ChannelOptions.Types.WriteBufferWaterMark(low: high - 64 << 10, high: high)
  }()

  private let responder: GatewayResponder
  private let tls: HeldTLS?
  private let asksForCertificate: Bool
  private let http1: HTTP1Channel
  private let http2: HTTP2Channel

  /// - Parameters:
  ///   - tls: `nil` is plain HTTP.
  ///   - asksForCertificate: whether clients are asked for a certificate; they need not have any.
  init(_ responder: GatewayResponder, tls: HeldTLS?, asksForCertificate: Bool = false) {
    self.responder = responder
    self.asksForCertificate = asksForCertificate
    self.tls = tls
    let stalled = TimeAmount.seconds(responder.limits.stalledSeconds)
    http1 = HTTP1Channel(
      responder: { request, writer, channel in
        let final = await responder.finalResponse(to: request, over: channel, needsHost: true)
        var response = final.http1Response.dated(by: responder.clock)
        // The client closes, or is closed when the server ends: nothing that is on its way is cut off.
        if responder.connections.isLeaving { response.headers[.connection] = "close" }
        try await writer.write(response: response.head, body: response.body)
        if final.closesConnection { channel.close(promise: nil) }
      },
      configuration: HTTP1Channel.Configuration(additionalChannelHandlers: [
        StalledReaderHandler(limit: stalled, responder.connections)
      ]))
    http2 = HTTP2Channel(
      responder: { request, writer, channel in
        let response = await responder.finalResponse(to: request, over: channel).response.dated(by: responder.clock)
        try await writer.write(response: response.head, body: response.body)
      },
      configuration: HTTP2Channel.Configuration(
        gracefulCloseTimeout: .seconds(responder.limits.stalledSeconds),
        streamConfiguration: HTTP1Channel.Configuration(
          additionalChannelHandlers: [HTTP2StreamHandler(responder.limits)])))
  }

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    do {
      try channel.syncOptions?.setOption(.writeBufferWaterMark, value: Self.waterMark)
      let watch = ConnectionWatchHandler(responder.limits, responder.connections)
      try channel.pipeline.syncOperations.addHandler(watch)
      let address = channel.remoteAddress
      watch.enter(channel, client: responder.reader.proxies.holds(address) ? nil : RateLimitedClient(address))
      watch.isNegotiating = true
      guard let tls else {
        // A server that has just stopped hands nobody what it accepts then. Nothing was made of that yet which would have to be ended.
        try channel.syncOptions?.setOption(.autoRead, value: false)
        return channel.eventLoop.makeSucceededFuture(Value(channel: channel, version: nil))
      }
      // The handshake proves that the client has the certificate's key. Whose it is, each request asks the whitelist.
      let handler =
        asksForCertificate
        ? NIOSSLServerHandler(
          context: tls.context, customVerificationCallback: { _, verified in verified.succeed(.certificateVerified) })
        : NIOSSLServerHandler(context: tls.context)
      try channel.pipeline.syncOperations.addHandlers(handler, DelayedCloseHandler())
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
    return channel.configureHTTP2AsyncSecureUpgrade { channel in
      setupHTTP1(channel, logger)
    } http2ConnectionInitializer: { channel in
      channel.eventLoop.makeCompletedFuture {
        let watch = try watch(of: channel)
        watch.isNegotiating = false
        watch.speaksHTTP2()
      }
      .flatMap { http2.setup(channel: channel, logger: logger) }
      .flatMapThrowing { value in
        let frames = try channel.pipeline.syncOperations.handler(type: NIOHTTP2Handler.self)
        try channel.pipeline.syncOperations.addHandler(HTTP2ConnectionHandler(), position: .after(frames))
        return value
      }
    }.map { Value(channel: channel, version: $0) }
  }

  /// Begins to read from a connection without TLS.
  private func begin(_ channel: any Channel, _ logger: Logger) -> EventLoopFuture<Version> {
    channel.eventLoop.flatSubmit {
      setupHTTP1(channel, logger).flatMapThrowing { http1 in
        try channel.syncOptions?.setOption(.autoRead, value: true)
        return .http1_1(http1)
      }
    }
  }

  private func setupHTTP1(_ channel: any Channel, _ logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
    channel.eventLoop.makeCompletedFuture {
      let watch = try watch(of: channel)
      watch.isNegotiating = false
      try channel.pipeline.syncOperations.addHandler(FlushBeforeCloseHandler())
    }.flatMap { http1.setup(channel: channel, logger: logger) }.flatMapThrowing { value in
      let pipeline = channel.pipeline.syncOperations
      let types = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
      try pipeline.addHandler(
        RequestFramingHandler(watch(of: channel), responder.clock), position: .before(types))
      return value
    }
  }

  private func watch(of channel: any Channel) throws -> ConnectionWatchHandler {
    try channel.pipeline.syncOperations.handler(type: ConnectionWatchHandler.self)
  }

  func handle(value: Value, logger: Logger) async {
    do {
      switch try await (value.version ?? begin(value.channel, logger)).get() {
      case .http1_1(let connection): await http1.handle(value: connection, logger: logger)
      case .http2(let connection): await http2.handle(value: connection, logger: logger)
      }
    } catch {
      logger.debug("a connection ended before it began", metadata: ["reason": .string("\(error)")])
    }
  }
}

extension Response {
  /// With the date of sending. It is the gateway's clock in every answer: phones compare it with their own, and validators with it.
  fileprivate func dated(by clock: ServerClock) -> Response {
    var response = self
    response.headers[.date] = HTTPDate.text(clock.now())
    return response
  }
}
