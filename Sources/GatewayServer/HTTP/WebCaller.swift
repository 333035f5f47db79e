package import BundleTrust

/// A call to another server while a request is answered. The server knows no way out: who embeds it brings one.
package struct WebCall: Hashable, Sendable {
  package var address: String
  /// JSON to post; `nil` gets.
  package var body: [UInt8]?
  /// The bearer token to show.
  package var token: Secret?
  /// The certificates to trust, PEM; `nil` is the system's.
  package var rootsPEM: String?
  /// Seconds until the answer must be whole.
  package var timeoutSeconds: Int64
  /// The answer may be this large.
  package var byteLimit: Int
}

package struct WebAnswer: Hashable, Sendable {
  package var status: Int
  package var body: [UInt8]

  package init(status: Int, body: [UInt8]) {
    self.status = status
    self.body = body
  }
}

package protocol WebCaller: Sendable {
  /// - Throws: what kept it from being answered; no secret is in it.
  func call(_ call: WebCall) async throws -> WebAnswer
}
