internal import HTTPTypes
package import Hummingbird

/// A response, and whether its connection goes on behind it.
package struct FinalResponse: Sendable {
  package var response: Response
  /// Whether what else the client sends is not read: a connection of HTTP/1.1 is closed behind this response. A stream of
  /// HTTP/2 ends with its response anyway, see ``HTTP2StreamHandler``.
  package var closesConnection = false

  package init(response: Response, closesConnection: Bool = false) {
    self.response = response
    self.closesConnection = closesConnection
  }

  /// With the field that tells a client of HTTP/1.1 (RFC 9112, 9.6). HTTP/2 has none.
  var http1Response: Response {
    var response = response
    if closesConnection { response.headers[.connection] = "close" }
    return response
  }
}
