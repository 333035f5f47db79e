package import BundleTrust
internal import ExposureKeys
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import NetworkFaults

/// Calls subscribers: one GET over TLS, with the gateway's own certificate.
///
/// - The name is looked up, **every** address of it is judged, and the connection goes to an address that was judged: what the
///   name says a moment later changes nothing.
/// - The server's own certificate is judged, not one of those that it sends beside it; nobody's signature under it counts.
/// - Redirects are not followed, and what comes behind the head of the response is not read.
package struct CallbackCaller: Sendable {
  /// Seconds for everything together.
  package static let timeLimit: Int64 = 10
  /// How many addresses of a name are tried.
  private static let mostAddresses = 16

  private let context: NIOSSLContext
  private let reach: AddressReach
  private let resolver: any HostResolver
  private let userAgent: String
  private let timeLimit: TimeAmount

  /// - Parameters:
  ///   - certificatePEM: what the gateway shows to subscribers.
  ///   - version: the gateway's, for the `User-Agent`.
  /// - Throws: ``CallbackFault`` `tls` where the certificate and the key cannot be used.
  package init(
    certificatePEM: String, keyPEM: Secret, reach: AddressReach, resolver: any HostResolver = SystemResolver(),
    version: String, milliseconds: Int64 = CallbackCaller.timeLimit * 1000
  ) throws(CallbackFault) {
    var tls = TLSConfiguration.client
    tls.applicationProtocols = ["http/1.1"]
    // What the server shows is judged below, in place of everything that TLS would look at.
    tls.certificateVerification = .noHostnameVerification
    tls.trustRoots = .certificates([])
    do {
      tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(certificatePEM.utf8)).map { .certificate($0) }
      tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(keyPEM.disclosed.utf8), format: .pem))
      context = try NIOSSLContext(configuration: tls)
    } catch {
      throw CallbackFault(.tls, "the certificate for callbacks and its key cannot be read, or do not belong together")
    }
    self.reach = reach
    self.resolver = resolver
    userAgent = "Keyferry/\(version) (diagnosis key gateway)"
    timeLimit = .milliseconds(milliseconds)
  }

  /// The addresses of a subscriber, each of which may be called.
  ///
  /// - Throws: ``CallbackFault`` `name-not-found`, `address-refused`, `time-out`.
  package func addresses(of target: CallbackTarget) async throws(CallbackFault) -> [String] {
    try await addresses(of: target, until: .now() + timeLimit)
  }

  private func addresses(of target: CallbackTarget, until deadline: NIODeadline) async throws(CallbackFault) -> [String]
  {
    let found: [String]
    if AddressReach.bytes(of: target.name) != nil {
      found = [target.name]
    } else {
      do {
        found = try await within(deadline) { [resolver] in try await resolver.addresses(of: target.name) }
      } catch {
        throw error as? CallbackFault
          ?? CallbackFault(.nameNotFound, "\(target.host) cannot be looked up: \(NetworkFault(error))")
      }
    }
    guard !found.isEmpty else { throw CallbackFault(.nameNotFound, "\(target.host) has no address") }
    for address in found {
      if let refusal = reach.refusal(of: address) {
        throw CallbackFault(
          .addressRefused, "\(target.host): \(refusal); every address of the host has to be a public one")
      }
    }
    return Array(found.prefix(Self.mostAddresses))
  }

  /// Tells a subscriber that there is a batch.
  ///
  /// - Parameters:
  ///   - query: behind the address.
  ///   - refusal: judges the DER of the server's own certificate; `nil` is trusted.
  /// - Throws: ``CallbackFault``. Returns when the subscriber has answered with 2xx.
  package func call(
    _ target: CallbackTarget, query: [(name: String, value: String)],
    refusal: @escaping @Sendable (_ certificate: [UInt8]) -> String?
  ) async throws(CallbackFault) {
    let deadline = NIODeadline.now() + timeLimit
    var last = CallbackFault(.unreachable, "\(target.host) could not be reached")
    for address in try await addresses(of: target, until: deadline) {
      do throws(CallbackFault) {
        return try await call(target, at: address, query: query, until: deadline, refusal)
      } catch {
        // Another address is another way to the same server, and no second opinion of it.
        guard error.code == .unreachable else { throw error }
        last = error
      }
    }
    throw last
  }

  private func call(
    _ target: CallbackTarget, at address: String, query: [(name: String, value: String)], until deadline: NIODeadline,
    _ refusal: @escaping @Sendable ([UInt8]) -> String?
  ) async throws(CallbackFault) {
    let left = deadline - .now()
    guard left > .zero else { throw CallbackFault(.timeOut, "\(target.host) was not reached in time") }
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let exchange = CallbackExchange(host: target.host, loop.makePromise(of: Int.self))
    let answered = exchange.status
    let bootstrap = ClientBootstrap(group: loop).connectTimeout(left)
      .channelInitializer { [context] channel in
        channel.eventLoop.makeCompletedFuture {
          let tls = try NIOSSLClientHandler(
            context: context, serverHostname: AddressReach.bytes(of: target.name) == nil ? target.host : nil,
            customVerificationCallback: { chain, verified in
              let leaf = chain.first.flatMap { try? $0.toDERBytes() }
              if let refusal = leaf.map(refusal) ?? "the server has no certificate" {
                answered.fail(CallbackFault(.certificateRefused, "\(target.host): \(refusal)"))
                verified.succeed(.failed)
              } else {
                verified.succeed(.certificateVerified)
              }
            })
          try channel.pipeline.syncOperations.addHandler(tls)
          try channel.pipeline.syncOperations.addHTTPClientHandlers()
          try channel.pipeline.syncOperations.addHandler(exchange.handler)
        }
      }
    let channel: any Channel
    do {
      channel = try await bootstrap.connect(to: SocketAddress(ipAddress: address, port: target.address.port)).get()
    } catch {
      answered.fail(error)
      throw CallbackFault(
        .unreachable, "\(target.host): a connection to \(address) could not be made: \(NetworkFault(error))")
    }
    channel.eventLoop.scheduleTask(deadline: deadline) { channel.close(promise: nil) }
    var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: Self.uri(target, query))
    head.headers = [
      "host": target.address.authority, "user-agent": userAgent, "accept": "*/*", "accept-encoding": "identity",
      "connection": "close",
    ]
    channel.write(HTTPClientRequestPart.head(head), promise: nil)
    channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
    let status: Int
    do {
      status = try await answered.futureResult.get()
    } catch {
      if let fault = error as? CallbackFault, fault.code == .certificateRefused { throw fault }
      guard NIODeadline.now() < deadline else {
        throw CallbackFault(.timeOut, "\(target.host) has not answered within \(timeLimit.seconds) s")
      }
      throw error as? CallbackFault ?? CallbackFault(.tls, "\(target.host): \(NetworkFault(error))")
    }
    guard (200...299).contains(status) else {
      let about = (300...399).contains(status) ? "; redirects are not followed" : ""
      throw CallbackFault(.status, "\(target.host) has answered with \(status), allowed 200...299\(about)")
    }
  }

  private static func uri(_ target: CallbackTarget, _ query: [(name: String, value: String)]) -> String {
    let path = target.address.path.isEmpty ? "/" : target.address.path
    return "\(path)?" + query.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
  }
}

