internal import NIOCore

/// The front of a connection of HTTP/1.1: sends stored responses on the event loop, with bytes that are ready, and hands
/// everything else to the framework behind it. The server is right without it, and slower.
///
/// It responds only between two requests: when every request that the framework was handed has its response. Requests are
/// counted by reads that hold just one head; behind anything else (a body, half a head, several requests in one read) the
/// connection is the framework's to its end. The handler lives on its channel's event loop.
final class StoredResponseHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let responder: GatewayResponder
  private let watch: ConnectionWatchHandler
  private var client: RateLimitedClient?
  /// Requests that the framework has, and whose responses it has not written.
  private var owed = 0
  private var isFrameworks = false
  /// Whether the server shuts down.
  private var isEnding = false
  /// Whether the framework was given something in this turn of reads.
  private var hasHandedOver = false

  init(_ responder: GatewayResponder, _ watch: ConnectionWatchHandler) {
    self.responder = responder
    self.watch = watch
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isFrameworks, let head = RequestHead(unwrapInboundIn(data), responder.reader) else {
      isFrameworks = true
      return handOver(data, context)
    }
    guard owed == 0, context.channel.isWritable, let retrieval = head.retrieval,
      let stored = responder.storedResponse(to: retrieval, for: client(context, head.forwarded))
    else {
      owed += 1
      return handOver(data, context)
    }
    watch.respondedAtOnce()
    guard stored.body.readableBytes > 0 else {
      return context.writeAndFlush(wrapOutboundOut(stored.http1Head), promise: nil)
    }
    context.write(wrapOutboundOut(stored.http1Head), promise: nil)
    context.writeAndFlush(wrapOutboundOut(stored.body), promise: nil)
  }

  private func handOver(_ data: NIOAny, _ context: ChannelHandlerContext) {
    hasHandedOver = true
    context.fireChannelRead(data)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if hasHandedOver { context.fireChannelReadComplete() }
    hasHandedOver = false
  }

  /// The framework has written a response as a whole.
  func frameworkResponded() { owed -= 1 }

  private func client(_ context: ChannelHandlerContext, _ forwarded: [String]) -> RateLimitedClient {
    let connection = client ?? RateLimitedClient(context.remoteAddress)
    client = connection
    return responder.reader.proxies.client(of: connection, at: context.remoteAddress, fields: forwarded)
  }

  // MARK: The end

  /// Who hears that the client sends no more, or that the server shuts down, may close at once: what has been written goes
  /// out first, and no more is sent from here.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    isFrameworks = true
    if event is ChannelShouldQuiesceEvent { isEnding = true }
    // To write when the other direction is being closed would close it again, without end where the client has reset.
    guard isEnding || event as? ChannelEvent == .inputClosed else {
      return context.fireUserInboundEventTriggered(event)
    }
    if event as? ChannelEvent == .outputClosed { return context.fireUserInboundEventTriggered(event) }
    afterFlush(context) { context.fireUserInboundEventTriggered(event) }
  }

  /// The framework closes behind its last response without waiting until it is gone.
  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard isEnding, mode != .input else { return context.close(mode: mode, promise: promise) }
    afterFlush(context) { context.close(mode: mode, promise: promise) }
  }

  private func afterFlush(_ context: ChannelHandlerContext, _ body: @escaping () -> Void) {
    let written = context.eventLoop.makePromise(of: Void.self)
    written.futureResult.assumeIsolated().whenComplete { _ in body() }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
  }
}
