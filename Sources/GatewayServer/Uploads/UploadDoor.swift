internal import BundleTrust
internal import Crypto
internal import ExposureKeys
internal import HTTPTypes
internal import Hummingbird
internal import KeyFormats
internal import Logging
internal import NIOCore

/// Where a region without a server of its own takes in the keys of its patients. It is closed unless configured.
///
/// - `POST /apple/{series}/keys` takes what Apple's sample app posts: a JSON array of its keys, with the bearer token.
/// - `POST /v1/publish` takes the request of Google's key server, with the bearer token or a verification certificate.
///
/// A door reads the request and decides whether to let it in; a ``UploadRecorder`` does the rest before it is answered.
struct UploadDoor: Sendable {
  enum Door: String, Sendable {
    case sampleApp = "sample-app"
    case publish
  }

  private let token: Secret
  private let verifier: CertificateVerifier?
  private let recorder: any UploadRecorder
  private let limits: ServerLimits
  private let limiter: RateLimiter
  private let metrics: GatewayMetrics
  private let logger: Logger

  /// - Throws: ``ServerFault``.
  init(
    _ settings: UploadSettings, recorder: any UploadRecorder, limits: ServerLimits, metrics: GatewayMetrics,
    logger: Logger
  ) throws(ServerFault) {
    guard !settings.token.disclosed.isEmpty || settings.certificates != nil else {
      throw ServerFault(
        place: "uploads", reason: "neither a token nor a verification server is given: nobody could upload")
    }
    token = settings.token
    verifier = try settings.certificates.map { certificates throws(ServerFault) in
      try CertificateVerifier(certificates)
    }
    self.recorder = recorder
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
      return FinalResponse(response: try await takeSampleApp(body))
    case .publish:
      do {
        let body = try await body(of: request)
        return FinalResponse(
          response: answer(
            await publish(body, isTrusted: hasToken(request), isChaff: request.headers[.chaff] != nil, now: now)))
      } catch let problem as Problem {
        metrics.recordUpload(door: door.rawValue, outcome: problem.code, accepted: 0, dropped: 0)
        return FinalResponse(
          response: answer(PublishResponse(problem.status, "bad_request", problem.reason)),
          closesConnection: problem.closesConnection)
      }
    }
  }

  // MARK: The sample app

  private func takeSampleApp(_ body: [UInt8]) async throws -> Response {
    let recorded: RecordedUpload
    do {
      let upload = try KeyUpload(sampleApp: body)
      recorded = try await record(upload, byteCount: body.count, door: .sampleApp)
    } catch let fault as UploadFault {
      guard !fault.isTemporary else { throw Problem(.serviceUnavailable, "busy", fault.reason).with(.retryAfter, "1") }
      metrics.recordUpload(door: Door.sampleApp.rawValue, outcome: "bad-request", accepted: 0, dropped: 0)
      throw Problem(.badRequest, "bad-upload", fault.reason)
    }
    let receipt = SampleAppReceipt(accepted: recorded.accepted, rejected: recorded.dropped.map(\.description))
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

  private func publish(_ body: [UInt8], isTrusted: Bool, isChaff: Bool, now: Instant) async -> PublishResponse {
    // Chaff looks like an upload to who watches the line, and is none.
    if isChaff {
      do {
        try await recorder.pass()
        return PublishResponse(.ok)
      } catch {
        return notKept(error)
      }
    }
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
      let digest = certificate.map { _ in hexadecimal(SHA256.hash(data: Array(request.verificationPayload.utf8))) }
      let recorded = try await record(upload, certificate: digest, byteCount: body.count, door: .publish)
      var response = PublishResponse(.ok)
      response.insertedExposures = recorded.accepted
      response.warnings = recorded.dropped.filter { upload.warnings[$0.position] != nil }.map(\.description)
      let faults = recorded.dropped.filter { upload.warnings[$0.position] == nil }
      if !faults.isEmpty {
        response.code = "partial_failure"
        response.error = faults.map(\.description).joined(separator: "; ")
      }
      return response
    } catch let fault as UploadFault where !fault.isTemporary {
      return refused(PublishResponse(.badRequest, "bad_request", fault.reason))
    } catch {
      return notKept(error)
    }
  }

  private func notKept(_ error: any Error) -> PublishResponse {
    if let fault = error as? UploadFault {
      return PublishResponse(.serviceUnavailable, "internal_error", fault.reason)
    }
    return PublishResponse(.internalServerError, "internal_error", "the upload could not be kept; try again later")
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

  /// Hands an upload over, and counts what becomes of it.
  private func record(
    _ upload: KeyUpload, certificate: String? = nil, byteCount: Int, door: Door
  ) async throws -> RecordedUpload {
    // Keys that have no place beside their certificate are dropped without a fault, and there may be no others.
    if upload.keys.keys.isEmpty, upload.warnings.count == upload.keys.rejections.count {
      return RecordedUpload(
        accepted: 0, dropped: upload.warnings.sorted { $0.key < $1.key }.map { DroppedKey(position: $0, reason: $1) })
    }
    do {
      let recorded = try await recorder.record(
        ReceivedUpload(keys: upload.keys, certificate: certificate, byteCount: byteCount))
      metrics.recordUpload(
        door: door.rawValue, outcome: "accepted", accepted: recorded.accepted,
        dropped: recorded.dropped.count)
      return recorded
    } catch let fault as UploadFault {
      throw fault
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
