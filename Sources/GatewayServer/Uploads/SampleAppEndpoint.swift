internal import ExposureKeys
internal import HTTPTypes
internal import KeyIntake

/// What Apple's sample app posts: a JSON array of its keys, with the bearer token.
struct SampleAppEndpoint: UploadEndpoint {
  static let description = UploadEndpointDescription(
    "sample-app", summary: "what Apple's sample app posts: a JSON array of its keys", address: "/apple/{series}/keys",
    isReadable: true
  ) { trust in trust.hasTokens ? SampleAppEndpoint(trust: trust) : nil }

  let trust: UploadTrust

  /// Who has no token is not listened to.
  func admit(_ fields: HTTPFields) throws(UploadRefusal) {
    guard trust.holdsToken(fields) else {
      throw .unauthorized(code: "unauthorized", reason: "an upload needs the bearer token")
    }
  }

  func read(_ body: [UInt8], _ fields: HTTPFields, now: Instant) async throws(UploadRefusal) -> UploadContent {
    // The sample's relatives post an object, too; a table of keys is no app's.
    guard let first = body.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }),
      first == UInt8(ascii: "[") || first == UInt8(ascii: "{")
    else { throw .malformed(reason: "the body is no JSON array of keys") }
    do {
      return .keys(try KeyUpload(sampleApp: body), certificate: nil)
    } catch {
      throw .malformed(reason: error.reason)
    }
  }

  func answer(to outcome: UploadOutcome, now: Instant) -> UploadAnswer {
    switch outcome {
    case .recorded(let recorded, _):
      UploadAnswer(
        .ok, json: Receipt(accepted: recorded.accepted, rejected: recorded.dropped.map(\.description)))
    case .nothing, .chaff: UploadAnswer(.ok, json: Receipt(accepted: 0, rejected: []))
    case .refused(let refusal): UploadAnswer(problem(for: refusal).finalResponse)
    }
  }

  private func problem(for refusal: UploadRefusal) -> Problem {
    switch refusal {
    case .unauthorized(let code, let reason):
      Problem(.unauthorized, code, reason).with(.wwwAuthenticate, "Bearer").closingConnection()
    case .unread(let problem): problem
    case .malformed(let reason), .noKeys(let reason): Problem(.badRequest, "bad-upload", reason)
    case .revision(let fault): Problem(.badRequest, fault.rawValue, fault.reason)
    case .busy(let reason): later("busy", reason, refusal)
    case .away: later("store-away", UploadRefusal.awayReason, refusal)
    case .notKept: .internalError
    }
  }

  private func later(_ code: String, _ reason: String, _ refusal: UploadRefusal) -> Problem {
    let problem = Problem(.serviceUnavailable, code, reason)
    return refusal.retryAfter.map { problem.with(.retryAfter, $0) } ?? problem
  }

  private struct Receipt: Encodable {
    var accepted: Int
    /// One line a key: its place and what is wrong.
    var rejected: [String]
  }
}
