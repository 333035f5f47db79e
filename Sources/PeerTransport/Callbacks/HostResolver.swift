internal import Dispatch
internal import Glibc

/// Finds the addresses of a name.
package protocol HostResolver: Sendable {
  /// - Returns: as text, without a zone, in the order in which they are to be tried.
  func addresses(of name: String) async throws -> [String]
}

/// The system's way: the hosts file, DNS, whatever this machine is set up with.
package struct SystemResolver: HostResolver {
  /// Where answers are waited for: a name server that does not answer keeps one of its threads. Each subscriber is asked about
  /// once at a time. The queue waits for a thread where the system has none, and does not end the process.
  private static let queue = DispatchQueue(label: "keyferry.resolver", attributes: .concurrent)

  package init() {}

  package func addresses(of name: String) async throws -> [String] {
    try await withCheckedThrowingContinuation { continuation in
      Self.queue.async { continuation.resume(with: Result { try Self.lookUp(name) }) }
    }
  }

  private static func lookUp(_ name: String) throws -> [String] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_family = AF_UNSPEC
    var found: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(name, nil, &hints, &found)
    defer { if let found { freeaddrinfo(found) } }
    guard status == 0 else { throw CallbackFault(.nameNotFound, "\(name): \(String(cString: gai_strerror(status)))") }
    var addresses: [String] = []
    var next = found
    while let one = next {
      next = one.pointee.ai_next
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      let isRead =
        getnameinfo(
          one.pointee.ai_addr, one.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
      if isRead { addresses.append(text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }) }
    }
    return addresses
  }
}
