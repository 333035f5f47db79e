import ExposureKeys
import KeyStorage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The right to write, as an advisory lock on a file beside the database: the system drops it with the process, however
/// that ends. The file says for people who has it, and stays.
final class StoreLock: Sendable {
  private let descriptor: Int32

  init(path: String, command: String, now: Instant) throws {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StorageFault(.inputOutput, "\(path): \(Self.systemFault)") }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let code = errno
      defer { close(descriptor) }
      guard code == EWOULDBLOCK else { throw StorageFault(.inputOutput, "\(path): \(Self.systemFault)") }
      throw StorageFault(.held, "\(path): the store is held by \(Self.holder(descriptor))")
    }
    self.descriptor = descriptor
    let text = "process \(getpid()) on \(Self.hostName), \(command), since \(now)\n"
    _ = ftruncate(descriptor, 0)
    _ = text.withCString { pwrite(descriptor, $0, strlen($0), 0) }
  }

  deinit { close(descriptor) }

  private static func holder(_ descriptor: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    let line = bytes.prefix(max(0, count)).prefix { $0 >= 0x20 }
    return line.isEmpty ? "another process" : String(decoding: line, as: UTF8.self)
  }

  private static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "this host" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static var systemFault: String { String(cString: strerror(errno)) }
}
