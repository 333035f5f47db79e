import Foundation
import Glibc
import Synchronization

/// A verification service as COVIDWISE's health authority might have one: it says of one PIN that it is good. A thread that
/// answers one connection after the other.
final class CodeService: Sendable {
  let port: UInt16
  private let listener: Int32
  private let asked = Mutex<[String]>([])

  /// The bodies of the requests.
  var requests: [String] { asked.withLock { $0 } }

  init?() {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
        bind(listener, place, size) == 0 && listen(listener, 8) == 0 && getsockname(listener, place, &size) == 0
      }
    }
    guard isBound else { return nil }
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in
      while case let connection = accept(listener, nil, nil), connection >= 0 { answer(connection) }
    }
  }

  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  private func answer(_ connection: Int32) {
    defer { close(connection) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    // The one question there is ends with a brace.
    while bytes.last != UInt8(ascii: "}") {
      let count = read(connection, &buffer, buffer.count)
      guard count > 0 else { return }
      bytes += buffer.prefix(count)
    }
    let text = String(decoding: bytes, as: UTF8.self)
    asked.withLock { $0.append(text) }
    let body = "{\"valid\":\(text.contains("1234-good")),\"reportType\":\"confirmed\"}"
    let response = Array(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
        .utf8)
    _ = write(connection, response, response.count)
  }
}
