/// What happens while a peer is asked, for those who show it. Addresses are without their query.
package enum TransportEvent: Hashable, Sendable {
  /// So many bytes of a document are there; `expected` is what the server announced.
  case received(byteCount: Int, expected: Int?, address: String)
  /// The request is sent again after `delay`: retry `number` of `limit`.
  case retrying(number: Int, limit: Int, delay: Duration, reason: String)
  /// The server says that what was asked for is elsewhere.
  case redirected(from: String, to: String)
}
