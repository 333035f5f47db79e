internal import HummingbirdCore
internal import Logging
internal import NIOCore

/// A connection of HTTP/1.1 as the framework has it, with a ``RepeatingHandler`` in front.
struct GatewayChannel: ServerChildChannel {
  /// An answer in one piece does not make the connection unwritable, which everybody on it is told.
  private static let waterMark = {
    let high = ResponseBody.pieceLength * 2 + 16 << 10
    return ChannelOptions.Types.WriteBufferWaterMark(low: high - 64 << 10, high: high)
  }()

  private let framework: HTTP1Channel
  private let responder: GatewayResponder

  /// - Parameter answer: how the framework answers a request.
  init(_ responder: GatewayResponder, answer: @escaping HTTPChannelHandler.Responder) {
    self.responder = responder
    let stalled = TimeAmount.seconds(responder.limits.stalledSeconds)
    framework = HTTP1Channel(
      responder: { request, writer, channel in
        try await answer(request, writer, channel)
        // What was written is on its way through the event loop already, and this comes behind it.
        channel.eventLoop.execute {
          try? channel.pipeline.syncOperations.handler(type: RepeatingHandler.self).frameworkAnswered()
        }
      },
      configuration: HTTP1Channel.Configuration(additionalChannelHandlers: [StalledReaderHandler(limit: stalled)]))
  }

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
    channel.eventLoop.makeCompletedFuture {
      try channel.syncOptions?.setOption(.writeBufferWaterMark, value: Self.waterMark)
      try channel.pipeline.syncOperations.addHandler(RepeatingHandler(responder))
    }.flatMap { framework.setup(channel: channel, logger: logger) }
  }

  func handle(value: HTTP1Channel.Value, logger: Logger) async { await framework.handle(value: value, logger: logger) }
}
