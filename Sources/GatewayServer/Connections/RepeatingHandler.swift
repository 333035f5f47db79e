internal import NIOCore

/// Answers what was answered already in this second, on the event loop and with bytes that are ready, and hands
/// everything else to the framework behind it. Closes a connection that is silent for too long.
///
/// It answers only between two requests: when every request that the framework was handed is answered. Requests are
/// counted by reads that hold just one head; behind anything else (a body, half a head, several requests in one read) the
/// connection is the framework's to its end. The handler lives on its channel's event loop.
final class RepeatingHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = NIOAny
  typealias OutboundOut = ByteBuffer

  private let responder: GatewayResponder
  private let idleLimit: TimeAmount
  private var client: String?
  /// Requests that the framework has and has not answered.
  private var owed = 0
  private var isFrameworks = false
  private var hasAnswered = false
  /// Whether the framework was given something in this turn of reads.
  private var hasHandedOver = false
  private var lastSign = NIODeadline.now()
  /// Bytes that the client had not taken at the last check.
  private var pending = Int.max
  private var idleCheck: Scheduled<Void>?

  init(_ responder: GatewayResponder) {
    self.responder = responder
    idleLimit = .seconds(responder.limits.idleSeconds)
  }

  // MARK: Requests

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    lastSign = .now()
    guard !isFrameworks, let head = RequestHead(unwrapInboundIn(data), limits: responder.limits) else {
      isFrameworks = true
      return handOver(data, context)
    }
    guard owed == 0, context.channel.isWritable, let question = head.question,
      let answer = responder.recentAnswer(to: question, for: client(context))
    else {
      owed += 1
      return handOver(data, context)
    }
    hasAnswered = true
    context.write(wrapOutboundOut(answer.head), promise: nil)
    context.writeAndFlush(wrapOutboundOut(answer.body), promise: nil)
  }

  private func handOver(_ data: NIOAny, _ context: ChannelHandlerContext) {
    hasHandedOver = true
    context.fireChannelRead(data)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if hasHandedOver { context.fireChannelReadComplete() }
    hasHandedOver = false
  }

  /// The framework has written an answer as a whole.
  func frameworkAnswered() { owed -= 1 }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    lastSign = .now()
    context.write(data, promise: promise)
  }

  private func client(_ context: ChannelHandlerContext) -> String {
    if let client { return client }
    let client = RateLimiter.client(context.remoteAddress)
    self.client = client
    return client
  }

  // MARK: The end

  /// Who hears that the client sends no more, or that the server shuts down, may close at once: what was answered here
  /// goes out first, since the framework does not know of it, and no more is answered here.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard hasAnswered else { return context.fireUserInboundEventTriggered(event) }
    isFrameworks = true
    let written = context.eventLoop.makePromise(of: Void.self)
    written.futureResult.assumeIsolated().whenComplete { _ in context.fireUserInboundEventTriggered(event) }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { checkIdle(in: idleLimit, context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    checkIdle(in: idleLimit, context)
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    idleCheck?.cancel()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { idleCheck?.cancel() }

  /// Silence counts between requests and within one, not while an answer is made, nor as long as each check finds that
  /// the client has taken more of one.
  private func checkIdle(in time: TimeAmount, _ context: ChannelHandlerContext) {
    idleCheck = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
      let rest = lastSign + idleLimit - .now()
      if rest > .zero {
        pending = .max
        checkIdle(in: rest, context)
      } else if (!isFrameworks && owed > 0) || takesSomething(context) {
        checkIdle(in: idleLimit, context)
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
