internal import Glibc
internal import ServiceLifecycle

/// Who has started this process and wants to know how it is: systemd, or what speaks as it does.
///
/// A message is one datagram to a socket of this machine. Source: sd_notify(3) and sd_watchdog_enabled(3).
package struct ServiceManager: Sendable {
  /// Of the socket; an abstract one begins with 0.
  private let address: [UInt8]
  /// The longest time between two signs of life that it takes; `nil` where it waits for none.
  package let patience: Duration?

  /// - Parameters:
  ///   - environment: of this process: `NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`.
  ///   - process: the number of this process.
  /// - Returns: `nil` where nobody asks, or asks at an address that is no socket of this machine.
  package init?(environment: [String: String], process: Int32 = getpid()) {
    guard let socket = environment["NOTIFY_SOCKET"], socket.utf8.count > 1 else { return nil }
    var address = Array(socket.utf8)
    guard address.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return nil }
    switch address[0] {
    case UInt8(ascii: "/"): break
    case UInt8(ascii: "@"): address[0] = 0
    default: return nil
    }
    self.address = address
    let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(process)" } ?? true
    let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) }
    patience = isMeant ? microseconds.flatMap { $0 > 0 ? .microseconds($0) : nil } : nil
  }

  /// What it is told.
  package enum Message: String, Sendable {
    case ready = "READY=1"
    case alive = "WATCHDOG=1"
    case stopping = "STOPPING=1"
    /// A store is opened, which may take longer than a start may: the next word comes within five minutes.
    case opening = "EXTEND_TIMEOUT_USEC=300000000"
  }

  /// Says it, and does not wait: where nobody listens any more, nothing is lost.
  package func tell(_ message: Message) {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var place = sockaddr_un()
    place.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: address) }
    // The length says where the name of an abstract socket ends.
    let isAbstract = address[0] == 0
    let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    let length = isAbstract ? offset + address.count : MemoryLayout<sockaddr_un>.size
    let text = Array(message.rawValue.utf8)
    _ = withUnsafeBytes(of: &place) { place in
      sendto(
        descriptor, text, text.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT),
        place.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(length))
    }
  }
}

/// Tells who has started this process that it is ready, then at times that it lives, and that it ends.
///
/// A sign of life says that the threads on which everything runs still take up work.
package struct NotifyService: Service {
  private let manager: ServiceManager
  private let listening: [AsyncStream<Void>]

  /// - Parameter listening: each has an element once something listens; empty where nothing is served.
  package init(_ manager: ServiceManager, after listening: [AsyncStream<Void>]) {
    self.manager = manager
    self.listening = listening
  }

  package func run() async throws {
    var count = 0
    for place in listening {
      for await _ in place.cancelOnGracefulShutdown() {
        count += 1
        break
      }
    }
    // Where one cannot listen, the process ends.
    if count == listening.count, !Task.isShuttingDownGracefully { manager.tell(.ready) }
    while await pause(manager.patience.map { $0 / 2 }) { manager.tell(.alive) }
    manager.tell(.stopping)
  }

  /// - Returns: whether to go on: no, once the process is told to end.
  private func pause(_ time: Duration?) async -> Bool {
    do {
      try await cancelWhenGracefulShutdown { try await Task.sleep(for: time ?? .seconds(86_400)) }
    } catch {
      return false
    }
    return !Task.isShuttingDownGracefully && !Task.isCancelled
  }
}
