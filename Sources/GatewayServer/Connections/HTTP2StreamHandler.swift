internal import NIOCore
internal import NIOHTTP2
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP2

/// Looks after one stream of HTTP/2, in front of the framework. The handler lives on its channel's event loop.
///
/// - A response that is complete while the client still sends its request ends the stream: what comes would be read for
///   nothing. The code says that the response stands (RFC 9113, 8.1).
/// - A client that ends no request, or takes nothing of a response, is let go after a while.
/// - That the server shuts down is the connection's business: its streams end as they would.
final class HTTP2StreamHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  /// Bytes of which each run is a sign when the client has taken it: those of a frame.
  private static let frameLength = 16 << 10

  private let limits: ServerLimits
  private let idleLimit: TimeAmount
  private let stalledLimit: TimeAmount
  /// Whether the request is here as a whole.
  private var isRead = false
  /// Frames that the client has not taken.
  private var pending = 0
  private var lastSign = NIODeadline.now()
  private var nextCheck: Scheduled<Void>?
  private var content: ContentProgress?
  /// Of the stream's connection, from the head to the end.
  private var watch: ConnectionWatchHandler?

  init(_ limits: ServerLimits) {
    self.limits = limits
    idleLimit = .seconds(limits.idleSeconds)
    stalledLimit = .seconds(limits.stalledSeconds)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    lastSign = .now()
    if nextCheck == nil { check(in: min(idleLimit, stalledLimit), context) }
    switch unwrapInboundIn(data) {
    case .head:
      content = ContentProgress(limits, since: lastSign)
      if watch == nil {
        // A stream lives on the event loop of its connection.
        watch = try? context.channel.parent?.pipeline.syncOperations.handler(type: ConnectionWatchHandler.self)
        watch?.requestBegan()
      }
    case .body(let bytes): content?.bytes += bytes.readableBytes
    case .end: isRead = true
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head: context.write(data, promise: promise)
    case .body(var rest):
      while let frame = rest.readSlice(length: min(rest.readableBytes, Self.frameLength)), frame.readableBytes > 0 {
        let isLast = rest.readableBytes == 0
        let written = (isLast ? promise : nil) ?? context.eventLoop.makePromise()
        if pending == 0 { lastSign = .now() }
        pending += 1
        written.futureResult.assumeIsolated().whenComplete { [self] _ in
          pending -= 1
          lastSign = .now()
        }
        context.write(wrapOutboundOut(.body(frame)), promise: written)
        if isLast { return }
      }
      promise?.succeed()
    case .end:
      guard !isRead else { return context.write(data, promise: promise) }
      let written = promise ?? context.eventLoop.makePromise()
      written.futureResult.assumeIsolated().whenSuccess {
        context.triggerUserOutboundEvent(NIOHTTP2FramePayloadToHTTPEvent.reset(code: .noError), promise: nil)
      }
      context.write(data, promise: written)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if !(event is ChannelShouldQuiesceEvent) { context.fireUserInboundEventTriggered(event) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { end() }

  private func end() {
    nextCheck?.cancel()
    watch?.responded()
    watch = nil
  }

  /// While a response is made, and the request is read, it is not for the client to give a sign.
  private func check(in time: TimeAmount, _ context: ChannelHandlerContext) {
    nextCheck = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
      var deadline = lastSign + (pending > 0 ? stalledLimit : idleLimit)
      if let content, !isRead { deadline = min(deadline, content.deadline) }
      let rest = deadline - .now()
      if rest > .zero {
        check(in: min(rest, idleLimit, stalledLimit), context)
      } else if pending > 0 || !isRead {
        context.close(promise: nil)
      } else {
        check(in: min(idleLimit, stalledLimit), context)
      }
    }
  }
}
