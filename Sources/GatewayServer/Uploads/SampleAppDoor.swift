internal import ExposureKeys
internal import HTTPTypes

/// What Apple's sample app posts: a JSON array of its keys, with the bearer token.
struct SampleAppDoor: UploadDoor {
  static let description = UploadDoorDescription(
    "sample-app", summary: "what Apple's sample app posts: a JSON array of its keys", address: "/apple/{series}/keys",
    isReadable: true
  ) { settings in SampleAppDoor(token: BearerToken(settings.token)) }

  let token: BearerToken

  /// Who has no token is not listened to.
  func admit(_ fields: HTTPFields) throws(UploadRefusal) {
    guard token.isIn(fields) else {
      throw .unauthorized(code: "unauthorized", reason: "an upload needs the bearer token")
    }
  }

  func read(_ body: [UInt8], _ fields: HTTPFields, now: Instant) throws(UploadRefusal) -> UploadContent {
    do {
      return .keys(try KeyUpload(sampleApp: body), certificate: nil)
    } catch {
      throw .malformed(reason: error.reason)
    }
  }

  func answer(to outcome: UploadOutcome) -> UploadAnswer {
    switch outcome {
    case .recorded(let recorded, _):
      UploadAnswer(
        .ok, json: Receipt(accepted: recorded.accepted, rejected: recorded.dropped.map(\.description)))
    case .nothing: UploadAnswer(.ok, json: Receipt(accepted: 0, rejected: []))
    case .refused(let refusal): UploadAnswer(problem(for: refusal).finalResponse)
    }
  }

  private func problem(for refusal: UploadRefusal) -> Problem {
    switch refusal {
    case .unauthorized(let code, let reason):
      Problem(.unauthorized, code, reason).with(.wwwAuthenticate, "Bearer").closingConnection()
    case .unread(let problem): problem
    case .malformed(let reason): Problem(.badRequest, "bad-upload", reason)
    case .busy(let reason): Problem(.serviceUnavailable, "busy", reason).with(.retryAfter, "1")
    case .notKept: .internalError
    }
  }

  private struct Receipt: Encodable {
    var accepted: Int
    /// One line a key: its place and what is wrong.
    var rejected: [String]
  }
}
