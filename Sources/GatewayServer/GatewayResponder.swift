internal import BundleTrust
internal import Crypto
internal import ExposureKeys
internal import HTTPTypes
package import Hummingbird
internal import KeyPublishing
internal import Logging
internal import NIOCore

/// Answers every request: the layouts of the apps, the published files as they are, what operators ask, and the page
/// for people. It never throws.
package struct GatewayResponder: HTTPResponder {
  package typealias Context = GatewayRequestContext

  let settings: ServerSettings
  let store: PublicationStore
  let catalog: LayoutCatalog
  let metrics: GatewayMetrics
  let metricsPath: String?
  let readiness: Readiness
  let limits: ServerLimits
  let clock: ServerClock
  let logger: Logger
  let cache: BundleCache
  let signer: ResponseSigner?
  let limiter: RateLimiter?
  let uploads: UploadDoor?
  let recent = RecentAnswers()

  package func respond(to request: Request, context: Context) async throws -> Response {
    let began = monotonicSeconds()
    let now = clock.now()
    var exchange = Exchange(request: request, context: context, now: now)
    var response: Response
    do {
      response = try await answer(&exchange)
    } catch let problem as Problem {
      response = problem.response
    } catch {
      logger.error(
        "a request could not be answered",
        metadata: ["path": .string(exchange.path), "reason": .string("\(error)")])
      response =
        Problem(.internalServerError, "internal-error", "the server could not answer; its log says why").response
    }
    addCommonHeaders(to: &response, exchange)
    let bytes = request.method == .head ? 0 : response.body.contentLength ?? 0
    await keep(response, exchange)
    if request.method == .head { response = response.createHeadResponse() }
    if response.headers[.connection] == "close" { response = closing(response, context.channel) }
    report(
      Self.methodLabel(request.method), exchange.path, route: exchange.route, status: response.status.code,
      bytes: bytes, seconds: monotonicSeconds() - began)
    return response
  }

  /// For metrics and the log.
  private func report(_ method: String, _ path: String, route: String, status: Int, bytes: Int, seconds: Double) {
    metrics.recordRequest(route: route, method: method, status: status, bytes: bytes, seconds: seconds)
    logger.debug(
      "request",
      metadata: [
        "method": .string(method), "path": .string(path), "status": .stringConvertible(status),
        "bytes": .stringConvertible(bytes), "route": .string(route),
      ])
  }

  // MARK: Answering again

  /// What was answered to the same question in this second; `nil` where the answer has to be made.
  ///
  /// It counts like every other request: for the metrics, in the log, and for how often its client may ask.
  func recentAnswer(to question: Question, for client: @autoclosure () -> String) -> RecentAnswer? {
    let began = monotonicSeconds()
    guard let generation = store.settledGeneration,
      let answer = recent.answer(
        to: question, at: .init(second: clock.now().secondsSince1970, generation: generation))
    else { return nil }
    // Where there is no token left, none is taken, and the request is refused on the way of all others.
    if let limiter, limiter.take(for: client(), at: began) != nil { return nil }
    metrics.countRepeated()
    report(
      "GET", answer.path, route: answer.route, status: 200, bytes: answer.body.readableBytes,
      seconds: monotonicSeconds() - began)
    return answer
  }

  private func keep(_ response: Response, _ exchange: Exchange) async {
    guard let generation = exchange.generation, let question = Question(exchange.request.head),
      let answer = await RecentAnswer(response, route: exchange.route, path: exchange.path)
    else { return }
    recent.keep(answer, to: question, at: .init(second: exchange.now.secondsSince1970, generation: generation))
  }

  /// A request on its way, and what was found out about it: for the log and the metrics, whatever comes of it.
  struct Exchange {
    let request: Request
    let context: GatewayRequestContext
    let now: Instant
    /// The class of the address, a value of few.
    var route = "refused"
    /// Without the query, which may hold what is nobody's business.
    var path = ""
    var isPage = false
    /// Of what is published, where the answer speaks of it.
    var generation: Int?
  }

  private func answer(_ exchange: inout Exchange) async throws -> Response {
    let request = exchange.request
    try checkHead(request)
    let target = try RequestTarget(request.head.path ?? "/", byteLimit: limits.targetBytes)
    exchange.path = "/" + target.path
    let route = target.segments.count == 1 ? target.segments[0] : nil
    let isForOperators = route == "health" || route == "ready" || (route != nil && route == metricsPath)
    if !isForOperators { try checkRate(exchange.context) }

    switch request.method {
    case .get, .head:
      try refuseBody(of: request)
      return try await read(target, &exchange)
    case .post:
      guard let uploads, let door = uploads.door(at: target.segments) else { throw notAllowed(target) }
      exchange.route = "upload"
      return try await uploads.take(exchange.request, at: door, from: exchange.context, now: exchange.now)
    case .options:
      exchange.route = "options"
      return Response(
        status: .noContent,
        headers: [
          .allow: allowed(at: target), .accessControlAllowMethods: allowed(at: target),
          .accessControlAllowHeaders: "*", .accessControlMaxAge: "86400",
        ])
    default: throw notAllowed(target)
    }
  }

  // MARK: Reading

  private func read(_ target: RequestTarget, _ exchange: inout Exchange) async throws -> Response {
    let head = exchange.request.head
    let path = target.path
    let snapshot = store.current()
    exchange.generation = snapshot.generation
    switch path {
    case "":
      exchange.route = "page"
      exchange.isPage = true
      let report = PublicationReport(
        snapshot.publications, settings: settings, layouts: catalog.names, baseURL: try baseURL(head), now: exchange.now
      )
      return try await response(with: page(report), to: head, now: exchange.now)
    case "api/series":
      exchange.route = "api"
      let report = PublicationReport(
        snapshot.publications, settings: settings, layouts: catalog.names, baseURL: try baseURL(head), now: exchange.now
      )
      return try await response(
        with: Self.text(JSONDocument.bytes(report), "application/json", cache: .seconds(60)), to: head,
        now: exchange.now)
    case "health":
      exchange.route = "health"
      return Self.status(.ok, ["status": "alive"])
    case "ready":
      exchange.route = "ready"
      return ready(snapshot)
    case _ where path == metricsPath:
      exchange.route = "metrics"
      return Response(
        status: .ok,
        headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text)))
    default: break
    }
    if let file = snapshot.files[path] {
      exchange.route = "file"
      return try await serve(file, to: head, now: exchange.now)
    }
    let layoutRequest = LayoutRequest(
      path: target.segments, query: target.query, baseURL: try baseURL(head), now: exchange.now)
    for layout in catalog.layouts {
      guard let answer = layout.answer(layoutRequest, from: snapshot.publications) else { continue }
      exchange.route = type(of: layout).name
      return try await serve(answer, to: head, in: snapshot, now: exchange.now)
    }
    exchange.route = "unknown"
    if uploads?.door(at: target.segments) == .publish { throw notAllowed(target) }
    throw Problem(.notFound, "not-found", "nothing is published under this address")
  }

  private func serve(_ file: PublishedFile, to head: HTTPRequest, now: Instant) async throws -> Response {
    switch file {
    case .archive(let bundle): return try await serve(bundle, to: head, now: now)
    case .document(let document):
      let content = ServedContent(buffer: document.content, digest: document.digest)
      let representation = Representation(
        .loaded(content), document.mediaType, modified: document.modified, cache: .list)
      return try await response(with: representation, to: head, now: now)
    }
  }

  private func serve(
    _ answer: LayoutAnswer, to head: HTTPRequest, in snapshot: PublicationSnapshot, now: Instant
  ) async throws -> Response {
    let headers = answer.headers
    let isSigned = answer.isSignedResponse
    switch answer.content {
    case .archive(let bundle):
      return try await served(bundle) {
        let representation = Representation(
          .archive(bundle), "application/zip", modified: Instant(secondsSince1970: bundle.facts.published),
          cache: answer.cache, headers: headers + (try await exportHeaders(answer, of: bundle)), isSigned: isSigned)
        return try await response(with: representation, to: head, now: now)
      }
    case .member(let bundle, let member):
      return try await served(bundle) {
        let representation = Representation(
          .loaded(try await cache.member(member, of: bundle, from: store)), "application/octet-stream",
          modified: Instant(secondsSince1970: bundle.facts.published), cache: answer.cache,
          headers: headers + (try await exportHeaders(answer, of: bundle)), isSigned: isSigned)
        return try await response(with: representation, to: head, now: now)
      }
    case .page(let bundles, let mediaType, let render):
      return try await served(bundles.first) {
        let content = try await cache.page(
          of: bundles, target: head.path ?? "", generation: snapshot.generation, from: store, render: render)
        let representation = Representation(
          .loaded(content), mediaType, cache: answer.cache, headers: headers, isSigned: isSigned)
        return try await response(with: representation, to: head, now: now)
      }
    case .bytes(let bytes, let mediaType):
      var representation = Self.text(bytes, mediaType, cache: answer.cache)
      representation.headers = headers
      representation.isSigned = isSigned
      return try await response(with: representation, to: head, now: now)
    case .nothing:
      var response = Response(status: .noContent, headers: [.cacheControl: answer.cache.header])
      response.headers[.contentLength] = nil
      for (name, value) in headers {
        if let name = HTTPField.Name(name) { response.headers[name] = value }
      }
      if isSigned, let signer {
        let digest = hexadecimal(SHA256.hash(data: [UInt8]()))
        response.headers[.signature] = signer.signature(digest: digest, headers: headers, at: now)
      }
      return response
    case .notFound(let reason): throw Problem(.notFound, "not-found", reason, cache: answer.cache)
    case .badRequest(let reason): throw Problem(.badRequest, "bad-request", reason)
    }
  }

  private func exportHeaders(
    _ answer: LayoutAnswer, of bundle: PublishedBundle
  ) async throws -> [(name: String, value: String)] {
    var headers: [(name: String, value: String)] = []
    for header in answer.exportHeaders {
      headers.append((header.name, try await cache.header(header, of: bundle, from: store)))
    }
    return headers
  }

  private func serve(_ bundle: PublishedBundle, to head: HTTPRequest, now: Instant) async throws -> Response {
    let representation = Representation(
      .archive(bundle), "application/zip", modified: Instant(secondsSince1970: bundle.facts.published),
      cache: .immutable)
    return try await served(bundle) { try await response(with: representation, to: head, now: now) }
  }

  /// What a fault of a published file means to the client, and to the operator.
  private func served<Value>(_ bundle: PublishedBundle?, _ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch BundleFault.missing where bundle?.facts.isListed == false {
      throw Problem(.notFound, "expired", "this bundle has expired, and its file is gone")
    } catch let fault as BundleFault {
      logger.error(
        "a published file is not what the manifest says; it is not served",
        metadata: ["file": .string(bundle?.facts.path ?? ""), "reason": .string("\(fault)")])
      throw Problem(.internalServerError, "damaged-file", "the published file is damaged; it is not served")
    }
  }

  private func page(_ report: PublicationReport) -> Representation {
    Self.text(Array(FrontPage(report).html.utf8), "text/html; charset=utf-8", cache: .seconds(60))
  }

  static func text(_ bytes: [UInt8], _ mediaType: String, cache: LayoutAnswer.Cache) -> Representation {
    let content = ServedContent(buffer: ByteBuffer(bytes: bytes), digest: hexadecimal(SHA256.hash(data: bytes)))
    return Representation(.loaded(content), mediaType, cache: cache)
  }

  private static func status(_ status: HTTPResponse.Status, _ members: [String: String]) -> Response {
    Response(
      status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: JSONDocument.bytes(members))))
  }

  private func ready(_ snapshot: PublicationSnapshot) -> Response {
    var reasons = readiness.reasons
    if snapshot.publications.series.isEmpty { reasons.append("no series has been published yet") }
    guard !reasons.isEmpty else { return Self.status(.ok, ["status": "ready"]) }
    return Self.status(.serviceUnavailable, ["status": "not-ready", "reason": reasons.joined(separator: "; ")])
  }

  // MARK: Checking

  private func checkHead(_ request: Request) throws(Problem) {
    let fields = request.headers
    var bytes = 0
    for field in fields { bytes += field.name.rawName.utf8.count + field.value.utf8.count + 4 }
    guard fields.count <= limits.headerCount, bytes <= limits.headerBytes else {
      throw Problem(
        .requestHeaderFieldsTooLarge, "header-too-large",
        "the header has \(fields.count) fields of \(bytes) bytes together, allowed are \(limits.headerCount) fields "
          + "of \(limits.headerBytes) bytes"
      ).closingConnection()
    }
  }

  private func checkRate(_ context: GatewayRequestContext) throws(Problem) {
    guard let limiter else { return }
    let client = RateLimiter.client(context.channel.remoteAddress)
    guard let wait = limiter.take(for: client, at: monotonicSeconds()) else { return }
    metrics.countRateLimited()
    let seconds = max(1, Int(wait.rounded(.up)))
    throw Problem(.tooManyRequests, "too-many-requests", "too many requests from this address; wait \(seconds) s")
      .with(.retryAfter, String(seconds))
  }

  private func refuseBody(of request: Request) throws(Problem) {
    let length = request.headers[.contentLength]
    guard request.headers[.transferEncoding] == nil, length == nil || length == "0" else {
      throw Problem(.contentTooLarge, "body-not-allowed", "a request to read has no body").closingConnection()
    }
  }

  private func notAllowed(_ target: RequestTarget) -> Problem {
    Problem(.methodNotAllowed, "method-not-allowed", "allowed are \(allowed(at: target))")
      .with(.allow, allowed(at: target)).closingConnection()
  }

  private func allowed(at target: RequestTarget) -> String {
    switch uploads?.door(at: target.segments) {
    case nil: "GET, HEAD, OPTIONS"
    case .sampleApp: "GET, HEAD, POST, OPTIONS"
    case .publish: "POST, OPTIONS"
    }
  }

  /// What apps see as the beginning of every address.
  private func baseURL(_ head: HTTPRequest) throws(Problem) -> String {
    if let url = settings.publicURL { return url.hasSuffix("/") ? String(url.dropLast()) : url }
    let host = head.authority ?? "\(settings.host):\(settings.port)"
    let isHost = { (byte: UInt8) in
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]")].contains(
          byte)
    }
    guard !host.isEmpty, host.utf8.count <= 255, host.utf8.allSatisfy(isHost) else {
      throw Problem(.badRequest, "malformed-host", "the host is not a name or an address with an optional port")
    }
    return "\(settings.certificatePEM == nil ? "http" : "https")://\(host)"
  }

  // MARK: Answering

  private func addCommonHeaders(to response: inout Response, _ exchange: Exchange) {
    response.headers[.date] = HTTPDate.text(exchange.now)
    response.headers[.xContentTypeOptions] = "nosniff"
    response.headers[.referrerPolicy] = "no-referrer"
    response.headers[.resourcePolicy] = "cross-origin"
    response.headers[.contentSecurityPolicy] = exchange.isPage ? FrontPage.securityPolicy : Self.securityPolicy
    response.headers[.accessControlAllowOrigin] = "*"
    response.headers[.accessControlExposeHeaders] = "*"
    if settings.certificatePEM != nil { response.headers[.strictTransportSecurity] = "max-age=31536000" }
  }

  private static let securityPolicy = "default-src 'none'; frame-ancestors 'none'"

  private static func methodLabel(_ method: HTTPRequest.Method) -> String {
    switch method {
    case .get, .head, .post, .put, .delete, .options, .patch: method.rawValue
    default: "other"
    }
  }

  /// Ends the connection behind this response: what else the client wanted to send is not read.
  private func closing(_ response: Response, _ channel: any Channel) -> Response {
    var response = response
    let body = response.body
    response.body = ResponseBody(contentLength: body.contentLength) { writer in
      try await body.write(writer)
      channel.close(promise: nil)
    }
    return response
  }
}
