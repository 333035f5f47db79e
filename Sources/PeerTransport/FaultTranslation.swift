internal import KeyIntake
internal import KeyPeers
internal import NetworkFaults

// Every error of the libraries below becomes a TransportFault here.
extension TransportFault {
  /// - Throws: `CancellationError` in place of a fault when the task was cancelled.
  static func translating(_ error: any Error, at address: WebAddress, _ limits: TimeLimits) throws -> TransportFault {
    switch error {
    case let fault as TransportFault: return fault
    case let fault as FileFault: return TransportFault(code: .storage, reason: "\(fault)", isTemporary: true)
    case is CancellationError: throw CancellationError()
    default: break
    }
    let fault = NetworkFault(error)
    switch fault.kind {
    case .nameNotFound:
      return TransportFault(
        code: .nameNotFound, reason: "\(address): the name \(address.host) is not known", isTemporary: true)
    case .connectionRefused:
      return TransportFault(
        code: .connectionRefused, reason: "\(address): no server listens at \(address.authority)", isTemporary: true)
    case .unreachable:
      return TransportFault(code: .unreachable, reason: "\(address): \(fault.words)", isTemporary: true)
    case .noConnection:
      return TransportFault(
        code: .timeOut, reason: "\(address): no connection after \(text(fault.limit ?? limits.connect))",
        isTemporary: true)
    case .noAnswer: return timeOut(address, "did not begin", after: min(limits.total, limits.connect + limits.idle))
    case .timedOut: return TransportFault(code: .timeOut, reason: "\(address): \(fault.words)", isTemporary: true)
    case .connectionClosed:
      return TransportFault(code: .connectionClosed, reason: "\(address): \(fault.words)", isTemporary: true)
    case .tls: return TransportFault(code: .tls, reason: "\(address): \(fault.words)", isTemporary: false)
    case .badAddress: return TransportFault(code: .badAddress, reason: "\(address): \(fault.words)", isTemporary: false)
    case .notHTTP, .otherProtocol: return malformed(address, fault.words)
    case .cancelled:
      if Task.isCancelled { throw CancellationError() }
      return closed(address)
    case .shutDown: throw CancellationError()
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

  private static func text(_ duration: Duration) -> String {
    let (seconds, fraction) = duration.components
    return fraction == 0 ? "\(seconds) s" : "\(seconds * 1000 + fraction / 1_000_000_000_000_000) ms"
  }
}
