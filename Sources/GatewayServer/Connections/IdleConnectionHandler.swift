internal import NIOCore

/// Closes a connection that is silent for too long, whatever is spoken on it: it stands in front of everything, and a
/// handshake that is never ended is silence, too. The handler lives on its channel's event loop.
final class IdleConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Whether a response is being made: that is no silence of the client's.
  var isAwaited = false
  /// Whether nobody behind this one hears yet that the server shuts down; there is nothing then that could be ended first.
  var isNegotiating = false

  private let limit: TimeAmount
  private var lastSign = NIODeadline.now()
  /// Bytes that the client had not taken at the last check.
  private var pending = Int.max
  private var nextCheck: Scheduled<Void>?

  init(limit: TimeAmount) { self.limit = limit }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    lastSign = .now()
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    lastSign = .now()
    context.write(data, promise: promise)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if isNegotiating, event is ChannelShouldQuiesceEvent { return context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { check(in: limit, context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    check(in: limit, context)
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    nextCheck?.cancel()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { nextCheck?.cancel() }

  /// Silence counts between requests and within one, not while a response is made, nor as long as each check finds that
  /// the client has taken more of one.
  private func check(in time: TimeAmount, _ context: ChannelHandlerContext) {
    nextCheck?.cancel()
    nextCheck = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
      let rest = lastSign + limit - .now()
      if rest > .zero {
        pending = .max
        check(in: rest, context)
      } else if isAwaited || takesSomething(context) {
        check(in: limit, context)
      } else {
        context.close(promise: nil)
      }
    }
  }

  private func takesSomething(_ context: ChannelHandlerContext) -> Bool {
    let before = pending
    pending = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    return 1..<before ~= pending
  }
}
