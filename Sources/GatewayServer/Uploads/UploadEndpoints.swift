internal import ExposureKeys
internal import HTTPTypes
internal import Hummingbird
internal import KeyFormats
internal import Logging
internal import NIOCore
internal import ProgramMetrics
internal import Tracing

/// Where regions without a server of their own take in the keys of their patients. All doors are closed unless configured.
///
/// A door reads a request and decides whether to let it in; a ``UploadRecorder`` does the rest before it is answered.
package struct UploadEndpoints: Sendable {
  /// Every door there is. A new one is one line here, and its file.
  static let all: [UploadEndpointDescription] = [
    SampleAppEndpoint.description,
    PublishEndpoint.description,
    PublishEndpoint.descriptionOfFirst,
    DP3TEndpoint.description,
    DP3TEndpoint.descriptionOfNextDay,
    DP3TEndpoint.descriptionOfSecond,
  ]

  /// What settings call them.
  package static var names: [String] { all.map(\.name) }

  /// The addresses of each door that the settings open, below their path; a segment in braces is a series.
  ///
  /// - Throws: ``ServerFault``.
  package static func addresses(of settings: UploadSettings) throws(ServerFault) -> [(
    name: String, addresses: [String]
  )] {
    let trust = try UploadTrust(trying: settings)
    return opened(by: trust, among: all).map { door in
      (door.description.name, door.description.addresses.map { settings.path + $0 })
    }
  }

  fileprivate static func opened(by trust: UploadTrust, among descriptions: [UploadEndpointDescription]) -> [Open] {
    descriptions.filter { trust.settings.protocols?.contains($0.name) ?? true }.compactMap { description in
      description.make(trust).map { Open(description: description, door: $0) }
    }
  }

  /// A door that the settings have opened.
  fileprivate struct Open: Sendable {
    let description: UploadEndpointDescription
    let door: any UploadEndpoint
  }

  /// A door as a request has found it.
  struct Found: Sendable {
    fileprivate let entrance: Entrance
    fileprivate let open: Open
    /// What its address says behind the path of the entrance.
    fileprivate let path: [String]

    /// Layouts are not below a path.
    var isReadable: Bool { entrance.path.isEmpty && open.description.isReadable(at: path) }

    /// The value of `Allow`.
    var methods: String { isReadable ? "GET, HEAD, POST, OPTIONS" : "POST, OPTIONS" }

    /// - Parameter reading: is called before content is read that the client may hold back.
    /// - Throws: ``Problem`` where a client asks too often, or for a series that takes nothing; what reading from the
    ///   connection throws.
    func take(
      _ request: Request, from client: RateLimitedClient, now: Instant, reading: () -> Void = {}
    ) async throws -> FinalResponse {
      try await entrance.take(request, at: open, on: path, from: client, now: now, reading: reading)
    }
  }

  private let entrances: [Entrance]

  init(_ entrances: [Entrance]) { self.entrances = entrances }

  /// Of several that stand at one address, the one for the series that it names.
  func door(at path: [String]) -> Found? {
    let found = entrances.compactMap { $0.door(at: path) }
    return found.first { $0.entrance.takes($0.path, at: $0.open) } ?? found.first
  }
}

extension UploadEndpoints {
  /// The doors of one origin, with all that is around them: limits, chaff, recording, metrics and log.
  struct Entrance: Sendable {
    /// Segments before the address of each door.
    fileprivate let path: [String]
    private let name: String
    private let doors: [Open]
    private let scope: UploadScope
    private let recorder: any UploadRecorder
    private let limits: ServerLimits
    /// How often a client may upload, and how often it may be refused besides: what others are refused behind one address
    /// takes nothing from those who are not.
    private let limiter: RateLimiter?
    private let refusals: RateLimiter?
    /// Whether each request may cost a call to another server: who is refused too often costs none then.
    private let asksOthers: Bool
    private let pace: AnswerPace
    private let metrics: GatewayMetrics
    private let logger: Logger
    private let limit = LogLimit()

    init(
      _ trust: UploadTrust, among descriptions: [UploadEndpointDescription] = UploadEndpoints.all,
      recorder: any UploadRecorder,
      limits: ServerLimits, metrics: GatewayMetrics, logger: Logger
    ) {
      doors = UploadEndpoints.opened(by: trust, among: descriptions)
      path = trust.settings.path.split(separator: "/").map(String.init)
      name = trust.settings.name
      scope = trust.scope
      self.recorder = recorder
      self.limits = limits
      limiter = trust.settings.requestsPerMinute.map { RateLimiter(requestsPerMinute: $0) }
      refusals = trust.settings.requestsPerMinute.map { RateLimiter(requestsPerMinute: $0) }
      asksOthers = trust.codes != nil
      pace = AnswerPace(seconds: trust.settings.answerSeconds)
      self.metrics = metrics
      self.logger = logger
    }

