internal import NIOCore

/// Closes a connection of HTTP/1.1 whose client takes nothing of what is written to it for too long.
///
/// A client that asks for large files and never reads them would hold them in memory, and hold up a shutdown. The
/// handler lives on its channel's event loop.
final class StalledReaderHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  private let limit: TimeAmount
  private let connections: OpenConnections
  private var deadline: Scheduled<Void>?

  init(limit: TimeAmount, _ connections: OpenConnections) {
    self.limit = limit
    self.connections = connections
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    deadline?.cancel()
    deadline = nil
    if !context.channel.isWritable {
      deadline = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { [connections] in
        connections.countDropped(.stalled)
        context.close(promise: nil)
      }
    }
    context.fireChannelWritabilityChanged()
  }

  func channelInactive(context: ChannelHandlerContext) {
    deadline?.cancel()
    deadline = nil
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    deadline?.cancel()
    deadline = nil
  }
}
