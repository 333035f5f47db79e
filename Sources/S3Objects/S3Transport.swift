internal import AsyncHTTPClient
internal import BundleTrust
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import NetworkFaults

/// One answer, whole.
package struct S3Answer: Sendable {
  package var status: Int
  package var headers: [S3Request.Header] = []
  package var body: [UInt8] = []
  /// The body is longer than may be read; then it is not here.
  package var isTooLarge = false

  package init(status: Int, headers: [S3Request.Header] = [], body: [UInt8] = []) {
    (self.status, self.headers, self.body) = (status, headers, body)
  }

  package subscript(name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// Whether it is a page of HTML for people, which no store answers with: its own words are XML, and objects of ours are archives
  /// and lists. An object that somebody has written over is still answered with the headers of a store.
  var isPage: Bool {
    let isOfStore = headers.contains { header in
      let name = header.name.lowercased()
      return name.hasPrefix("x-amz-") || name.hasPrefix("x-goog-") || name.hasPrefix("x-guploader-")
    }
    if isOfStore { return false }
    let start = body.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }.prefix(15)
    let words = String(decoding: start, as: UTF8.self).lowercased()
    if words.hasPrefix("<html") || words.hasPrefix("<!doctype html") { return true }
    // The type alone says nothing: some stores give it to their XML, and to answers without a body.
    return self["Content-Type"]?.lowercased().hasPrefix("text/html") == true && !words.isEmpty && !words.hasPrefix("<")
  }
}

/// How requests get to a store. Nothing is repeated and nothing is followed here.
package protocol S3Transport: Sendable {
  /// - Parameters:
  ///   - origin: scheme, host and port: `https://s3.eu-west-1.amazonaws.com`.
  ///   - limit: of the answer's body in bytes.
  ///   - seconds: until the whole answer must be there.
  /// - Throws: what the network does, in words that show no header; `NetworkFault` where it is a real one.
  func send(_ request: S3Request, to origin: String, limit: Int, seconds: Double) async throws -> S3Answer
}

/// Bytes that come one after the other, nobody knows how many.
struct BodyPieces {
  private static let length = 1 << 20
  private var pieces: [[UInt8]] = []
  private(set) var count = 0

  mutating func append(_ bytes: some RandomAccessCollection<UInt8>) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let last = pieces.count - 1
      let room = last < 0 ? 0 : Self.length - pieces[last].count
      if room == 0 {
        var piece: [UInt8] = []
        piece.reserveCapacity(min(Self.length, max(rest.count, pieces.isEmpty ? 1 << 12 : Self.length)))
        pieces.append(piece)
        continue
      }
      pieces[last].append(contentsOf: rest.prefix(room))
      count += min(room, rest.count)
      rest = rest.dropFirst(room)
    }
  }

  /// All of them; nothing is left here.
  mutating func joined() -> [UInt8] {
    guard pieces.count != 1 else { return pieces.removeLast() }
    var whole: [UInt8] = []
    whole.reserveCapacity(count)
    for index in pieces.indices {
      whole.append(contentsOf: pieces[index])
      pieces[index] = []
    }
    pieces = []
    return whole
  }
}

/// Over HTTP/1.1, with TLS 1.2 or newer where the address says so.
package struct HTTPS3Transport: S3Transport {
  private let rootsPEM: String?

  /// Lives as long as the process.
  private static let client: HTTPClient = {
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: .client, redirectConfiguration: .disallow, timeout: .init(connect: .seconds(5)),
      decompression: .disabled)
    configuration.httpVersion = .http1Only
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 16
    return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }()

  /// - Parameter rootsPEM: the certificates to trust; `nil` is the system's.
  package init(rootsPEM: String? = nil) { self.rootsPEM = rootsPEM }

  /// Why these certificates cannot be used; `nil` where they can.
  package static func fault(ofRoots pem: String) -> String? {
    guard let certificates = try? NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)), !certificates.isEmpty else {
      return "no PEM certificate can be read"
    }
    return nil
  }

  package func send(_ request: S3Request, to origin: String, limit: Int, seconds: Double) async throws -> S3Answer {
    do {
      return try await answer(to: request, origin, limit: limit, seconds: seconds)
    } catch {
      // A task that was cancelled is told so by the client in its own words.
      try Task.checkCancellation()
      throw NetworkFault(error)
    }
  }

  private func answer(
    to request: S3Request, _ origin: String, limit: Int, seconds: Double
  ) async throws -> S3Answer {
    var call = HTTPClientRequest(url: origin + request.target)
    call.method = HTTPMethod(rawValue: request.method)
    call.headers.add(name: "Host", value: request.host)
    for header in request.headers { call.headers.add(name: header.name, value: header.value) }
    if !request.body.isEmpty || request.method == "PUT" || request.method == "POST" {
      call.body = .bytes(ByteBuffer(bytes: request.body))
    }
    if let rootsPEM {
      var tls = TLSConfiguration.client
      tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(rootsPEM.utf8)))
      call.tlsConfiguration = tls
    }
    let nanoseconds = Int64(seconds * 1_000_000_000)
    let end = ContinuousClock.now + .nanoseconds(nanoseconds)
    let response = try await Self.client.execute(call, deadline: .now() + .nanoseconds(nanoseconds))
    var answer = S3Answer(
      status: Int(response.status.code), headers: response.headers.map { S3Request.Header($0.name, $0.value) })
    if request.method == "HEAD" { return answer }
    let stated = answer["Content-Length"].flatMap(Int.init)
    if let stated, stated > limit {
      answer.isTooLarge = true
      return answer
    }
    // The time of a request ends with its head. A body that comes byte by byte would hold up whoever asked.
    let body: [UInt8]? = try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
      group.addTask {
        // What comes is kept once, in pieces: one array that grows has all of it twice, and much that nobody has sent. No room is
        // made for what is only said.
        var pieces = BodyPieces()
        for try await part in response.body {
          guard pieces.count + part.readableBytes <= limit else { return nil }
          pieces.append(part.readableBytesView)
        }
        return pieces.joined()
      }
      group.addTask {
        try await Task.sleep(until: end, clock: .continuous)
        throw HTTPClientError.deadlineExceeded
      }
      defer { group.cancelAll() }
      guard let body = try await group.next() else { throw CancellationError() }
      return body
    }
    guard let body else {
      answer.isTooLarge = true
      return answer
    }
    if let stated, stated != body.count { throw HTTPClientError.remoteConnectionClosed }
    answer.body = body
    return answer
  }
}
