import Foundation
import Synchronization

/// Stands between a client and a PostgreSQL server, and cuts a connection at the end of a transaction: before the server hears of
/// it, or after it has answered and before the client does, or in the middle of the answer.
final class CuttingProxy: Sendable {
  enum Cut: Sendable {
    case beforeCommit
    case beforeAnswer
    /// The client hears of all statements but the last one.
    case withinAnswer
  }

  /// What becomes of the next transactions that end.
  private let cuts = Mutex<[Cut]>([])
  private let listener: Int32
  private let server: String
  let folder: String

  /// - Parameter server: the folder of its socket.
  init(to server: String) throws {
    self.server = "\(server)/.s.PGSQL.5432"
    folder = FileManager.default.temporaryDirectory.appending(path: "kf-cut-\(UUID().uuidString.prefix(8))").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let path = "\(folder)/.s.PGSQL.5432"
    guard listener >= 0, Self.with(path, { bind(listener, $0, $1) }) == 0, listen(listener, 16) == 0 else {
      throw CocoaError(.fileWriteUnknown)
    }
    Thread { [self] in serve() }.start()
  }

  var words: String { "host=\(folder) user=keyferry dbname=postgres" }

  func cut(_ cut: [Cut]) { cuts.withLock { $0 = cut } }
  var left: Int { cuts.withLock(\.count) }

  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    try? FileManager.default.removeItem(atPath: folder)
  }

  private func serve() {
    while true {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { return }
      let behind = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard Self.with(server, { connect(behind, $0, $1) }) == 0 else {
        close(client)
        continue
      }
      Thread { [self] in pass(client, behind) }.start()
    }
  }

  /// Bytes in both directions, until one end closes or the connection is cut.
  private func pass(_ client: Int32, _ server: Int32) {
    defer {
      close(client)
      close(server)
    }
    var room = [UInt8](repeating: 0, count: 1 << 16)
    var isLast: Cut?
    // At the end of a text, and not in READ COMMITTED.
    let commit = Array("COMMIT\0".utf8)
    while true {
      var both = [
        pollfd(fd: client, events: Int16(POLLIN), revents: 0), pollfd(fd: server, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&both, 2, 30_000) > 0 else { return }
      for (index, entry) in both.enumerated() where entry.revents != 0 {
        let count = read(entry.fd, &room, room.count)
        guard count > 0 else { return }
        let isFromClient = index == 0
        if isFromClient, room[..<count].windows(of: commit) {
          let cut = cuts.withLock { $0.isEmpty ? nil : $0.removeFirst() }
          if cut == .beforeCommit { return }
          isLast = cut
        } else if !isFromClient, let cut = isLast {
          // A kind and a length stand before the words.
          if cut == .withinAnswer, let end = room[..<count].place(of: commit) {
            _ = write(client, room, max(0, end - 5))
          }
          return
        }
        guard write(isFromClient ? server : client, room, count) == count else { return }
      }
    }
  }

  private static func with(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    return withUnsafeBytes(of: &address) { bytes in
      guard let start = bytes.bindMemory(to: sockaddr.self).baseAddress else { return -1 }
      return body(start, socklen_t(bytes.count))
    }
  }
}

extension ArraySlice<UInt8> {
  fileprivate func windows(of part: [UInt8]) -> Bool { place(of: part) != nil }

  fileprivate func place(of part: [UInt8]) -> Int? {
    guard count >= part.count else { return nil }
    return (startIndex...endIndex - part.count).first { self[$0..<$0 + part.count].elementsEqual(part) }
  }
}
