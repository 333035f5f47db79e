internal import AsyncHTTPClient
package import BundleTrust
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import NetworkFaults

/// One small request to another server that must be answered soon, and is not tried again. Redirects are not followed.
package struct ShortCall: Sendable {
  private let address: String
  private let body: [UInt8]?
  private let token: Secret?
  private let rootsPEM: String?
  private let timeoutSeconds: Int64
  private let byteLimit: Int
  private let mediaType: String

  /// Lives as long as the process.
  private static let client = HTTPClient(
    eventLoopGroupProvider: .singleton,
    configuration: HTTPClient.Configuration(
      tlsConfiguration: .client, redirectConfiguration: .disallow, decompression: .disabled))

  /// - Parameters:
  ///   - body: what is posted; `nil` gets.
  ///   - token: the bearer token to show.
  ///   - rootsPEM: the certificates to trust; `nil` is the system's.
  ///   - mediaType: of the body, and of the answer.
  package init(
    address: String, body: [UInt8]?, token: Secret?, rootsPEM: String? = nil, timeoutSeconds: Int64, byteLimit: Int,
    mediaType: String = "application/json"
  ) {
    self.mediaType = mediaType
    self.address = address
    self.body = body
    self.token = token
    self.rootsPEM = rootsPEM
    self.timeoutSeconds = timeoutSeconds
    self.byteLimit = byteLimit
  }

  /// The answer with its whole body, within the time.
  ///
  /// - Throws: `NetworkFault`, which has nothing of the body or the token in it, or `CancellationError`.
  package func answer() async throws -> (status: Int, body: [UInt8]) {
    do {
      return try await wholeAnswer()
    } catch is NIOTooManyBytesError {
      throw NetworkFault(.notHTTP, "it answers more than the \(byteLimit) bytes that are read")
    } catch let damage as GzipDecoding.Damage {
      throw NetworkFault(.notHTTP, "its gzip is damaged: \(damage.reason)")
    } catch {
      // A task that was cancelled is told so by the client in its own words.
      try Task.checkCancellation()
      throw NetworkFault(error)
    }
  }

  private func wholeAnswer() async throws -> (status: Int, body: [UInt8]) {
    var request = HTTPClientRequest(url: address)
    request.headers.add(name: "Accept", value: mediaType)
    request.headers.add(name: "Accept-Encoding", value: "identity")
    if let token { request.headers.add(name: "Authorization", value: "Bearer \(token.disclosed)") }
    if let body {
      request.method = .POST
      request.headers.add(name: "Content-Type", value: mediaType)
      request.body = .bytes(ByteBuffer(bytes: body))
    }
    if let rootsPEM {
      var tls = TLSConfiguration.client
      tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(rootsPEM.utf8)))
      request.tlsConfiguration = tls
    }
    let end = ContinuousClock.now + .seconds(timeoutSeconds)
    let response = try await Self.client.execute(request, deadline: .now() + .seconds(timeoutSeconds))
    // The time of a request ends with its head. A body that comes byte by byte would hold up whoever asked.
    return try await withThrowingTaskGroup(of: (status: Int, body: [UInt8]).self) { [byteLimit] group in
      group.addTask {
        let body = try await response.body.collect(upTo: byteLimit)
        let bytes =
          response.isGzip ? try GzipDecoding.decoded(body, limit: byteLimit) : Array(body.readableBytesView)
        return (Int(response.status.code), bytes)
      }
      group.addTask {
        try await Task.sleep(until: end, clock: .continuous)
        throw HTTPClientError.deadlineExceeded
      }
      defer { group.cancelAll() }
      guard let answer = try await group.next() else { throw CancellationError() }
      return answer
    }
  }
}
