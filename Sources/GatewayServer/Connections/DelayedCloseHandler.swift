internal import NIOCore

/// Lets what was written go out before the connection is closed.
///
/// HTTP/2 closes a connection in the turn in which the last response of it ends, and TLS drops what is not flushed by then: its client
/// would never learn that its upload was kept. The handler stands behind TLS and lives on its channel's event loop.
final class DelayedCloseHandler: ChannelOutboundHandler, RemovableChannelHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode != .input else { return context.close(mode: mode, promise: promise) }
    context.eventLoop.assumeIsolated().execute {
      context.flush()
      context.close(mode: mode, promise: promise)
    }
  }
}
