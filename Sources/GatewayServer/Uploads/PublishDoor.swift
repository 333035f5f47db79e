internal import Crypto
internal import ExposureKeys
internal import HTTPTypes

/// The request of Google's key server, with the bearer token or a verification certificate.
struct PublishDoor: UploadDoor {
  static let description = UploadDoorDescription(
    "publish", summary: "the request of Google's key server", address: "/v1/publish", takesChaff: true
  ) { settings throws(ServerFault) in
    PublishDoor(
      token: BearerToken(settings.token),
      verifier: try settings.certificates.map { certificates throws(ServerFault) in
        try CertificateVerifier(certificates)
      })
  }

  static let invalidCertificate = "health_authority_verification_certificate_invalid"

  let token: BearerToken
  /// `nil` believes no certificate.
  let verifier: CertificateVerifier?

  func read(_ body: [UInt8], _ fields: HTTPFields, now: Instant) throws(UploadRefusal) -> UploadContent {
    let request = try wellFormed { () throws(UploadFault) in try PublishRequest(body) }
    let certificate = token.isIn(fields) ? nil : try verified(request, now: now)
    let upload = try wellFormed { () throws(UploadFault) in try KeyUpload(request, certificate, now: now) }
    // Taking back what one has said needs proof of having said it, which this door does not keep.
    guard certificate?.reportType != .negative else { return .nothing }
    let digest = certificate.map { _ in hexadecimal(SHA256.hash(data: Array(request.verificationPayload.utf8))) }
    return .keys(upload, certificate: digest)
  }

  private func wellFormed<Value>(_ read: () throws(UploadFault) -> Value) throws(UploadRefusal) -> Value {
    do { return try read() } catch { throw .malformed(reason: error.reason) }
  }

  private func verified(_ request: PublishRequest, now: Instant) throws(UploadRefusal) -> VerificationCertificate {
    guard let verifier else {
      throw .unauthorized(code: Self.invalidCertificate, reason: "an upload needs the bearer token")
    }
    do {
      return try verifier.verify(request, now: now)
    } catch {
      throw .unauthorized(code: error.code, reason: error.reason)
    }
  }

  func answer(to outcome: UploadOutcome) -> UploadAnswer {
    switch outcome {
    case .recorded(let recorded, let upload): answer(PublishResponse(recorded, of: upload))
    case .nothing: answer(PublishResponse(.ok))
    case .refused(.unauthorized(let code, let reason)): answer(PublishResponse(.unauthorized, code, reason))
    case .refused(.unread(let problem)):
      UploadAnswer(
        problem.status, json: PublishResponse(problem.status, "bad_request", problem.reason),
        closesConnection: problem.closesConnection)
    case .refused(.malformed(let reason)):
      answer(PublishResponse(.badRequest, "bad_request", reason), outcome: "bad_request")
    case .refused(.busy(let reason)): answer(PublishResponse(.serviceUnavailable, "internal_error", reason))
    case .refused(.notKept):
      answer(
        PublishResponse(
          .internalServerError, "internal_error", "the upload could not be kept; try again later"))
    }
  }

  private func answer(_ response: PublishResponse, outcome: String? = nil) -> UploadAnswer {
    UploadAnswer(response.status, json: response, outcome: outcome)
  }
}

extension PublishResponse {
  fileprivate init(_ recorded: RecordedUpload, of upload: KeyUpload) {
    self.init(.ok)
    insertedExposures = recorded.accepted
    warnings = recorded.dropped.filter { upload.warnings[$0.position] != nil }.map(\.description)
    let faults = recorded.dropped.filter { upload.warnings[$0.position] == nil }
    if !faults.isEmpty {
      code = "partial_failure"
      error = faults.map(\.description).joined(separator: "; ")
    }
  }
}
