import Foundation
import Testing

@testable import GatewayDaemon

/// What systemd is told by a gateway that it has started.
@Suite("systemd is told how a gateway is") struct ServiceManagerTests {
  @Test(.timeLimit(.minutes(2))) func isToldOfEachStep() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      let mailbox = try Mailbox(Array(place.path("notify").utf8))
      let log = place.path("nl.log")
      #expect(FileManager.default.createFile(atPath: log, contents: nil))
      let file = try FileManager.default.attributesOfItem(atPath: log)
      let device = try #require(file[.systemNumber] as? NSNumber)
      let number = try #require(file[.systemFileNumber] as? NSNumber)

      let process = try place.start(
        ["run", "--config", "nl/gateway.yaml", "--log-level", "debug"], log: "nl.log",
        environment: [
          "NOTIFY_SOCKET": place.path("notify"), "WATCHDOG_USEC": "200000",
          "JOURNAL_STREAM": "\(device):\(number)",
        ])
      defer { process.terminate() }
      #expect(mailbox.next() == "READY=1")
      // It listens by then.
      let said = try String(contentsOfFile: log, encoding: .utf8)
      #expect(said.contains("http://127.0.0.1:"), "\(said)")
      for _ in 0..<3 { #expect(mailbox.next() == "WATCHDOG=1") }
      kill(process.processIdentifier, SIGTERM)
      var last = mailbox.next()
      while last == "WATCHDOG=1" { last = mailbox.next() }
      #expect(last == "STOPPING=1")
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
      let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        .filter { $0.contains(" keyferry") && $0.contains("Z ") }
      #expect(!lines.isEmpty)
      #expect(lines.allSatisfy { $0.hasPrefix("<") && $0.dropFirst(2).hasPrefix(">2") }, "\(lines)")
    }
  }

  /// Whoever has started it knows at once that it ends, and not when it has done so.
  @Test(.timeLimit(.minutes(2)), arguments: ["run", "serve"])
  func isToldOfTheEndFirst(command: String) async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      let path = "nl/gateway.yaml"
      let text = try String(contentsOfFile: place.path(path), encoding: .utf8)
      try place.write(
        text.replacing("{listen: \"127.0.0.1:0\"}", with: "{listen: \"127.0.0.1:0\", connections: {ending: 5 s}}"), path
      )
      try place.keyferry("pull", "--config", path)
      let mailbox = try Mailbox(Array(place.path("notify").utf8))
      let process = try place.start(
        [command, "--config", path], log: "nl.log", environment: ["NOTIFY_SOCKET": place.path("notify")])
      #expect(mailbox.next() == "READY=1")
      let begun = ContinuousClock.now
      kill(process.processIdentifier, SIGTERM)
      #expect(mailbox.next() == "STOPPING=1")
      #expect(ContinuousClock.now - begun < .seconds(4) && process.isRunning)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0 && ContinuousClock.now - begun >= .seconds(5))
    }
  }

  /// Where somebody else listens already, it never was ready.
  @Test(.timeLimit(.minutes(1)), arguments: ["run", "serve"])
  func isNotReadyWhereItCannotListen(command: String) async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      try place.keyferry("pull", "--config", "nl/gateway.yaml")
      let taken = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      defer { close(taken) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          #expect(bind(taken, $0, length) == 0 && listen(taken, 1) == 0 && getsockname(taken, $0, &length) == 0)
        }
      }
      let mailbox = try Mailbox(Array(place.path("notify").utf8))
      let process = try place.start(
        [command, "--config", "nl/gateway.yaml", "--port", "\(address.sin_port.bigEndian)"], log: "nl.log",
        environment: ["NOTIFY_SOCKET": place.path("notify")])
      process.waitUntilExit()
      #expect(process.terminationStatus == 2)
      #expect(mailbox.next() == "STOPPING=1")
    }
  }

  /// Somebody else's journal is not ours.
  @Test func saysNoPriorityToAFile() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      let mailbox = try Mailbox(Array(place.path("notify").utf8))
      let process = try place.start(
        ["run", "--config", "nl/gateway.yaml", "--log-level", "debug"], log: "nl.log",
        environment: ["JOURNAL_STREAM": "1:1", "NOTIFY_SOCKET": place.path("notify")])
      #expect(mailbox.next() == "READY=1")
      process.terminate()
      #expect(mailbox.next() == "STOPPING=1")
      process.waitUntilExit()
      let said = try String(contentsOfFile: place.path("nl.log"), encoding: .utf8)
      #expect(!said.isEmpty && !said.hasPrefix("<") && !said.contains("\n<"), "\(said)")
    }
  }

  @Test func anAbstractSocketIsReached() throws {
    let name = "keyferry-\(UUID().uuidString)"
    let mailbox = try Mailbox([0] + Array(name.utf8))
    let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": "@\(name)"]))
    manager.tell(.ready)
    #expect(mailbox.next() == "READY=1")
    manager.tell(.opening)
    #expect(mailbox.next() == "EXTEND_TIMEOUT_USEC=300000000")
    #expect(manager.patience == nil)
  }

  @Test func othersAreNotMeant() throws {
    for socket in ["", "/", "@", "notify", "vsock:2:1234", "/" + String(repeating: "a", count: 108)] {
      #expect(ServiceManager(environment: ["NOTIFY_SOCKET": socket]) == nil, "\(socket)")
    }
    #expect(ServiceManager(environment: [:]) == nil)
    func patience(_ more: [String: String]) -> Duration? {
      ServiceManager(environment: more.merging(["NOTIFY_SOCKET": "/run/notify"]) { $1 }, process: 7)?.patience
    }
    #expect(patience(["WATCHDOG_USEC": "3000000"]) == .seconds(3))
    #expect(patience(["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "7"]) == .seconds(3))
    #expect(patience(["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "8"]) == nil)
    for text in ["", "0", "-1", "x", "99999999999999999999"] { #expect(patience(["WATCHDOG_USEC": text]) == nil) }
  }

  @Test func nobodyListensAndNothingHappens() throws {
    let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": "/nowhere/notify"]))
    manager.tell(.alive)
  }
}

/// A socket at which messages arrive.
private final class Mailbox {
  private let descriptor: Int32

  /// - Parameter address: a path, or 0 and a name.
  init(_ address: [UInt8]) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var place = sockaddr_un()
    place.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: address) }
    let bound = withUnsafePointer(to: &place) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sa_family_t>.size + address.count))
      }
    }
    try #require(bound == 0, "\(String(cString: strerror(errno)))")
    // Long enough for a machine that is busy; what does not come is a fault.
    var patience = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// The next message; `nil` where none comes.
  func next() -> String? {
    var buffer = [UInt8](repeating: 0, count: 512)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }
}
