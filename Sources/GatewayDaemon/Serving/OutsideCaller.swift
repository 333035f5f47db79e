internal import GatewayServer
internal import PeerTransport

/// The server's way to other servers, while it answers.
struct OutsideCaller: WebCaller {
  func call(_ call: WebCall) async throws -> WebAnswer {
    let answer = try await ShortCall(
      address: call.address, body: call.body, token: call.token, rootsPEM: call.rootsPEM,
      timeoutSeconds: call.timeoutSeconds,
      byteLimit: call.byteLimit
    ).answer()
    return WebAnswer(status: answer.status, body: answer.body)
  }
}