/// What is done in time; what is not goes on, and nobody waits for it.
private func within<Value: Sendable>(
  _ deadline: NIODeadline, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  let loop = MultiThreadedEventLoopGroup.singleton.next()
  let promise = loop.makePromise(of: Value.self)
  let timer = loop.scheduleTask(deadline: deadline) { promise.fail(CallbackFault(.timeOut, "no answer in time")) }
  promise.completeWithTask(body)
  defer { timer.cancel() }
  return try await promise.futureResult.get()
}

extension TimeAmount {
  fileprivate var seconds: String {
    let tenths = nanoseconds / 100_000_000
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}

/// One response, of which the status counts.
private struct CallbackExchange: Sendable {
  let host: String
  let status: EventLoopPromise<Int>

  init(host: String, _ status: EventLoopPromise<Int>) {
    self.host = host
    self.status = status
  }

  /// For one channel.
  var handler: Handler { Handler(self) }

  /// Lives on its channel's event loop.
  final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let exchange: CallbackExchange

    init(_ exchange: CallbackExchange) { self.exchange = exchange }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      // An answer is one when its status is here.
      case .head(let head):
        exchange.status.succeed(Int(head.status.code))
        hangUp(context)
      case .body, .end: break
      }
    }

    /// TLS would read on until the other side says goodbye: the connection is closed below it.
    private func hangUp(_ context: ChannelHandlerContext) {
      guard let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self) else {
        return context.close(promise: nil)
      }
      tls.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      exchange.status.fail(CallbackFault(.tls, "\(exchange.host): \(NetworkFault(error))"))
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
      exchange.status.fail(
        CallbackFault(.connectionClosed, "\(exchange.host) has closed the connection without an answer"))
      context.fireChannelInactive()
    }
  }
}
