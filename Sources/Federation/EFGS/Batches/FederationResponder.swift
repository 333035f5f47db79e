internal import BundleTrust
internal import ExposureKeys
package import GatewayServer
internal import HTTPTypes
internal import Hummingbird
internal import KeyFormats
internal import KeyIntake
package import Logging
internal import NIOCore
package import ProgramMetrics
internal import Synchronization

/// Speaks the protocol of the European federation gateway: its addresses, fields, media types, statuses and bodies.
///
/// What is decided stands behind ``FederationBackend`` and ``ClientAuthenticator``.
package struct FederationResponder: PartnerEndpoint {
  private let settings: FederationGatewaySettings
  private let desk: any FederationBackend
  private let doorkeeper: any ClientAuthenticator
  private let metrics: GatewayMetrics
  private let logger: Logger
  private let prefix: [String]
  private let turns = Turns()
  private let callbacks: CallbackEndpoint?

  package init(
    _ entrance: FederationEntrance, metrics: GatewayMetrics, logger: Logger = Logger(label: "keyferry.server")
  ) {
    settings = entrance.settings
    desk = entrance.desk
    doorkeeper = entrance.doorkeeper
    callbacks = entrance.registrar.map { CallbackEndpoint(registrar: $0) }
    self.metrics = metrics
    self.logger = logger
    prefix = settings.path.split(separator: "/").map(String.init)
  }

  package let route = "federation"

  package func handler(at segments: [String]) -> Handler? {
    guard let place = place(of: segments) else { return nil }
    return { request, caller, now, reading in
      try await answer(to: request, at: place, from: caller, now: now, reading: reading)
    }
  }

  /// What an address is for.
  enum Place: Hashable {
    case protocolItself
    case upload
    case download(day: String)
    case audit(day: String, tag: String)
    case statistics
    /// `nil` is the list of them.
    case callback(id: String?)

    var methods: String {
      switch self {
      case .protocolItself: "POST,GET,OPTIONS"
      case .upload: "POST"
      case .download, .audit, .statistics, .callback(id: nil): "GET"
      case .callback: "PUT,DELETE"
      }
    }
  }

  /// `nil` where the address is not the federation's.
  func place(of segments: [String]) -> Place? {
    guard segments.starts(with: prefix), segments.count > prefix.count, segments[prefix.count] == "diagnosiskeys" else {
      return nil
    }
    let rest = Array(segments[(prefix.count + 1)...])
    switch (rest.count, rest.first) {
    case (0, _): return .protocolItself
    case (1, "upload"): return .upload
    case (1, "statistics") where settings.showsStatistics: return .statistics
    case (1, "callback") where callbacks != nil: return .callback(id: nil)
    case (2, "callback") where callbacks != nil: return .callback(id: rest[1])
    case (2, "download"): return .download(day: rest[1])
    case (4, "audit") where rest[1] == "download": return .audit(day: rest[2], tag: rest[3])
    default: return nil
    }
  }

  /// Answers a request, whatever comes of it.
  ///
  /// - Parameter reading: is called before content is read that the client may hold back.
  func answer(
    to request: Request, at place: Place, from caller: PartnerCaller, now: Instant, reading: () -> Void
  ) async throws -> FinalResponse {
    do {
      return try await answered(request, at: place, from: caller, now: now, reading: reading)
    } catch let refusal as FederationRefusal {
      return Self.answer(to: refusal)
    }
  }

  private func answered(
    _ request: Request, at place: Place, from caller: PartnerCaller, now: Instant, reading: () -> Void
  ) async throws -> FinalResponse {
    let isReading = request.method == .get || request.method == .head
    switch place {
    case .protocolItself where request.method == .options:
      return Self.answer(.ok, fields: [.allow: place.methods, .accept: FederationMediaType.allowed])
    case .upload where request.method == .post:
      return try await upload(request, from: caller, now: now, reading: reading)
    case .download(let day) where isReading: return try await download(day, request, from: caller, now: now)
    case .audit(let day, let tag) where isReading: return try await audit(day, tag, from: caller, now: now)
    case .statistics where isReading:
      return Self.answer(.ok, JSONDocument.bytes(Statistics(days: try await desk.statistics())))
    case .callback(let id)
    where (id == nil && isReading) || (id != nil && (request.method == .put || request.method == .delete)):
      let client = try doorkeeper.client(caller, at: now)
      guard let callbacks else { throw CancellationError() }
      return FinalResponse(
        response: try await callbacks.respond(
          request.method, id: id, query: request.uri.query ?? "", of: client))
    default:
      return Self.answer(
        .methodNotAllowed, Self.body("method-not-allowed", "allowed are \(place.methods)"),
        fields: [.allow: place.methods], closesConnection: true)
    }
  }

  private struct Statistics: Encodable {
    var days: [FederationStatistics]
  }

  // MARK: Uploading

  private func upload(
    _ request: Request, from caller: PartnerCaller, now: Instant, reading: () -> Void
  ) async throws -> FinalResponse {
    var country: String?
    do {
      let client = try doorkeeper.client(caller, at: now)
      country = client.country
      try turns.begin(client.country)
      defer { turns.end(client.country) }
      let outcome = try await desk.accept(try await delivery(in: request, from: client, reading: reading))
      count(outcome, of: client.country)
      return Self.answer(to: outcome, tag: request.headers[.batchTag] ?? "")
    } catch let refusal as FederationRefusal {
      metrics.federationUploads.increment([country ?? "unknown", refusal.code])
      throw refusal
    } catch let error where !(error is CancellationError) {
      metrics.federationUploads.increment([country ?? "unknown", "internal-error"])
      logger.error(
        "an upload of a country could not be kept",
        metadata: ["country": .string(country ?? ""), "reason": .string("\(error)")])
      return Self.answer(
        .internalServerError, Self.body("internal-error", "the upload could not be kept; try again later"))
    }
  }

  private func count(_ outcome: FederationOutcome, of country: String) {
    switch outcome {
    case .recorded(let keys, let held):
      metrics.federationUploads.increment([country, "recorded"])
      metrics.federationKeys.increment([country, "recorded"], by: Double(keys - held))
      metrics.federationKeys.increment([country, "held"], by: Double(held))
    case .repeated: metrics.federationUploads.increment([country, "repeated"])
    case .duplicates: metrics.federationUploads.increment([country, "duplicates"])
    }
  }

  /// Everything that the fields alone can be refused for comes before the body is read.
  private func delivery(
    in request: Request, from client: FederationClient, reading: () -> Void
  ) async throws -> FederationDelivery {
    let fields = request.headers
    let type = try FederationMediaType.ofBody(fields[.contentType])
    if let coding = fields[.contentEncoding]?.lowercased(), coding != "identity" {
      throw FederationRefusal(.wrongType, "unsupported-content-coding", "a body is not compressed")
    }
    let tag = try tag(in: fields)
    guard let tag else { throw FederationRefusal(.malformed, "tag-missing", "the field batchTag is missing") }
    let signatures = fields[values: .batchSignature]
    guard signatures.count == 1 else {
      let reason =
        signatures.isEmpty
        ? "the field batchSignature is missing"
        : "the field batchSignature is there \(signatures.count) times, allowed once"
      throw FederationRefusal(.malformed, "signature-missing", reason)
    }
    guard !signatures[0].isEmpty else {
      throw FederationRefusal(.malformed, "signature-missing", "the field batchSignature is empty")
    }
    return FederationDelivery(
      client: client, tag: tag, signature: signatures[0], format: type.format,
      body: try await body(of: request, reading: reading))
  }

  private func body(of request: Request, reading: () -> Void) async throws -> [UInt8] {
    let limit = settings.uploadBytes
    let tooLarge = FederationRefusal(.tooLarge, "body-too-large", "the body has more than \(limit) bytes")
    if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit { throw tooLarge }
    if request.headers[.expect] != nil { reading() }
    do {
      return Array(try await request.body.collect(upTo: limit).readableBytesView)
    } catch is NIOTooManyBytesError {
      throw tooLarge
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      // The client hung up, or its chunks are none.
      throw FederationRefusal(.malformed, "unreadable-body", "the body ended before it was whole")
    }
  }

  /// `nil` where there is none.
  private func tag(in fields: HTTPFields) throws(FederationRefusal) -> String? {
    let values = fields[values: .batchTag]
    guard let tag = values.first else { return nil }
    guard values.count == 1, (1...64).contains(tag.utf8.count), tag.utf8.allSatisfy({ (0x21..<0x7F).contains($0) })
    else {
      throw FederationRefusal(
        .malformed, "tag-malformed", "the field batchTag is allowed once, with 1...64 visible ASCII characters")
    }
    return tag
  }

  private static func answer(to outcome: FederationOutcome, tag: String) -> FinalResponse {
    switch outcome {
    case .recorded, .repeated: return answer(.created, fields: [.batchTag: tag])
    case .duplicates(let places, of: let count):
      let known = Set(places)
      let new = (0..<count).filter { !known.contains($0) }
      let list = { (numbers: [Int]) in "[" + numbers.map(String.init).joined(separator: ",") + "]" }
      return answer(
        HTTPResponse.Status(code: 207, reasonPhrase: "Multi-Status"),
        Array("{\"201\":\(list(new)),\"409\":\(list(places)),\"500\":[]}".utf8))
    }
  }

  // MARK: Downloading

  private func download(
    _ text: String, _ request: Request, from caller: PartnerCaller, now: Instant
  ) async throws -> FinalResponse {
    let client = try doorkeeper.client(caller, at: now)
    let type = try FederationMediaType.ofAnswer(request.headers[.accept])
    let batch = try await desk.batch(of: try day(text), tagged: try tag(in: request.headers), for: client)
    metrics.federationDownloads.increment([client.country])
    return Self.answer(
      .ok, type == .protobuf ? batch.keys : try Self.json(of: batch.keys), mediaType: type.text,
      fields: [
        .batchTag: batch.tag, .nextBatchTag: batch.next ?? "null", .protobufSchema: "Efgs.proto",
        .protobufMessage: "eu.interop.DiagnosisKeyBatch",
      ])
  }

  private func audit(
    _ text: String, _ tag: String, from caller: PartnerCaller, now: Instant
  ) async throws -> FinalResponse {
    let client = try doorkeeper.client(caller, at: now)
    return Self.answer(.ok, try await desk.audit(of: try day(text), tagged: tag, for: client))
  }

  private func day(_ text: String) throws(FederationRefusal) -> Day {
    guard let day = Day(text) else {
      throw FederationRefusal(
        .malformed, "date-malformed", "the date \"\(printableText(text, limit: 20))\", allowed is yyyy-MM-dd")
    }
    return day
  }

  /// The same keys in the federation's other spelling.
  private static func json(of keys: [UInt8]) throws -> [UInt8] {
    let batch =
      keys.isEmpty ? DecodedDocument() : try DecodedDocument(decoding: BatchDecoder(InputWindow(MemorySource(keys))))
    let sink = MemorySink()
    let encoder = EFGSJSONEncoder(OutputBuffer(sink))
    try encoder.begin(ExportHeader())
    try batch.keys.withUnsafeBufferPointer {
      try encoder.encode($0, regions: batch.regions, unknownFields: UnknownFieldTable())
    }
    try encoder.finish(ExportHeader())
    return sink.bytes
  }

  // MARK: Answers

  private static func answer(
    _ status: HTTPResponse.Status, _ body: [UInt8] = [], mediaType: String = "application/json",
    fields: [HTTPField.Name: String] = [:], closesConnection: Bool = false
  ) -> FinalResponse {
    var response = Response(
      status: status, headers: [.cacheControl: "no-store"], body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    if !body.isEmpty || mediaType != "application/json" { response.headers[.contentType] = mediaType }
    for (name, value) in fields { response.headers[name] = value }
    return FinalResponse(response: response, closesConnection: closesConnection)
  }

  static func answer(to refusal: FederationRefusal) -> FinalResponse {
    let answer = answer(
      refusal.status, JSONDocument.bytes(Body(refusal)), closesConnection: refusal.cause.leavesBodyUnread)
    guard let seconds = refusal.cause.retryAfter else { return answer }
    var later = answer
    later.response.headers[.retryAfter] = seconds
    return later
  }

  private static func body(_ code: String, _ reason: String) -> [UInt8] {
    JSONDocument.bytes(Body(message: reason, code: code))
  }

  /// The European gateway said `message` alone; the others are ours.
  private struct Body: Encodable {
    var message: String
    var code: String
    var key: Int?
    /// Which of the eight steps of verification failed, and by which name.
    var step: Int?
    var stepName: String?
    /// What the gateway would have had signed.
    var canonicalSHA256: String?
    var canonicalLength: Int?
    var firstRows: [String]?

    init(message: String, code: String) {
      self.message = message
      self.code = code
    }

    init(_ refusal: FederationRefusal) {
      self.init(message: refusal.reason, code: refusal.code)
      key = refusal.key
      step = refusal.signature?.step.rawValue
      stepName = refusal.signature?.step.name
      canonicalSHA256 = refusal.signature?.canonicalDigest
      canonicalLength = refusal.signature?.canonicalLength
      firstRows = refusal.signature?.firstRows
    }
  }

  /// How many uploads each country has under way. The lock owns it: who sends many slow ones takes no room of others.
  private final class Turns: Sendable {
    private static let most = 4
    private let counts = Mutex<[String: Int]>([:])

    func begin(_ country: String) throws(FederationRefusal) {
      let isFree = counts.withLock { counts in
        guard counts[country, default: 0] < Self.most else { return false }
        counts[country, default: 0] += 1
        return true
      }
      guard isFree else {
        throw FederationRefusal(
          .busy, "too-many-at-a-time", "\(Self.most) uploads of \(country) are under way; wait for one of them")
      }
    }

    func end(_ country: String) {
      counts.withLock { counts in
        let left = counts[country, default: 1] - 1
        counts[country] = left > 0 ? left : nil
      }
    }
  }
}

extension FederationRefusal {
  fileprivate var status: HTTPResponse.Status {
    switch cause {
    case .malformed: .badRequest
    case .notAllowed: .forbidden
    case .wrongVersion: .notAcceptable
    case .wrongType: .unsupportedMediaType
    case .tagTaken: .conflict
    case .tooLarge: .contentTooLarge
    case .notFound: .notFound
    case .gone: .gone
    case .busy: .tooManyRequests
    case .away: .serviceUnavailable
    }
  }
}

extension FederationRefusal.Cause {
  /// It may have been refused before its body was read.
  fileprivate var leavesBodyUnread: Bool {
    switch self {
    case .malformed, .notAllowed, .wrongVersion, .wrongType, .tooLarge, .busy: true
    case .tagTaken, .notFound, .gone, .away: false
    }
  }

  /// When it is worth trying again, in seconds; `nil` where it is not by itself.
  fileprivate var retryAfter: String? {
    switch self {
    case .busy: "1"
    case .away: "10"
    case .malformed, .notAllowed, .wrongVersion, .wrongType, .tagTaken, .tooLarge, .notFound, .gone: nil
    }
  }
}

extension HTTPField.Name {
  static let batchTag = HTTPField.Name("batchTag")!
  static let nextBatchTag = HTTPField.Name("nextBatchTag")!
  static let batchSignature = HTTPField.Name("batchSignature")!
  static let protobufSchema = HTTPField.Name("X-Protobuf-Schema")!
  static let protobufMessage = HTTPField.Name("X-Protobuf-Message")!
}
