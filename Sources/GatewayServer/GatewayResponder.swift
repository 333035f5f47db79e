internal import ExposureKeys
internal import HTTPTypes
package import Hummingbird
internal import KeyIntake
internal import Logging
internal import NIOCore
internal import ProgramMetrics

/// Responds to every request, and never throws. It looks after what concerns all of them: limits, methods, uploads,
/// common fields, metrics and log. What is there to be read is the ``RetrievalResponder``'s.
package struct GatewayResponder: HTTPResponder {
  package typealias Context = GatewayRequestContext

  let settings: ServerSettings
  let reader: RequestReader
  let retrievals: RetrievalResponder
  let metrics: GatewayMetrics
  let clock: ServerClock
  let logger: Logger
  let limiter: RateLimiter?
  let uploads: UploadEndpoints
  /// The protocols that other gateways speak here.
  let partners: [any PartnerEndpoint]
  let connections: OpenConnections
  let proxied: ProxiedRequests
  let stored = StoredResponses()
  private let logLimit = LogLimit()
  /// To whom this address belongs.
  var role = ListenerRole.everybody
  /// `nil` where this is no address of operators.
  var operators: OperatorsResponder?

  /// Who is answered at an address.
  enum ListenerRole {
    case everybody
    /// The federation has an address of its own.
    case apps
    /// National back ends alone.
    case federation
    /// Operators alone.
    case operators
  }

  var limits: ServerLimits { reader.limits }

  /// As HTTP/1.1 has it.
  package func respond(to request: Request, context: Context) async throws -> Response {
    await finalResponse(to: request, context).http1Response
  }

  /// - Parameters:
  ///   - channel: the connection, or the stream of one.
  ///   - needsHost: whether a request that names no host is refused.
  func finalResponse(to request: Request, over channel: any Channel, needsHost: Bool = false) async -> FinalResponse {
    await finalResponse(
      to: request, GatewayRequestContext(source: ApplicationRequestContextSource(channel: channel, logger: logger)),
      needsHost: needsHost)
  }

  private func finalResponse(
    to request: Request, _ context: GatewayRequestContext, needsHost: Bool = false
  ) async -> FinalResponse {
    let began = monotonicSeconds()
    var exchange = Exchange(request: request, context: context, now: clock.now())
    var final: FinalResponse
    do {
      try checkHost(request, isNeeded: needsHost)
      final = try await respond(&exchange)
    } catch let problem as Problem {
      final = problem.finalResponse
    } catch is CancellationError {
      // HTTP/2 cancels the requests of a connection that is closed. Anybody can close one.
      logger.log(
        .info, "a client went away before it was answered", within: logLimit, reason: "gone",
        metadata: ["path": .string(exchange.path)])
      final = Problem(.badRequest, "client-gone", "the client closed the connection").closingConnection().finalResponse
    } catch {
      logger.error(
        "a request could not be answered",
        metadata: ["path": .string(exchange.path), "reason": .string("\(error)")])
      final = Problem.internalError.finalResponse
    }
    if !exchange.isStored {
      addCommonFields(to: &final.response, exchange)
      await keep(final, exchange)
    }
    let bytes = request.method == .head ? 0 : final.response.body.contentLength ?? 0
    if request.method == .head {
      // Its fields are those of the response to GET (RFC 9110, 9.3.2), the length included.
      let fields = final.response.headers
      final.response.body = ResponseBody()
      final.response.headers = fields
    }
    report(
      Self.methodLabel(request.method), exchange.path, route: exchange.route, status: final.response.status.code,
      bytes: bytes, seconds: monotonicSeconds() - began)
    return final
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

  // MARK: Stored responses

  /// What was responded to an equal request in this second; `nil` where the response has to be made.
  private func storedResponse(to request: RetrievalRequest, at now: Instant) -> StoredResponse? {
    guard !connections.isLeaving, role == .everybody || role == .apps,
      let generation = retrievals.store.settledGeneration
    else { return nil }
    return stored.response(to: request, at: .init(second: now.secondsSince1970, generation: generation))
  }

  private func keep(_ final: FinalResponse, _ exchange: Exchange) async {
    guard let generation = exchange.generation, let retrieval = exchange.retrieval,
      let response = await StoredResponse(final, route: exchange.route, path: exchange.path)
    else { return }
    stored.keep(response, for: retrieval, at: .init(second: exchange.now.secondsSince1970, generation: generation))
  }

  /// A request on its way, and what was found out about it: for the log and the metrics, whatever comes of it.
  private struct Exchange {
    let request: Request
    let context: GatewayRequestContext
    let now: Instant
    /// The class of the address, a value of few.
    var route = "refused"
    /// Without the query, which may hold what is nobody's business.
    var path = ""
    var retrieval: RetrievalRequest?
    /// Of what is published, where the response speaks of it.
    var generation: Int?
    /// Whether the response was made for an equal request.
    var isStored = false
  }

  // MARK: Responding

  private func respond(_ exchange: inout Exchange) async throws -> FinalResponse {
    let request = exchange.request
    try checkHead(request)
    let target = try reader.target(of: request.head)
    exchange.path = "/" + target.path
    if let operators { return try await answer(request, at: target, by: operators, &exchange) }
    let client = reader.client(of: request.head, from: exchange.context.channel.remoteAddress)
    if retrievals.watch?.isForOperators(target) != true { try checkRate(client) }
    if retrievals.watch?.isForMetrics(target) == true {
      try checkMayReadMetrics(request, from: exchange.context.channel.remoteAddress)
    }
    let isProxied = reader.proxies.holds(exchange.context.channel.remoteAddress)
    if isProxied { try beginProxied(client) }
    defer { if isProxied { proxied.end(client) } }

    if role != .apps {
      for partner in partners {
        guard let handler = partner.handler(at: target.segments) else { continue }
        exchange.route = partner.route
        let channel = exchange.context.channel
        let caller = PartnerCaller(
          fields: request.headers, isThroughProxy: isProxied, certificate: await channel.certificateOfClient(),
          address: channel.remoteAddress?.ipAddress)
        return try await handler(request, caller, exchange.now, exchange.context.wantContent)
      }
    }
    guard role != .federation else {
      throw Problem(.notFound, "not-found", "here is nothing but the addresses of the federation").closingConnection()
    }
    switch request.method {
    case .get, .head: return FinalResponse(response: try await retrieve(target, &exchange))
    case .post:
      guard let door = uploads.door(at: target.segments) else { throw notAllowed(target) }
      exchange.route = "upload"
      return try await door.take(
        exchange.request, from: client, now: exchange.now, reading: exchange.context.wantContent)
    case .options:
      exchange.route = "options"
      return FinalResponse(
        response: Response(
          status: .noContent,
          headers: [
            .allow: allowed(at: target), .accessControlAllowMethods: allowed(at: target),
            .accessControlAllowHeaders: "*", .accessControlMaxAge: "86400",
          ]))
    default: throw notAllowed(target)
    }
  }

  private func answer(
    _ request: Request, at target: RequestTarget, by operators: OperatorsResponder, _ exchange: inout Exchange
  ) async throws -> FinalResponse {
    guard request.method == .get || request.method == .head else {
      throw Problem(.methodNotAllowed, "method-not-allowed", "allowed are GET, HEAD").with(.allow, "GET, HEAD")
        .closingConnection()
    }
    // One that announces content is refused as elsewhere.
    _ = try reader.retrieval(of: target, request.head)
    exchange.route = "unknown"
    return FinalResponse(
      response: try await operators.response(
        to: request.head, at: target, from: exchange.context.channel.remoteAddress, route: &exchange.route))
  }

  private func retrieve(_ target: RequestTarget, _ exchange: inout Exchange) async throws -> Response {
    let retrieval = try reader.retrieval(of: target, exchange.request.head)
    if let stored = storedResponse(to: retrieval, at: exchange.now) {
      metrics.repeatedAnswers.increment()
      exchange.route = stored.route
      exchange.isStored = true
      return stored.response
    }
    exchange.route = "unknown"
    if let door = uploads.door(at: target.segments), !door.isReadable { throw notAllowed(target) }
    exchange.retrieval = retrieval
    let retrieved = await retrievals.response(to: retrieval, at: exchange.now)
    exchange.route = retrieved.route
    exchange.generation = retrieved.generation
    return try retrieved.result.get()
  }

  // MARK: Checking

  private func checkHead(_ request: Request) throws(Problem) {
    let fields = request.headers
    if let coding = fields[.transferEncoding], coding.lowercased() != "chunked" {
      throw Problem(.notImplemented, "transfer-coding", "allowed is chunked alone").closingConnection()
    }
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

  private func checkHost(_ request: Request, isNeeded: Bool) throws(Problem) {
    let authority = request.head.authority ?? (isNeeded ? nil : "")
    if let authority, RequestTarget.isAuthority(authority.utf8) { return }
    throw Problem(
      .badRequest, "malformed-host", "a request names whom it asks once: one field Host, with a host and perhaps a port"
    ).closingConnection()
  }

  private func beginProxied(_ client: RateLimitedClient) throws(Problem) {
    guard !proxied.begin(client) else { return }
    metrics.rateLimited.increment()
    throw Problem(
      .tooManyRequests, "too-many-at-a-time", "\(limits.clientConnections) requests of this client are answered now"
    ).with(.retryAfter, "1")
  }

  private static let fieldsOfProxies: Set<String> = [
    "via", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "true-client-ip",
    "cf-connecting-ip", "x-envoy-external-address", "fly-client-ip", "fastly-client-ip",
  ]

  /// The connection's address counts: what came through a proxy, whether it is one of ours or not, came from outside.
  private func checkMayReadMetrics(_ request: Request, from address: SocketAddress?) throws(Problem) {
    let isForwarded =
      reader.proxies.holds(address)
      || request.headers.contains { Self.fieldsOfProxies.contains($0.name.canonicalName) }
    // A connection without an address never left this machine.
    let isAllowed =
      !isForwarded
      && (IPAddress(address).map { asker in settings.metricsClients.contains { $0.contains(asker) } } ?? true)
    guard isAllowed else {
      throw Problem(
        .forbidden, "not-for-you",
        "the metrics are for the addresses of server.metrics-clients, without a proxy between")
    }
  }

  private func checkRate(_ client: RateLimitedClient) throws(Problem) {
    guard let wait = limiter?.take(for: client, at: monotonicSeconds()) else { return }
    metrics.rateLimited.increment()
    let seconds = max(1, Int(wait.rounded(.up)))
    throw Problem(.tooManyRequests, "too-many-requests", "too many requests from this address; wait \(seconds) s")
      .with(.retryAfter, String(seconds))
  }

  private func notAllowed(_ target: RequestTarget) -> Problem {
    Problem(.methodNotAllowed, "method-not-allowed", "allowed are \(allowed(at: target))")
      .with(.allow, allowed(at: target)).closingConnection()
  }

  private func allowed(at target: RequestTarget) -> String {
    uploads.door(at: target.segments)?.methods ?? "GET, HEAD, OPTIONS"
  }

  // MARK: Fields of every response

  private func addCommonFields(to response: inout Response, _ exchange: Exchange) {
    response.headers[.date] = HTTPDate.text(exchange.now)
    response.headers[.xContentTypeOptions] = "nosniff"
    response.headers[.referrerPolicy] = "no-referrer"
    response.headers[.contentSecurityPolicy] =
      switch exchange.route {
      case RetrievalResponder.pageRoute: FrontPage.securityPolicy
      case OperatorsResponder.pageRoute: OperatorsPage.securityPolicy
      default: Self.securityPolicy
      }
    // What operators are told, a page of somebody else's in their browser is not.
    response.headers[.resourcePolicy] = role == .operators ? "same-origin" : "cross-origin"
    if role != .operators {
      response.headers[.accessControlAllowOrigin] = "*"
      response.headers[.accessControlExposeHeaders] = "*"
    }
    if settings.certificatePEM != nil { response.headers[.strictTransportSecurity] = "max-age=31536000" }
  }

  private static let securityPolicy = "default-src 'none'; frame-ancestors 'none'"

  private static func methodLabel(_ method: HTTPRequest.Method) -> String {
    switch method {
    case .get, .head, .post, .put, .delete, .options, .patch: method.rawValue
    default: "other"
    }
  }
}

extension GatewayResponder {
  /// At an address where operators alone are answered, and phones find nothing.
  init(
    operators: OperatorsResponder, limits: ServerLimits, metrics: GatewayMetrics, clock: ServerClock, logger: Logger
  ) {
    let settings = ServerSettings()
    self.init(
      settings: settings, reader: RequestReader(limits: limits, readsHost: false),
      retrievals: RetrievalResponder(
        settings: settings, store: .empty, catalog: LayoutCatalog([]), watch: nil, logger: logger,
        cache: BundleCache(byteLimit: 0, metrics: metrics), signer: nil),
      metrics: metrics, clock: clock, logger: logger, limiter: nil, uploads: UploadEndpoints([]), partners: [],
      connections: OpenConnections(
        most: limits.connections, mostOfClient: limits.clientConnections, metrics: metrics),
      proxied: ProxiedRequests(mostOfClient: limits.clientConnections))
    (role, self.operators) = (.operators, operators)
  }
}
