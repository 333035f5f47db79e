internal import HTTPTypes
internal import NIOCore

/// A request to retrieve something (GET or HEAD), as far as its response depends on it.
///
/// It is all that makers of responses see of a request, and stored responses are found by it. So a response varies by
/// what is read of a request and by nothing else: reading a field that is no ``Field`` does not compile, and what is one
/// is part of the comparison.
struct RetrievalRequest: Hashable, Sendable {
  /// A field of a request on which a response may depend.
  enum Field: String, CaseIterable, Sendable {
    case acceptEncoding = "accept-encoding"
    case ifMatch = "if-match"
    case ifNoneMatch = "if-none-match"
    case ifModifiedSince = "if-modified-since"
    case ifUnmodifiedSince = "if-unmodified-since"
    case ifRange = "if-range"
    case range
  }

  let target: RequestTarget
  /// The authority that the request names; `nil` where it names none, or where no response says it again.
  let host: String?
  private(set) var acceptsGzip = false
  private(set) var ifMatch: String?
  private(set) var ifNoneMatch: String?
  private(set) var ifModifiedSince: String?
  private(set) var ifUnmodifiedSince: String?
  private(set) var ifRange: String?
  private(set) var range: String?

  init(_ target: RequestTarget, host: String? = nil) {
    self.target = target
    self.host = host
  }

  init(_ target: RequestTarget, host: String? = nil, fields: HTTPFields) {
    self.init(target, host: host)
    for (field, name) in Self.names { if let value = fields[name] { take(value, of: field) } }
  }

  private static let names = Field.allCases.compactMap { field in
    HTTPField.Name(field.rawValue).map { (field, $0) }
  }

  mutating func take(_ value: String, of field: Field) {
    switch field {
    case .acceptEncoding: acceptsGzip = GzipCompression.isAccepted(by: value)
    case .ifMatch: ifMatch = value
    case .ifNoneMatch: ifNoneMatch = value
    case .ifModifiedSince: ifModifiedSince = value
    case .ifUnmodifiedSince: ifUnmodifiedSince = value
    case .ifRange: ifRange = value
    case .range: range = value
    }
  }

  /// Bytes of memory, at most.
  var weight: Int {
    let texts =
      [host, ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince, ifRange, range].compactMap(\.self)
      + target.query.values
    return texts.reduce(target.path.utf8.count + 256) { $0 + $1.utf8.count + 32 }
  }
}

/// - Parameter known: small letters and hyphens, of which each differs from a capital in one bit or not at all.
func isSame(_ text: some Collection<UInt8>, _ known: String) -> Bool {
  text.count == known.utf8.count && zip(text, known.utf8).allSatisfy { $0 | 0x20 == $1 }
}

/// How requests become values, by the limits and the settings of a server.
struct RequestReader: Sendable {
  let limits: ServerLimits
  /// Whether a response may name the host of its request: where the operator states the server's address, none does.
  let readsHost: Bool
  var proxies = TrustedProxies()

  /// Who asks, by the connection or by what a proxy says.
  func client(of request: HTTPRequest, from address: SocketAddress?) -> RateLimitedClient {
    let client = RateLimitedClient(address)
    guard !proxies.isEmpty else { return client }
    let values = HTTPField.Name(proxies.field.rawValue).map { request.headerFields[values: $0] } ?? []
    return proxies.client(of: client, at: address, fields: values)
  }

  func target(of request: HTTPRequest) throws(Problem) -> RequestTarget {
    let path = request.path ?? "/"
    // A URL as a target has become a path before, in HTTP/1.1; HTTP/2 has none (RFC 9113, 8.3.1).
    guard path.utf8.first == UInt8(ascii: "/") || (request.method == .options && path == "*") else {
      throw Problem(.badRequest, "malformed-path", "the path must begin with a slash").closingConnection()
    }
    return try RequestTarget(path, byteLimit: limits.targetBytes)
  }

  /// - Throws: ``Problem`` with 413 where the request announces content.
  func retrieval(of target: RequestTarget, _ request: HTTPRequest) throws(Problem) -> RetrievalRequest {
    let fields = request.headerFields
    let length = fields[.contentLength]
    guard fields[.transferEncoding] == nil, length == nil || length == "0" else {
      throw Problem(.contentTooLarge, "body-not-allowed", "a request to read has no body").closingConnection()
    }
    return RetrievalRequest(target, host: readsHost ? request.authority : nil, fields: fields)
  }
}
