internal import AsyncHTTPClient
internal import BundleTrust
package import KeyPeers
internal import NIOCore
internal import NIOHTTP1

/// The way to one source over HTTP/1.1 and HTTP/2. ``PeerClients`` makes it.
///
/// A request's address is absolute, or is put behind the location's path with exactly one slash between them. Only the
/// location's host and the allowed hosts are asked, each at its port, by requests and redirects alike, and `https` never
/// leads to `http`.
/// The secret headers go to the scheme, host and port of the location alone.
///
/// Connection faults, time-outs and the statuses 408, 425, 429, 500, 502, 503 and 504 are tried again, with
/// exponential back-off and full jitter, and not before a `Retry-After`; a server that asks for more than a minute is
/// not asked again now. When the retries are spent such a status is an answer like every other. A request that hands
/// something over is sent once, and what is answered is the answer.
///
/// Faults have the codes `bad-address`, `bad-header`, `host-refused`, `redirect-refused`, `too-many-redirects`,
/// `name-not-found`, `connection-refused`, `unreachable`, `connection-closed`, `tls`, `time-out`,
/// `malformed-response`, `too-large`, `secret-refused` and `storage`. Their texts hold neither queries nor headers, and
/// `{name}` for a secret of the source. A cancelled task gets `CancellationError`.
package final class HTTPPeerTransport: Transport {
  private static let redirectLimit = 5
  /// What is read of the body of an answer that is not the document.
  private static let otherBodyLimit = 64 << 10
  private static let eventStep = 256 << 10

  private let location: WebAddress
  private let allowedHosts: Set<String>
  private let secretHeaders: [TransportSettings.Header]
  private let secrets: RequestSecrets
  private let concurrency: Int
  private let retryPolicy: RetryPolicy
  private let client: HTTPClient
  private let budget: ConnectionBudget
  private let limits: TimeLimits
  private let clock: TransportClock
  private let userAgent: String
  private let onEvent: @Sendable (TransportEvent) -> Void

  init(
    location: String, settings: TransportSettings, secrets: [String: Secret], client: HTTPClient,
    budget: ConnectionBudget, limits: TimeLimits,
    clock: TransportClock, version: String, onEvent: @escaping @Sendable (TransportEvent) -> Void
  ) throws {
    self.location = try Self.address(of: location, settings)
    allowedHosts = Set(settings.allowedHosts.map { $0.lowercased() })
    secretHeaders = settings.headers
    self.secrets = RequestSecrets(secrets)
    concurrency = settings.connectionsPerHost
    retryPolicy = RetryPolicy(retries: settings.retries)
    self.client = client
    self.budget = budget
    self.limits = limits
    self.clock = clock
    userAgent = "Keyferry/\(version) (diagnosis key gateway)"
    self.onEvent = onEvent
  }

  /// A source's address, once it and what is sent with each request can be used.
  static func address(of location: String, _ settings: TransportSettings) throws -> WebAddress {
    let address = try WebAddress(location)
    guard address.query == nil else {
      throw TransportFault(
        code: .badAddress, reason: "\(address): a location has no query; tokens belong in the headers",
        isTemporary: false)
    }
    try check(disclosed(settings.headers))
    return address
  }

  /// Answers of other statuses than 200 come without their body where that is larger than 64 KiB, or encoded.
  package func ask(_ request: PeerRequest) async throws -> (head: ResponseHead, body: [UInt8]) {
    try await answer(to: request, BodyDestination(path: nil, byteLimit: request.byteLimit))
  }

  /// The file appears whole, in the place of one that stands there, or not at all.
  package func fetch(_ request: PeerRequest, into path: String, byteLimit: Int) async throws -> ResponseHead {
    try await answer(to: request, BodyDestination(path: path, byteLimit: byteLimit)).head
  }
}

/// Where a body goes; `nil` is memory.
private struct BodyDestination: Sendable {
  let path: String?
  let byteLimit: Int
}

