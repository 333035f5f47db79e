internal import ExposureKeys
internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1

/// Requests of HTTP/1 as RFC 9112 wants them, between the framework's parser and its types. The handler lives on its
/// channel's event loop.
///
/// - A request of HTTP/1.1 names its host once, or has none here: who responds refuses it then (3.2).
/// - A target in absolute form says more than the field: the host is the one that it names (3.2.2).
/// - A connection of HTTP/1.0 ends with its response, unless the client asks for more (9.3).
/// - A client that waits to be told that its content is wanted is told so when it is read (RFC 9110, 10.1.1).
/// - The watch in front hears how far a request has come.
/// - What is no request, and one whose content comes too slowly, is answered here, where no response has begun; the connection
///   ends with it (15.5, and RFC 6585, 5).
final class RequestFramingHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private let watch: ConnectionWatchHandler
  private let clock: ServerClock
  private var context: ChannelHandlerContext?
  /// Whether the client holds its content back.
  private var isHoldingBack = false
  /// Whether the response to a request that is here has not ended.
  private var isOpen = false
  /// Whether a response has begun and not ended.
  private var isAnswering = false
  /// Whether the last response of this connection was written here.
  private var hasRefused = false
  /// Whether a response has said that it is the connection's last.
  private var isClosing = false

  init(_ watch: ConnectionWatchHandler, _ clock: ServerClock) {
    self.watch = watch
    self.clock = clock
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    watch.refusesSlowContent = { [unowned self] in refuse(.slowContent) }
  }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(var head):
      watch.requestBegan()
      isOpen = true
      Self.settleHost(of: &head)
      Self.settleEnd(of: &head)
      isHoldingBack =
        head.version.isHTTP11 && head.headers[canonicalForm: "expect"].contains { isSame($0.utf8, "100-continue") }
      return context.fireChannelRead(wrapInboundOut(.head(head)))
    case .body(let bytes):
      isHoldingBack = false
      watch.contentArrived(bytes.readableBytes)
    case .end:
      isHoldingBack = false
      watch.requestIsRead()
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    // What the framework says of a request that was refused here comes too late.
    guard !hasRefused else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    switch unwrapOutboundIn(data) {
    case .head(let head):
      isAnswering = head.status.code >= 200
      isClosing =
        isClosing || isAnswering && head.headers[canonicalForm: "connection"].contains { isSame($0.utf8, "close") }
    case .body: break
    case .end:
      (isOpen, isAnswering) = (false, false)
      watch.responded()
    }
    context.write(data, promise: promise)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The responder refuses a request that has begun. A client that ends its connection in the middle of a head has asked for
    // nothing, whether the request before is still being answered or not.
    if !isOpen, let error = error as? HTTPParserError, error != .invalidEOFState {
      refuse(error == .headerOverflow ? .largeHead : .noRequest)
    }
    context.fireErrorCaught(error)
  }

  /// Writes the last response of the connection.
  ///
  /// - Returns: whether it could be written: not in the middle of another one.
  @discardableResult
  private func refuse(_ problem: Problem) -> Bool {
    guard !isAnswering, !hasRefused, !isClosing, let context else { return false }
    let body = problem.document
    var head = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: problem.status.code))
    head.headers = [
      "Content-Type": Problem.mediaType, "Content-Length": "\(body.count)", "Cache-Control": problem.cache.header,
      "Connection": "close", "Date": HTTPDate.text(clock.now()),
    ]
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    hasRefused = true
    return true
  }

  /// The content of the request that is answered now is about to be read.
  func wantContent() {
    guard isHoldingBack, let context else { return }
    isHoldingBack = false
    let head = HTTPResponseHead(version: .http1_1, status: .continue)
    context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
  }

  /// A client of HTTP/1.0 that does not ask for more reads until the connection ends (RFC 9112, 9.3).
  static func settleEnd(of head: inout HTTPRequestHead) {
    guard !head.version.isHTTP11 else { return }
    let keepsAlive = head.headers[canonicalForm: "connection"].contains { isSame($0.utf8, "keep-alive") }
    if !keepsAlive { head.headers.replaceOrAdd(name: "connection", value: "close") }
  }

  /// Leaves one field `Host` that can be believed, or none. A client of HTTP/1.0 need not name any.
  static func settleHost(of head: inout HTTPRequestHead) {
    let fields = head.headers["host"]
    guard fields.count == 1 || (fields.isEmpty && !head.version.isHTTP11) else {
      return head.headers.remove(name: "host")
    }
    // The parser leaves the blanks behind a value, which are none of it.
    let blanks = (fields.first ?? "").reversed().prefix { $0 == " " || $0 == "\t" }.count
    var host = String((fields.first ?? "").dropLast(blanks))
    if let (authority, rest) = RequestTarget.absoluteForm(head.uri) {
      host = String(authority)
      head.uri = rest
    }
    guard RequestTarget.isAuthority(host.utf8) else { return head.headers.remove(name: "host") }
    head.headers.replaceOrAdd(name: "host", value: host)
  }
}

extension HTTPVersion {
  /// Later versions of 1 are read like it.
  fileprivate var isHTTP11: Bool { major == 1 && minor >= 1 }
}

extension Problem {
  /// What the framework's parser takes at most is more than ``ServerLimits/headerBytes``.
  fileprivate static let largeHead = Problem(
    .requestHeaderFieldsTooLarge, "header-too-large", "the head of the request is longer than is read"
  ).closingConnection()

  fileprivate static let noRequest = Problem(
    .badRequest, "malformed-request", "this is no request as RFC 9112 wants it"
  ).closingConnection()

  fileprivate static let slowContent = Problem(
    .requestTimeout, "content-too-slow", "the content came too slowly, or stopped; send it again"
  ).closingConnection()
}
