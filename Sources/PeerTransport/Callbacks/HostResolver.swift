internal import Glibc
internal import NIOPosix

/// Finds the addresses of a name.
package protocol HostResolver: Sendable {
  /// - Returns: as text, without a zone, in the order in which they are to be tried.
  func addresses(of name: String) async throws -> [String]
}

/// The system's way: the hosts file, DNS, whatever this machine is set up with.
package struct SystemResolver: HostResolver {
  /// Threads that wait for answers. A name server that does not answer keeps one of them; each subscriber is asked about once
  /// at a time.
  private static let threads: NIOThreadPool = {
    let pool = NIOThreadPool(numberOfThreads: 8)
    pool.start()
    return pool
  }()

  package init() {}

  package func addresses(of name: String) async throws -> [String] {
    try await Self.threads.runIfActive { try Self.lookUp(name) }
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
