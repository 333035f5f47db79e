internal import NIOCore

/// Closes a connection whose client keeps the server waiting, whatever is spoken on it: it stands in front of everything,
/// and a handshake that is never ended is waiting, too. The handler lives on its channel's event loop.
///
/// - The first head must be whole within ``ServerLimits/headSeconds`` of the connection, and every other one of its first byte.
/// - Content must come as fast as ``ServerLimits/contentBytesPerSecond``, counted from that time on, and never stop for long.
/// - Between two requests there may be silence for ``ServerLimits/idleSeconds``. On a connection of HTTP/2, whose frames may
///   be no request, only requests end it.
/// - While a response is made, it is not for the client to give a sign.
final class ConnectionWatchHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Whether nobody behind this one hears yet that the server shuts down; there is nothing then that could be ended first.
  var isNegotiating = false
  /// Answers a request whose content comes too slowly, where that can be done.
  ///
  /// - Returns: whether an answer was written.
  var refusesSlowContent: (() -> Bool)?
  /// What the table of connections knows of this one.
  private(set) var connection: OpenConnection?

  private let limits: ServerLimits
  private let connections: OpenConnections
  private var context: ChannelHandlerContext?
  /// Whether the table has no place for this one.
  private var isRefused = false

  private var isHTTP2 = false
  /// Whether the client of HTTP/2 was told that the connection ends.
  private var isEnding = false
  /// Requests whose head is whole, and whose response is not.
  private var requests = 0
  /// The content that is being read.
  private var content: ContentProgress?
  /// Whether a part of a head is here; of a connection that has just begun it is waited for like the rest of one.
  private var isInHead = true
  /// Since when there is no request.
  private var waitsSince = NIODeadline.now()
  private var lastSign = NIODeadline.now()
  /// Bytes that the client had not taken at the last check.
  private var pending = Int.max
  private var nextCheck: (at: NIODeadline, task: Scheduled<Void>)?

  init(_ limits: ServerLimits, _ connections: OpenConnections) {
    self.limits = limits
    self.connections = connections
  }

  /// Takes a place in the table; where there is none, the connection is closed as soon as it is open.
  ///
  /// - Parameter client: `nil` where the connection carries requests of many.
  func enter(_ channel: any Channel, client: RateLimitedClient?) {
    let watch = NIOLoopBound(self, eventLoop: channel.eventLoop)
    let loop = channel.eventLoop
    let connection = OpenConnection(client: client, waitingSince: waitsSince.uptimeNanoseconds) {
      loop.execute { watch.value.context?.close(promise: nil) }
    } dropIfIdle: {
      loop.execute { watch.value.dropIfIdle() }
    } tellLeaving: {
      loop.execute { watch.value.tellLeaving() }
    }
    self.connection = connection
    guard connections.enter(connection) else {
      isRefused = true
      return
    }
    channel.closeFuture.whenComplete { [connections] _ in connections.leave(connection) }
  }

  /// HTTP/2 has a frame for it (GOAWAY), behind which streams that have begun are answered. HTTP/1.1 says it in a response.
  private func tellLeaving() {
    if isHTTP2 { context?.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
  }

  /// A client that has its response, and sends nothing for a second, is not waited for: a sleeping phone answers no farewell.
  private func dropIfIdle() {
    guard let context, requests == 0, content == nil, !isInHead, NIODeadline.now() - waitsSince > .seconds(1) else {
      return
    }
    let pending = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    if pending == 0 { context.close(promise: nil) }
  }

  // MARK: What those behind say

  /// The connection speaks HTTP/2 from here on.
  func speaksHTTP2() {
    isHTTP2 = true
    isInHead = false
    wait(since: .now())
  }

  /// The head of a request is whole.
  func requestBegan() {
    requests += 1
    isInHead = false
    if !isHTTP2 { content = ContentProgress(limits, since: .now()) }
    connection?.isBusy()
  }

  func contentArrived(_ count: Int) { content?.bytes += count }

  func requestIsRead() {
    content = nil
    if requests == 0 { wait(since: .now()) }
  }

  /// The response to a request is written as a whole.
  func responded() {
    // What is no request has a response, too.
    requests = max(0, requests - 1)
    if requests == 0, content == nil { wait(since: .now()) }
  }

  /// A stream of HTTP/2 was reset whose client kept the server waiting.
  func dropped(_ reason: OpenConnections.Reason) {
    connections.countDropped(reason)
    if let context, requests == 0 { sayGoodbye(context) }
  }

  private func wait(since now: NIODeadline) {
    waitsSince = now
    connection?.waits(since: now.uptimeNanoseconds)
  }

  // MARK: Bytes

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    lastSign = .now()
    if requests == 0, content == nil, !isInHead, !isHTTP2 {
      isInHead = true
      wait(since: lastSign)
    }
    context.fireChannelRead(data)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    guard !isEnding, let deadline, let nextCheck, deadline < nextCheck.at else { return }
    check(at: deadline, context)
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
    self.context = context
    if context.channel.isActive { begin(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    begin(context)
    context.fireChannelActive()
  }

  private func begin(_ context: ChannelHandlerContext) {
    guard !isRefused else { return context.close(promise: nil) }
    check(at: .now() + .seconds(min(limits.headSeconds, limits.idleSeconds)), context)
  }

  func channelInactive(context: ChannelHandlerContext) {
    nextCheck?.task.cancel()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    nextCheck?.task.cancel()
    self.context = nil
  }

  // MARK: Checking

  /// When the client has kept the server waiting for too long; `nil` while it does not.
  private var deadline: NIODeadline? {
    if let content { return min(content.deadline, lastSign + .seconds(limits.idleSeconds)) }
    guard requests == 0 else { return nil }
    return waitsSince + .seconds(isInHead ? limits.headSeconds : limits.idleSeconds)
  }

  private func check(at time: NIODeadline, _ context: ChannelHandlerContext) {
    nextCheck?.task.cancel()
    let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: time) { [self] in
      let now = NIODeadline.now()
      let later = now + .seconds(limits.idleSeconds)
      guard let deadline else { return check(at: later, context) }
      if deadline > now {
        pending = .max
        check(at: min(deadline, later), context)
      } else if content == nil, !isInHead, takesSomething(context) {
        check(at: later, context)
      } else {
        connections.countDropped(content != nil ? .slowContent : isInHead ? .slowHead : .idle)
        if isHTTP2 { return sayGoodbye(context) }
        guard content != nil, refusesSlowContent?() == true else { return context.close(promise: nil) }
        // A connection that is closed while its client sends takes back what was written before.
        nextCheck = nil
        _ = context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { context.close(promise: nil) }
      }
    }
    nextCheck = (time, task)
  }

  /// Tells the client of HTTP/2 that the connection ends, and ends it a second later, or after the requests that have come by then.
  private func sayGoodbye(_ context: ChannelHandlerContext) {
    guard !isEnding else { return }
    isEnding = true
    tellLeaving()
    closeWhenUnused(context)
  }

  private func closeWhenUnused(_ context: ChannelHandlerContext) {
    nextCheck?.task.cancel()
    let time = NIODeadline.now() + .seconds(1)
    let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: time) { [self] in
      if requests == 0 { context.close(promise: nil) } else { closeWhenUnused(context) }
    }
    nextCheck = (time, task)
  }

  /// Whether the client takes more of a response at each check.
  private func takesSomething(_ context: ChannelHandlerContext) -> Bool {
    let before = pending
    pending = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    return 1..<before ~= pending
  }
}

/// How fast the content of a request comes.
struct ContentProgress {
  var bytes = 0
  private let since: NIODeadline
  private let bytesPerSecond: Int

  init(_ limits: ServerLimits, since now: NIODeadline) {
    since = now + .seconds(limits.headSeconds)
    bytesPerSecond = max(1, limits.contentBytesPerSecond)
  }

  /// When it has come too slowly, if nothing else comes.
  var deadline: NIODeadline { since + .milliseconds(Int64(bytes) * 1000 / Int64(bytesPerSecond)) }
}
