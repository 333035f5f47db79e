internal import BundleTrust
internal import ExposureKeys
internal import HTTPTypes
internal import Hummingbird
internal import KeyFormats
internal import Logging
internal import NIOCore

/// Where a region without a server of its own takes in the keys of its patients. All doors are closed unless configured.
///
/// A door reads a request and decides whether to let it in; a ``UploadRecorder`` does the rest before it is answered.
struct UploadDoors: Sendable {
  /// Every door there is. A new one is one line here, and its file.
  static let all: [UploadDoorDescription] = [
    SampleAppDoor.description,
    PublishDoor.description,
  ]

  /// A door that the settings have opened.
  struct Open: Sendable {
    let description: UploadDoorDescription
    fileprivate let door: any UploadDoor
  }

  private let doors: [Open]
  private let recorder: any UploadRecorder
  private let limits: ServerLimits
  private let limiter: RateLimiter?
  private let metrics: GatewayMetrics
  private let logger: Logger

  /// - Throws: ``ServerFault``.
  init(
    _ settings: UploadSettings, among descriptions: [UploadDoorDescription] = Self.all, recorder: any UploadRecorder,
    limits: ServerLimits, metrics: GatewayMetrics, logger: Logger
  ) throws(ServerFault) {
    guard !settings.token.disclosed.isEmpty || settings.certificates != nil else {
      throw ServerFault(
        place: "uploads", reason: "neither a token nor a verification server is given: nobody could upload")
    }
    var doors: [Open] = []
    for description in descriptions {
      if let door = try description.make(settings) { doors.append(Open(description: description, door: door)) }
    }
    self.doors = doors
    self.recorder = recorder
    self.limits = limits
    limiter = settings.requestsPerMinute.map { RateLimiter(requestsPerMinute: $0) }
    self.metrics = metrics
    self.logger = logger
  }

  func door(at path: [String]) -> Open? { doors.first { $0.description.stands(at: path) } }

  /// - Throws: ``Problem`` where a client asks too often; what reading from the connection throws.
  func take(
    _ request: Request, at open: Open, from context: GatewayRequestContext, now: Instant
  ) async throws -> FinalResponse {
    try checkRate(context)
    let isChaff = open.description.takesChaff && request.headers[.chaff] != nil
    let outcome: UploadOutcome
    do {
      try open.door.admit(request.headers)
      let body = try await body(of: request)
      if isChaff {
        outcome = try await pass()
      } else {
        let content = try open.door.read(body, request.headers, now: now)
        outcome = try await record(content, byteCount: body.count, at: open)
      }
    } catch let refusal as UploadRefusal {
      outcome = .refused(refusal)
    }
    let answer = open.door.answer(to: outcome)
    if case .refused(let refusal) = outcome { count(answer.outcome ?? refusal.outcome, at: open) }
    return answer.final
  }

  // MARK: Steps

  private func checkRate(_ context: GatewayRequestContext) throws(Problem) {
    let client = RateLimitedClient(context.channel.remoteAddress)
    guard let wait = limiter?.take(for: client, at: monotonicSeconds()) else { return }
    metrics.countRateLimited()
    throw Problem(.tooManyRequests, "too-many-requests", "too many uploads from this address")
      .with(.retryAfter, String(max(1, Int(wait.rounded(.up))))).closingConnection()
  }

  /// - Throws: ``UploadRefusal``; what reading from the connection throws.
  private func body(of request: Request) async throws -> [UInt8] {
    let mediaType = request.headers[.contentType]?.lowercased() ?? ""
    guard mediaType == "application/json" || mediaType.hasPrefix("application/json;") else {
      throw UploadRefusal.unread(
        Problem(.unsupportedMediaType, "unsupported-media-type", "allowed is application/json").closingConnection())
    }
    let tooLarge = UploadRefusal.unread(
      Problem(.contentTooLarge, "body-too-large", "the body has more than \(limits.uploadBytes) bytes")
        .closingConnection())
    if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limits.uploadBytes { throw tooLarge }
    do {
      return Array(try await request.body.collect(upTo: limits.uploadBytes).readableBytesView)
    } catch is NIOTooManyBytesError {
      throw tooLarge
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      // The client hung up, or its chunks are none: its fault, and none of ours to log.
      throw UploadRefusal.unread(
        Problem(.badRequest, "unreadable-body", "the body ended before it was whole").closingConnection())
    }
  }

  /// Takes as long as an upload would.
  private func pass() async throws(UploadRefusal) -> UploadOutcome {
    do {
      try await recorder.pass()
      return .nothing
    } catch let fault as UploadFault {
      throw .busy(reason: fault.reason)
    } catch {
      throw refusal(for: error)
    }
  }

  /// Hands an upload over, and counts what is taken.
  private func record(
    _ content: UploadContent, byteCount: Int, at open: Open
  ) async throws(UploadRefusal) -> UploadOutcome {
    guard case .keys(let upload, let certificate) = content else { return .nothing }
    // Keys that have no place beside their certificate are dropped without a fault, and there may be no others.
    if upload.keys.keys.isEmpty, upload.warnings.count == upload.keys.rejections.count {
      let dropped = upload.warnings.sorted { $0.key < $1.key }.map { DroppedKey(position: $0, reason: $1) }
      return .recorded(RecordedUpload(accepted: 0, dropped: dropped), of: upload)
    }
    let recorded: RecordedUpload
    do {
      recorded = try await recorder.record(
        ReceivedUpload(keys: upload.keys, certificate: certificate, byteCount: byteCount))
    } catch {
      throw refusal(for: error)
    }
    count("accepted", recorded, at: open)
    return .recorded(recorded, of: upload)
  }

  private func refusal(for error: any Error) -> UploadRefusal {
    guard let fault = error as? UploadFault else {
      logger.error("an upload could not be kept", metadata: ["reason": .string("\(error)")])
      return .notKept
    }
    return fault.isTemporary ? .busy(reason: fault.reason) : .malformed(reason: fault.reason)
  }

  private func count(_ outcome: String, _ recorded: RecordedUpload = RecordedUpload(accepted: 0), at open: Open) {
    metrics.recordUpload(
      door: open.description.name, outcome: outcome, accepted: recorded.accepted, dropped: recorded.dropped.count)
  }
}

extension HTTPField.Name {
  static let chaff = HTTPField.Name("X-Chaff")!
}
