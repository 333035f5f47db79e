internal import BundleTrust
internal import Crypto
package import ExposureKeys

/// A request as S3 counts it: what is signed is what is sent.
///
/// Path and query are encoded once, and the request line is made of these very bytes; nothing in between may spell them otherwise.
package struct S3Request: Hashable, Sendable {
  package struct Header: Hashable, Sendable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
  }

  package var method: String
  /// As `Host` says it: with the port where it is not the scheme's.
  package var host: String
  /// Encoded, and begins with a slash.
  package var path: String
  /// Encoded, in order; empty where there is none.
  package var query: String
  package var headers: [Header]
  package var body: [UInt8]

  /// - Parameters:
  ///   - path: as it is, without encoding.
  ///   - query: names and values as they are.
  package init(
    _ method: String, host: String, path: String, query: [(name: String, value: String)] = [], headers: [Header] = [],
    body: [UInt8] = []
  ) {
    self.method = method
    self.host = host
    let encoded = S3Encoding.path(path)
    self.path = encoded.first == "/" ? encoded : "/" + encoded
    self.query = query.map { (S3Encoding.word($0.name), S3Encoding.word($0.value)) }
      .sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    self.headers = headers
    self.body = body
  }

  /// Behind the host.
  package var target: String { query.isEmpty ? path : "\(path)?\(query)" }
}

/// How names are spelled in a request to S3 (AWS, "Create a signed AWS API request", UriEncode).
package enum S3Encoding {
  /// Everything but unreserved characters is encoded, a slash as well.
  package static func word(_ text: String) -> String { PercentEncoding.encode(text) }

  /// Slashes stay; `//`, `.` and `..` are names like any other.
  package static func path(_ text: String) -> String { PercentEncoding.encode(text, keeping: "/") }
}

/// AWS Signature Version 4, as S3 wants it: the whole body is hashed, every header that is given is signed.
package struct S3Signature: Sendable {
  package let credentials: S3Credentials
  package let region: String

  package init(_ credentials: S3Credentials, region: String) {
    (self.credentials, self.region) = (credentials, region)
  }

  /// The request with what signs it: `x-amz-date`, `x-amz-content-sha256`, `x-amz-security-token`, `Authorization`.
  package func signed(_ request: S3Request, at now: Instant) -> S3Request {
    var request = request
    let date = Self.date(now)
    let digest = Hexadecimal.encode(SHA256.hash(data: request.body))
    request.headers += [.init("x-amz-content-sha256", digest), .init("x-amz-date", date)]
    if let token = credentials.sessionToken {
      request.headers.append(.init("x-amz-security-token", token.disclosed))
    }
    let canonical = canonicalRequest(request, digest)
    let text = stringToSign(canonical.text, date: date)
    request.headers.append(
      .init(
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=\(credentials.accessKeyID)/\(scope(date)), SignedHeaders=\(canonical.names), "
          + "Signature=\(signature(of: text, date: date))"))
    return request
  }

  /// - Parameter digest: the SHA-256 of the body in lower-case hexadecimal, or the word that stands for it.
  package func canonicalRequest(_ request: S3Request, _ digest: String) -> (text: String, names: String) {
    var values: [String: [String]] = ["host": [request.host]]
    for header in request.headers {
      values[header.name.lowercased(), default: []].append(
        header.value.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " "))
    }
    let names = values.keys.sorted()
    let lines = names.map { "\($0):\(values[$0, default: []].joined(separator: ","))\n" }.joined()
    let signed = names.joined(separator: ";")
    return (
      [request.method, request.path, request.query, lines, signed, digest].joined(separator: "\n"), signed
    )
  }

  package func stringToSign(_ canonicalRequest: String, date: String) -> String {
    let digest = Hexadecimal.encode(SHA256.hash(data: Array(canonicalRequest.utf8)))
    return ["AWS4-HMAC-SHA256", date, scope(date), digest].joined(separator: "\n")
  }

  package func signature(of text: String, date: String) -> String {
    var key = SymmetricKey(data: Array("AWS4\(credentials.secretAccessKey.disclosed)".utf8))
    for part in [String(date.prefix(8)), region, "s3", "aws4_request"] {
      key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: key))
    }
    return Hexadecimal.encode(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key))
  }

  private func scope(_ date: String) -> String { "\(date.prefix(8))/\(region)/s3/aws4_request" }

  /// `20130524T000000Z`.
  package static func date(_ now: Instant) -> String {
    "\(now)".filter { $0 != "-" && $0 != ":" }
  }
}
