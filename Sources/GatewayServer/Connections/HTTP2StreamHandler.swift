internal import NIOCore
internal import NIOHTTP2
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP2

/// Looks after one stream of HTTP/2, in front of the framework. The handler lives on its channel's event loop.
///
/// - A response that is complete while the client still sends its request ends the stream: what comes would be read for
///   nothing. The code says that the response stands (RFC 9113, 8.1).
/// - A client whose content comes too slowly or stops, or that takes nothing of a response, is let go as over HTTP/1.1: the stream
///   is reset, and the connection ends with it where there is no other request.
/// - That the server shuts down is the connection's business: its streams end as they would.
final class HTTP2StreamHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  /// Bytes of which each run is a sign when the client has taken it: those of a frame.
  private static let frameLength = 16 << 10

  private let limits: ServerLimits
  /// Whether the request is here as a whole.
  private var isRead = false
  /// Frames that the client has not taken.
  private var pending = 0
  private var lastRead = NIODeadline.now()
  private var lastTaken = NIODeadline.now()
  private var nextCheck: (at: NIODeadline, task: Scheduled<Void>)?
  private var content: ContentProgress?
  /// Of the stream's connection, from the head to the end.
  private var watch: ConnectionWatchHandler?

  init(_ limits: ServerLimits) { self.limits = limits }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    lastRead = .now()
    switch unwrapInboundIn(data) {
    case .head:
      content = ContentProgress(limits, since: lastRead)
      if watch == nil {
        // A stream lives on the event loop of its connection.
        watch = try? context.channel.parent?.pipeline.syncOperations.handler(type: ConnectionWatchHandler.self)
        watch?.requestBegan()
      }
    case .body(let bytes): content?.bytes += bytes.readableBytes
    case .end: isRead = true
    }
    check(context)
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head: context.write(data, promise: promise)
    case .body(var rest):
      while let frame = rest.readSlice(length: min(rest.readableBytes, Self.frameLength)), frame.readableBytes > 0 {
        let isLast = rest.readableBytes == 0
        let written = (isLast ? promise : nil) ?? context.eventLoop.makePromise()
        if pending == 0 { lastTaken = .now() }
        pending += 1
        check(context)
        written.futureResult.assumeIsolated().whenComplete { [self] _ in
          pending -= 1
          lastTaken = .now()
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
    nextCheck?.task.cancel()
    nextCheck = nil
    watch?.responded()
    watch = nil
  }

  /// When the client has kept the server waiting for too long, and how; `nil` while it does not: while a response is made, and
  /// the request is read, it is not for the client to give a sign.
  private var deadline: (at: NIODeadline, reason: OpenConnections.Reason)? {
    let taken = pending > 0 ? lastTaken + .seconds(limits.stalledSeconds) : nil
    let read = isRead ? nil : content.map { min($0.deadline, lastRead + .seconds(limits.idleSeconds)) }
    if let read, read <= taken ?? read { return (read, .slowContent) }
    return taken.map { (at: $0, reason: .stalled) }
  }

  /// Looks again at the deadline. One that has moved back by then is looked at once more.
  private func check(_ context: ChannelHandlerContext) {
    guard let deadline = deadline?.at else { return }
    if let nextCheck {
      guard deadline < nextCheck.at else { return }
      nextCheck.task.cancel()
    }
    let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
      nextCheck = nil
      guard let (time, reason) = self.deadline, time <= .now() else { return check(context) }
      let watch = watch
      end()
      context.close(promise: nil)
      watch?.dropped(reason)
    }
    nextCheck = (deadline, task)
  }
}
