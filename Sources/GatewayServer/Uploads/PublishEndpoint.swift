internal import Crypto
internal import ExposureKeys
internal import HTTPTypes
internal import KeyFormats
internal import KeyIntake

/// The request of Google's key server, with a bearer token, a verification certificate, or a code that a service finds good.
struct PublishEndpoint: UploadEndpoint {
  static let description = UploadEndpointDescription(
    "publish", summary: "the request of Google's key server", address: "/v1/publish", takesChaff: true
  ) { PublishEndpoint(version: .v1, trust: $0) }

  static let descriptionOfFirst = UploadEndpointDescription(
    "publish-v1alpha1", summary: "the same as apps of the first version send it", address: "/v1alpha1/publish",
    alsoAt: ["/"], takesChaff: true
  ) { PublishEndpoint(version: .v1alpha1, trust: $0) }

  static let invalidCertificate = "health_authority_verification_certificate_invalid"

  let version: PublishRequest.Version
  let trust: UploadTrust
  private let extras: PublishRequest.Extras

  /// `nil` where the settings have nothing that lets such a request in.
  private init?(version: PublishRequest.Version, trust: UploadTrust) {
    // Apps of the first version bring no bearer token.
    let isOpenForAll = trust.certificates != nil || trust.codes != nil
    guard isOpenForAll || (version == .v1 && trust.hasTokens) else { return nil }
    self.version = version
    self.trust = trust
    extras = PublishRequest.Extras(
      ignored: Set(trust.settings.ignoredMembers.map { $0.lowercased() }), code: trust.codes?.member)
  }

  func read(_ body: [UInt8], _ fields: HTTPFields, now: Instant) async throws(UploadRefusal) -> UploadContent {
    let request = try wellFormed { () throws(UploadFault) in try PublishRequest(body, version, extras) }
    let audience = try audience(of: request)
    let (certificate, digest) = try await voucher(for: request, fields, now: now)
    var upload = try wellFormed { () throws(UploadFault) in try KeyUpload(request, certificate, now: now) }
    upload.audience = audience
    if let certificate, certificate.reportType != nil {
      upload.proof = trust.revisions?.proof(in: request.revisionToken) ?? .notIssued
      // Without tokens nobody can show that he has said before what he takes back.
      if certificate.reportType == .negative, trust.revisions == nil { return .nothing }
    }
    return .keys(upload, certificate: digest)
  }

  private func wellFormed<Value>(_ read: () throws(UploadFault) -> Value) throws(UploadRefusal) -> Value {
    do { return try read() } catch { throw .malformed(reason: error.reason) }
  }

  private func audience(of request: PublishRequest) throws(UploadRefusal) -> UploadAudience {
    guard !request.regions.isEmpty else { return request.traveler ? .regionsOfDoor : .homeRegion }
    if let region = request.regions.first(where: { $0 != trust.scope.home && !trust.scope.regions.contains($0) }) {
      throw .unauthorized(
        code: "region-not-allowed", reason: "verifying allowed regions: the door takes no keys for \(region)")
    }
    return .regions(request.regions)
  }

  // MARK: Who may upload

  /// What lets the request in, and the digest that is kept of it.
  private func voucher(
    for request: PublishRequest, _ fields: HTTPFields, now: Instant
  ) async throws(UploadRefusal) -> (VerificationCertificate?, digest: String?) {
    let holdsToken = trust.holdsToken(fields)
    if trust.hasTokens, !holdsToken, fields[.authorization] != nil {
      throw .unauthorized(code: "unauthorized", reason: "the token is not right; leave it out, or state the right one")
    }
    if let certificates = trust.certificates, !holdsToken || !request.verificationPayload.isEmpty,
      trust.codes == nil || !request.hmacKey.isEmpty || request.code == nil
    {
      let certificate = try await verified(request, by: certificates, now: now)
      return (certificate, Hexadecimal.encode(SHA256.hash(data: Array(request.verificationPayload.utf8))))
    }
    if holdsToken { return (nil, nil) }
    guard let codes = trust.codes else {
      throw .unauthorized(code: Self.invalidCertificate, reason: "an upload needs the bearer token")
    }
    guard let code = request.code, !code.isEmpty else {
      throw .unauthorized(code: Self.invalidCertificate, reason: "an upload needs a code")
    }
    do {
      return (try await codes.verify(code, of: request.healthAuthorityID), nil)
    } catch {
      switch error {
      case .notGood: throw .unauthorized(code: Self.invalidCertificate, reason: "the code is not good")
      case .notAnswered: throw .busy(reason: "nobody can say whether the code is good; try again later")
      }
    }
  }

  private func verified(
    _ request: PublishRequest, by certificates: CertificateVerifier, now: Instant
  ) async throws(UploadRefusal) -> VerificationCertificate {
    do {
      return try await certificates.verify(request, now: now)
    } catch {
      throw .unauthorized(code: error.code, reason: error.reason)
    }
  }

  // MARK: Answers

  func answer(to outcome: UploadOutcome, now: Instant) -> UploadAnswer {
    switch outcome {
    case .recorded(let recorded, let upload): answer(response(to: recorded, of: upload, now: now))
    case .nothing, .chaff: answer(PublishResponse(.ok))
    case .refused(.unauthorized(let code, let reason)): answer(PublishResponse(.unauthorized, code, reason))
    case .refused(.unread(let problem)):
      answer(
        PublishResponse(problem.status, "bad_request", problem.reason), closesConnection: problem.closesConnection)
    case .refused(.malformed(let reason)), .refused(.noKeys(let reason)):
      answer(PublishResponse(.badRequest, "bad_request", reason), outcome: "bad_request")
    case .refused(.revision(let fault)): answer(PublishResponse(.badRequest, fault.rawValue, fault.reason))
    case .refused(let refusal): answer(later(refusal), outcome: refusal.outcome, retryAfter: refusal.retryAfter)
    }
  }

  /// Whatever is not the sender's.
  private func later(_ refusal: UploadRefusal) -> PublishResponse {
    switch refusal {
    case .busy(let reason): PublishResponse(.serviceUnavailable, "internal_error", reason)
    case .away: PublishResponse(.serviceUnavailable, "internal_error", UploadRefusal.awayReason)
    default:
      PublishResponse(.internalServerError, "internal_error", "the upload could not be kept; try again later")
    }
  }

  private func answer(
    _ response: PublishResponse, closesConnection: Bool = false, outcome: String? = nil, retryAfter: String? = nil
  ) -> UploadAnswer {
    var random = SystemRandomNumberGenerator()
    return UploadAnswer(
      response.status, bytes: response.spelled(version).padded(using: &random),
      fields: retryAfter.map { [HTTPField(name: .retryAfter, value: $0)] } ?? [], closesConnection: closesConnection,
      outcome: outcome)
  }

  private func response(to recorded: RecordedUpload, of upload: KeyUpload, now: Instant) -> PublishResponse {
    var response = PublishResponse(.ok)
    response.insertedExposures = recorded.inserted
    if let proof = upload.proof {
      var earlier: [RevisableKey] = []
      if case .keys(let keys) = proof { earlier = keys }
      response.revisionToken = trust.revisions?.token(of: recorded.revisable, carrying: earlier, now: now)
    }
    response.warnings = recorded.dropped.filter { upload.warnings[$0.position] != nil }.map(\.description)
    let faults = recorded.dropped.filter { upload.warnings[$0.position] == nil }
    if !faults.isEmpty {
      response.code = "partial_failure"
      response.error = faults.map(\.description).joined(separator: "; ")
    }
    return response
  }
}
