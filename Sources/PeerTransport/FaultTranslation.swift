internal import AsyncHTTPClient
internal import Glibc
internal import KeyIntake
internal import KeyPeers
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

// Every error of the libraries below becomes a TransportFault here. Their own texts are not passed on: they may hold
// the address with its query, or headers.
extension TransportFault {
  /// - Throws: `CancellationError` in place of a fault when the task was cancelled.
  static func translating(_ error: any Error, at address: WebAddress, _ limits: TimeLimits) throws -> TransportFault {
    switch error {
    case let fault as TransportFault: return fault
    case let fault as FileFault: return TransportFault(code: .storage, reason: "\(fault)", isTemporary: true)
    case is CancellationError: throw CancellationError()
    case let error as HTTPClientError: return try client(error, address, limits)
    case let error as NIOConnectionError: return connection(error, address)
    case let error as IOError: return system(error, address)
    case let error as ChannelError: return channel(error, address, limits)
    case HTTPParserError.invalidEOFState: return closed(address)
    case is HTTPParserError, is NIOHTTPDecoderError:
      return malformed(address, "what it sends is not HTTP")
    case NIOSSLError.uncleanShutdown: return closed(address)
    case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: return handshake(error, address)
    default: return closed(address, " (\(type(of: error)))")
    }
  }

  static func timeOut(_ address: WebAddress, _ what: String, after limit: Duration) -> TransportFault {
    TransportFault(
      code: .timeOut, reason: "\(address): the response \(what) after \(text(limit))", isTemporary: true)
  }

  static func closed(_ address: WebAddress, _ detail: String = "") -> TransportFault {
    TransportFault(
      code: .connectionClosed, reason: "\(address): the connection closed before the response was whole\(detail)",
      isTemporary: true)
  }

  static func malformed(_ address: WebAddress, _ reason: String) -> TransportFault {
    TransportFault(code: .malformedResponse, reason: "\(address): \(reason)", isTemporary: false)
  }

  static func tooLarge(_ address: WebAddress, _ size: String, limit: Int) -> TransportFault {
    TransportFault(
      code: .tooLarge, reason: "\(address): the response has \(size) bytes, at most \(limit) are read",
      isTemporary: false)
  }

  private static func client(
    _ error: HTTPClientError, _ address: WebAddress, _ limits: TimeLimits
  ) throws -> TransportFault {
    switch error {
    case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout:
      return TransportFault(
        code: .timeOut, reason: "\(address): no connection after \(text(limits.connect))", isTemporary: true)
    case .deadlineExceeded, .readTimeout, .writeTimeout:
      return timeOut(address, "did not begin", after: min(limits.total, limits.connect + limits.idle))
    case .cancelled:
      if Task.isCancelled { throw CancellationError() }
      return closed(address)
    case .alreadyShutdown:
      throw CancellationError()
    default:
      switch error.shortDescription {
      case "Invalid URL", "Empty host", "Empty scheme", "Unsupported scheme":
        return TransportFault(
          code: .badAddress, reason: "\(address): the address is not well-formed", isTemporary: false)
      case "Server offered unsupported application protocol":
        return malformed(address, "it speaks neither HTTP/1.1 nor HTTP/2")
      default: return closed(address)
      }
    }
  }

  private static func connection(_ error: NIOConnectionError, _ address: WebAddress) -> TransportFault {
    guard let first = error.connectionErrors.first?.error else {
      return TransportFault(
        code: .nameNotFound, reason: "\(address): the name \(address.host) is not known", isTemporary: true)
    }
    if case ChannelError.connectTimeout(let limit) = first {
      return TransportFault(
        code: .timeOut, reason: "\(address): no connection after \(text(.nanoseconds(limit.nanoseconds)))",
        isTemporary: true)
    }
    return (first as? IOError).map { system($0, address) } ?? closed(address)
  }

  private static func system(_ error: IOError, _ address: WebAddress) -> TransportFault {
    let words = String(cString: strerror(error.errnoCode)).lowercased()
    switch error.errnoCode {
    case ECONNREFUSED:
      return TransportFault(
        code: .connectionRefused, reason: "\(address): no server listens at \(address.authority)", isTemporary: true)
    case ETIMEDOUT: return TransportFault(code: .timeOut, reason: "\(address): \(words)", isTemporary: true)
    case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL:
      return TransportFault(code: .unreachable, reason: "\(address): \(words)", isTemporary: true)
    default: return closed(address, " (\(words))")
    }
  }

  private static func channel(
    _ error: ChannelError, _ address: WebAddress, _ limits: TimeLimits
  ) -> TransportFault {
    if case .connectTimeout = error {
      return TransportFault(
        code: .timeOut, reason: "\(address): no connection after \(text(limits.connect))", isTemporary: true)
    }
    return closed(address)
  }

  private static func handshake(_ error: any Error, _ address: WebAddress) -> TransportFault {
    let details = "\(error)"
    if details.contains("EOF during handshake") { return closed(address, " (within the TLS handshake)") }
    let reasons = [
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
    let reason = reasons.first { details.contains($0.0) }?.1 ?? "the TLS handshake failed"
    return TransportFault(code: .tls, reason: "\(address): \(reason)", isTemporary: false)
  }

  private static func text(_ duration: Duration) -> String {
    let (seconds, fraction) = duration.components
    return fraction == 0 ? "\(seconds) s" : "\(seconds * 1000 + fraction / 1_000_000_000_000_000) ms"
  }
}
