internal import BundleTrust
internal import Crypto
internal import ExposureKeys
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore

/// Where a region without a server of its own takes in the keys of its patients. It is closed unless configured.
///
/// - `POST /apple/{series}/keys` takes what Apple's sample app posts: a JSON array of its keys, with the bearer token.
/// - `POST /v1/publish` takes the request of Google's key server, with the bearer token or a verification certificate.
///
/// What comes in is put into a folder, one file an upload, and is a source like any other from there on.
struct UploadDoor: Sendable {
  enum Door: String, Sendable {
    case sampleApp = "sample-app"
    case publish
  }

  private let token: Secret
  private let verifier: CertificateVerifier?
  private let folder: UploadFolder
  private let limits: ServerLimits
  private let limiter: RateLimiter
  private let metrics: GatewayMetrics
  private let logger: Logger

  /// - Throws: ``ServerFault``.
  init(_ settings: UploadSettings, limits: ServerLimits, metrics: GatewayMetrics, logger: Logger) throws(ServerFault) {
    guard !settings.token.disclosed.isEmpty || settings.certificates != nil else {
      throw ServerFault(
        place: "uploads", reason: "neither a token nor a verification server is given: nobody could upload")
    }
    token = settings.token
    verifier = try settings.certificates.map { certificates throws(ServerFault) in
      try CertificateVerifier(certificates)
    }
    folder = try UploadFolder(path: settings.folder)
    self.limits = limits
    limiter = RateLimiter(requestsPerMinute: limits.uploadsPerMinute)
    self.metrics = metrics
    self.logger = logger
  }

  func door(at path: [String]) -> Door? {
    switch path.count {
    case 3 where path[0] == "apple" && path[2] == "keys" && PublicationReader.isSafe(path[1]): .sampleApp
    case 2 where path == ["v1", "publish"]: .publish
    default: nil
    }
  }

  /// - Throws: ``Problem`` where the request is not even looked into.
  func take(_ request: Request, at door: Door, from context: GatewayRequestContext, now: Instant) async throws
    -> FinalResponse
  {
    let client = RateLimitedClient(context.channel.remoteAddress)
    if let wait = limiter.take(for: client, at: monotonicSeconds()) {
      metrics.countRateLimited()
      throw Problem(.tooManyRequests, "too-many-requests", "too many uploads from this address")
        .with(.retryAfter, String(max(1, Int(wait.rounded(.up))))).closingConnection()
    }
    switch door {
    case .sampleApp:
      // Who has no token is not listened to.
      guard hasToken(request) else {
        metrics.recordUpload(door: door.rawValue, outcome: "unauthorized", accepted: 0, dropped: 0)
        throw Problem(.unauthorized, "unauthorized", "an upload needs the bearer token")
          .with(.wwwAuthenticate, "Bearer").closingConnection()
      }
      let body = try await body(of: request)
      return FinalResponse(response: try takeSampleApp(body, now: now))
    case .publish:
      do {
        let body = try await body(of: request)
        return FinalResponse(
          response: answer(
            publish(body, isTrusted: hasToken(request), isChaff: request.headers[.chaff] != nil, now: now)))
      } catch let problem as Problem {
        metrics.recordUpload(door: door.rawValue, outcome: problem.code, accepted: 0, dropped: 0)
        return FinalResponse(
          response: answer(PublishResponse(problem.status, "bad_request", problem.reason)),
          closesConnection: problem.closesConnection)
      }
    }
  }

  // MARK: The sample app

