internal import NIOCore
internal import NIOHTTP2

/// Looks after a connection of HTTP/2, between its frames and the framework, which closes the connection for any error. The
/// handler lives on its channel's event loop.
///
/// - A malformed request is an error of its stream (RFC 9113, 8.1.1), which has been reset by then: the other streams stay.
/// - Heads that are larger than ``ServerLimits/headerBytes`` are read as soon as the client has acknowledged the settings, so
///   that they are answered with 431. Before, 16 KiB are read, and a larger head ends the connection: its fields cannot be
///   skipped, since later ones refer to them.
final class HTTP2ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTP2Frame
  typealias InboundOut = HTTP2Frame
  typealias OutboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  /// As much as the parser of HTTP/1 reads.
  private static let headerListBytes = 80 << 10

  func handlerAdded(context: ChannelHandlerContext) {
    let setting = HTTP2Setting(parameter: .maxHeaderListSize, value: Self.headerListBytes)
    context.writeAndFlush(
      wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: .settings(.settings([setting])))), promise: nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if !Self.concernsStream(error) { context.fireErrorCaught(error) }
  }

  /// The library does not say which stream an error belongs to. These are its errors about one message.
  private static func concernsStream(_ error: any Error) -> Bool {
    switch error {
    case is NIOHTTP2Errors.MissingPseudoHeader, is NIOHTTP2Errors.DuplicatePseudoHeader,
      is NIOHTTP2Errors.PseudoHeaderAfterRegularHeader, is NIOHTTP2Errors.UnknownPseudoHeader,
      is NIOHTTP2Errors.UnsupportedPseudoHeader, is NIOHTTP2Errors.InvalidPseudoHeaders,
      is NIOHTTP2Errors.InvalidPseudoHeaderValue, is NIOHTTP2Errors.EmptyPathHeader,
      is NIOHTTP2Errors.InvalidHTTP2HeaderFieldName, is NIOHTTP2Errors.InvalidHTTP2HeaderFieldValue,
      is NIOHTTP2Errors.ForbiddenHeaderField, is NIOHTTP2Errors.TrailersWithoutEndStream,
      is NIOHTTP2Errors.ContentLengthViolated, is NIOHTTP2Errors.ContentLengthHeadersMismatch,
      is NIOHTTP2Errors.ContentLengthHeaderNegative, is NIOHTTP2Errors.ContentLengthHeaderMalformedValue:
      true
    default: false
    }
  }
}