    fileprivate func door(at path: [String]) -> Found? {
      guard path.starts(with: self.path) else { return nil }
      let rest = Array(path.dropFirst(self.path.count))
      return doors.first { $0.description.stands(at: rest) }.map { Found(entrance: self, open: $0, path: rest) }
    }

    /// Whether keys are taken for what the address names.
    fileprivate func takes(_ path: [String], at open: Open) -> Bool {
      open.description.series(in: path).map(scope.takes) ?? true
    }

    /// Whatever comes of a request, it is answered at the pace of all: who watches the line learns nothing from a refusal.
    ///
    /// - Throws: ``Problem`` where a client asks too often, or for a series that takes nothing; what reading from the
    ///   connection throws.
    fileprivate func take(
      _ request: Request, at open: Open, on path: [String], from client: RateLimitedClient, now: Instant,
      reading: () -> Void
    ) async throws -> FinalResponse {
      // Before the body is read its head has arrived.
      var arrived = ContinuousClock.now
      let answer: Result<FinalResponse, any Error>
      do {
        answer = .success(
          try await taken(request, at: open, on: path, from: client, now: now, reading: reading, arrived: &arrived))
      } catch {
        answer = .failure(error)
      }
      await pace.wait(since: arrived)
      return try answer.get()
    }

    /// - Parameter arrived: when all of the request was there that is read.
    private func taken(
      _ request: Request, at open: Open, on path: [String], from client: RateLimitedClient, now: Instant,
      reading: () -> Void, arrived: inout ContinuousClock.Instant
    ) async throws -> FinalResponse {
      guard takes(path, at: open) else {
        throw Problem(.notFound, "no-such-series", "no keys are taken for a series of this name").closingConnection()
      }
      try takeTurn(of: client)
      let isChaff = open.description.takesChaff && request.headers[.chaff] != nil
      let outcome: UploadOutcome
      do {
        try open.door.admit(request.headers)
        let body = try await body(of: request, reading: reading)
        arrived = .now
        let content = isChaff ? .chaff(reply: nil) : try await open.door.read(body, request.headers, now: now)
        // Chaff has the same span as keys: who reads traces is told nothing that the line does not tell.
        outcome = try await withSpan("keyferry.upload") { span in
          span.attributes["keyferry.door"] = open.description.name
          return try await record(content, byteCount: body.count, at: open)
        }
      } catch let refusal as UploadRefusal {
        outcome = .refused(refusal)
      }
      let answer = open.door.answer(to: outcome, now: now)
      count(outcome, answer, at: open)
      if case .refused(let refusal) = outcome, refusal.isOfSender, let tooMany = giveBackTurn(of: client) {
        throw tooMany
      }
      return answer.final
    }

    // MARK: Steps

    private func takeTurn(of client: RateLimitedClient) throws(Problem) {
      let now = monotonicSeconds()
      if asksOthers, let wait = refusals?.wait(of: client, at: now) { throw tooMany(wait) }
      if let wait = limiter?.take(for: client, at: now) { throw tooMany(wait) }
    }

    /// What is refused takes no turn. Who is refused too often is told that, and not whether he was right this time.
    private func giveBackTurn(of client: RateLimitedClient) -> Problem? {
      limiter?.giveBack(to: client)
      return refusals?.take(for: client, at: monotonicSeconds()).map(tooMany)
    }

    private func tooMany(_ wait: Double) -> Problem {
      metrics.rateLimited.increment()
      return Problem(.tooManyRequests, "too-many-requests", "too many uploads from this address")
        .with(.retryAfter, String(max(1, Int(wait.rounded(.up))))).closingConnection()
    }