  private func takeSampleApp(_ body: [UInt8], now: Instant) throws -> Response {
    let upload: KeyUpload
    do {
      upload = try KeyUpload(sampleApp: body, now: now)
    } catch {
      metrics.recordUpload(door: Door.sampleApp.rawValue, outcome: "bad-request", accepted: 0, dropped: 0)
      throw Problem(.badRequest, "bad-upload", error.reason)
    }
    try keep(upload, door: .sampleApp)
    let receipt = SampleAppReceipt(accepted: upload.keys.count, rejected: upload.faults)
    return Response(
      status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: JSONDocument.bytes(receipt))))
  }

  private struct SampleAppReceipt: Encodable {
    var accepted: Int
    /// One line a key: its place and what is wrong.
    var rejected: [String]
  }

  // MARK: Google's publish request

  private func publish(_ body: [UInt8], isTrusted: Bool, isChaff: Bool, now: Instant) -> PublishResponse {
    // Chaff looks like an upload to who watches the line, and is none.
    if isChaff { return PublishResponse(.ok) }
    let request: PublishRequest
    do {
      request = try PublishRequest(body)
    } catch {
      return refused(PublishResponse(.badRequest, "bad_request", error.reason))
    }
    var certificate: VerificationCertificate?
    if !isTrusted {
      guard let verifier else {
        return refused(PublishResponse(.unauthorized, Self.invalidCertificate, "an upload needs the bearer token"))
      }
      do {
        certificate = try verifier.verify(request, now: now)
      } catch {
        return refused(PublishResponse(.unauthorized, error.code, error.reason))
      }
    }
    do {
      let upload = try KeyUpload(request, certificate, now: now)
      // Taking back what one has said needs proof of having said it, which this door does not keep.
      guard certificate?.reportType != .negative else { return PublishResponse(.ok) }
      try keep(upload, door: .publish)
      var response = PublishResponse(.ok)
      response.insertedExposures = upload.keys.count
      response.warnings = upload.warnings
      if !upload.faults.isEmpty {
        response.code = "partial_failure"
        response.error = upload.faults.joined(separator: "; ")
      }
      return response
    } catch let fault as UploadFault {
      return refused(PublishResponse(.badRequest, "bad_request", fault.reason))
    } catch {
      return PublishResponse(.internalServerError, "internal_error", "the upload could not be kept; try again later")
    }
  }

  static let invalidCertificate = "health_authority_verification_certificate_invalid"

  private func refused(_ response: PublishResponse) -> PublishResponse {
    metrics.recordUpload(door: Door.publish.rawValue, outcome: response.code, accepted: 0, dropped: 0)
    return response
  }

  private func answer(_ response: PublishResponse) -> Response {
    Response(
      status: response.status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: JSONDocument.bytes(response))))
  }

  // MARK: Both

  private func keep(_ upload: KeyUpload, door: Door) throws {
    do {
      try folder.keep(upload)
      metrics.recordUpload(
        door: door.rawValue, outcome: "accepted", accepted: upload.keys.count,
        dropped: upload.faults.count + upload.warnings.count)
    } catch {
      metrics.recordUpload(door: door.rawValue, outcome: "internal-error", accepted: 0, dropped: 0)
      logger.error("an upload could not be kept", metadata: ["reason": .string("\(error)")])
      throw error
    }
  }

  private func hasToken(_ request: Request) -> Bool {
    let parts = (request.headers[.authorization] ?? "").split(separator: " ", maxSplits: 1)
    guard !token.disclosed.isEmpty, parts.count == 2, parts[0].lowercased() == "bearer" else { return false }
    // Digests have one length, and comparing them tells nothing of where the tokens differ.
    let given = SHA256.hash(data: Array(parts[1].utf8))
    let wanted = SHA256.hash(data: Array(token.disclosed.utf8))
    return zip(given, wanted).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }

  private func body(of request: Request) async throws -> [UInt8] {
    let mediaType = request.headers[.contentType]?.lowercased() ?? ""
    guard mediaType == "application/json" || mediaType.hasPrefix("application/json;") else {
      throw Problem(.unsupportedMediaType, "unsupported-media-type", "allowed is application/json").closingConnection()
    }
    let tooLarge = Problem(
      .contentTooLarge, "body-too-large", "the body has more than \(limits.uploadBytes) bytes"
    ).closingConnection()
    if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limits.uploadBytes { throw tooLarge }
    do {
      return Array(try await request.body.collect(upTo: limits.uploadBytes).readableBytesView)
    } catch is NIOTooManyBytesError {
      throw tooLarge
    }
  }
}

extension HTTPField.Name {
  static let chaff = HTTPField.Name("X-Chaff")!
}
