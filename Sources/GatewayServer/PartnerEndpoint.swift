package import ExposureKeys
package import HTTPTypes
package import Hummingbird

/// A protocol between gateways, served beside the layouts for apps at addresses of its own.
///
/// The server looks after what concerns every request: limits, connections, proxies, common fields, metrics and the log. What
/// lies behind the addresses is the protocol's alone, so a federation protocol is a folder of the target `Federation`, and the
/// server knows none of them by name.
package protocol PartnerEndpoint: Sendable {
  /// What metrics call its requests, a word of its own.
  var route: String { get }
  /// What answers requests to an address; `nil` where the address is not the protocol's.
  ///
  /// - Parameter segments: the path, split and decoded.
  func handler(at segments: [String]) -> Handler?

  /// - Parameters:
  ///   - reading: must be called before content is read, which the client may hold back until then.
  typealias Handler = (
    _ request: Request, _ caller: PartnerCaller, _ now: Instant, _ reading: () -> Void
  ) async throws -> FinalResponse
}

/// What a request shows of its sender, before the protocol has looked the sender up.
package struct PartnerCaller: Sendable {
  package var fields: HTTPFields
  /// Whether the connection is that of a proxy which the settings name.
  package var isThroughProxy: Bool
  /// The certificate that the client has shown, DER, where this program ends TLS; `nil` where it has shown none.
  package var certificate: [UInt8]?
  /// Of the connection, for the log.
  package var address: String?

  package init(fields: HTTPFields, isThroughProxy: Bool, certificate: [UInt8]? = nil, address: String? = nil) {
    self.fields = fields
    self.isThroughProxy = isThroughProxy
    self.certificate = certificate
    self.address = address
  }
}
