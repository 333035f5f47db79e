internal import NIOCore

/// Sends what has been written before a connection of HTTP/1.1 closes: behind a client that sends no more, and while the server shuts
/// down, the framework closes without waiting until its last response is gone. The handler lives on its channel's event loop.
final class FlushBeforeCloseHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Whether the server shuts down.
  private var isEnding = false

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ChannelShouldQuiesceEvent { isEnding = true }
    // To write when the other direction is being closed would close it again, without end where the client has reset.
    guard isEnding || event as? ChannelEvent == .inputClosed, event as? ChannelEvent != .outputClosed else {
      return context.fireUserInboundEventTriggered(event)
    }
    afterFlush(context) { context.fireUserInboundEventTriggered(event) }
  }

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