    /// - Throws: ``UploadRefusal``; what reading from the connection throws.
    private func body(of request: Request, reading: () -> Void) async throws -> [UInt8] {
      let mediaType = request.headers[.contentType]?.lowercased() ?? ""
      guard mediaType == "application/json" || mediaType.hasPrefix("application/json;") else {
        throw UploadRefusal.unread(
          Problem(.unsupportedMediaType, "unsupported-media-type", "allowed is application/json").closingConnection())
      }
      if let coding = request.headers[.contentEncoding]?.lowercased(), coding != "identity" {
        throw UploadRefusal.unread(
          Problem(.unsupportedMediaType, "unsupported-content-coding", "a body is not compressed")
            .with(.acceptEncoding, "identity").closingConnection())
      }
      let tooLarge = UploadRefusal.unread(
        Problem(.contentTooLarge, "body-too-large", "the body has more than \(limits.uploadBytes) bytes")
          .closingConnection())
      if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limits.uploadBytes {
        throw tooLarge
      }
      if request.headers[.expect] != nil { reading() }
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

    /// Hands an upload over. What only looks like one waits as long.
    private func record(
      _ content: UploadContent, byteCount: Int, at open: Open
    ) async throws(UploadRefusal) -> UploadOutcome {
      switch content {
      case .nothing:
        try await pass()
        return .nothing
      case .chaff(let reply):
        try await pass()
        return .chaff(reply: reply)
      case .token(let token, let reply):
        try await pass(redeeming: token)
        return .chaff(reply: reply)
      case .keys(let upload, let certificate): return try await record(upload, certificate, byteCount: byteCount)
      }
    }

    private func pass(redeeming token: OneTimeToken? = nil) async throws(UploadRefusal) {
      do {
        try await recorder.pass(redeeming: token)
      } catch {
        throw refusal(for: error)
      }
    }

    private func record(
      _ upload: KeyUpload, _ certificate: String?, byteCount: Int
    ) async throws(UploadRefusal) -> UploadOutcome {
      // Keys that have no place beside their certificate are dropped without a fault, and there may be no others.
      if upload.keys.keys.isEmpty, upload.warnings.count == upload.keys.rejections.count {
        try await pass(redeeming: upload.token)
        let dropped = upload.warnings.sorted { $0.key < $1.key }.map { DroppedKey(position: $0, reason: $1) }
        return .recorded(RecordedUpload(accepted: 0, dropped: dropped), of: upload)
      }
      do {
        return .recorded(
          try await recorder.record(
            ReceivedUpload(
              keys: upload.keys, audience: upload.audience, proof: upload.proof, certificate: certificate,
              token: upload.token, byteCount: byteCount)),
          of: upload)
      } catch {
        throw refusal(for: error)
      }
    }

    private func refusal(for error: any Error) -> UploadRefusal {
      if error is CancellationError {
        return .unread(Problem(.badRequest, "client-gone", "the client closed the connection").closingConnection())
      }
      guard let fault = error as? UploadFault else {
        tellNotKept("\(error)")
        return .notKept
      }
      return switch fault.cause {
      case .content: .malformed(reason: fault.reason)
      case .noKeys: .noKeys(reason: fault.reason)
      case .revision(let fault): .revision(fault)
      case .usedToken: .unauthorized(code: "unauthorized", reason: fault.reason)
      case .moment: .busy(reason: fault.reason)
      case .away: away(fault)
      }
    }

    private func away(_ fault: UploadFault) -> UploadRefusal {
      tellNotKept(fault.reason)
      return .away
    }

    /// While a store is away, each phone tries again every ten seconds.
    private func tellNotKept(_ reason: String) {
      logger.log(
        .error, "an upload could not be kept", within: limit, reason: "not-kept", metadata: ["reason": .string(reason)])
    }

    private func count(_ outcome: UploadOutcome, _ answer: UploadAnswer, at open: Open) {
      var recorded = RecordedUpload(accepted: 0)
      let word: String
      switch outcome {
      case .recorded(let result, _):
        recorded = result
        word = "accepted"
      case .nothing: word = "accepted"
      case .chaff: word = "chaff"
      case .refused(let refusal): word = answer.outcome ?? refusal.outcome
      }
      // One entrance alone needs no name.
      let door = name == UploadSettings.usualName ? open.description.name : "\(name)/\(open.description.name)"
      metrics.recordUpload(
        door: door, outcome: word, accepted: recorded.accepted, dropped: recorded.dropped.count)
    }
  }
}

/// Answers every request so long after it came, or twice so long, and so on, and up to half of that later: what a server does in
/// between does not show. Chance hides what the machine adds, which is some microseconds more or less for each kind of request.
struct AnswerPace: Sendable {
  private let step: Duration

  /// - Parameter seconds: 0 is at once.
  init(seconds: Double) { step = .seconds(max(0, seconds)) }

  func wait(since arrival: ContinuousClock.Instant) async {
    guard step > .zero else { return }
    let steps = ((ContinuousClock.now - arrival) / step).rounded(.down) + 1 + Double.random(in: 0..<0.5)
    // A client that has gone is not waited for.
    try? await Task.sleep(until: arrival + step * steps, tolerance: .zero, clock: .continuous)
  }
}

extension UploadRefusal {
  /// Whether another sender would not have been refused.
  fileprivate var isOfSender: Bool {
    switch self {
    case .unauthorized, .unread, .malformed, .noKeys, .revision: true
    case .busy, .away, .notKept: false
    }
  }
}

extension HTTPField.Name {
  static let chaff = HTTPField.Name("X-Chaff")!
}
