internal import AsyncHTTPClient
internal import Glibc
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// What went wrong between this machine and another one, in words of ours.
///
/// Every error of the libraries below becomes one. Their own texts are not passed on: they may hold the address with its query,
/// or headers, and nobody but their authors understands them.
package struct NetworkFault: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Kind: Hashable, Sendable, CaseIterable {
    case nameNotFound, connectionRefused, unreachable
    /// No connection within the time for one.
    case noConnection
    /// A connection, and no answer within the time.
    case noAnswer
    /// The system gave up.
    case timedOut
    case connectionClosed
    case tls
    case badAddress, notHTTP, otherProtocol
    case cancelled
    /// The client is at its end, as at the end of the program.
    case shutDown
  }

  package let kind: Kind
  /// The part of a sentence that goes on behind the place: `no server listens there`.
  package let words: String
  /// What a library says was the bound; `nil` where it does not.
  package var limit: Duration?

  package init(_ kind: Kind, _ words: String, limit: Duration? = nil) {
    (self.kind, self.words, self.limit) = (kind, words, limit)
  }

  package var description: String { words }

  /// Total: what nobody knows has closed the connection, and the name of its type is told.
  package init(_ error: any Error) {
    switch error {
    case let fault as NetworkFault: self = fault
    case is CancellationError: self.init(.cancelled, "it was cancelled")
    case let error as HTTPClientError: self.init(client: error)
    case let error as NIOConnectionError: self.init(connection: error)
    case let error as IOError: self.init(system: error)
    case let error as ChannelError: self.init(channel: error)
    case HTTPParserError.invalidEOFState: self = .closed()
    case is HTTPParserError, is NIOHTTPDecoderError: self.init(.notHTTP, "what it sends is not HTTP")
    case NIOSSLError.uncleanShutdown: self = .closed()
    case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: self.init(handshake: error)
    default: self = .closed("\(type(of: error))")
    }
  }

  private static func closed(_ detail: String? = nil) -> NetworkFault {
    NetworkFault(
      .connectionClosed,
      "the connection closed before the response was whole\(detail.map { " (\($0))" } ?? "")")
  }

  private init(client error: HTTPClientError) {
    switch error {
    case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout:
      self.init(.noConnection, "no connection in time")
    case .deadlineExceeded, .readTimeout, .writeTimeout: self.init(.noAnswer, "no answer in time")
    case .cancelled: self.init(.cancelled, "it was cancelled")
    case .alreadyShutdown: self.init(.shutDown, "the program ends")
    default:
      switch error.shortDescription {
      case "Invalid URL", "Empty host", "Empty scheme", "Unsupported scheme":
        self.init(.badAddress, "the address is not well-formed")
      case "Server offered unsupported application protocol":
        self.init(.otherProtocol, "it speaks neither HTTP/1.1 nor HTTP/2")
      default: self = .closed()
      }
    }
  }

  private init(connection error: NIOConnectionError) {
    guard let first = error.connectionErrors.first?.error else {
      self.init(.nameNotFound, "the name \(error.host) is not known")
      return
    }
    switch first {
    case let error as ChannelError: self.init(channel: error)
    case let error as IOError: self.init(system: error)
    default: self = .closed()
    }
  }

  private init(system error: IOError) {
    let words = String(cString: strerror(error.errnoCode)).lowercased()
    switch error.errnoCode {
    case ECONNREFUSED: self.init(.connectionRefused, "no server listens there")
    case ETIMEDOUT: self.init(.timedOut, words)
    case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL: self.init(.unreachable, words)
    default: self = .closed(words)
    }
  }

  private init(channel error: ChannelError) {
    if case .connectTimeout(let limit) = error {
      self.init(.noConnection, "no connection in time", limit: .nanoseconds(limit.nanoseconds))
    } else {
      self = .closed()
    }
  }

  private init(handshake error: any Error) {
    let details = "\(error)"
    if details.contains("EOF during handshake") {
      self = .closed("within the TLS handshake")
      return
    }
    let reasons = [
      ("failedToLoadCertificate", "no PEM certificate can be read"),
      ("failedToLoadPrivateKey", "no PEM private key can be read that belongs to the certificate"),
      ("CERTIFICATE_VERIFY_FAILED", "the server's certificate is not valid under the trusted roots"),
      ("CERTIFICATE_REQUIRED", "the server asks for a client certificate"),
      ("BAD_CERTIFICATE", "the server does not accept our client certificate"),
      ("UNKNOWN_CA", "the server does not accept our client certificate"),
      ("CERTIFICATE_EXPIRED", "the server says that our client certificate has expired"),
      ("CERTIFICATE_UNKNOWN", "the server does not accept our client certificate"),
      ("WRONG_VERSION_NUMBER", "the server does not speak TLS at this port"),
      ("PROTOCOL_VERSION", "the server has no version of TLS in common with us, 1.2 or later"),
      ("failedToValidateHostname", "the server's certificate is for another host"),
      ("unableToValidateCertificate", "the server's certificate is not valid under the trusted roots"),
    ]
    self.init(.tls, reasons.first { details.contains($0.0) }?.1 ?? "the TLS handshake failed")
  }
}
