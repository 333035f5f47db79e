internal import KeyPublishing
internal import PeerTransport

/// The way to the witnesses of a log.
package struct WitnessPath: WitnessCaller {
  package init() {}

  package func post(
    _ body: [UInt8], to address: String, seconds: Int64, limit: Int
  ) async throws -> (status: Int, body: [UInt8]) {
    try await ShortCall(
      address: address, body: body, token: nil, timeoutSeconds: seconds, byteLimit: limit, mediaType: "text/plain"
    ).answer()
  }
}