/// A body as it is received, which becomes a file or stays in memory.
private struct ReceivedBody: ~Copyable {
  private let address: WebAddress
  private let byteLimit: Int
  private var file: PartFile?
  private var kept: [UInt8] = []
  private var count = 0

  init(_ destination: BodyDestination, from address: WebAddress) throws {
    self.address = address
    byteLimit = destination.byteLimit
    file = try destination.path.map { try PartFile($0) }
  }

  mutating func take(_ piece: ByteBuffer) throws {
    count += piece.readableBytes
    guard count <= byteLimit else {
      throw TransportFault.tooLarge(address, "\(count) or more", limit: byteLimit)
    }
    if file != nil {
      try file?.write(piece)
    } else {
      piece.withUnsafeReadableBytes { kept.append(contentsOf: $0) }
    }
  }

  /// The bytes that are kept in memory; a file gets its name.
  consuming func finish() throws -> [UInt8] {
    try file.take()?.commit()
    return kept
  }
}

private typealias HeadAndBody = (head: ResponseHead, body: [UInt8])

// MARK: - Retries and redirects

extension HTTPPeerTransport {
  private func answer(to request: PeerRequest, _ destination: BodyDestination) async throws -> HeadAndBody {
    try Self.check(request.headers)
    let address = try location.address(for: request.url)
    let secrets = self.secrets.adding(request.seal)
    guard isAllowed(address) else {
      throw TransportFault(
        code: .hostRefused,
        reason:
          "\(address): the host \(address.authority) is neither the source's, \(location.authority), nor an allowed"
          + " one; one at another port is allowed with it: \(location.host):8443",
        isTemporary: false)
    }
    guard address.scheme == .https || location.scheme == .http else {
      throw TransportFault(
        code: .hostRefused, reason: "\(address): a source of https does not lead to http", isTemporary: false)
    }
    guard request.body == nil else {
      try checkSecrets(secrets, of: address, request.headers)
      return try await budget.withPermit(for: address.authority, limit: concurrency) {
        try await exchange(address, request.headers, secrets, destination, handing: request.body)
      }
    }
    var retry = 1
    while true {
      try Task.checkCancellation()
      let reason: String
      let delay: Duration?
      do {
        let answer = try await followRedirects(from: address, request.headers, secrets, destination)
        guard RetryPolicy.isTemporary(status: answer.head.status) else { return answer }
        let wish = answer.head["retry-after"].flatMap { RetryPolicy.seconds(retryAfter: $0, now: clock.now()) }
        delay = retryPolicy.delay(beforeRetry: retry, wish: wish, random: clock.random())
        guard delay != nil else { return answer }
        reason = "\(address): status \(answer.head.status)"
      } catch let fault as TransportFault where fault.isTemporary && fault.code != .storage {
        delay = retryPolicy.delay(beforeRetry: retry, random: clock.random())
        guard delay != nil else { throw fault }
        reason = fault.reason
      }
      guard let delay else { continue }
      onEvent(.retrying(number: retry, limit: retryPolicy.retries, delay: delay, reason: reason))
      try await clock.sleep(delay)
      retry += 1
    }
  }

  private func followRedirects(
    from first: WebAddress, _ headers: [PeerRequest.Header], _ secrets: RequestSecrets,
    _ destination: BodyDestination
  ) async throws -> HeadAndBody {
    var address = first
    try checkSecrets(secrets, of: address, headers)
    for _ in 0...Self.redirectLimit {
      let answer = try await budget.withPermit(for: address.authority, limit: concurrency) {
        try await exchange(address, headers, secrets, destination)
      }
      guard [301, 302, 303, 307, 308].contains(answer.head.status), let target = answer.head["location"] else {
        return answer
      }
      let next = try redirectTarget(secrets.masked(target), from: address)
      try checkSecrets(secrets, of: next, headers)
      onEvent(.redirected(from: address.description, to: next.description))
      address = next
    }
    throw TransportFault(
      code: .tooManyRedirects, reason: "\(first): more than \(Self.redirectLimit) redirects, the last to \(address)",
      isTemporary: false)
  }

  private func redirectTarget(_ target: String, from address: WebAddress) throws -> WebAddress {
    func refusal(_ reason: String) -> TransportFault {
      TransportFault(
        code: .redirectRefused, reason: "\(address) redirects to \(WebAddress.displayable(target)): \(reason)",
        isTemporary: false)
    }
    guard let next = try? address.address(ofRedirect: target) else { throw refusal("that is no http or https address") }
    guard isAllowed(next) else { throw refusal("the host \(next.authority) is not an allowed one") }
    guard next.scheme == .https || address.scheme == .http else { throw refusal("https does not lead to http") }
    return next
  }

  /// A secret is for the location's scheme, host and port alone.
  private func checkSecrets(
    _ secrets: RequestSecrets, of address: WebAddress, _ headers: [PeerRequest.Header]
  ) throws {
    guard !address.hasSameOrigin(as: location) else { return }
    guard !secrets.belong(in: address), !headers.contains(where: secrets.belong) else {
      throw TransportFault(
        code: .secretRefused, reason: "\(address): a secret of the source is for \(location.authority) alone",
        isTemporary: false)
    }
  }

  /// Host and port are one place: without a port a host is allowed at the port of the scheme.
  private func isAllowed(_ address: WebAddress) -> Bool {
    address.authority == location.authority || allowedHosts.contains(address.authority)
      || allowedHosts.contains("\(address.host):\(address.port)")
  }
}

// MARK: - One request

extension HTTPPeerTransport {
  private func exchange(
    _ address: WebAddress, _ headers: [PeerRequest.Header], _ secrets: RequestSecrets, _ destination: BodyDestination,
    handing load: [UInt8]? = nil
  ) async throws -> HeadAndBody {
    let start = ContinuousClock.now
    do {
      let patience = min(limits.total, limits.connect + limits.idle)
      var request = request(to: address, headers, secrets)
      if let load {
        request.method = .POST
        request.body = .bytes(load)
      }
      // What is handed over takes its time on the way, and the peer its own before it answers.
      let response = try await client.execute(
        request, deadline: .now() + TimeAmount(load == nil ? patience : limits.total))
      let head = ResponseHead(
        status: Int(response.status.code),
        headers: secrets.masked(response.headers.map { PeerRequest.Header($0.name, $0.value) }),
        provenHost: address.scheme == .https ? ProvenHost(provenByTLS: address.host) : nil)
      // After 207 the body says what became of each part of what was handed over.
      guard head.status == 200 || head.status == 207 && load != nil else {
        return (head, secrets.masked(await otherBody(of: response, at: address, destination, since: start)))
      }
      return (head, secrets.masked(try await body(of: response, at: address, destination, since: start)))
    } catch {
      throw try TransportFault.translating(error, at: address, limits)
    }
  }

  private func request(
    to address: WebAddress, _ headers: [PeerRequest.Header], _ secrets: RequestSecrets
  ) -> HTTPClientRequest {
    let isHome = address.hasSameOrigin(as: location)
    var request = HTTPClientRequest(url: isHome ? secrets.disclosed(in: address) : address.text)
    request.headers.add(name: "User-Agent", value: userAgent)
    for header in isHome ? Self.disclosed(secretHeaders) + headers.map(secrets.disclosed) : headers {
      request.headers.replaceOrAdd(name: header.name, value: header.value)
    }
    // Files of keys gain little by it, and a document that is not encoded needs no second limit.
    request.headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
    return request
  }

  private static func disclosed(_ headers: [TransportSettings.Header]) -> [PeerRequest.Header] {
    headers.map { PeerRequest.Header($0.name, $0.value.disclosed) }
  }

  /// The body of a 200, or of a 207 to what was handed over: whole, and within its limit. One in `gzip` is decoded; the limit
  /// holds for the bytes on the way and for the decoded ones.
  private func body(
    of response: HTTPClientResponse, at address: WebAddress, _ destination: BodyDestination,
    since start: ContinuousClock.Instant
  ) async throws -> [UInt8] {
    let isGzip = response.isGzip
    if !isGzip, let encoding = response.contentEncoding {
      throw TransportFault.malformed(
        address, "its Content-Encoding is \(encoding.prefix(40)), although none was asked for")
    }
    let expected = try response.announcedByteCount(at: address)
    if let expected, expected > destination.byteLimit {
      throw TransportFault.tooLarge(address, "\(expected)", limit: destination.byteLimit)
    }
    let progress = BodyProgress()
    return try await progress.watching(address, limits, since: start) { [onEvent] in
      // Some servers and caches compress whatever is asked for.
      let gzip = isGzip ? GzipDecoding() : nil
      var body = try ReceivedBody(destination, from: address)
      var count = 0
      var reported = 0
      for try await piece in response.body {
        count += piece.readableBytes
        guard count <= destination.byteLimit else {
          throw TransportFault.tooLarge(address, "\(count) or more", limit: destination.byteLimit)
        }
        if let gzip {
          gzip.take(piece)
          do {
            while let decoded = try gzip.next() { try body.take(decoded) }
          } catch let damage as GzipDecoding.Damage {
            throw TransportFault.malformed(address, "its gzip is damaged: \(damage.reason)")
          }
        } else {
          try body.take(piece)
        }
        progress.add(piece.readableBytes)
        if count - reported >= Self.eventStep {
          reported = count
          onEvent(.received(byteCount: count, expected: expected, address: address.description))
        }
      }
      // A cancelled sequence may end as if it were whole.
      try Task.checkCancellation()
      guard count == expected ?? count else { throw TransportFault.closed(address) }
      guard gzip?.isWhole ?? true else { throw TransportFault.malformed(address, "its gzip ends in the middle") }
      onEvent(.received(byteCount: count, expected: expected, address: address.description))
      return try body.finish()
    }
  }

  /// The body of an answer that says something else than the document. It is small talk: whatever is wrong with it, the
  /// status stands.
  private func otherBody(
    of response: HTTPClientResponse, at address: WebAddress, _ destination: BodyDestination,
    since start: ContinuousClock.Instant
  ) async -> [UInt8] {
    let limit = min(Self.otherBodyLimit, destination.byteLimit)
    let progress = BodyProgress()
    let body = try? await progress.watching(address, limits, since: start) {
      var kept: [UInt8] = []
      for try await piece in response.body {
        guard kept.count + piece.readableBytes <= limit else { return [UInt8]() }
        piece.withUnsafeReadableBytes { kept.append(contentsOf: $0) }
        progress.add(piece.readableBytes)
      }
      return kept
    }
    return destination.path == nil && response.contentEncoding == nil ? body ?? [] : []
  }

  private static func check(_ headers: [PeerRequest.Header]) throws {
    for header in headers {
      let isToken =
        !header.name.isEmpty
        && header.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
      guard isToken else {
        throw TransportFault(
          code: .badHeader, reason: "the name of a header has a character that cannot be sent", isTemporary: false)
      }
      guard header.value.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
        throw TransportFault(
          code: .badHeader, reason: "the value of the header \(header.name) has a control character",
          isTemporary: false)
      }
    }
  }
}

extension HTTPClientResponse {
  /// Whether the body is encoded with gzip alone.
  var isGzip: Bool { contentEncoding.map { ["gzip", "x-gzip"].contains($0.lowercased()) } ?? false }

  /// What the body is encoded with, one behind the other; `nil` where it is not.
  fileprivate var contentEncoding: String? {
    let encodings = headers[canonicalForm: "content-encoding"].filter { !$0.isEmpty && $0.lowercased() != "identity" }
    return encodings.isEmpty ? nil : encodings.joined(separator: ", ")
  }

  fileprivate func announcedByteCount(at address: WebAddress) throws -> Int? {
    guard let text = headers.first(name: "content-length") else { return nil }
    guard let count = Int(text), count >= 0 else {
      throw TransportFault.malformed(address, "its Content-Length is not a number of bytes")
    }
    return count
  }
}
